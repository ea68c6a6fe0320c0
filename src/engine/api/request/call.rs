//! Requests about stored calls: lists, differences, replays, races.
//! Not for: the next call (`plan`).

use super::super::acts::CallSelector;
use super::super::draft::ItemName;
use crate::domain::base::{BranchId, RunId};
use crate::domain::call::Limits;
use crate::domain::conversation::{Atom, Overrides};
use crate::domain::planning::Draft;

/// A request about calls that were made.
#[derive(Clone, PartialEq, Debug)]
pub enum CallRequest {
    /// List the calls of the open session, newest last.
    List,
    /// Show the figures of each call of a branch or of its whole session.
    Ledger {
        branch: BranchId,
        /// Whether to include all branches of the session.
        whole: bool,
    },
    /// Show how the answer used the items of a call.
    Uses { run: RunId },
    /// Show a stored plan.
    StoredPlan {
        /// A unique prefix of the plan's id or of a run's id.
        id: String,
    },
    /// Show the request of a call as the workbench shows it: the plan, the server's counts, the use of its items, and
    /// the calls before and after it.
    SentRequest {
        /// The branch on the screen, which determines the calls before and after.
        branch: BranchId,
        /// The call; the newest of the branch if `None`.
        run: Option<RunId>,
    },
    /// Show the text of a row of a stored plan, or of a message in it, as it was sent.
    SentText {
        run: RunId,
        /// The atom of the row or of the message.
        atom: Atom,
    },
    /// Compare two calls and name the causes of their differences. The answer lists the earlier call first.
    DiffPlans {
        /// The first call; if `None`, the call before the second on its branch.
        before: Option<CallSelector>,
        /// The second call.
        after: CallSelector,
    },
    /// Render a stored call again from the store, whole or without one item, and compare its digest. Sends nothing.
    ReplayDryRun {
        /// A unique prefix of the run's id.
        run: String,
        /// The item to leave out.
        without: Option<ItemName>,
    },
    /// Replay a stored call on a scratch branch: byte for byte, for another model, or without one item. Answered when
    /// the run is recorded. The original call is not touched.
    Replay {
        /// A unique prefix of the run's id.
        run: String,
        /// The profile to use instead of the stored one.
        profile: Option<String>,
        /// The model to use instead of the stored one.
        model: Option<String>,
        /// The item to leave out.
        without: Option<ItemName>,
    },
    /// Plan a draft under each set of settings, then make one branch per set at a branch's head (undone together). No
    /// branch is made if a request does not fit its budget. The limits apply to the first question that is asked there.
    Race {
        branch: BranchId,
        /// The settings of each new branch.
        variants: Vec<Overrides>,
        /// The limits of each branch; a limit that is not set comes from the settings.
        limits: Limits,
        /// The draft that will be sent on each branch.
        draft: Draft,
    },
    /// Keep one branch of a race and archive the others (undoable). The kept branch takes the name of the raced branch
    /// if that branch has not changed.
    KeepOne {
        /// The branch to keep.
        branch: BranchId,
    },
}

impl CallRequest {
    /// Returns whether the request makes a plan of a new call, which offers tools.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new request must not compile without this answer")]
    pub(crate) fn plans_with_tools(&self) -> bool {
        match self {
            Self::Race { .. } => true,
            Self::List
            | Self::Ledger { .. }
            | Self::Uses { .. }
            | Self::StoredPlan { .. }
            | Self::SentRequest { .. }
            | Self::SentText { .. }
            | Self::DiffPlans { .. }
            | Self::ReplayDryRun { .. }
            | Self::Replay { .. }
            | Self::KeepOne { .. } => false,
        }
    }
}
