//! Summaries on the screen: waiting drafts, the draft being written, a draft beside its sources, and the list of
//! summaries.
//! Not for: the keys (`update`).

use crate::domain::base::ids::BranchId;
use crate::domain::call::tokens::grouped;
use crate::domain::summary::draft::{MissingFact, SALIENT, SummaryAuthor, SummaryCard, SummaryDraft};
use crate::tui::model::list::shift;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A summary that is being made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingSummary {
    /// Its first and last turn.
    pub turns: (u32, u32),
    /// Who writes it.
    pub by: SummaryAuthor,
    /// Parts that are written, and of how many.
    pub parts: (u32, u32),
    /// Tokens of the present part so far.
    pub tokens: u32,
}

/// A summary of a part of the program that is being made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingModuleSummary {
    /// On which branch.
    pub branch: BranchId,
    /// The folder or file.
    pub path: String,
    /// Who writes it.
    pub by: SummaryAuthor,
    /// Files that are read, and of how many.
    pub files: (usize, usize),
    /// Tokens of the model's text so far.
    pub tokens: u32,
    /// A person stopped it.
    pub stopping: bool,
}

impl PendingModuleSummary {
    /// `summing up src/engine: 61 files read, 120 est. tokens so far`
    #[must_use]
    pub fn words(&self) -> String {
        let path = &self.path;
        match (self.files, self.tokens) {
            _ if self.stopping => format!("stopping the summary of {path}"),
            (_, 1..) => format!("summarizing {path}: {} est. tokens so far", grouped(u64::from(self.tokens))),
            ((done, of), 0) if done < of => format!("summarizing {path}: read {done} of {of} files"),
            ((_, of), 0) if of > 0 && self.by == SummaryAuthor::Model => {
                format!("summarizing {path}: {of} {} sent to the model", if of == 1 { "file" } else { "files" })
            }
            _ => format!("summarizing {path}"),
        }
    }
}

/// What is known of drafts, branch by branch.
#[derive(Clone, Debug, Default)]
pub struct Drafts {
    /// Those that wait.
    pub waiting: HashMap<BranchId, Arc<SummaryDraft>>,
    /// Those that are being made.
    pub making: HashMap<BranchId, PendingSummary>,
    /// Summaries of parts of the program that are being made, by the tickets of what asked for them.
    pub parts: BTreeMap<u64, PendingModuleSummary>,
    /// What was said last about a draft that nobody asked for.
    pub said: Option<String>,
}

/// A part of the screen with a draft.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// The draft's text.
    #[default]
    Draft,
    /// Its sources.
    Sources,
    /// What it keeps and what it dropped.
    Items,
}

/// One line of the items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// Kept word for word, by its place.
    Kept(usize),
    /// Dropped, by its place.
    Dropped(usize),
}

/// A draft beside its sources.
#[derive(Clone, Debug)]
pub struct DraftScreen {
    /// On which branch.
    pub branch: BranchId,
    /// The draft; none while the first is made.
    pub draft: Option<Arc<SummaryDraft>>,
    /// The part that keys move in.
    pub part: Part,
    /// Of the two texts the one that is shown where there is room for one.
    pub text: Part,
    /// The selected item.
    pub cursor: usize,
    /// Rows of the draft that are scrolled past.
    pub draft_scroll: usize,
    /// The same of the sources.
    pub source_scroll: usize,
    /// The sources are to be scrolled to the selected item.
    pub follow: bool,
    /// Rows of the draft, of the sources, and rows of a page, when last drawn.
    pub seen: (usize, usize, usize),
}

impl DraftScreen {
    /// A screen for a branch, with its draft where there is one.
    #[must_use]
    pub fn new(branch: BranchId, draft: Option<Arc<SummaryDraft>>) -> Self {
        let mut desk = Self {
            branch,
            draft: None,
            part: Part::Draft,
            text: Part::Draft,
            cursor: 0,
            draft_scroll: 0,
            source_scroll: 0,
            follow: false,
            seen: (0, 0, 1),
        };
        if let Some(draft) = draft {
            desk.show(draft);
        }
        desk
    }

    /// Takes a draft in. The selection stays on what was kept, or goes to the next item that was dropped.
    pub fn show(&mut self, draft: Arc<SummaryDraft>) {
        let selected = self.selected();
        let first = self.draft.as_ref().is_none_or(|old| old.number != draft.number);
        let (kept, dropped) = (draft.summary.kept.len(), draft.dropped.len());
        self.cursor = match selected {
            Some(Item::Kept(at)) => at.min(kept.saturating_sub(1)),
            Some(Item::Dropped(at)) if !first => kept + at.min(dropped.saturating_sub(1)),
            Some(Item::Dropped(_)) | None => kept,
        }
        .min((kept + dropped).saturating_sub(1));
        if first {
            (self.draft_scroll, self.source_scroll) = (0, 0);
            self.part = if dropped > 0 { Part::Items } else { Part::Draft };
        }
        self.draft = Some(draft);
        self.follow = true;
    }

    /// How many items there are.
    #[must_use]
    pub fn items(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.summary.kept.len() + draft.dropped.len())
    }

    /// The item at a place of the list: what is kept first, then what was dropped.
    #[must_use]
    pub fn item(&self, at: usize) -> Option<Item> {
        let draft = self.draft.as_ref()?;
        let kept = draft.summary.kept.len();
        if at < kept {
            return Some(Item::Kept(at));
        }
        (at - kept < draft.dropped.len()).then(|| Item::Dropped(at - kept))
    }

    /// The selected item.
    #[must_use]
    pub fn selected(&self) -> Option<Item> {
        self.item(self.cursor)
    }

    /// The selected item where it was dropped.
    #[must_use]
    pub fn dropped(&self) -> Option<&MissingFact> {
        match self.selected()? {
            Item::Dropped(at) => self.draft.as_ref()?.dropped.get(at),
            Item::Kept(_) => None,
        }
    }

    /// How many of the dropped items may matter: those stand first.
    #[must_use]
    pub fn salient(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.dropped.iter().take_while(|item| item.weight >= SALIENT).count())
    }

    /// Goes to the next part, or the one before.
    pub fn turn(&mut self, step: i64) {
        let ring = [Part::Draft, Part::Sources, Part::Items];
        let here = ring.iter().position(|part| *part == self.part).unwrap_or(0);
        self.look_at(ring[(here + if step > 0 { 1 } else { 2 }) % 3]);
    }

    /// Goes to a part.
    pub fn look_at(&mut self, part: Part) {
        self.part = part;
        if part != Part::Items {
            self.text = part;
        }
    }

    /// Moves within the part that has the focus.
    pub fn step(&mut self, by: i64) {
        match self.part {
            Part::Draft => self.draft_scroll = shift(self.draft_scroll, by, self.last(self.seen.0)),
            Part::Sources => self.scroll_sources(by),
            Part::Items => {
                self.cursor = shift(self.cursor, by, self.items().saturating_sub(1));
                self.follow = true;
            }
        }
    }

    /// Scrolls the sources, wherever the focus is.
    pub fn scroll_sources(&mut self, by: i64) {
        self.follow = false;
        self.source_scroll = shift(self.source_scroll, by, self.last(self.seen.1));
    }

    fn last(&self, rows: usize) -> usize {
        rows.saturating_sub(self.seen.2)
    }
}

/// The list of a branch's summaries.
#[derive(Clone, Debug)]
pub struct SummaryList {
    /// On which branch.
    pub branch: BranchId,
    /// They, each followed by the levels below it.
    pub cards: Vec<SummaryCard>,
    /// They are being read.
    pub loading: bool,
    /// The selected one.
    pub cursor: usize,
    /// Rows of its text that are scrolled past.
    pub scroll: usize,
}

impl SummaryList {
    /// An empty list of a branch.
    #[must_use]
    pub fn new(branch: BranchId) -> Self {
        Self { branch, cards: Vec::new(), loading: true, cursor: 0, scroll: 0 }
    }

    /// Takes summaries in; the selection stays on its summary.
    pub fn fill(&mut self, cards: Vec<SummaryCard>) {
        let selected = self.selected().map(|card| card.summary.id);
        let found = cards.iter().position(|card| Some(card.summary.id) == selected);
        self.cursor = found.unwrap_or(self.cursor).min(cards.len().saturating_sub(1));
        (self.cards, self.loading) = (cards, false);
    }

    /// The selected summary.
    #[must_use]
    pub fn selected(&self) -> Option<&SummaryCard> {
        self.cards.get(self.cursor)
    }

    /// Moves the selection.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.cards.len().saturating_sub(1));
        self.scroll = 0;
    }
}

/// What a request about summaries was made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SummaryPending {
    /// To draft a summary on this branch.
    Draft(BranchId),
    /// To save the edited text of a draft.
    Edit {
        /// The branch.
        branch: BranchId,
        /// The number of the draft.
        number: u64,
        /// The text.
        text: String,
    },
    /// To list the accepted summaries.
    List,
    /// To change an accepted summary; the list is read again afterwards.
    Change,
    /// To stop summaries of modules. The requests that make them report it.
    Stop,
}
