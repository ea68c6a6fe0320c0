//! Requests about memories.
//! Not for: the state block (`branch`).

use super::super::acts::MemoryAct;
use super::super::acts::MemoryScope;
use super::super::draft::NameOrId;
use crate::domain::conversation::memory::MemoryKind;

/// A request about memories.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryRequest {
    /// Memories that hold in a session: all, oldest first, or those that fit some words, best first.
    List {
        /// Which session; the open one, or the last used, when none.
        session: NameOrId,
        /// What they are about.
        words: Option<String>,
        /// Only those that hold there.
        scope: Option<MemoryScope>,
    },
    /// Keeps a memory of the person's own, confirmed from the start (undoable). Refused where it looks like a secret.
    Remember {
        /// What it is.
        kind: MemoryKind,
        /// What is to be known.
        text: String,
        /// Where it holds.
        scope: MemoryScope,
    },
    /// Confirms, edits, dismisses or deletes a memory (undoable).
    Change {
        /// Its id, the beginning of it, or the short one that lists show.
        id: String,
        /// What to do.
        act: MemoryAct,
    },
}
