//! One step in the life of something that may be sent: suggested, pinned, dismissed, leased, confirmed; with who and why.
//! Not for: undoing it (`operation`) or deciding it (`engine`).

use super::mark::{Actor, Atom, MarkKind};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{BranchId, MemoryId};
use serde::{Deserialize, Serialize};

/// What took the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// An item of plans.
    Item(Atom),
    /// A memory.
    Memory(MemoryId),
}

impl Subject {
    /// One hash for it, by which its steps are found.
    #[must_use]
    pub fn key(&self) -> Hash {
        match self {
            Self::Item(atom) => atom.key(),
            Self::Memory(id) => Fields::new("memory").text(&id.to_string()).finish(),
        }
    }
}

/// Where an item can stand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemState {
    /// Nowhere yet, or no more.
    None,
    /// Somebody must look at it.
    Suggested,
    /// Turned down.
    Dismissed,
    /// A person said that it is right.
    Confirmed,
    /// In by itself, for one call.
    Ephemeral,
    /// A pin for some turns.
    Leased,
    /// A pin until taken off.
    Sticky,
    /// Taken out.
    Excluded,
}

impl ItemState {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Suggested => "suggested",
            Self::Dismissed => "dismissed",
            Self::Confirmed => "confirmed",
            Self::Ephemeral => "ephemeral",
            Self::Leased => "leased",
            Self::Sticky => "sticky",
            Self::Excluded => "excluded",
        }
    }

    /// Where a mark puts its item.
    #[must_use]
    pub fn of(mark: MarkKind) -> Self {
        match mark {
            MarkKind::Sticky => Self::Sticky,
            MarkKind::Leased { .. } => Self::Leased,
            MarkKind::IncludeOnce | MarkKind::Ephemeral => Self::Ephemeral,
            MarkKind::Exclude | MarkKind::ExcludeOnce => Self::Excluded,
        }
    }
}

/// A step, as it is stored. It holds no text of any message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transition {
    /// What.
    pub item: Subject,
    /// From where.
    pub from: ItemState,
    /// To where.
    pub to: ItemState,
    /// Why, in a few words of the program's.
    pub reason: String,
    /// The key of the message at which it happened; none where there is no message yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Hash>,
    /// On which branch; none for what holds beyond one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchId>,
    /// Who.
    pub by: Actor,
    /// Milliseconds since 1970.
    pub at: i64,
}
