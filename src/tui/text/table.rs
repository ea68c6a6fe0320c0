//! Lays out a table as rows, never wider than the room: each column gets the width that it needs or a share, and cells
//! wrap.
//! Not for: parsing a table (`blocks`).

use super::rich::RichText;
use super::{Line, width};
use crate::tui::theme::Ink;
use pulldown_cmark::Alignment;
use unicode_segmentation::UnicodeSegmentation;

/// The least width of a column; a table that needs less becomes a list.
const MIN_COLUMN: usize = 5;

/// Text up to this width without a space is not broken, even at a slash or a dash.
const MAX_UNBROKEN: usize = 24;

/// A table being parsed.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) sides: Vec<Alignment>,
    pub(super) rows: Vec<Vec<RichText>>,
}

/// The glyphs of a table's borders.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableBorders {
    pub(super) pipe: &'static str,
    pub(super) rule: &'static str,
    pub(super) cross: &'static str,
}

impl Table {
    /// The table's rows in `room` columns.
    pub(super) fn lines(&self, room: usize, signs: TableBorders) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        match self.widths(columns, room) {
            Some(widths) => self.grid(&widths, signs),
            None => self.list(room),
        }
    }

    /// Widths of the columns; None if there is too little room for a grid.
    fn widths(&self, columns: usize, whole: usize) -> Option<Vec<usize>> {
        let room = whole.saturating_sub(columns.saturating_sub(1) * 3);
        let mut natural = vec![1; columns];
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                natural[at] = natural[at].max(cell.text.split('\n').map(width).max().unwrap_or(0));
            }
        }
        if natural.iter().sum::<usize>() <= room {
            return Some(natural);
        }
        // The widest columns are reduced until the rest fits: all columns above a common limit get that limit, but at
        // least the width of their longest word. If not even the longest words fit side by side, the table becomes a
        // list, in which each word has a whole row.
        let least = self.least(&natural, whole);
        if least.iter().sum::<usize>() > room {
            return None;
        }
        let held = |limit: usize| natural.iter().zip(&least).map(move |(wide, least)| (*wide).min(limit.max(*least)));
        let (mut low, mut high) = (0, room);
        while low < high {
            let limit = (low + high).div_ceil(2);
            if held(limit).sum::<usize>() <= room { low = limit } else { high = limit - 1 }
        }
        let mut widths: Vec<usize> = held(low).collect();
        let mut left = room.saturating_sub(widths.iter().sum());
        for (wide, want) in widths.iter_mut().zip(&natural) {
            if left > 0 && *wide < *want {
                (*wide, left) = (*wide + 1, left - 1);
            }
        }
        Some(widths)
    }

    /// The smallest width of each column that breaks no word. A word wider than `room`, which a list would break too,
    /// counts no more than [`MAX_UNBROKEN`].
    fn least(&self, natural: &[usize], room: usize) -> Vec<usize> {
        let mut least: Vec<usize> = natural.iter().map(|wide| (*wide).min(MIN_COLUMN)).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                for text in cell.text.split_whitespace() {
                    let words = text.split_word_bounds().map(width).filter(|wide| *wide <= room);
                    let wide = words.max().unwrap_or(0).max(width(text).min(MAX_UNBROKEN));
                    least[at] = least[at].max(wide);
                }
            }
        }
        least
    }

    fn grid(&self, widths: &[usize], signs: TableBorders) -> Vec<Line> {
        let mut out = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let empty = RichText::default();
            let ink = if at == 0 { Ink::Heading } else { Ink::Text };
            let cells: Vec<Vec<Line>> =
                widths.iter().enumerate().map(|(n, wide)| row.get(n).unwrap_or(&empty).lines(*wide, ink)).collect();
            for depth in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                out.push(self.row(&cells, depth, widths, signs));
            }
            if at == 0 {
                let dashes: Vec<String> = widths.iter().map(|wide| signs.rule.repeat(*wide)).collect();
                let cross = format!("{}{}{}", signs.rule, signs.cross, signs.rule);
                out.push(Line::of(Ink::Border, &dashes.join(&cross)));
            }
        }
        out
    }

    fn row(&self, cells: &[Vec<Line>], depth: usize, widths: &[usize], signs: TableBorders) -> Line {
        let mut line = Line::new();
        for (n, (cell, wide)) in cells.iter().zip(widths).enumerate() {
            if n > 0 {
                line.push_safe(Ink::Border, &format!(" {} ", signs.pipe));
            }
            let part = cell.get(depth).cloned().unwrap_or_default();
            let blank = wide.saturating_sub(part.width());
            let before = match self.sides.get(n) {
                Some(Alignment::Right) => blank,
                Some(Alignment::Center) => blank / 2,
                _ => 0,
            };
            line.push_safe(Ink::Text, &" ".repeat(before));
            line.pieces.extend(part.pieces);
            if n + 1 < cells.len() {
                line.push_safe(Ink::Text, &" ".repeat(blank - before));
            }
        }
        line
    }

    /// Each row as `heading: cell` lines, if there is too little room for a grid.
    fn list(&self, room: usize) -> Vec<Line> {
        let mut out = Vec::new();
        let Some((heads, rows)) = self.rows.split_first() else { return out };
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push(Line::new());
            }
            for (n, cell) in row.iter().enumerate() {
                let mut entry = RichText::default();
                let head = heads.get(n).map_or("", |head| head.text.as_str());
                if !head.is_empty() {
                    entry.push_safe(&format!("{head}: "), Some(Ink::Heading), None);
                }
                entry.append(cell);
                out.extend(entry.lines(room, Ink::Text));
            }
        }
        if rows.is_empty() {
            out.extend(heads.iter().flat_map(|head| head.lines(room, Ink::Heading)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(rows: &[Vec<String>]) -> Table {
        let cell = |raw: &String| {
            let mut cell = RichText::default();
            cell.push(raw, None, None);
            cell
        };
        let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        Table { sides: Vec::new(), rows }
    }

    /// The words of `rows` that no line has as a whole, in the lines of a grid or of a list.
    fn broken(rows: &[Vec<String>], lines: &[Line]) -> Vec<String> {
        let shown: Vec<String> = lines.iter().map(Line::plain).collect();
        let whole = |word: &str| shown.iter().any(|line| line.split([' ', '│', ':']).any(|part| part == word));
        let words = rows.iter().flatten().flat_map(|cell| cell.split(' '));
        words.filter(|word| !word.is_empty() && !whole(word)).map(str::to_owned).collect()
    }

    proptest! {
        #[test]
        fn a_grid_breaks_no_word_that_a_list_shows_whole(
            rows in proptest::collection::vec(
                proptest::collection::vec("[a-zA-Z0-9]{1,40}( [a-zA-Z0-9]{1,12}){0,6}", 5), 2..5),
            columns in 1usize..=5,
            room in 4usize..160,
        ) {
            let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row[..columns].to_vec()).collect();
            let table = table(&rows);
            let signs = TableBorders { pipe: "│", rule: "─", cross: "┼" };
            let listed = broken(&rows, &table.list(room));
            for word in broken(&rows, &table.lines(room, signs)) {
                prop_assert!(listed.contains(&word), "{word} is broken at {room} columns");
            }
        }
    }
}
