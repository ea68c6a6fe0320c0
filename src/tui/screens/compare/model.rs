//! State of the comparison of two branches.
//! Not for: the keys (`update`).

use crate::domain::base::BranchId;
use crate::domain::conversation::compare::Turn;
use crate::domain::conversation::{Atom, Comparison};
use crate::tui::model::list::shift;
use std::collections::BTreeSet;

/// Two branches side by side.
#[derive(Clone, Debug, Default)]
pub struct CompareView {
    /// Both branches; None while they are loaded.
    pub compared: Option<Box<Comparison>>,
    /// Ticket of the request.
    pub ticket: u64,
    /// The side with the focus: 0 or 1.
    pub side: usize,
    /// Index of the turn under the cursor, for each side.
    pub cursor: [usize; 2],
    /// Rows of each side's text that are scrolled off its top, counted from the turn under the cursor.
    pub scroll: [usize; 2],
    /// Turns of each side that are selected for picking.
    pub taken: [BTreeSet<usize>; 2],
}

impl CompareView {
    /// The turn under the cursor.
    pub fn selected(&self) -> Option<&Turn> {
        self.compared.as_ref()?.sides[self.side].turns.get(self.cursor[self.side])
    }

    /// The focused branch and the other one.
    pub fn branches(&self) -> Option<(BranchId, BranchId)> {
        let sides = &self.compared.as_ref()?.sides;
        Some((sides[self.side].branch, sides[1 - self.side].branch))
    }

    /// The turns to pick: the selected turns, or else the turn under the cursor.
    pub fn wanted(&self) -> Vec<Atom> {
        let Some(compared) = &self.compared else { return Vec::new() };
        let turns = &compared.sides[self.side].turns;
        let taken: Vec<Atom> =
            self.taken[self.side].iter().filter_map(|at| turns.get(*at)).map(|turn| turn.atom).collect();
        if taken.is_empty() { self.selected().map(|turn| turn.atom).into_iter().collect() } else { taken }
    }

    /// Moves the focus to the other side.
    pub fn turn(&mut self) {
        self.side = 1 - self.side;
    }

    /// Moves the cursor by `by` turns.
    pub fn step(&mut self, by: i64) {
        let last = self.compared.as_ref().map_or(0, |it| it.sides[self.side].turns.len().saturating_sub(1));
        self.cursor[self.side] = shift(self.cursor[self.side], by, last);
        self.scroll[self.side] = 0;
    }

    /// Scrolls the text of the focused side.
    pub fn scroll(&mut self, by: isize) {
        let at = &mut self.scroll[self.side];
        *at = at.saturating_add_signed(by).min(20_000);
    }

    /// Selects all turns between the cursor and the nearest selected turn above it, or else below it. Without a
    /// selection, selects the turn under the cursor.
    pub fn take_range(&mut self) {
        let at = self.cursor[self.side];
        if self.selected().is_none() {
            return;
        }
        let taken = &mut self.taken[self.side];
        let from = taken.range(..=at).next_back().or(taken.range(at..).next()).copied().unwrap_or(at);
        taken.extend(from.min(at)..=from.max(at));
    }

    /// Selects or deselects the turn under the cursor.
    pub fn take(&mut self) {
        let at = self.cursor[self.side];
        if self.selected().is_some() && !self.taken[self.side].remove(&at) {
            self.taken[self.side].insert(at);
        }
    }
}
