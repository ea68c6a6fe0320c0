//! Requests about one branch: its head, its marks, its settings, and its messages.
//! Not for: turns (`turn`), or the content of a call (`plan`).

use super::super::acts::{Act, TagAct, TaskAct};
use super::super::draft::ItemName;
use crate::domain::base::{BranchId, NodeId};
use crate::domain::conversation::{Atom, Overrides, Role};
use crate::domain::summary::SummaryAuthor;
use std::sync::Arc;

/// A request about a branch.
#[derive(Clone, PartialEq, Debug)]
pub enum BranchRequest {
    /// Store the unsent text of a branch, so that it survives a restart; empty text deletes it.
    KeepDraft {
        branch: BranchId,
        text: Arc<str>,
    },
    /// Store a message that was cleared before it was sent, so that it survives a restart.
    KeepCleared {
        branch: BranchId,
        text: Arc<str>,
    },
    /// Switch to another branch and store it as the session's last used.
    Switch {
        /// The branch to switch to.
        branch: BranchId,
    },
    /// Make a branch whose head is `at` (or the nearest whole atom before it); `None` forks at the branch's head.
    Fork {
        /// The branch to fork from.
        branch: BranchId,
        /// The node to fork at.
        at: Option<NodeId>,
        /// The name; generated if `None`.
        name: Option<String>,
        /// Whether to switch to the new branch.
        switch: bool,
    },
    Rename {
        branch: BranchId,
        name: String,
    },
    /// Archive or unarchive a branch.
    Archive {
        branch: BranchId,
        archived: bool,
    },
    /// Move to the next or previous sibling of a node on the path (undoable).
    Sibling {
        branch: BranchId,
        /// The node. The nearest node with siblings is used: this one or an ancestor.
        node: NodeId,
        /// +1 for the next sibling, −1 for the previous one.
        step: i32,
    },
    /// Mark items (undone together).
    Mark {
        branch: BranchId,
        items: Vec<ItemName>,
        /// The act on each item.
        act: Act,
    },
    /// Replace a branch's overrides (undoable).
    Override {
        branch: BranchId,
        /// The complete new overrides.
        overrides: Overrides,
    },
    /// Make stored settings take precedence over the settings from the command line, because a person chose them again.
    /// Stores nothing.
    Choose {
        branch: BranchId,
        /// The chosen settings; `None` for the others.
        chosen: Overrides,
    },
    /// Replace a branch's state block with an edited one (undoable).
    EditState {
        branch: BranchId,
        text: String,
    },
    /// Rebuild the state block from the newest answer that has one, or have the model write it from the newest
    /// messages (undoable).
    RebuildState {
        branch: BranchId,
        /// Where the text comes from: an answer, or the model.
        by: SummaryAuthor,
    },
    /// Adopt the imported state that is offered on a branch (undoable).
    AdoptState(BranchId),
    /// Compare two branches of a session from the point where they diverge.
    Compare {
        /// The first.
        a: BranchId,
        /// The second.
        b: BranchId,
    },
    /// Copy items of one branch to another, with their origin (undoable).
    Pick {
        /// The branch to copy from.
        from: BranchId,
        items: Vec<ItemName>,
        /// The branch to copy to.
        onto: BranchId,
        /// Whether to copy them as one text instead of one per item.
        together: bool,
    },
    /// Add a branch's result to another branch as a card that links to its sources (undoable). The card is stale once
    /// the branch grows.
    BringBack {
        /// The branch whose result is taken.
        from: BranchId,
        /// The branch that gets the card; if `None`, the parent of `from`.
        onto: Option<BranchId>,
    },
    /// Label a message, or make it a favorite (undoable). A turn means its user message.
    Tag {
        /// A branch of the session.
        branch: BranchId,
        /// The message.
        item: ItemName,
        act: TagAct,
    },
    /// Archive several branches in one step (undoable).
    ArchiveAll {
        branches: Vec<BranchId>,
    },
    /// Append a message without calling a model.
    AddMessage {
        branch: BranchId,
        role: Role,
        text: String,
        /// The priority from 0 to 100, for the policy `levels`; `None` means 50.
        priority: Option<u8>,
    },
    /// Delete a turn's text permanently; its nodes stay in the tree. The caller has already asked the person to
    /// confirm.
    RemoveMessage {
        branch: BranchId,
        /// The turn.
        item: ItemName,
    },
    /// Dismiss a suggested pin (undoable); it is not suggested again on this branch.
    Dismiss {
        branch: BranchId,
        /// The suggested item.
        item: ItemName,
    },
    /// Start or end a task on a branch (undoable). Pins that the program set end with the task; an outcome becomes a
    /// memory.
    Task {
        branch: BranchId,
        act: TaskAct,
    },
    /// List the state changes of a branch's items and memories, oldest first (made, leased, renewed, suggested,
    /// expired, dismissed, …).
    Steps {
        branch: BranchId,
        /// Only the state changes of this item; for a turn, also the state changes of its messages. All if `None`.
        atom: Option<Atom>,
    },
}
