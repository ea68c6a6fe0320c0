//! State of the call history, of the comparison of two calls, and of an item's history.
//! Not for: the keys (`update`).

use crate::domain::base::RunId;
use crate::domain::call::RunCard;
use crate::domain::planning::{DiffKind, ItemDiff, ItemHistory, PlanDiff};
use crate::tui::model::list::{ListCursor, Scroll};

/// The list of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The calls, newest first.
    pub cards: Vec<RunCard>,
    /// Whether they are being loaded.
    pub loading: bool,
    /// Index of the call under the cursor.
    pub cursor: usize,
    /// Rows of the detail that are scrolled off its top.
    pub scroll: usize,
    /// The calls that are marked for comparing, at most two, the one marked first at the front.
    pub chosen: Vec<RunId>,
    /// The call to move the cursor to once the list is loaded.
    pub wanted: Option<RunId>,
}

impl Calls {
    /// Stores the calls, given oldest first. The cursor stays on its call.
    pub fn fill(&mut self, mut cards: Vec<RunCard>) {
        let selected = self.wanted.take().or_else(|| self.selected().map(|card| card.id));
        cards.reverse();
        let found = cards.iter().position(|card| Some(card.id) == selected);
        self.cursor = found.unwrap_or(self.cursor).min(cards.len().saturating_sub(1));
        (self.cards, self.loading) = (cards, false);
    }

    /// Adds a call that began, or updates one that changed.
    pub fn upsert(&mut self, card: &RunCard) {
        match self.cards.iter_mut().find(|known| known.id == card.id) {
            Some(known) => *known = card.clone(),
            None if !self.loading => {
                self.cards.insert(0, card.clone());
                self.cursor = (self.cursor + 1).min(self.cards.len() - 1);
            }
            None => {}
        }
    }

    /// The call under the cursor.
    pub fn selected(&self) -> Option<&RunCard> {
        self.cards.get(self.cursor)
    }

    /// Marks the call under the cursor for comparing, or unmarks it. A third mark replaces the oldest mark.
    pub fn choose(&mut self) {
        let Some(id) = self.selected().map(|card| card.id) else { return };
        if let Some(at) = self.chosen.iter().position(|chosen| *chosen == id) {
            self.chosen.remove(at);
            return;
        }
        self.chosen.push(id);
        if self.chosen.len() > 2 {
            self.chosen.remove(0);
        }
    }

    /// The calls that Enter compares, the earlier one first: the two marked calls, or the marked call and the call under
    /// the cursor. None if Enter compares the call under the cursor with the previous call.
    pub fn compared(&self) -> Option<(RunId, RunId)> {
        let (a, b) = match *self.chosen.as_slice() {
            [a, b] => (a, b),
            [a] => (a, self.selected()?.id),
            _ => return None,
        };
        let place = |id: RunId| self.cards.iter().position(|card| card.id == id);
        (a != b).then(|| if place(a) > place(b) { (a, b) } else { (b, a) })
    }
}

impl Default for Calls {
    /// An empty list that is being loaded.
    fn default() -> Self {
        Self { cards: Vec::new(), loading: true, cursor: 0, scroll: 0, chosen: Vec::new(), wanted: None }
    }
}

/// One line in the list of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Heading of a kind of difference, with the number of items and the tokens that they add.
    Kind(DiffKind, usize, i64),
    /// An item that differs, by its index in the diff's `deltas`.
    Delta(usize),
    /// The tokens that the message overhead and the tool definitions add.
    Overhead(i64),
}

/// The differences between the plans of two calls.
#[derive(Clone, Debug, Default)]
pub struct DiffView {
    /// The differences; None while they are computed.
    pub diff: Option<Box<PlanDiff>>,
    /// Ticket of the request.
    pub ticket: u64,
    /// Lines of the list.
    pub entries: Vec<Entry>,
    /// Index of the line under the cursor.
    pub cursor: usize,
    /// Rows of the detail that are scrolled off its top.
    pub scroll: usize,
    /// Height of the list when last drawn, in rows.
    pub page: u16,
}

impl DiffView {
    /// Stores the differences and builds the list.
    pub fn show(&mut self, diff: Box<PlanDiff>) {
        self.entries.clear();
        let mut overhead = i64::from(diff.after.tokens) - i64::from(diff.before.tokens);
        for kind in DiffKind::ALL {
            let (count, tokens) = diff.sum(kind);
            overhead -= tokens;
            if count > 0 {
                self.entries.push(Entry::Kind(kind, count, tokens));
                let own = diff.deltas.iter().enumerate().filter(|(_, delta)| delta.kind() == kind);
                self.entries.extend(own.map(|(at, _)| Entry::Delta(at)));
            }
        }
        self.entries.extend((overhead != 0).then_some(Entry::Overhead(overhead)));
        self.diff = Some(diff);
        self.cursor = self.entries.iter().position(|entry| matches!(entry, Entry::Delta(_))).unwrap_or(0);
        self.scroll = 0;
    }

    /// The difference under the cursor; None on a heading.
    pub fn selected(&self) -> Option<&ItemDiff> {
        match self.entries.get(self.cursor)? {
            Entry::Delta(at) => self.diff.as_ref()?.deltas.get(*at),
            Entry::Kind(..) | Entry::Overhead(_) => None,
        }
    }

    /// The cursor, which passes over headings.
    pub fn cursor(&mut self) -> ListCursor<'_> {
        let entries = &self.entries;
        let list = ListCursor::new(&mut self.cursor, entries.len()).with_details(&mut self.scroll);
        list.only(|at| matches!(entries[at], Entry::Delta(_)))
    }
}

/// The history of an item over the calls of a branch.
#[derive(Clone, Debug)]
pub struct HistoryScreen {
    pub history: Box<ItemHistory>,
    /// The scroll position.
    pub scroll: Scroll,
}

/// The purpose of a request of these screens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallsPending {
    List,
    /// To compare two calls.
    Diff,
    /// To show the history of an item.
    History,
}
