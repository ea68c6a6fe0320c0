//! The message that a person is about to send, and the result of planning its call.
//! Not for: solving the plan (`context`), or saving unsent text (the store).

use super::blocked::Blocked;
use super::plan::ContextPlan;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::call::code_set::CodeSet;
use crate::domain::call::meter::{Calibration, PromptCost};
use crate::domain::planning::mode::SearchChoice;
use crate::domain::planning::state_request::StateRequestOutcome;
use std::sync::Arc;

/// The purpose of the next call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DraftKind {
    /// A new message at the branch's head.
    #[default]
    Message,
    /// Another answer to this user message (a node on the branch's path).
    Regenerate(NodeId),
    /// The continuation of this truncated answer (the branch's head).
    Continue(NodeId),
    /// A new version of this user message, as its sibling.
    Edit(NodeId),
}

/// The message that is about to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Draft {
    /// The text; empty for [`DraftKind::Regenerate`] and [`DraftKind::Continue`].
    pub text: Arc<str>,
    /// The purpose of the call.
    pub kind: DraftKind,
    /// Whether older messages are searched for it.
    pub search: SearchChoice,
}

/// The result of planning a draft.
#[derive(Clone, PartialEq, Debug)]
pub enum Planned {
    /// The plan can be sent.
    Plan {
        plan: Arc<ContextPlan>,
        /// BLAKE3 hash of the body that would be posted.
        request_digest: Hash,
        /// Size of the body in bytes.
        bytes: u64,
        /// How the server's token counts relate to the estimates; `None` before the first report.
        calibration: Option<Calibration>,
        /// Estimated cost of the prompt; `None` if prices are unknown.
        cost: Option<PromptCost>,
        /// Tokens of the longest prefix shared with the branch's previous request; `None` if there is none.
        same_prefix: Option<u32>,
        /// The first part that differs from the part at the same place of that request: the hash of a text, or the key
        /// of a message. `None` if one of the two requests only extends the other, or there is no previous request.
        breaks: Option<Hash>,
        /// The retrieval set of the code search; `None` outside a trusted folder with code.
        code_set: Option<Arc<CodeSet>>,
        /// Whether the request asks for a state block, and why; `None` for a body that a person edited.
        state_request: Option<StateRequestOutcome>,
    },
    /// The required items do not fit the budget.
    Blocked(Arc<Blocked>),
}
