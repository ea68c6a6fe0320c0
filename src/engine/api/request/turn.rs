//! Requests about a turn and about side questions: ask, wait, stop, approve.
//! Not for: stored calls (`call`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::base::ids::RunId;
use crate::domain::planning::draft::Draft;
use crate::domain::tool::consent::Consent;
use crate::domain::tool::consent::Rule;
use crate::domain::tool::consent::RuleScope;
use std::sync::Arc;

/// A request about a turn under way.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnRequest {
    /// Sends. With `plan`, exactly that plan (the last one drawn for this draft), or it is refused as stale and the new
    /// one comes. Without, it is solved, drawn and sent. Answered when the run row is written, not when the model is done.
    Ask {
        /// On which branch.
        branch: BranchId,
        /// What.
        draft: Draft,
        /// The plan on the screen.
        plan: Option<Hash>,
    },
    /// Waits until no other program asks on a branch; answered when the next `Ask` is ours.
    Claim(BranchId),
    /// Gives up the right to ask that a claim got.
    GiveBackClaim(BranchId),
    /// Stops the open turn of a branch; what came is kept.
    Cancel {
        /// Which.
        branch: BranchId,
    },
    /// A person's word on a call that waits for it.
    Consent {
        /// On which branch.
        branch: BranchId,
        /// Which call of the answer.
        index: usize,
        /// The word.
        consent: Consent,
        /// A rule by which the like of it is decided from now on.
        always: Option<(RuleScope, Rule)>,
    },
    /// Asks beside a branch, in its present context, without a trace but the call; answered once that is written down.
    Aside {
        /// In whose context.
        branch: BranchId,
        /// The question.
        text: Arc<str>,
    },
    /// Stops a side question, or forgets its answer.
    DropAside {
        /// Its call.
        run: RunId,
    },
    /// Makes a branch of a side question that is answered, at the place where it was asked (undoable).
    KeepAside {
        /// Its call.
        run: RunId,
    },
}
