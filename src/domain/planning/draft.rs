//! The message that a person is about to send, and the plan that is solved for it.
//! Not for: solving the plan (`context`), or text that is kept while it is written (the store).

use super::plan::{Blocked, ContextPlan};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::call::meter::{Calibration, PromptCost};
use crate::domain::planning::mode::SearchWish;
use std::sync::Arc;

/// What the next call is to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DraftKind {
    /// A new message at the branch's head.
    #[default]
    Message,
    /// Another answer to this user message (a node on the branch's path).
    Regenerate(NodeId),
    /// Go on where this cut answer stopped (the branch's head).
    Continue(NodeId),
    /// A new version of this user message, as its sibling.
    Edit(NodeId),
}

/// What is about to be asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Draft {
    /// The words (empty for regenerate and continue).
    pub text: Arc<str>,
    /// What they are for.
    pub kind: DraftKind,
    /// Whether older messages are looked through for it.
    pub search: SearchWish,
}

/// A solved plan, or why there is none.
#[derive(Clone, PartialEq, Debug)]
pub enum Planned {
    /// It can be sent.
    Plan {
        /// The plan.
        plan: Arc<ContextPlan>,
        /// BLAKE3 of the body that would be posted.
        request_digest: Hash,
        /// Bytes of the body.
        bytes: u64,
        /// How the server counts beside us, once it reported something.
        calibration: Option<Calibration>,
        /// What the call costs before it is sent, where prices are known.
        cost: Option<PromptCost>,
        /// Tokens of the longest prefix that is the same as in the branch's previous request.
        same_prefix: Option<u32>,
        /// The first part that stands where something else stood in that request: a text's hash or a message's key.
        breaks: Option<Hash>,
    },
    /// It does not fit.
    Blocked(Arc<Blocked>),
}
