//! Numbers as bars of character cells: the parts of a bar, the heights of columns, and a line of small columns.
//! Not for: the numbers (`ledger`, `plan`) or drawing them (the screen).

/// Distributes `width` cells of a bar among its parts by the largest remainder. Every nonzero part gets at least one
/// cell if there are enough cells, at the expense of the largest parts. Parts of 0 get none; if all parts are 0, no
/// cell is used.
pub fn shares(parts: &[u64], width: usize) -> Vec<usize> {
    let total: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if total == 0 || width == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: u64| u128::from(part) * width as u128;
    let mut cells: Vec<usize> =
        parts.iter().map(|part| usize::try_from(exact(*part) / total).unwrap_or(width)).collect();
    let nonzero = parts.iter().filter(|part| **part > 0).count();
    if nonzero <= width {
        for (cell, part) in cells.iter_mut().zip(parts) {
            *cell = (*cell).max(usize::from(*part > 0));
        }
    }
    let mut order: Vec<usize> = (0..parts.len()).filter(|at| parts[*at] > 0).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(exact(parts[*at]) % total), *at));
    let sum = cells.iter().sum::<usize>();
    for at in order.iter().cycle().take(width.saturating_sub(sum)) {
        cells[*at] += 1;
    }
    for _ in 0..sum.saturating_sub(width) {
        let widest = (0..cells.len()).max_by_key(|at| (cells[*at], std::cmp::Reverse(*at)));
        if let Some(at) = widest {
            cells[at] = cells[at].saturating_sub(1);
        }
    }
    cells
}

/// Returns the height of a column in eighths of a cell, in a chart that is `rows` cells high and whose top is the value
/// `most`. Nonzero values are at least one eighth high.
pub fn eighths(value: u64, most: u64, rows: u16) -> u32 {
    if value == 0 || most == 0 {
        return 0;
    }
    let room = u128::from(rows) * 8;
    let height = u128::from(value.min(most)) * room / u128::from(most);
    u32::try_from(height).unwrap_or(u32::MAX).max(1)
}

/// Returns the character of a cell that is filled to this many eighths from below.
pub fn cell(eighths: u32, ascii: bool) -> char {
    const FINE: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const PLAIN: [char; 9] = [' ', '.', '.', ':', ':', '|', '|', '#', '#'];
    let at = usize::try_from(eighths).unwrap_or(8).min(8);
    if ascii { PLAIN[at] } else { FINE[at] }
}

/// The character of a column with an unknown value.
pub const UNKNOWN: char = '?';
/// The character of a column with value 0.
pub const ZERO: char = '_';

/// Returns a line of columns that are one cell high: `?` for unknown values, `_` for 0. The value `most` fills a cell.
pub fn spark(values: impl IntoIterator<Item = Option<u64>>, most: u64, ascii: bool) -> String {
    let column = |value: Option<u64>| match value {
        None => UNKNOWN,
        Some(0) => ZERO,
        Some(value) => cell(eighths(value, most, 1), ascii),
    };
    values.into_iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_of_a_bar() {
        assert_eq!(shares(&[], 10), Vec::<usize>::new());
        assert_eq!(shares(&[0, 0], 10), [0, 0], "nothing has no cells");
        assert_eq!(shares(&[5, 5], 10), [5, 5]);
        assert_eq!(shares(&[1, 1_000_000, 0], 10), [1, 9, 0], "a small part is not lost");
        assert_eq!(shares(&[u64::MAX, u64::MAX], 8), [4, 4]);
        assert_eq!(shares(&[1, 1, 1], 2).iter().sum::<usize>(), 2, "more parts than cells");
        assert_eq!(shares(&[3, 4], 0), [0, 0]);
    }

    #[test]
    fn heights_of_columns() {
        assert_eq!((eighths(0, 10, 4), eighths(0, 0, 4), eighths(5, 0, 4)), (0, 0, 0));
        assert_eq!((eighths(7, 7, 1), eighths(7, 7, 4)), (8, 32), "equal ones are all full");
        assert_eq!(eighths(1, u64::MAX, 4), 1, "what is not nothing is seen");
        assert_eq!((eighths(u64::MAX, u64::MAX, 9), eighths(9, 3, 1)), (72, 8), "never over the top");
        assert_eq!(eighths(1, 2, 1), 4);
    }

    #[test]
    fn a_line_of_columns() {
        assert_eq!(spark([], 5, false), "");
        assert_eq!(spark([Some(3)], 3, false), "█");
        assert_eq!(spark([None, Some(0), Some(1), Some(4), Some(8)], 8, false), "?_▁▄█");
        assert_eq!(spark([None, Some(0), Some(1), Some(4), Some(8)], 8, true), "?_.:#");
    }

    proptest! {
        #[test]
        fn the_cells_of_a_bar_sum_to_its_width(parts in prop::collection::vec(0_u64..1_000_000, 1..16), width in 0_usize..200) {
            let cells = shares(&parts, width);
            let any = parts.iter().any(|part| *part > 0);
            prop_assert_eq!(cells.iter().sum::<usize>(), if any { width } else { 0 });
            let nonzero = parts.iter().filter(|part| **part > 0).count();
            for (part, cells) in parts.iter().zip(&cells) {
                prop_assert!(*part > 0 || *cells == 0);
                prop_assert!(*part == 0 || *cells > 0 || nonzero > width);
            }
        }

        /// If no part is too small for a cell, each has its exact share, and those with the largest remainders have one
        /// cell more.
        #[test]
        fn cells_follow_the_largest_remainder(parts in prop::collection::vec(10_u64..60, 1..8), width in 60_usize..90) {
            let (cells, total) = (shares(&parts, width), parts.iter().sum::<u64>());
            let exact = |at: usize| parts[at] * width as u64;
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|at| (std::cmp::Reverse(exact(*at) % total), *at));
            let whole: u64 = order.iter().map(|at| exact(*at) / total).sum();
            for (rank, at) in order.into_iter().enumerate() {
                let more = u64::from((rank as u64) < width as u64 - whole);
                prop_assert_eq!(cells[at] as u64, exact(at) / total + more);
            }
        }

        #[test]
        fn column_height_is_proportional_to_the_value(value in 1_u64..500, most in 1_u64..500, rows in 0_u16..9) {
            let (high, room) = (u64::from(eighths(value, most, rows)), u64::from(rows) * 8);
            let exact = value.min(most) * room;
            prop_assert!(high == (exact / most).max(1), "{high} of {room}");
        }
    }
}
