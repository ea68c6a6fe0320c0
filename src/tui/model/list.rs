//! Moves a cursor in a list, and scrolls rows.
//! Not for: the contents of lists.

/// Moves an index by `by` steps, at most to `last`.
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step) };
    to.min(last)
}

/// The scroll position of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scroll {
    /// Rows scrolled off the top.
    pub top: usize,
    /// Number of rows and height of their view, as last drawn.
    pub seen: (usize, usize),
}

impl Scroll {
    /// The largest position, which shows the last page.
    pub fn last(self) -> usize {
        self.seen.0.saturating_sub(self.seen.1)
    }

    /// Scrolls by `by` rows, at most to the last page.
    pub fn by(&mut self, by: i64) {
        self.top = shift(self.top, by, self.last());
    }
}

/// The index nearest to `at`, itself included, that `can` accepts: first in direction `way`, then in the other
/// direction; `at` if none of the `count` indices is accepted.
pub(crate) fn nearest(at: usize, count: usize, way: i64, can: impl Fn(usize) -> bool) -> usize {
    let after = (at..count).find(|n| can(*n));
    let before = (0..count.min(at + 1)).rev().find(|n| can(*n));
    if way < 0 { before.or(after) } else { after.or(before) }.unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_index_is_sought_in_both_directions() {
        let even = |n: usize| n.is_multiple_of(2);
        assert_eq!([nearest(2, 5, 1, even), nearest(2, 5, -1, even)], [2, 2]);
        assert_eq!([nearest(3, 5, 1, even), nearest(3, 5, -1, even)], [4, 2]);
        assert_eq!([nearest(3, 4, 1, even), nearest(0, 0, 1, even)], [2, 0], "the other direction, or none");
        assert_eq!(nearest(1, 3, -1, |n| n == 2), 2);
    }
}
