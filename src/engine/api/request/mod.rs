//! The requests to the engine, in one family per subject, so that each family is matched exhaustively in one place.
//! Not for: answers and events (`view`, `event`), or item names (`draft`).

mod branch;
mod call;
mod memory;
mod plan;
mod program;
mod session;
mod tool;
mod turn;

use super::acts::{EditableAct, SummaryAct};
use crate::domain::base::families::from_families;
use crate::domain::base::ids::BranchId;
pub use branch::BranchRequest;
pub use call::CallRequest;
pub use memory::MemoryRequest;
pub use plan::PlanRequest;
pub use program::ProgramRequest;
pub use session::SessionRequest;
pub use tool::ToolRequest;
pub use turn::TurnRequest;

/// A request to the engine.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// A request about sessions.
    Session(SessionRequest),
    /// A request about a branch.
    Branch(BranchRequest),
    /// A request about a running turn.
    Turn(TurnRequest),
    /// A request about the next call.
    Plan(PlanRequest),
    /// A request about calls that were made.
    Call(CallRequest),
    /// A request about memories.
    Memory(MemoryRequest),
    /// A request about tools and the workspace.
    Tool(ToolRequest),
    /// A request about versioned texts that a person can edit.
    Editable(EditableAct),
    /// A request about the program itself.
    Program(ProgramRequest),
    /// A request about summaries. A draft is written in the background, and its request is answered when it is
    /// complete.
    Summary {
        /// The branch.
        branch: BranchId,
        /// The act.
        act: SummaryAct,
    },
}

from_families!(
    Request: Session(SessionRequest), Branch(BranchRequest), Turn(TurnRequest), Plan(PlanRequest), Call(CallRequest),
    Memory(MemoryRequest), Tool(ToolRequest), Editable(EditableAct), Program(ProgramRequest),
);
