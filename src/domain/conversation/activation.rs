//! The activation of items: which turns touched an item and how, and the thresholds for leasing and releasing items.
//! Not for: the decision (`context::activation`), recording touches (`engine`), or pins (`mark`).

use crate::domain::base::hash::Hash;
use crate::domain::call::retrieval_set::ClusterId;
use crate::domain::code::symbols::CodeRef;
use crate::domain::planning::tuning::Milli;
use serde::{Deserialize, Serialize};

/// How one turn touched one older turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Touch {
    /// The older turn: the key of its user message.
    pub item: Hash,
    /// Whether the person's message referred to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub user: bool,
    /// Whether the answer referred to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub model: bool,
    /// Whether it was sent with the call, outside the window.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plan: bool,
    /// Whether it was retrieved for the message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// Whether the turn referred to code that uses the older turn's code, or that the older turn's code uses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hop: bool,
    /// Whether a failed tool call named a part of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub against: bool,
}

impl Touch {
    /// Returns whether the person or the answer referred to it.
    pub fn refers(self) -> bool {
        self.user || self.model
    }
}

/// How one turn touched one symbol of the workspace's code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SymbolTouch {
    pub code: CodeRef,
    /// How it was touched; its item is the symbol's key.
    #[serde(flatten)]
    pub touch: Touch,
}

/// The items that one completed turn touched. Stored under the key of the turn's last node, so that they count on paths
/// that contain the turn.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Touches {
    /// The cluster of the turn's question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// Whether the question names nothing, so that it stays in the cluster of the one before it. False in turns stored by
    /// earlier versions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inherited: bool,
    /// The older turns that the turn touched, in the order of the path.
    pub touched: Vec<Touch>,
    /// The symbols of the code that the turn touched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<SymbolTouch>,
    /// The retrieval set of the code search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_set: Option<Hash>,
}

/// The weights and thresholds for activation, leases, and suggested pins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Activation {
    /// Whether the program pins items automatically.
    pub on: bool,
    /// Whether questions are clustered. If so, retrieval counts only within its own cluster, and leases end when two
    /// questions in a row belong to other clusters.
    pub clusters: bool,
    /// The share of an item's activation that remains after a turn.
    pub keep: Milli,
    /// Added when the person's message refers to it.
    pub user: Milli,
    /// Added when the answer refers to it.
    pub model: Milli,
    /// Added when it was sent with the call, outside the window.
    pub plan: Milli,
    /// Added when it was retrieved for a question of the current cluster.
    pub found: Milli,
    /// Added when a turn referred to code that uses the item's code, or that the item's code uses.
    pub hop: Milli,
    /// Subtracted when a failed tool call named a part of it.
    pub negative: Milli,
    /// Minimum activation at which an item is leased.
    pub promote: Milli,
    /// Number of references in the last `within` turns after which an item is also leased.
    pub turns: u32,
    /// See `turns`.
    pub within: u32,
    /// Activation below which the program's leases end when their cap is full.
    pub demote: Milli,
    /// Maximum number of leases by the program at the same time.
    pub leases: u32,
    /// Maximum number of items that the program keeps for one call.
    pub ephemeral: u32,
    /// Number of renewals after which the program suggests pinning the item.
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
