//! Finds a query in rows, including matches that continue in the next row.
//! Not for: finding messages with matches (`chat::model::search`).

use super::{Line, width};
use crate::tui::theme::Ink;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The part of a match in one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchPart {
    /// Index of the row, from 0.
    pub row: usize,
    /// Columns of the part, from 0.
    pub columns: Range<usize>,
}

/// The rows that are searched: all except the rows above the text, such as its folded reasoning.
fn searched(rows: &[Line]) -> impl Iterator<Item = (usize, &Line)> {
    let leads = |row: &Line| !row.pieces.is_empty() && row.pieces.iter().all(|piece| piece.ink == Ink::Dim);
    let first = rows.iter().position(|row| !leads(row)).unwrap_or(rows.len());
    rows.iter().enumerate().skip(first)
}

/// The text of rows without the lines and bars around it. Rows are joined by a space.
pub fn text_of(rows: &[Line]) -> String {
    let mut out = String::new();
    for (_, row) in searched(rows) {
        row.pieces.iter().filter(|piece| piece.ink != Ink::Border).for_each(|piece| out.push_str(&piece.text));
        out.push(' ');
    }
    out
}

/// Finds `query` in rows, from the top. `fold` makes characters comparable and must have been applied to the query. A
/// run of white space, or the end of a row, counts as one space.
pub fn find(rows: &[Line], query: &str, fold: fn(char) -> char) -> Vec<Vec<MatchPart>> {
    let mut text = String::new();
    // Row, column, and width for every byte of the text.
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    let mut put = |c: char, place: (usize, usize, usize)| {
        let c = if c.is_whitespace() { ' ' } else { fold(c) };
        if c != ' ' || !(text.is_empty() || text.ends_with(' ')) {
            text.push(c);
            places.resize(text.len(), place);
        }
    };
    for (row, line) in searched(rows) {
        let mut column = 0;
        for piece in &line.pieces {
            for grapheme in piece.text.graphemes(true) {
                let wide = width(grapheme);
                if piece.ink != Ink::Border {
                    grapheme.chars().for_each(|c| put(c, (row, column, wide)));
                }
                column += wide;
            }
        }
        put(' ', (row, column, 0));
    }
    text.match_indices(query).map(|(at, found)| parts(&places[at..at + found.len()])).collect()
}

fn parts(places: &[(usize, usize, usize)]) -> Vec<MatchPart> {
    let mut parts: Vec<MatchPart> = Vec::new();
    for (row, column, wide) in places {
        let end = column + wide;
        match parts.last_mut().filter(|part| part.row == *row) {
            Some(part) => part.columns.end = part.columns.end.max(end),
            None => parts.push(MatchPart { row: *row, columns: *column..end }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(c: char) -> char {
        c.to_ascii_lowercase()
    }

    #[test]
    fn matches_continue_in_the_next_row_and_skip_bars() {
        let rows = [
            Line::of(Ink::Dim, "thinking of the old one"),
            Line::of(Ink::Border, "| ").with(Ink::Text, "still the Old"),
            Line::of(Ink::Border, "| ").with(Ink::Text, "one"),
        ];
        let found = find(&rows, "old one", fold);
        let parts = [MatchPart { row: 1, columns: 12..15 }, MatchPart { row: 2, columns: 2..5 }];
        assert_eq!(found, [parts]);
        assert_eq!(text_of(&rows), "still the Old one ");
    }

    #[test]
    fn wide_characters_keep_their_columns() {
        let found = find(&[Line::of(Ink::Text, "日本語 works, 日本")], "日本", fold);
        let columns: Vec<_> = found.iter().map(|parts| parts[0].columns.clone()).collect();
        assert_eq!(columns, [0..4, 14..18]);
    }
}
