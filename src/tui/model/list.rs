//! The cursor of a list and the scroll position of rows: how every list of the workbench moves.
//! Not for: the contents of lists.

/// Moves an index by `by` steps, at most to `last`.
pub(crate) fn shift(at: usize, by: i64, last: usize) -> usize {
    let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    let to = if by < 0 { at.saturating_sub(step) } else { at.saturating_add(step) };
    to.min(last)
}

/// The cursor of a list, for a move: the selected row, the number of rows, and what depends on the selected row.
pub struct ListCursor<'a> {
    at: &'a mut usize,
    rows: usize,
    details: Option<&'a mut usize>,
    can: Option<Box<dyn Fn(usize) -> bool + 'a>>,
}

impl<'a> ListCursor<'a> {
    /// Borrows the selected row of a list of `rows` rows.
    pub fn new(at: &'a mut usize, rows: usize) -> Self {
        Self { at, rows, details: None, can: None }
    }

    /// Adds the scroll position of the selected row's details, which starts again when the cursor moves.
    #[must_use]
    pub fn with_details(self, scroll: &'a mut usize) -> Self {
        Self { details: Some(scroll), ..self }
    }

    /// Selects only rows that `can` accepts; the cursor passes over the others.
    #[must_use]
    pub fn only(self, can: impl Fn(usize) -> bool + 'a) -> Self {
        Self { can: Some(Box::new(can)), ..self }
    }

    /// Moves the cursor by `by` rows.
    pub fn step(self, by: i64) {
        let to = shift(*self.at, by, usize::MAX);
        self.put(to);
    }

    /// Moves the cursor to a row, at most to the last.
    pub fn put(self, row: usize) {
        let (from, to) = (*self.at, row.min(self.rows.saturating_sub(1)));
        let way = if row < from { -1 } else { 1 };
        *self.at = self.can.map_or(to, |can| nearest(to, self.rows, way, can));
        if let Some(scroll) = self.details.filter(|_| *self.at != from) {
            *scroll = 0;
        }
    }
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
    use super::{ListCursor, nearest};

    #[test]
    fn the_cursor_stays_in_the_list_and_passes_over_headings() {
        let (mut at, mut scroll) = (0, 7);
        let mut step = |by: i64| {
            ListCursor::new(&mut at, 5).with_details(&mut scroll).only(|row| row % 2 == 1).step(by);
            let seen = (at, scroll);
            scroll = 7;
            seen
        };
        assert_eq!([step(1), step(1), step(9), step(1)], [(1, 0), (3, 0), (3, 7), (3, 7)]);
        assert_eq!([step(-2), step(i64::MIN)], [(1, 0), (1, 7)], "details start again only at another row");
        let mut none = 0;
        ListCursor::new(&mut none, 0).put(3);
        assert_eq!(none, 0);
    }

    #[test]
    fn the_nearest_index_is_sought_in_both_directions() {
        let even = |n: usize| n.is_multiple_of(2);
        assert_eq!([nearest(2, 5, 1, even), nearest(2, 5, -1, even)], [2, 2]);
        assert_eq!([nearest(3, 5, 1, even), nearest(3, 5, -1, even)], [4, 2]);
        assert_eq!([nearest(3, 4, 1, even), nearest(0, 0, 1, even)], [2, 0], "the other direction, or none");
        assert_eq!(nearest(1, 3, -1, |n| n == 2), 2);
    }
}
