//! The requests about memories. The list itself is a `picker`.
//! Not for: memories (`domain::conversation::memory`).

/// The purpose of a request about memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoriesPending {
    List,
    /// To change a memory; the list is loaded again afterward.
    Change,
}
