//! The answers to requests, in families parallel to those of the requests.
//! Not for: events that answer no request (`event`).

mod branch;
mod call;
mod editable;
mod memory;
mod plan;
mod program;
mod session;
mod summary;
mod tool;

use crate::domain::base::RunId;
use crate::domain::base::families::from_families;
pub use branch::{BranchAnswer, TransitionReport};
pub use call::{CallAnswer, ReplayedCall};
pub use editable::EditableAnswer;
pub use memory::MemoryAnswer;
pub use plan::{BodyCount, PlanAnswer, Retrieved};
pub use program::ProgramAnswer;
pub use session::{SessionAnswer, SessionView};
use std::fmt::{self, Debug};
pub use summary::SummaryAnswer;
pub use tool::{FileList, ToolAnswer};

/// The answer to a request. Only answers to requests of several families stand beside the families.
#[derive(Clone, PartialEq)]
pub enum Answer {
    /// The request was carried out. The sentence for the person may be empty.
    Done(String),
    /// A text that was requested.
    Text(String),
    /// The call was started.
    Asked {
        /// The call's run.
        run: RunId,
    },
    /// An answer about sessions.
    Session(SessionAnswer),
    /// An answer about a branch.
    Branch(BranchAnswer),
    /// An answer about the next call.
    Plan(PlanAnswer),
    /// An answer about calls that were made.
    Call(CallAnswer),
    /// An answer about memories.
    Memory(MemoryAnswer),
    /// An answer about tools and the workspace.
    Tool(ToolAnswer),
    /// An answer about editable texts.
    Editable(EditableAnswer),
    /// An answer about the program.
    Program(ProgramAnswer),
    /// An answer about summaries.
    Summary(SummaryAnswer),
}

from_families!(
    Answer: Session(SessionAnswer), Branch(BranchAnswer), Plan(PlanAnswer), Call(CallAnswer), Memory(MemoryAnswer),
    Tool(ToolAnswer), Editable(EditableAnswer), Program(ProgramAnswer), Summary(SummaryAnswer),
);

/// Shows the answer without its family.
impl Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(text) => f.debug_tuple("Done").field(text).finish(),
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Asked { run } => f.debug_struct("Asked").field("run", run).finish(),
            Self::Session(answer) => answer.fmt(f),
            Self::Branch(answer) => answer.fmt(f),
            Self::Plan(answer) => answer.fmt(f),
            Self::Call(answer) => answer.fmt(f),
            Self::Memory(answer) => answer.fmt(f),
            Self::Tool(answer) => answer.fmt(f),
            Self::Editable(answer) => answer.fmt(f),
            Self::Program(answer) => answer.fmt(f),
            Self::Summary(answer) => answer.fmt(f),
        }
    }
}
