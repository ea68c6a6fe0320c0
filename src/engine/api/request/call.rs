//! Requests about stored calls: lists, differences, calls made again, races.
//! Not for: the next call (`plan`).

use super::super::acts::CallSelector;
use super::super::draft::ItemName;
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::race::Limits;
use crate::domain::conversation::branch::Overrides;

/// A request about calls that were made.
#[derive(Clone, PartialEq, Debug)]
pub enum CallRequest {
    /// The calls of a session, newest last.
    List,
    /// The figures of each call of a branch or of its whole session.
    Ledger {
        /// The branch.
        branch: BranchId,
        /// All branches of its session.
        whole: bool,
    },
    /// How the answer used the items of a call.
    Uses {
        /// Which.
        run: RunId,
    },
    /// A stored plan, by a unique prefix of its id, or of a run's id.
    StoredPlan {
        /// The prefix.
        id: String,
    },
    /// The differences between two calls and their causes. The earlier call comes first in the answer.
    DiffPlans {
        /// The first call; if `None`, the call before the second on its branch.
        before: Option<CallSelector>,
        /// The second.
        after: CallSelector,
    },
    /// Renders a stored call again from the store and compares its digest; sends nothing.
    ReplayDryRun {
        /// The run, by a unique prefix.
        run: String,
    },
    /// Replay a stored call on a scratch branch: byte for byte, for another model, or without one item. Answered when
    /// the run is recorded. The original is not touched.
    Replay {
        /// The run, by a unique prefix.
        run: String,
        /// Another profile.
        profile: Option<String>,
        /// Another model.
        model: Option<String>,
        /// Without this item of the call.
        without: Option<ItemName>,
    },
    /// Make one branch per set of settings at a branch's head (undone together). The limits apply to the first
    /// question.
    Race {
        /// The branch.
        branch: BranchId,
        /// The settings of each new branch.
        arms: Vec<Overrides>,
        /// The limits of each branch; unset limits come from the settings.
        limits: Limits,
    },
    /// Keep one branch of a race under the name of the raced branch, if that is unchanged; archive the others
    /// (undoable).
    KeepOne {
        /// Which.
        branch: BranchId,
    },
}
