//! The request of a call that was made: its stored plan, with the known facts about the call.
//! Not for: reading it from the store (`engine`), or the bytes (`request`).

use super::code_set::CodeSet;
use super::item_use::CallUses;
use super::run::RunCard;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::RunId;
use crate::domain::planning::ContextPlan;
use std::sync::Arc;

/// The request of a call that was made.
#[derive(Clone, PartialEq, Debug)]
pub struct SentRequest {
    /// The call.
    pub card: RunCard,
    /// Its plan, or why the plan cannot be shown.
    pub plan: Result<Arc<ContextPlan>, Failure>,
    /// The retrieval set of the code search.
    pub code_set: Option<Arc<CodeSet>>,
    /// How the answer used the items; `None` if that was not recorded.
    pub uses: Option<Box<CallUses>>,
    /// The number of the turn on its path, from 1; `None` if no message of the call was stored.
    pub turn: Option<u32>,
    /// The number of rounds of tool calls that the turn has so far, at least the call's own.
    pub rounds: u32,
    /// The call before it.
    pub before: Option<RunId>,
    /// The call after it.
    pub after: Option<RunId>,
}
