//! Movement of a cursor in a list.
//! Not for: the content of a list.

/// A position moved by some steps within a list.
#[must_use]
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step) };
    to.min(last)
}
