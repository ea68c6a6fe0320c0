//! Counts over all rows of a plan, computed once for each plan that the request overlay shows.
//! Not for: drawing them (`view`).

use crate::domain::call::tokens::short;
use crate::domain::planning::plan::{Row, RowKind, Verdict};
use std::collections::HashMap;

/// Counts over the rows of a plan.
#[derive(Clone, Debug, Default)]
pub struct RowCounts {
    /// Number of included rows.
    pub included: u64,
    /// Number of items that are left out. A range counts as all its turns; a turn of which a card is included does not
    /// count.
    pub out: u64,
    /// Columns of the widest number of tokens.
    pub widest: usize,
    /// Number of included cards by turn.
    cards: HashMap<u32, usize>,
}

impl RowCounts {
    /// Counts rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for row in rows.iter().filter(|row| row.included()) {
            counts.included += 1;
            if let (RowKind::Card, Some(turn)) = (row.kind, row.source.turn) {
                *counts.cards.entry(turn).or_default() += 1;
            }
        }
        let out = rows.iter().filter(|row| matches!(row.verdict, Verdict::Out { .. }) && counts.cards_of(row) == 0);
        counts.out = out.map(|row| u64::from(row.turns.max(1))).sum();
        counts.widest = rows.iter().map(|row| short(u64::from(row.tokens)).len()).max().unwrap_or_default();
        counts
    }

    /// How many cards of a turn that is left out are included; 0 for other rows.
    pub fn cards_of(&self, row: &Row) -> usize {
        let turn = row.source.turn.filter(|_| row.kind == RowKind::Turn && !row.included());
        turn.and_then(|turn| self.cards.get(&turn).copied()).unwrap_or_default()
    }
}
