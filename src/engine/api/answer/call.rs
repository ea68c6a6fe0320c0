//! Answers about calls that were made: records, figures, comparisons, and replays.
//! Not for: the next call (`plan`).

use crate::domain::base::RunId;
use crate::domain::call::{CallUses, CodeSet, Ledger, RawRequest, RunCard, SentRequest};
use crate::domain::conversation::{Atom, Branch};
use crate::domain::planning::{ContextPlan, PlanDiff};
use std::sync::Arc;

/// An answer about calls that were made.
#[derive(Clone, PartialEq, Debug)]
pub enum CallAnswer {
    /// Calls.
    Runs(Vec<RunCard>),
    /// Figures of calls.
    Ledger(Box<Ledger>),
    /// How the answer used a call's items; `None` if that was not recorded.
    Uses(Option<Box<CallUses>>),
    /// A stored plan with the calls made from it.
    StoredPlan {
        plan: Arc<ContextPlan>,
        /// Its calls.
        runs: Vec<RunCard>,
        /// The retrieval set of the code search.
        code_set: Option<Arc<CodeSet>>,
    },
    /// The request of a call that was made.
    SentRequest(Box<SentRequest>),
    /// The differences between two calls.
    Diff(Box<PlanDiff>),
    /// A stored call, rendered again.
    Replayed {
        /// The call.
        run: Box<RunCard>,
        /// The request as rendered now.
        request: Box<RawRequest>,
    },
    /// A stored call that is being replayed.
    Replaying(Box<ReplayedCall>),
    Race(Vec<Branch>),
}

/// A replayed call.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayedCall {
    /// The stored call.
    pub of: RunCard,
    /// The new call.
    pub run: RunId,
    /// The scratch branch for its answer.
    pub branch: Box<Branch>,
    /// Whether the new bytes equal the stored ones.
    pub exact: bool,
    /// The item that was left out, with its first words, not sanitized.
    pub without: Option<(Atom, String)>,
}
