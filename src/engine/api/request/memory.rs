//! Requests about memories.
//! Not for: the state block (`branch`).

use super::super::acts::MemoryAct;
use super::super::acts::MemoryScope;
use super::super::draft::NameOrId;
use crate::domain::conversation::memory::MemoryKind;

/// A request about memories.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryRequest {
    /// Memories that apply to a session: all, oldest first, or those that match a text, best first.
    List {
        /// The session; the open one, or else the last used, if `None`.
        session: NameOrId,
        /// The text to match.
        words: Option<String>,
        /// Only those of this scope.
        scope: Option<MemoryScope>,
    },
    /// Store a person's own memory, confirmed from the start (undoable). Refused if it looks like a secret.
    Remember {
        /// Its kind.
        kind: MemoryKind,
        /// Its text.
        text: String,
        /// Its scope.
        scope: MemoryScope,
    },
    /// Confirms, edits, dismisses or deletes a memory (undoable).
    Change {
        /// Its id, a prefix of it, or the short id that lists show.
        id: String,
        /// The action.
        act: MemoryAct,
    },
}
