//! The requests to the engine, in one family per subject, so that each family is matched exhaustively in one place.
//! Not for: answers and events (`answer`, `event`), or item names (`draft`).

mod branch;
mod call;
mod memory;
mod plan;
mod program;
mod session;
mod tool;
mod turn;

use super::acts::{EditableAct, SummaryAct};
use super::servers::ServerAct;
use crate::domain::base::BranchId;
use crate::domain::base::families::from_families;
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
    Summary { branch: BranchId, act: SummaryAct },
}

from_families!(
    Request: Session(SessionRequest), Branch(BranchRequest), Turn(TurnRequest), Plan(PlanRequest), Call(CallRequest),
    Memory(MemoryRequest), Tool(ToolRequest), Editable(EditableAct), Program(ProgramRequest),
);

/// What a request needs of the tool servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerUse {
    /// Nothing.
    None,
    /// It makes a plan, which offers the servers' tools.
    Plan,
    /// It lists or changes the servers.
    List,
    /// It lists the servers once all of them have finished starting.
    Settled,
}

impl Request {
    /// Returns what the request needs of the tool servers.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new request must not compile without what it needs")]
    pub(crate) fn server_use(&self) -> ServerUse {
        let plans = match self {
            Self::Tool(ToolRequest::Servers(_, ServerAct::Settle | ServerAct::Test { .. })) => {
                return ServerUse::Settled;
            }
            Self::Tool(ToolRequest::Servers(..)) => return ServerUse::List,
            Self::Plan(request) => request.plans_with_tools(),
            Self::Turn(request) => request.plans_with_tools(),
            Self::Call(request) => request.plans_with_tools(),
            Self::Editable(EditableAct::TryPolicy { .. }) => true,
            Self::Editable(
                EditableAct::List { .. } | EditableAct::SavePolicy { .. } | EditableAct::StepPolicy { .. },
            )
            | Self::Tool(
                ToolRequest::Files(_)
                | ToolRequest::Rule(_)
                | ToolRequest::Trust { .. }
                | ToolRequest::FolderSettings(_)
                | ToolRequest::Traces(_)
                | ToolRequest::Code { .. }
                | ToolRequest::Project(_),
            )
            | Self::Session(_)
            | Self::Branch(_)
            | Self::Memory(_)
            | Self::Program(_)
            | Self::Summary { .. } => false,
        };
        if plans { ServerUse::Plan } else { ServerUse::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::NodeId;
    use crate::domain::planning::draft::Draft;
    use crate::engine::api::{Act, ItemName};
    use uuid::Uuid;

    #[test]
    fn each_request_that_plans_with_tools_needs_the_servers() {
        let (branch, draft) = (BranchId(Uuid::nil()), Draft::default());
        let preview = PlanRequest::Preview {
            branch,
            draft: draft.clone(),
            items: vec![ItemName::TurnOf(NodeId(Uuid::nil()))],
            act: Act::Clear,
        };
        let policy = EditableAct::TryPolicy { branch, draft: draft.clone(), policy: "window".into() };
        let ask = TurnRequest::Ask { branch, draft, plan: None };
        let aside = TurnRequest::Aside { branch, text: "why?".into() };
        let plans: [Request; 3] = [preview.into(), policy.into(), ask.into()];
        assert_eq!(plans.map(|request| request.server_use()), [ServerUse::Plan; 3]);
        // A side question is planned without tools.
        let others: [Request; 2] = [aside.into(), PlanRequest::WireText { branch }.into()];
        assert_eq!(others.map(|request| request.server_use()), [ServerUse::None; 2]);
        let test = ToolRequest::Servers(None, ServerAct::Test { server: "s".into() });
        assert_eq!(Request::from(test).server_use(), ServerUse::Settled);
    }
}
