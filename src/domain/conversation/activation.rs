//! How alive an item is in a conversation: what touched it, turn by turn, and the numbers by which the program leases items
//! and lets go of them.
//! Not for: the decision itself (`context::activation`), finding out what touched what (`engine`) or pins (`mark`).

use crate::domain::base::hash::Hash;
use crate::domain::call::retrieval_set::ClusterId;
use crate::domain::planning::tuning::Milli;
use serde::{Deserialize, Serialize};

/// What one turn did to one older turn.
#[allow(clippy::struct_excessive_bools, reason = "each is a way of touching, and several can hold at once")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Touch {
    /// The older turn: the key of its user message.
    pub item: Hash,
    /// The person's message referred to it.
    #[serde(skip_serializing_if = "no")]
    pub user: bool,
    /// The answer referred to it.
    #[serde(skip_serializing_if = "no")]
    pub model: bool,
    /// It went with the call, outside the window.
    #[serde(skip_serializing_if = "no")]
    pub plan: bool,
    /// It was found for the message.
    #[serde(skip_serializing_if = "no")]
    pub found: bool,
    /// Somebody spoke of code that uses code of it, or that it uses.
    #[serde(skip_serializing_if = "no")]
    pub hop: bool,
    /// A tool that failed named something of it.
    #[serde(skip_serializing_if = "no")]
    pub against: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn no(flag: &bool) -> bool {
    !flag
}

impl Touch {
    /// Whether somebody spoke of it.
    #[must_use]
    pub fn refers(self) -> bool {
        self.user || self.model
    }
}

/// What one completed turn touched. Stored under the key of its last node, so that it counts on the paths that hold that.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Touches {
    /// The subject of its question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// The older turns that it touched, by their place on the path.
    pub touched: Vec<Touch>,
}

/// The numbers of activation, promotion and suggestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Activation {
    /// Whether the program pins anything by itself.
    pub on: bool,
    /// Whether questions are put into clusters: then being found counts in the cluster in which it happened, and leases end
    /// when two questions in a row are of others.
    pub clusters: bool,
    /// The share of an item's activation that stays from turn to turn.
    pub keep: Milli,
    /// Added when the person's message refers to it.
    pub user: Milli,
    /// Added when the answer refers to it.
    pub model: Milli,
    /// Added when it went with the call, outside the window.
    pub plan: Milli,
    /// Added when it was found for a question of the present cluster.
    pub found: Milli,
    /// Added when somebody spoke of code one use away from code of it.
    pub hop: Milli,
    /// Taken off when a tool that failed named something of it.
    pub negative: Milli,
    /// From this activation on an item is leased.
    pub promote: Milli,
    /// So is one that was referred to in this many of the last `within` turns.
    pub turns: u32,
    /// See `turns`.
    pub within: u32,
    /// Leases of the program's below this activation make room when their cap is full.
    pub demote: Milli,
    /// Leases that the program holds at once.
    pub leases: u32,
    /// Items that it keeps for one call at once.
    pub ephemeral: u32,
    /// After so many renewals it suggests to pin the item.
    pub suggest_after: u32,
}

impl Default for Activation {
    fn default() -> Self {
        Self {
            on: true,
            clusters: true,
            keep: Milli(700),
            user: Milli(1_000),
            model: Milli(600),
            plan: Milli(200),
            found: Milli(400),
            hop: Milli(300),
            negative: Milli(1_000),
            promote: Milli(2_000),
            turns: 2,
            within: 5,
            demote: Milli(100),
            leases: 8,
            ephemeral: 12,
            suggest_after: 3,
        }
    }
}
