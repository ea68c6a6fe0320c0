//! Counts over all rows of a plan: the same numbers in the title and the list of the request screen, in the panel, and on
//! the command line.
//! Not for: drawing them.

use super::plan::{Row, RowKind, Verdict};
use super::reason::Reason;
use crate::domain::call::tokens::short;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Counts over the rows of a plan.
#[derive(Clone, Debug, Default)]
pub struct RowCounts {
    /// Number of included rows.
    pub included: u64,
    /// Number of items that are left out. A range counts as all of its turns; a turn does not count if a card of it is
    /// included.
    pub out: u64,
    /// Tokens of those items.
    pub out_tokens: u64,
    /// Columns of the widest number of tokens.
    pub widest: usize,
    /// Number of included cards by turn.
    cards: HashMap<u32, usize>,
    /// Index of the row of each turn that is included only by cards.
    quoted: HashMap<u32, usize>,
    /// Index of the row of each turn that is left out and has a row of its own.
    out_turns: HashMap<u32, usize>,
    /// The turns of each range that is left out, with the index of its row.
    out_ranges: Vec<(Range<u32>, usize)>,
}

impl RowCounts {
    /// Counts rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for row in rows.iter().filter(|row| row.included()) {
            // The heading of a search is part of what was found.
            counts.included += u64::from(row.kind != RowKind::Search);
            if let (RowKind::Card, Some(turn)) = (row.kind, row.source.turn) {
                *counts.cards.entry(turn).or_default() += 1;
            }
        }
        let quoted = rows.iter().enumerate().filter(|(_, row)| counts.cards_of(row) > 0);
        counts.quoted = quoted.filter_map(|(at, row)| Some((row.source.turn?, at))).collect();
        let is_unquoted = |row: &Row| counts.cards_of(row) == 0 && row.reason != Reason::OffPath;
        let is_out = |row: &Row| matches!(row.verdict, Verdict::Out { .. }) && is_unquoted(row);
        let turns = rows.iter().enumerate().filter(|(_, row)| row.kind == RowKind::Turn && is_out(row));
        let turns = turns.filter_map(|(at, row)| Some((row.source.turn?, at)));
        counts.out_turns = turns.collect();
        let ranges = rows.iter().enumerate().filter(|(_, row)| row.kind == RowKind::Range);
        let turns_of = |row: &Row| row.source.turn.map(|first| first..first.saturating_add(row.turns));
        counts.out_ranges = ranges.filter_map(|(at, row)| Some((turns_of(row)?, at))).collect();
        counts.out = rows.iter().map(|row| counts.left_out(row)).sum();
        counts.out_tokens = rows.iter().map(|row| counts.tokens_out(row)).sum();
        counts.widest = rows.iter().map(|row| short(u64::from(row.tokens)).len()).max().unwrap_or_default();
        counts
    }

    /// How many cards of a turn that is left out are included; 0 for other rows.
    pub fn cards_of(&self, row: &Row) -> usize {
        let is_turn = row.kind == RowKind::Turn && matches!(row.verdict, Verdict::Out { .. });
        // The message of an inactive mark is on another branch, whose turns have other numbers.
        let turn = row.source.turn.filter(|_| is_turn && row.reason != Reason::OffPath);
        turn.and_then(|turn| self.cards.get(&turn).copied()).unwrap_or_default()
    }

    /// The number of left-out items that a row counts for; 0 for a row that is included (even if only by cards), for a
    /// card of a turn that has its own row, and for a row that is not shown.
    pub fn left_out(&self, row: &Row) -> u64 {
        let is_out = matches!(row.verdict, Verdict::Out { .. });
        if !is_out || self.cards_of(row) > 0 || is_blank(row) || self.out_turn_of_card(row).is_some() {
            return 0;
        }
        let (turns, first) = (row.turns.max(1), row.source.turn.filter(|_| row.kind == RowKind::Range));
        let has_cards = |turn: &&u32| first.is_some_and(|first| (first..first.saturating_add(turns)).contains(*turn));
        let quoted = self.cards.keys().filter(has_cards).count() as u64;
        u64::from(turns).saturating_sub(quoted)
    }

    /// The tokens of a row that is left out; 0 if it counts for no item.
    pub fn tokens_out(&self, row: &Row) -> u64 {
        if self.left_out(row) > 0 { u64::from(row.tokens) } else { 0 }
    }

    /// The index of the row of an included card's turn; None if the turn has no separate row.
    pub fn turn_of_card(&self, row: &Row) -> Option<usize> {
        let turn = row.source.turn.filter(|_| row.kind == RowKind::Card && row.included())?;
        self.quoted.get(&turn).copied()
    }

    /// The index of the row of a left-out card's turn, if the turn is left out too.
    fn out_turn_of_card(&self, row: &Row) -> Option<usize> {
        let is_out_card = row.kind == RowKind::Card && matches!(row.verdict, Verdict::Out { .. });
        let turn = row.source.turn.filter(|_| is_out_card && row.reason != Reason::OffPath)?;
        let range = || self.out_ranges.iter().find(|(turns, _)| turns.contains(&turn)).map(|(_, at)| *at);
        self.out_turns.get(&turn).copied().or_else(range)
    }

    /// Moves the left-out cards of each turn after the row of the turn, in their order.
    pub fn out_under_their_turns(&self, rows: &[Row], part: &[usize]) -> Vec<usize> {
        let listed: HashSet<usize> = part.iter().copied().collect();
        let turn = |at: usize| self.out_turn_of_card(&rows[at]).filter(|turn| listed.contains(turn));
        let mut cards: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, turn) in part.iter().filter_map(|at| Some((*at, turn(*at)?))) {
            cards.entry(turn).or_default().push(at);
        }
        let mut sorted = Vec::with_capacity(part.len());
        for &at in part.iter().filter(|at| turn(**at).is_none()) {
            sorted.push(at);
            sorted.append(&mut cards.remove(&at).unwrap_or_default());
        }
        sorted
    }

    /// Puts the cards of each turn together, at the place of the turn's first card, after the row of the turn unless
    /// that row is in `listed`. The rows of such turns are added to `listed`.
    pub fn under_their_turns(&self, rows: &[Row], part: Vec<usize>, listed: &mut Vec<usize>) -> Vec<usize> {
        let mut sorted = Vec::with_capacity(part.len());
        for at in group_cards(rows, part) {
            let turn = self.turn_of_card(&rows[at]).filter(|turn| !listed.contains(turn));
            listed.extend(turn);
            sorted.extend(turn);
            sorted.push(at);
        }
        sorted
    }
}

/// Whether a row represents only an imported message without a text, which keeps a position in the tree. Such a row is
/// neither shown nor counted.
pub fn is_blank(row: &Row) -> bool {
    row.reason == Reason::Hidden && row.title.is_empty()
}

/// Moves the cards of each turn together, to the place of the turn's first card.
fn group_cards(rows: &[Row], part: Vec<usize>) -> Vec<usize> {
    let turn = |at: usize| rows[at].source.turn.filter(|_| rows[at].kind == RowKind::Card);
    let mut sorted: Vec<usize> = Vec::with_capacity(part.len());
    for at in part {
        let same = turn(at).and_then(|of| sorted.iter().rposition(|before| turn(*before) == Some(of)));
        sorted.insert(same.map_or(sorted.len(), |before| before + 1), at);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::conversation::mark::Atom;
    use crate::domain::planning::plan::Source;
    use crate::domain::planning::policy::Section;

    fn row(kind: RowKind, turn: u32, tokens: u32, out: bool) -> Row {
        let inside = Verdict::In { section: Section::Retrieved };
        let verdict = if out { Verdict::Out { needed: 0, remedy: None } } else { inside };
        let atom = Atom::Section { text: Hash::of(format!("{kind:?} {turn} {tokens}").as_bytes()) };
        let source = Source { turn: Some(turn), ..Source::default() };
        Row { tokens, source, ..Row::new(atom, kind, verdict, Reason::OutsideWindow) }
    }

    #[test]
    fn turns_with_cards_are_not_left_out_and_ranges_count_their_turns() {
        let mut rows = vec![
            row(RowKind::Card, 7, 50, false),
            row(RowKind::Card, 3, 40, false),
            row(RowKind::Card, 7, 60, false),
            row(RowKind::Turn, 9, 900, true),
            row(RowKind::Turn, 7, 700, true),
            row(RowKind::Range, 1, 2_000, true),
        ];
        rows[5].turns = 6;
        let counts = RowCounts::of(&rows);
        assert_eq!((counts.included, counts.out, counts.out_tokens), (3, 1 + 5, 900 + 2_000));
        let mut listed = Vec::new();
        let order = counts.under_their_turns(&rows, vec![0, 1, 2], &mut listed);
        assert_eq!((order, listed), (vec![4, 0, 2, 1], vec![4]), "cards stand under their turn");
        rows.push(row(RowKind::Card, 9, 70, true));
        rows.push(row(RowKind::Card, 2, 30, true));
        rows.push(row(RowKind::Card, 7, 20, true));
        let counts = RowCounts::of(&rows);
        assert_eq!((counts.out, counts.out_tokens), (1 + 5 + 1, 900 + 2_000 + 20), "a turn counts once");
        assert_eq!(counts.out_under_their_turns(&rows, &[6, 3, 7, 5, 8]), [3, 6, 5, 7, 8]);
        rows.truncate(6);
        rows[4].reason = Reason::OffPath;
        assert_eq!(RowCounts::of(&rows).out, 7, "the turn of another branch has no card here");
    }
}
