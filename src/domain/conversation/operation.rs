//! The operation log: what was changed, so that it can be undone and redone.
//! Not for: messages (they are never undone, only left) or carrying operations out (`engine`).

use super::branch::Overrides;
use super::mark::{Atom, Mark};
use super::memory::Memory;
use super::tag::Tag;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, SessionId};
use serde::{Deserialize, Serialize};

/// One reversible change. Undo applies `before`, but only where the present still equals `after`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A mark came, went or changed.
    Mark {
        /// Whose.
        branch: BranchId,
        /// On what.
        target: Atom,
        /// Until then.
        before: Option<Box<Mark>>,
        /// From then.
        after: Option<Box<Mark>>,
    },
    /// A branch's head moved by an act (regenerate, edit, sibling).
    Head {
        /// Whose.
        branch: BranchId,
        /// Until then.
        before: Option<NodeId>,
        /// From then.
        after: Option<NodeId>,
    },
    /// A branch was renamed.
    Name {
        /// Which.
        branch: BranchId,
        /// Until then.
        before: String,
        /// From then.
        after: String,
    },
    /// A branch was put away or taken back.
    Archived {
        /// Which.
        branch: BranchId,
        /// Until then.
        before: bool,
        /// From then.
        after: bool,
    },
    /// A branch was made; undoing archives it.
    Forked {
        /// Which.
        branch: BranchId,
    },
    /// Mode, policy, budget, model … of a branch.
    Overrides {
        /// Whose.
        branch: BranchId,
        /// Until then.
        before: Box<Overrides>,
        /// From then.
        after: Box<Overrides>,
    },
    /// The session's title.
    Title {
        /// Until then.
        before: String,
        /// From then.
        after: String,
    },
    /// Other capsules are in use: a summary was accepted, or a level taken back.
    Capsules {
        /// Whose.
        branch: BranchId,
        /// Until then.
        before: Vec<Hash>,
        /// From then.
        after: Vec<Hash>,
    },
    /// A hand-edited state version came or went (`None` falls back to the path's own).
    State {
        /// Whose.
        branch: BranchId,
        /// The version until then.
        before: Option<u32>,
        /// The version from then.
        after: Option<u32>,
    },
    /// A message was named or starred, or no longer.
    Tag {
        /// In which session.
        session: SessionId,
        /// The message's key.
        node: Hash,
        /// Until then.
        before: Option<Tag>,
        /// From then.
        after: Option<Tag>,
    },
    /// A tool changed a file of the workspace. The texts stand in the store under their hashes.
    File {
        /// Which, beneath the workspace.
        path: String,
        /// Its text until then; none where it did not exist.
        before: Option<Hash>,
        /// Its text from then; none where it went.
        after: Option<Hash>,
    },
    /// A memory came, went or changed.
    Memory {
        /// Until then.
        before: Option<Box<Memory>>,
        /// From then.
        after: Option<Box<Memory>>,
    },
}

/// A group of changes made by one act.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Counts up within the store.
    pub seq: u64,
    /// Where.
    pub session: SessionId,
    /// What was done, for people: "pinned turn 3".
    pub what: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Whether it is undone at present.
    pub undone: bool,
    /// Milliseconds since 1970.
    pub at: i64,
}
