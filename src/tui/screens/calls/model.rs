//! The calls of a session, the two calls being compared, and their differences.
//! Not for: the keys (`update`).

use crate::domain::base::ids::RunId;
use crate::domain::call::run::RunCard;
use crate::domain::planning::diff::{DiffKind, ItemDiff, ItemHistory, PlanDiff};
use crate::tui::model::list::shift;

/// The list of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The calls, newest first.
    pub cards: Vec<RunCard>,
    /// The list is being loaded.
    pub loading: bool,
    /// The selected call.
    pub cursor: usize,
    /// The call selected for comparison.
    pub chosen: Option<RunId>,
    /// The call to select once the list is loaded.
    pub wanted: Option<RunId>,
}

impl Calls {
    /// An empty list that is being loaded.
    #[must_use]
    pub fn new() -> Self {
        Self { cards: Vec::new(), loading: true, cursor: 0, chosen: None, wanted: None }
    }

    /// Replaces the calls, given oldest first; the selection stays on its call.
    pub fn fill(&mut self, mut cards: Vec<RunCard>) {
        let selected = self.wanted.take().or_else(|| self.selected().map(|card| card.id));
        cards.reverse();
        let found = cards.iter().position(|card| Some(card.id) == selected);
        self.cursor = found.unwrap_or(self.cursor).min(cards.len().saturating_sub(1));
        (self.cards, self.loading) = (cards, false);
    }

    /// Adds or updates a call.
    pub fn put(&mut self, card: &RunCard) {
        match self.cards.iter_mut().find(|known| known.id == card.id) {
            Some(known) => *known = card.clone(),
            None if !self.loading => {
                self.cards.insert(0, card.clone());
                self.cursor = (self.cursor + 1).min(self.cards.len() - 1);
            }
            None => {}
        }
    }

    /// The selected call.
    #[must_use]
    pub fn selected(&self) -> Option<&RunCard> {
        self.cards.get(self.cursor)
    }

    /// Moves the selection.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.cards.len().saturating_sub(1));
    }

    /// Selects the current call for comparison, or deselects it.
    pub fn choose(&mut self) {
        let id = self.selected().map(|card| card.id);
        self.chosen = if self.chosen == id { None } else { id };
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self::new()
    }
}

/// A line of the list of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A kind of difference, its count, and its effect in tokens.
    Kind(DiffKind, usize, i64),
    /// A difference.
    Delta(usize),
}

/// The differences between two calls, on the screen.
#[derive(Clone, Debug, Default)]
pub struct DiffView {
    /// The differences; `None` while they are computed.
    pub diff: Option<Box<PlanDiff>>,
    /// The ticket of the request.
    pub ticket: u64,
    /// The lines.
    pub entries: Vec<Entry>,
    /// The selected line.
    pub cursor: usize,
    /// Scrolled rows of the detail.
    pub scroll: usize,
    /// Rows of the list when last drawn.
    pub page: u16,
}

impl DiffView {
    /// Shows a comparison.
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

    /// The selected difference.
    #[must_use]
    pub fn selected(&self) -> Option<&ItemDiff> {
        match self.entries.get(self.cursor)? {
            Entry::Delta(at) => self.diff.as_ref()?.deltas.get(*at),
            Entry::Kind(..) => None,
        }
    }

    /// Moves the selection, past headings.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.entries.len().saturating_sub(1));
        self.scroll = 0;
        let acts = |entry: &Entry| matches!(entry, Entry::Delta(_));
        if self.entries.get(self.cursor).is_some_and(acts) {
            return;
        }
        let after = self.entries.iter().skip(self.cursor).position(acts).map(|n| self.cursor + n);
        let before = self.entries.iter().take(self.cursor).rposition(acts);
        let found = if by < 0 { before.or(after) } else { after.or(before) };
        self.cursor = found.unwrap_or(self.cursor);
    }
}

/// The history of an item over a branch's calls.
#[derive(Clone, Debug)]
pub struct HistoryScreen {
    /// The history.
    pub history: Box<ItemHistory>,
    /// Scrolled rows.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
}

impl HistoryScreen {
    /// Scrolls.
    pub fn step(&mut self, by: i64) {
        self.scroll = shift(self.scroll, by, self.seen.0.saturating_sub(self.seen.1));
    }
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
