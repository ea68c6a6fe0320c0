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
    /// Keeps what is being written on a branch, so that it is there after a restart; empty forgets it.
    KeepDraft {
        /// On which branch.
        branch: BranchId,
        /// The words.
        text: Arc<str>,
    },
    /// Stands on another branch; the session remembers it as the last used.
    Switch {
        /// Which.
        branch: BranchId,
    },
    /// A new branch whose head is `at` (moved back to the nearest whole atom); `None` forks at the branch's head.
    Fork {
        /// From which.
        branch: BranchId,
        /// Where.
        at: Option<NodeId>,
        /// Its name; made up when none.
        name: Option<String>,
        /// Stand on it.
        switch: bool,
    },
    /// Renames a branch.
    Rename {
        /// Which.
        branch: BranchId,
        /// Its new name.
        name: String,
    },
    /// Puts a branch away, or takes it back.
    Archive {
        /// Which.
        branch: BranchId,
        /// Away.
        archived: bool,
    },
    /// Moves the head to the newest leaf below `node`, or to `node` itself when `exact` (undoable).
    MoveHead {
        /// Of which branch.
        branch: BranchId,
        /// Where to.
        node: NodeId,
        /// Stop right there.
        exact: bool,
    },
    /// Moves to the next or previous sibling of a node on the path (undoable).
    Sibling {
        /// Of which branch.
        branch: BranchId,
        /// Of which node; the nearest ancestor-or-self with siblings at or above it is used.
        node: NodeId,
        /// +1 or −1.
        step: i32,
    },
    /// Marks items (one undo group).
    Mark {
        /// On which branch.
        branch: BranchId,
        /// What.
        items: Vec<ItemName>,
        /// How.
        act: Act,
    },
    /// Changes what a branch overrides: each given value replaces the branch's (undoable).
    Override {
        /// Which branch.
        branch: BranchId,
        /// The wished overrides, whole.
        overrides: Overrides,
    },
    /// Replaces the state block of a branch by a hand-edited one (undoable).
    EditState {
        /// Which branch.
        branch: BranchId,
        /// The new text.
        text: String,
    },
    /// Rebuilds the state from the state blocks in the messages of the window.
    RebuildState(BranchId),
    /// Takes the state that came with an import and waits on a branch (undoable).
    AdoptState(BranchId),
    /// Two branches of a session side by side, from where they part.
    Compare {
        /// One.
        a: BranchId,
        /// The other.
        b: BranchId,
    },
    /// Picks items of one branch onto another, with where they came from (undoable).
    Pick {
        /// From which branch.
        from: BranchId,
        /// What.
        items: Vec<ItemName>,
        /// Onto which.
        onto: BranchId,
        /// As one text, instead of each for itself.
        together: bool,
    },
    /// Brings what a branch came to back as a card that links to its sources (undoable); it is stale once the branch grows.
    BringBack {
        /// Which branch.
        from: BranchId,
        /// Onto which; the one that it was forked from when none.
        onto: Option<BranchId>,
    },
    /// Names or stars a message (undoable); for a turn, its question.
    Tag {
        /// A branch of the session.
        branch: BranchId,
        /// Which message.
        item: ItemName,
        /// What.
        act: TagAct,
    },
    /// Puts several branches away in one step (undoable).
    PutAway {
        /// Which.
        branches: Vec<BranchId>,
    },
    /// Appends a message without calling a model.
    AddMessage {
        /// To which branch.
        branch: BranchId,
        /// Who says it.
        role: Role,
        /// What.
        text: String,
        /// Its priority from 0 to 100, for the policy `levels`; none is 50.
        priority: Option<u8>,
    },
    /// Deletes a turn for good; only its place is left. The caller has asked the person.
    RemoveMessage {
        /// On which branch.
        branch: BranchId,
        /// Which turn.
        item: ItemName,
    },
    /// Turns a pin down that the model suggested (undoable); it is not suggested again on this branch.
    Dismiss {
        /// On which branch.
        branch: BranchId,
        /// Which.
        item: ItemName,
    },
    /// Begins or ends a task on a branch (undoable). The program's own pins end with a task; an outcome is remembered.
    Task {
        /// On which branch.
        branch: BranchId,
        /// What.
        act: TaskAct,
    },
    /// The steps of a branch's items and memories, oldest first: made, leased, renewed, suggested, expired, dismissed …
    Steps {
        /// Of which branch.
        branch: BranchId,
        /// Only those of this item (of a turn, those of its messages too).
        atom: Option<Atom>,
    },
}
