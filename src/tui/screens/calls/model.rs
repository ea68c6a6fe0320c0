//! State of the call history, of the comparison of two calls, and of an item's history.
//! Not for: the keys (`update`).

use crate::domain::base::ids::RunId;
use crate::domain::call::run::RunCard;
use crate::domain::planning::diff::{DiffKind, ItemDiff, ItemHistory, PlanDiff};
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
    /// The call that is marked for comparing.
    pub chosen: Option<RunId>,
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

    /// Marks the call under the cursor for comparing, or unmarks it.
    pub fn choose(&mut self) {
        let id = self.selected().map(|card| card.id);
        self.chosen = if self.chosen == id { None } else { id };
    }
}

impl Default for Calls {
    /// An empty list that is being loaded.
    fn default() -> Self {
        Self { cards: Vec::new(), loading: true, cursor: 0, scroll: 0, chosen: None, wanted: None }
    }
}

/// One line in the list of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Heading of a kind of difference, with the number of items and the tokens that they add.
    Kind(DiffKind, usize, i64),
    /// An item that differs, by its index in the diff's `deltas`.
    Delta(usize),
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
        for kind in DiffKind::ALL {
            let (count, tokens) = diff.sum(kind);
            if count > 0 {
                self.entries.push(Entry::Kind(kind, count, tokens));
                let own = diff.deltas.iter().enumerate().filter(|(_, delta)| delta.kind() == kind);
                self.entries.extend(own.map(|(at, _)| Entry::Delta(at)));
            }
        }
        self.diff = Some(diff);
        self.cursor = usize::from(!self.entries.is_empty());
        self.scroll = 0;
    }

    /// The difference under the cursor; None on a heading.
    pub fn selected(&self) -> Option<&ItemDiff> {
        match self.entries.get(self.cursor)? {
            Entry::Delta(at) => self.diff.as_ref()?.deltas.get(*at),
            Entry::Kind(..) => None,
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
    /// The history.
    pub history: Box<ItemHistory>,
    /// The scroll position.
    pub scroll: Scroll,
}

/// The purpose of a request of these screens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallsPending {
    /// To list the calls.
    List,
    /// To compare two calls.
    Diff,
    /// To show the history of an item.
    History,
}
