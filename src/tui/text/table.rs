//! Lays out a table as rows, never wider than the room: each column gets the width that it needs or a share, and cells
//! wrap.
//! Not for: parsing a table (`blocks`).

use super::rich::RichText;
use super::{Line, width};
use crate::tui::theme::Ink;
use pulldown_cmark::Alignment;

/// The least width of a column; a table that needs less becomes a list.
const MIN_COLUMN: usize = 5;

/// The maximum width that a column gets for its longest word; longer words, such as addresses, are broken.
const MAX_WORD: usize = 24;

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
        let between = columns.saturating_sub(1) * 3;
        match self.widths(columns, room.saturating_sub(between)) {
            Some(widths) => self.grid(&widths, signs),
            None => self.list(room),
        }
    }

    /// Widths of the columns; None if there is too little room for a grid.
    fn widths(&self, columns: usize, room: usize) -> Option<Vec<usize>> {
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
        // least the width of their longest word.
        let least = self.least(&natural);
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

    /// The smallest width of each column that breaks no word, except very long words.
    fn least(&self, natural: &[usize]) -> Vec<usize> {
        let mut least: Vec<usize> = natural.iter().map(|wide| (*wide).min(MIN_COLUMN)).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                let longest = cell.text.split_whitespace().map(width).max().unwrap_or(0);
                least[at] = least[at].max(longest.min(MAX_WORD));
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
