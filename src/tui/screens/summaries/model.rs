//! Summaries on the screen: waiting drafts, the draft being written, a draft beside its sources, and the list of
//! summaries.
//! Not for: the keys (`update`).

use crate::domain::base::ids::BranchId;
use crate::domain::call::tokens::grouped;
use crate::domain::summary::draft::{MissingFact, SALIENT, SummaryAuthor, SummaryCard, SummaryDraft};
use crate::tui::model::list::shift;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A summary that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingSummary {
    /// Its first and last turn.
    pub turns: (u32, u32),
    /// Its author.
    pub by: SummaryAuthor,
    /// The number of written parts and of all parts.
    pub parts: (u32, u32),
    /// Tokens of the current part so far.
    pub tokens: u32,
}

/// A module summary that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingModuleSummary {
    /// The branch.
    pub branch: BranchId,
    /// The folder or file.
    pub path: String,
    /// Its author.
    pub by: SummaryAuthor,
    /// The number of read files and of all files.
    pub files: (usize, usize),
    /// Tokens of the model's text so far.
    pub tokens: u32,
    /// The user stopped it.
    pub stopping: bool,
}

impl PendingModuleSummary {
    /// `summarizing src/engine: 61 files read, 120 est. tokens so far`
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

/// The drafts of all branches.
#[derive(Clone, Debug, Default)]
pub struct Drafts {
    /// Waiting drafts.
    pub waiting: HashMap<BranchId, Arc<SummaryDraft>>,
    /// Drafts that are being written.
    pub making: HashMap<BranchId, PendingSummary>,
    /// Module summaries that are being written, by the tickets of their requests.
    pub parts: BTreeMap<u64, PendingModuleSummary>,
    /// The last sentence about an automatic draft.
    pub said: Option<String>,
}

/// A part of the draft screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// The draft's text.
    #[default]
    Draft,
    /// Its sources.
    Sources,
    /// The kept sentences and the dropped facts.
    Items,
}

/// A line of the items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A kept sentence, by its index.
    Kept(usize),
    /// A dropped fact, by its index.
    Dropped(usize),
}

/// A draft beside its sources.
#[derive(Clone, Debug)]
pub struct DraftScreen {
    /// The branch.
    pub branch: BranchId,
    /// The draft; `None` while the first one is written.
    pub draft: Option<Arc<SummaryDraft>>,
    /// The part with the focus.
    pub part: Part,
    /// The text that is shown if there is room for only one.
    pub text: Part,
    /// The selected item.
    pub cursor: usize,
    /// Scrolled rows of the draft.
    pub draft_scroll: usize,
    /// Scrolled rows of the sources.
    pub source_scroll: usize,
    /// The sources must be scrolled to the selected item.
    pub follow: bool,
    /// Rows of the draft and of the sources, and rows of a page, when last drawn.
    pub seen: (usize, usize, usize),
}

impl DraftScreen {
    /// A screen for a branch, with its draft if there is one.
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

    /// Shows a draft. The selection stays on a kept sentence, or moves to the next dropped fact.
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

    /// The number of items.
    #[must_use]
    pub fn items(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.summary.kept.len() + draft.dropped.len())
    }

    /// The item at an index of the list: kept sentences first, then dropped facts.
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

    /// The selected item, if it is a dropped fact.
    #[must_use]
    pub fn dropped(&self) -> Option<&MissingFact> {
        match self.selected()? {
            Item::Dropped(at) => self.draft.as_ref()?.dropped.get(at),
            Item::Kept(_) => None,
        }
    }

    /// The number of important dropped facts, which come first.
    #[must_use]
    pub fn salient(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.dropped.iter().take_while(|item| item.weight >= SALIENT).count())
    }

    /// Switches to the next or the previous part.
    pub fn turn(&mut self, step: i64) {
        let ring = [Part::Draft, Part::Sources, Part::Items];
        let here = ring.iter().position(|part| *part == self.part).unwrap_or(0);
        self.look_at(ring[(here + if step > 0 { 1 } else { 2 }) % 3]);
    }

    /// Switches to a part.
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
    /// The branch.
    pub branch: BranchId,
    /// The summaries, each followed by the levels below it.
    pub cards: Vec<SummaryCard>,
    /// The list is being loaded.
    pub loading: bool,
    /// The selected summary.
    pub cursor: usize,
    /// Scrolled rows of its text.
    pub scroll: usize,
}

impl SummaryList {
    /// An empty list of a branch.
    #[must_use]
    pub fn new(branch: BranchId) -> Self {
        Self { branch, cards: Vec::new(), loading: true, cursor: 0, scroll: 0 }
    }

    /// Replaces the summaries; the selection stays on its summary.
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

/// The purpose of a request about summaries.
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
    /// To stop module summaries. The requests that write them report it.
    Stop,
}
