//! Requests about whole sessions, and reads of the open session.
//! Not for: one branch (`branch`).

use super::super::draft::NameOrId;
use crate::domain::base::ids::BranchId;
use crate::domain::base::ids::NodeId;
use crate::domain::base::ids::SessionId;
use crate::domain::conversation::record::IncomingPieces;

/// A request about sessions.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionRequest {
    /// All sessions, newest first.
    List,
    /// Makes a session with one empty branch `main`, and opens it.
    New {
        /// Its title; a dated one when empty.
        title: String,
    },
    /// Open a session (the last used; a new one if there is none and `create` is set).
    Open {
        /// Which.
        session: NameOrId,
        /// The branch to switch to; the last used if `None`.
        branch: NameOrId,
        /// Whether to make a session if there is none.
        create: bool,
    },
    /// Renames a session (undoable).
    Rename {
        /// Which.
        session: NameOrId,
        /// Its new title; if `None`, the model writes one.
        title: Option<String>,
    },
    /// Delete a session with all its messages permanently. The caller has asked the person to confirm.
    Delete {
        /// Which.
        session: NameOrId,
    },
    /// Sessions whose title or messages contain these words.
    Search {
        /// The text.
        words: String,
    },
    /// Search the messages of all sessions by words and filters (see
    /// [`SearchFilter`](crate::domain::conversation::search::SearchFilter)) in the background. A newer search replaces
    /// an older one, which is answered as stale.
    Find {
        /// The text that was typed.
        line: String,
        /// The maximum number.
        limit: usize,
    },
    /// Open a session on a branch that contains this message: the last used if it does, or else another; the last used
    /// if none does.
    OpenAt {
        /// The session.
        session: SessionId,
        /// The message.
        node: NodeId,
    },
    /// Contents of nodes of an open session.
    Bodies {
        /// Which.
        nodes: Vec<NodeId>,
    },
    /// Undoes the last operation of the session.
    Undo,
    /// Redo the last undone operation.
    Redo,
    /// Store the records of an import. The session that grew becomes the last used.
    Import {
        /// The records, read piece by piece.
        reading: IncomingPieces,
    },
    /// A branch's path as Markdown, with likely secrets masked.
    Markdown {
        /// Which.
        branch: BranchId,
    },
    /// A session as neutral records: the whole tree, or one branch's path.
    Transcript {
        /// Which.
        session: NameOrId,
        /// Only this branch.
        branch: Option<BranchId>,
    },
}
