//! Answers about memories.
//! Not for: memories as editable texts (`editable`).

use crate::domain::conversation::Memory;

/// An answer about memories.
#[derive(Clone, PartialEq, Debug)]
pub enum MemoryAnswer {
    /// The memories that were found or made.
    Memories(Vec<Memory>),
}
