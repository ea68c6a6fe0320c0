//! Numbers as bars of character cells: the parts of a bar, the heights of columns, and a line of small columns.
//! Not for: the numbers (`ledger`, `plan`) or drawing them (the screen).

/// Returns how many of `width` cells are filled for `used` of `of`: the nearest number, but at least one if anything is
/// used, and all of them only if `used` reaches `of`.
pub fn filled(used: u64, of: u64, width: usize) -> usize {
    if used == 0 || width == 0 {
        return 0;
    }
    if used >= of {
        return width;
    }
    let (exact, of) = (u128::from(used) * width as u128, u128::from(of));
    let nearest = usize::try_from((exact * 2 + of) / (of * 2)).unwrap_or(width);
    nearest.min(width - 1).max(1)
}

/// Distributes `width` cells among parts in proportion to their sizes, by the largest remainder. A part that is too
/// small for a cell gets none; if all parts are 0, no cell is used.
pub fn shares(parts: &[u64], width: usize) -> Vec<usize> {
    let total: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if total == 0 || width == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: u64| u128::from(part) * width as u128;
    let mut cells: Vec<usize> =
        parts.iter().map(|part| usize::try_from(exact(*part) / total).unwrap_or(width)).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(exact(parts[*at]) % total), *at));
    let rest = width.saturating_sub(cells.iter().sum());
    for at in order.into_iter().take(rest) {
        cells[at] += 1;
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

/// Returns the character of a cell that is filled to this many eighths from the left; none if it is empty.
pub fn part_of_cell(eighths: usize, ascii: bool) -> Option<char> {
    const FINE: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    const PLAIN: [char; 8] = [':', ':', ':', ':', '|', '|', '|', '#'];
    eighths.checked_sub(1).and_then(|at| if ascii { PLAIN.get(at) } else { FINE.get(at) }).copied()
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
        assert_eq!(shares(&[1, 1_000_000, 0], 10), [0, 10, 0], "a part that is too small has no cell");
        assert_eq!(shares(&[38, 4, 62, 1], 6), [2, 0, 4, 0]);
        assert_eq!(shares(&[u64::MAX, u64::MAX], 8), [4, 4]);
        assert_eq!(shares(&[1, 1, 1], 2).iter().sum::<usize>(), 2, "more parts than cells");
        assert_eq!(shares(&[3, 4], 0), [0, 0]);
    }

    #[test]
    fn filled_cells_of_a_bar() {
        assert_eq!((filled(0, 100, 26), filled(1, 100_000, 26), filled(0, 0, 26)), (0, 1, 0));
        assert_eq!((filled(2, 100, 26), filled(8, 100, 26), filled(50, 100, 26)), (1, 2, 13));
        assert_eq!((filled(999, 1_000, 26), filled(1_000, 1_000, 26), filled(2_000, 1_000, 26)), (25, 26, 26));
        assert_eq!((filled(5, 10, 1), filled(5, 10, 0), filled(u64::MAX - 1, u64::MAX, 8)), (1, 0, 7));
    }

    #[test]
    fn heights_of_columns() {
        assert_eq!((eighths(0, 10, 4), eighths(0, 0, 4), eighths(5, 0, 4)), (0, 0, 0));
        assert_eq!((eighths(7, 7, 1), eighths(7, 7, 4)), (8, 32), "equal ones are all full");
        assert_eq!(eighths(1, u64::MAX, 4), 1, "a value above 0 is visible");
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
        fn the_cells_of_a_bar_sum_to_its_width_in_proportion(
            parts in prop::collection::vec(0_u64..1_000_000, 1..16),
            width in 0_usize..200,
        ) {
            let (cells, total) = (shares(&parts, width), parts.iter().sum::<u64>());
            prop_assert_eq!(cells.iter().sum::<usize>(), if total > 0 { width } else { 0 });
            for (part, cells) in parts.iter().zip(&cells).filter(|_| total > 0) {
                let whole = part * width as u64 / total;
                let exact = (part * width as u64).is_multiple_of(total);
                prop_assert!(*cells as u64 == whole || (*cells as u64 == whole + 1 && !exact), "{parts:?} {cells}");
            }
        }

        #[test]
        fn filled_cells_are_proportional_within_one(used in 0_u64..50_000, of in 1_u64..50_000, width in 2_usize..200) {
            let cells = filled(used, of, width);
            let exact = used.min(of) * width as u64;
            prop_assert!((cells as u64 * of).abs_diff(exact) <= of, "{cells} of {width}");
            prop_assert_eq!(cells == 0, used == 0);
            prop_assert_eq!(cells == width, used >= of);
        }

        #[test]
        fn column_height_is_proportional_to_the_value(value in 1_u64..500, most in 1_u64..500, rows in 0_u16..9) {
            let (high, room) = (u64::from(eighths(value, most, rows)), u64::from(rows) * 8);
            let exact = value.min(most) * room;
            prop_assert!(high == (exact / most).max(1), "{high} of {room}");
        }
    }
}
