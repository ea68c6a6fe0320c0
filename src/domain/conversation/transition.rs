//! Transitions of an item's state (suggested, dismissed, confirmed, leased, pinned), each with its actor and reason.
//! Not for: undoing them (`operation`) or deciding them (`engine`).

use super::mark::{Actor, Atom, MarkKind};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{BranchId, MemoryId};
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};

/// The item or memory whose state changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// An item of plans.
    Item(Atom),
    Memory(MemoryId),
}

impl Subject {
    /// Returns the hash that is the storage key of this subject's transitions.
    pub fn key(&self) -> Hash {
        match self {
            Self::Item(atom) => atom.key(),
            Self::Memory(id) => Fields::new("memory").text(&id.to_string()).finish(),
        }
    }
}

named_enum! {
    /// The state of an item.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum ItemState {
        /// No state.
        None = "none",
        /// Waits for a person's decision.
        Suggested = "suggested",
        /// Dismissed by a person.
        Dismissed = "dismissed",
        /// Confirmed by a person.
        Confirmed = "confirmed",
        /// Included by the program for one call.
        Ephemeral = "ephemeral",
        Leased = "leased",
        /// Pinned until removed.
        Sticky = "sticky",
        Excluded = "excluded",
    }
}

impl ItemState {
    /// Returns the state of an item with this mark.
    pub fn of(mark: MarkKind) -> Self {
        match mark {
            MarkKind::Sticky => Self::Sticky,
            MarkKind::Leased { .. } => Self::Leased,
            MarkKind::IncludeOnce | MarkKind::Ephemeral => Self::Ephemeral,
            MarkKind::Exclude | MarkKind::ExcludeOnce => Self::Excluded,
        }
    }
}

/// A transition as stored. It contains no text of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Transition {
    pub item: Subject,
    pub from: ItemState,
    pub to: ItemState,
    /// A short reason, written by the program.
    pub reason: String,
    /// The key of the message at which it happened; `None` if there was no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Hash>,
    /// The branch; `None` if the transition applies to all branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchId>,
    /// Who caused it.
    pub by: Actor,
    /// Milliseconds since 1970.
    pub at: i64,
}
