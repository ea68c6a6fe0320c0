//! Requests about memories.
//! Not for: the state block (`branch`).

use super::super::acts::{MemoryAct, MemoryScope};
use super::super::draft::NameOrId;
use crate::domain::conversation::MemoryKind;

/// A request about memories.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryRequest {
    /// List the memories that apply to a session: all, oldest first, or the memories that match a text, best first.
    List {
        /// The session; if `None`, the open session, or else the last used one.
        session: NameOrId,
        /// The text to match.
        words: Option<String>,
        /// Only memories of this scope.
        scope: Option<MemoryScope>,
    },
    /// Store a person's own memory, confirmed from the start (undoable). Refused if it looks like a secret.
    Remember { kind: MemoryKind, text: String, scope: MemoryScope },
    /// Confirm, edit, dismiss, or delete a memory (undoable).
    Change {
        /// The memory's id, a prefix of it, or the short id that lists show.
        id: String,
        act: MemoryAct,
    },
}
