//! Requests about sessions as wholes, and what is read from the open one.
//! Not for: one branch (`branch`).

use super::super::draft::NameOrId;
use crate::domain::base::ids::BranchId;
use crate::domain::base::ids::NodeId;
use crate::domain::base::ids::SessionId;
use crate::domain::conversation::record::Incoming;

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
    /// Opens a session (the last used; a new one when there is none and `create` is set).
    Open {
        /// Which.
        session: NameOrId,
        /// Which branch to stand on; the last used when none.
        branch: NameOrId,
        /// Make one where there is none.
        create: bool,
    },
    /// Renames a session (undoable).
    Rename {
        /// Which.
        session: NameOrId,
        /// Its new title; none has the model make one.
        title: Option<String>,
    },
    /// Deletes a session with all its messages for good. The caller has asked the person.
    Delete {
        /// Which.
        session: NameOrId,
    },
    /// Sessions whose title or messages hold these words.
    Search {
        /// The words.
        words: String,
    },
    /// Messages of all sessions by words and filters, as [`SearchFilter`](crate::domain::conversation::search::SearchFilter) reads them. Looked for beside
    /// everything else; a newer one takes the place of one that is under way, which is answered as stale.
    Find {
        /// What was typed.
        line: String,
        /// At most so many.
        limit: usize,
    },
    /// Opens a session on a branch that holds this message: the last used where it does, else one that does, else the last
    /// used all the same.
    OpenAt {
        /// Which session.
        session: SessionId,
        /// Which message.
        node: NodeId,
    },
    /// Contents of nodes of an open session.
    Bodies {
        /// Which.
        nodes: Vec<NodeId>,
    },
    /// Undoes the last operation of the session.
    Undo,
    /// Does the last undone operation again.
    Redo,
    /// Stores what an import read. The session that was added to becomes the last used.
    Import {
        /// What is read, piece by piece.
        reading: Incoming,
    },
    /// A branch's path as Markdown for reading, with what looks like a secret masked.
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
