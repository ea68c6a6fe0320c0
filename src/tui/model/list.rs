//! Moves a cursor in a list.
//! Not for: the contents of lists.

/// Moves an index by `by` steps, at most to `last`.
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step) };
    to.min(last)
}
