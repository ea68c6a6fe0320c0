//! Requests about whole sessions, and about the contents of the open one.
//! Not for: one branch (`branch`).

use super::super::draft::NameOrId;
use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::domain::conversation::IncomingPieces;

/// A request about sessions.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionRequest {
    /// List all sessions, newest first.
    List,
    /// Make a session with one empty branch `main` and open it.
    New {
        /// The title; if empty, one with the date.
        title: String,
    },
    /// Open a session. If `session` is `None`, opens the last used session, or a new one if there is none and `create`
    /// is set.
    Open {
        session: NameOrId,
        /// The branch to switch to; the last used one if `None`.
        branch: NameOrId,
        /// Whether to make a session if there is none.
        create: bool,
    },
    /// Open a session as `Open` does. If there is none, open a new one in memory only, so that its first
    /// request can be planned.
    OpenUnsaved {
        session: NameOrId,
        /// The branch to switch to; the last used one if `None`.
        branch: NameOrId,
    },
    /// Rename a session (undoable).
    Rename {
        session: NameOrId,
        /// The new title; if `None`, the model writes one.
        title: Option<String>,
    },
    /// Delete a session with all its messages permanently. The caller has already asked the person to confirm.
    Delete { session: NameOrId },
    /// Find sessions whose title or messages contain these words.
    Search { words: String },
    /// Search the messages of all sessions by words and filters (see
    /// [`SearchFilter`](crate::domain::conversation::search::SearchFilter)) in the background. A newer search replaces
    /// an older one, whose request is answered as stale.
    Find {
        /// The text that was typed.
        line: String,
        /// The maximum number of results.
        limit: usize,
    },
    /// Open a session on a branch that contains this message: the last used branch if it contains the message, or else
    /// another. If no branch contains it, opens the last used branch.
    OpenAt {
        session: SessionId,
        /// The message.
        node: NodeId,
    },
    /// Read the contents of nodes of an open session.
    Bodies { nodes: Vec<NodeId> },
    /// Undo the last operation of the session.
    Undo,
    /// Redo the last undone operation.
    Redo,
    /// Store the records of an import. The session that grew becomes the last used session.
    Import {
        /// The records, read piece by piece.
        reading: IncomingPieces,
    },
    /// Export a branch's path as Markdown, with likely secrets masked.
    Markdown { branch: BranchId },
    /// Export a session as neutral records: the whole tree, or one branch's path.
    Transcript {
        session: NameOrId,
        /// Only the path of this branch; the whole tree if `None`.
        branch: Option<BranchId>,
    },
    /// Export a session with its calls: the whole tree, or one branch's path. Collected in the background.
    Bundle {
        session: NameOrId,
        /// Only the path of this branch; the whole tree if `None`.
        branch: Option<BranchId>,
    },
}
