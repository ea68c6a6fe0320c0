//! Requests about one branch: its place, its marks, its settings, the messages on it.
//! Not for: turns (`turn`) or what a call would send (`plan`).

use super::super::acts::Act;
use super::super::acts::TagAct;
use super::super::acts::TaskAct;
use super::super::draft::ItemName;
use crate::domain::base::ids::BranchId;
use crate::domain::base::ids::NodeId;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::Role;
use std::sync::Arc;

/// A request about a branch.
#[derive(Clone, PartialEq, Debug)]
pub enum BranchRequest {
    /// Store the text that is being written on a branch, for after a restart; empty text deletes it.
    KeepDraft {
        /// The branch.
        branch: BranchId,
        /// The text.
        text: Arc<str>,
    },
    /// Store the message that was cleared before it was sent, for after a restart.
    KeepCleared {
        /// The branch.
        branch: BranchId,
        /// The text.
        text: Arc<str>,
    },
    /// Switch to another branch, which becomes the session's last used.
    Switch {
        /// Which.
        branch: BranchId,
    },
    /// Make a branch whose head is `at` (or the nearest whole atom before it); `None` forks at the branch's head.
    Fork {
        /// From which.
        branch: BranchId,
        /// The node.
        at: Option<NodeId>,
        /// Its name; generated if `None`.
        name: Option<String>,
        /// Whether to switch to it.
        switch: bool,
    },
    /// Renames a branch.
    Rename {
        /// Which.
        branch: BranchId,
        /// Its new name.
        name: String,
    },
    /// Archive or unarchive a branch.
    Archive {
        /// Which.
        branch: BranchId,
        /// Whether to archive it.
        archived: bool,
    },
    /// Moves the head to the newest leaf below `node`, or to `node` itself when `exact` (undoable).
    MoveHead {
        /// The branch.
        branch: BranchId,
        /// The node.
        node: NodeId,
        /// Whether to stop at the node itself.
        exact: bool,
    },
    /// Moves to the next or previous sibling of a node on the path (undoable).
    Sibling {
        /// The branch.
        branch: BranchId,
        /// The node; the nearest ancestor-or-self with siblings is used.
        node: NodeId,
        /// +1 or −1.
        step: i32,
    },
    /// Marks items (one undo group).
    Mark {
        /// The branch.
        branch: BranchId,
        /// The items.
        items: Vec<ItemName>,
        /// How.
        act: Act,
    },
    /// Replace a branch's overrides (undoable).
    Override {
        /// The branch.
        branch: BranchId,
        /// The complete new overrides.
        overrides: Overrides,
    },
    /// Replace a branch's state block with an edited one (undoable).
    EditState {
        /// The branch.
        branch: BranchId,
        /// The new text.
        text: String,
    },
    /// Rebuilds the state from the state blocks in the messages of the window.
    RebuildState(BranchId),
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
        /// The items.
        items: Vec<ItemName>,
        /// The branch to copy to.
        onto: BranchId,
        /// As one text instead of one per item.
        together: bool,
    },
    /// Bring back a branch's result as a card that links to its sources (undoable). The card is stale once the branch
    /// grows.
    BringBack {
        /// The branch.
        from: BranchId,
        /// The target; the branch that it was forked from if `None`.
        onto: Option<BranchId>,
    },
    /// Label or star a message (undoable); for a turn, its question.
    Tag {
        /// A branch of the session.
        branch: BranchId,
        /// The message.
        item: ItemName,
        /// The change.
        act: TagAct,
    },
    /// Archive several branches in one step (undoable).
    PutAway {
        /// Which.
        branches: Vec<BranchId>,
    },
    /// Appends a message without calling a model.
    AddMessage {
        /// The branch.
        branch: BranchId,
        /// The role.
        role: Role,
        /// The text.
        text: String,
        /// Its priority from 0 to 100, for the policy `levels`; none is 50.
        priority: Option<u8>,
    },
    /// Delete a turn permanently; only its place remains. The caller has asked the person to confirm.
    RemoveMessage {
        /// The branch.
        branch: BranchId,
        /// The turn.
        item: ItemName,
    },
    /// Dismiss a suggested pin (undoable); it is not suggested again on this branch.
    Dismiss {
        /// The branch.
        branch: BranchId,
        /// Which.
        item: ItemName,
    },
    /// Start or end a task on a branch (undoable). The program's own pins end with a task; an outcome becomes a memory.
    Task {
        /// The branch.
        branch: BranchId,
        /// The action.
        act: TaskAct,
    },
    /// The steps of a branch's items and memories, oldest first (made, leased, renewed, suggested, expired, dismissed,
    /// …).
    Steps {
        /// The branch.
        branch: BranchId,
        /// Only those of this item; for a turn, also those of its messages.
        atom: Option<Atom>,
    },
}
