//! Requests about a turn and about side questions: send, wait, stop, approve.
//! Not for: stored calls (`call`).

use crate::domain::base::{BranchId, Hash, RunId};
use crate::domain::planning::Draft;
use crate::domain::tool::{Consent, Rule, RuleScope};
use std::sync::Arc;

/// A request about a running turn.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnRequest {
    /// Send a message. With `plan`, exactly that plan (the last one drawn for this draft) is sent; if it is stale, the
    /// request is refused and the new plan is reported. Without `plan`, the draft is planned, the plan is reported, and
    /// it is sent. Answered when the run is recorded, not when the model is done.
    Ask {
        branch: BranchId,
        /// The draft to send.
        draft: Draft,
        /// The digest of the plan on the screen.
        plan: Option<Hash>,
    },
    /// Wait for the claim on a branch. Answered when this window holds it for the next `Ask`.
    Claim(BranchId),
    /// Release a claim that is no longer needed.
    GiveBackClaim(BranchId),
    /// Stop the open turn of a branch and keep the text that has arrived.
    Cancel { branch: BranchId },
    /// Decide on a tool call that waits for approval.
    Consent {
        branch: BranchId,
        /// The index of the call in the answer.
        index: usize,
        /// The decision.
        consent: Consent,
        /// A rule that decides similar calls from now on.
        always: Option<(RuleScope, Rule)>,
    },
    /// Ask a side question in a branch's current context. Only the call is stored, no message. Answered when the call
    /// is recorded.
    Aside {
        /// The branch whose context is used.
        branch: BranchId,
        /// The question.
        text: Arc<str>,
    },
    /// Stop a side question, or discard its answer.
    DropAside {
        /// The run of its call.
        run: RunId,
    },
    /// Turn an answered side question into a branch at its original message (undoable).
    KeepAside {
        /// The run of its call.
        run: RunId,
    },
}

impl TurnRequest {
    /// Returns whether the request makes a plan of a new call, which offers tools.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new request must not compile without this answer")]
    pub(crate) fn plans_with_tools(&self) -> bool {
        match self {
            Self::Ask { .. } => true,
            // A side question is planned without tools.
            Self::Aside { .. }
            | Self::Claim(_)
            | Self::GiveBackClaim(_)
            | Self::Cancel { .. }
            | Self::Consent { .. }
            | Self::DropAside { .. }
            | Self::KeepAside { .. } => false,
        }
    }
}
