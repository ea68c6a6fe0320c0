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
    /// What the calls of a branch, or of its whole session, came to, one after the other.
    Ledger {
        /// Of which branch.
        branch: BranchId,
        /// Of all branches of its session.
        whole: bool,
    },
    /// What became of the items of a call.
    Uses {
        /// Which.
        run: RunId,
    },
    /// A stored plan, by a unique prefix of its id, or of a run's id.
    StoredPlan {
        /// The prefix.
        id: String,
    },
    /// What differs between two calls, and by whose act. The earlier one is told first, whatever the order.
    DiffPlans {
        /// One; when none, the call before the other on its branch.
        before: Option<CallSelector>,
        /// The other.
        after: CallSelector,
    },
    /// Renders a stored call again from the store and compares its digest; sends nothing.
    ReplayDryRun {
        /// The run, by a unique prefix.
        run: String,
    },
    /// Makes a stored call again on a scratch branch at its place: byte for byte, for another model, or without one item.
    /// Answered when the run row is written. The original is not touched.
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
    /// Makes a branch for each of several settings at a branch's head (undone together); the first question stands under the limits.
    Race {
        /// Whose head.
        branch: BranchId,
        /// The settings of each.
        arms: Vec<Overrides>,
        /// What each may take at the most; where nothing is said, what the settings say.
        limits: Limits,
    },
    /// Keeps one branch of a race under the raced branch's name, where that stands as it stood; the others are put away (undoable).
    KeepOne {
        /// Which.
        branch: BranchId,
    },
}
