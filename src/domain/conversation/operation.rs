//! The operation log: changes recorded for undo and redo.
//! Not for: messages (which are never undone) or carrying out operations (`engine`).

use super::branch::Overrides;
use super::mark::{Atom, Mark};
use super::memory::Memory;
use super::tag::Tag;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use serde::{Deserialize, Serialize};

/// A reversible change. Undo restores `before`, but only if the current value still equals `after`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A mark was added, removed, or changed.
    Mark { branch: BranchId, target: Atom, before: Option<Box<Mark>>, after: Option<Box<Mark>> },
    /// An act moved a branch's head (regenerate, edit, sibling).
    Head { branch: BranchId, before: Option<NodeId>, after: Option<NodeId> },
    /// A branch was renamed.
    Name { branch: BranchId, before: String, after: String },
    /// A branch was archived or restored.
    Archived { branch: BranchId, before: bool, after: bool },
    /// A branch was created; undo archives it.
    Forked { branch: BranchId },
    /// A branch's own settings changed: mode, policy, budget, model, and so on.
    Overrides { branch: BranchId, before: Box<Overrides>, after: Box<Overrides> },
    /// The session's title changed.
    Title { before: String, after: String },
    /// The summaries in use changed: one was accepted, or one was undone.
    #[serde(rename = "capsules")]
    Summaries { branch: BranchId, before: Vec<Hash>, after: Vec<Hash> },
    /// The state version that a person wrote for a branch changed. `None` means that the version on the path applies.
    State {
        branch: BranchId,
        /// The version before.
        before: Option<u32>,
        /// The version after.
        after: Option<u32>,
    },
    /// A message's label changed, or whether it is a favorite.
    Tag {
        session: SessionId,
        /// The message's key.
        node: Hash,
        before: Option<Tag>,
        after: Option<Tag>,
    },
    /// A tool changed a file of the workspace. The texts are stored under their hashes.
    File {
        /// The path relative to the workspace.
        path: String,
        /// The text before; `None` if it did not exist.
        before: Option<Hash>,
        /// The text after; `None` if it was deleted.
        after: Option<Hash>,
    },
    /// A memory was added, removed, or changed.
    Memory { before: Option<Box<Memory>>, after: Option<Box<Memory>> },
}

impl Change {
    /// Returns the branch that it changes; `None` if it concerns more than a branch.
    pub fn branch(&self) -> Option<BranchId> {
        match self {
            Self::Mark { branch, .. }
            | Self::Head { branch, .. }
            | Self::Name { branch, .. }
            | Self::Archived { branch, .. }
            | Self::Forked { branch }
            | Self::Overrides { branch, .. }
            | Self::Summaries { branch, .. }
            | Self::State { branch, .. } => Some(*branch),
            Self::Title { .. } | Self::Tag { .. } | Self::File { .. } | Self::Memory { .. } => None,
        }
    }
}

/// The changes of one act, which undo and redo treat as one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// The sequence number, which increases within the store.
    pub seq: u64,
    pub session: SessionId,
    /// The act for display, such as "pinned turn 3".
    pub what: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Whether it is currently undone.
    pub undone: bool,
    /// Milliseconds since 1970.
    pub at: i64,
}
