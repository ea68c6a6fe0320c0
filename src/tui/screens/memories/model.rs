//! The pending requests about memories. The list itself is a `picker`.
//! Not for: memories (`domain::conversation::memory`).

/// The purpose of a request about memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoriesPending {
    /// To list them.
    List,
    /// To change one; the list is read again afterwards.
    Change,
}
