//! State of the summaries: drafts that wait or are being written, the screen of a draft, and the list of summaries.
//! Not for: the keys (`update`).

use super::model_effect::{AcceptancePreview, ChangedSummary, PreviewKey};
use crate::domain::base::BranchId;
use crate::domain::call::tokens::counted;
use crate::domain::summary::draft::SALIENT;
use crate::domain::summary::{MissingFact, SummaryAuthor, SummaryCard, SummaryDraft};
use crate::tui::model::list::shift;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A summary that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingSummary {
    /// Numbers of its first and last turn.
    pub turns: (u32, u32),
    pub by: SummaryAuthor,
    /// How many parts are written, and of how many.
    pub parts: (u32, u32),
    /// Estimated tokens of the current part so far.
    pub tokens: u32,
}

/// A module summary that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingModuleSummary {
    /// The branch it was requested on.
    pub branch: BranchId,
    /// The folder or file.
    pub path: String,
    pub by: SummaryAuthor,
    /// How many files are read, and of how many.
    pub files: (usize, usize),
    /// Estimated tokens of the model's text so far.
    pub tokens: u32,
    /// Whether a person stopped it.
    pub stopping: bool,
}

impl PendingModuleSummary {
    /// Describes its progress: `summarizing src/engine: 120 tokens (estimated) so far`
    pub fn sentence(&self) -> String {
        let path = &self.path;
        match (self.files, self.tokens) {
            _ if self.stopping => format!("stopping the summary of {path}"),
            (_, 1..) => format!("summarizing {path}: {} (estimated) so far", counted(u64::from(self.tokens), "token")),
            ((done, of), 0) if done < of => format!("summarizing {path}: read {done} of {of} files"),
            ((_, of), 0) if of > 0 && self.by == SummaryAuthor::Model => {
                format!("summarizing {path}: {} sent to the model", counted(of as u64, "file"))
            }
            _ => format!("summarizing {path}"),
        }
    }
}

/// Drafts and module summaries, across branches.
#[derive(Clone, Debug, Default)]
pub struct Drafts {
    /// Drafts that wait for a person, by branch.
    pub waiting: HashMap<BranchId, Arc<SummaryDraft>>,
    /// Summaries that are being written, by branch.
    pub making: HashMap<BranchId, PendingSummary>,
    /// Module summaries that are being written, by the tickets of their requests.
    pub parts: BTreeMap<u64, PendingModuleSummary>,
    /// The last notice about an automatic draft.
    pub last_notice: Option<String>,
    /// A changed summary whose effect on the next request is not known yet.
    pub changed: Option<ChangedSummary>,
}

/// A part of the draft screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// The draft's text.
    #[default]
    Draft,
    /// The sources of the draft.
    Sources,
    /// The facts that the draft keeps word for word, and the missing facts.
    Items,
}

/// A line in the list of facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// A sentence kept word for word, by its index.
    Kept(usize),
    /// A missing fact, by its index.
    Dropped(usize),
}

/// The screen of a draft next to its sources.
#[derive(Clone, Debug)]
pub struct DraftScreen {
    pub branch: BranchId,
    /// The draft; None while the first one is being written.
    pub draft: Option<Arc<SummaryDraft>>,
    /// The part with the focus.
    pub part: Part,
    /// The text that is shown if only one of the two texts fits.
    pub text: Part,
    /// Index of the fact under the cursor.
    pub cursor: usize,
    /// Rows of the draft scrolled off its top.
    pub draft_scroll: usize,
    /// Rows of the sources scrolled off their top.
    pub source_scroll: usize,
    /// Whether the sources are scrolled to the fact under the cursor.
    pub follow: bool,
    /// Rows of the draft, rows of the sources, and height of the focused part, as last drawn.
    pub seen: (usize, usize, usize),
    /// What accepting the draft would change in the next request.
    pub preview: AcceptancePreview,
}

impl DraftScreen {
    /// Creates the screen for a branch, with its draft if there is one.
    pub fn new(branch: BranchId, draft: Option<Arc<SummaryDraft>>) -> Self {
        let mut screen = Self {
            branch,
            draft: None,
            part: Part::Draft,
            text: Part::Draft,
            cursor: 0,
            draft_scroll: 0,
            source_scroll: 0,
            follow: false,
            seen: (0, 0, 1),
            preview: AcceptancePreview::default(),
        };
        if let Some(draft) = draft {
            screen.show(draft);
        }
        screen
    }

    /// Shows a draft. The cursor stays on a kept sentence, or moves on to the next missing fact.
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

    /// Number of facts in the list.
    pub fn items(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.summary.kept.len() + draft.dropped.len())
    }

    /// The fact at an index of the list: kept sentences first, then missing facts.
    pub fn item(&self, at: usize) -> Option<Item> {
        let draft = self.draft.as_ref()?;
        let kept = draft.summary.kept.len();
        if at < kept {
            return Some(Item::Kept(at));
        }
        (at - kept < draft.dropped.len()).then(|| Item::Dropped(at - kept))
    }

    /// The fact under the cursor.
    pub fn selected(&self) -> Option<Item> {
        self.item(self.cursor)
    }

    /// The fact under the cursor if it is missing in the draft.
    pub fn dropped(&self) -> Option<&MissingFact> {
        match self.selected()? {
            Item::Dropped(at) => self.draft.as_ref()?.dropped.get(at),
            Item::Kept(_) => None,
        }
    }

    /// Number of missing facts that may matter; these come first.
    pub fn salient_count(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.dropped.iter().take_while(|item| item.weight >= SALIENT).count())
    }

    /// Moves the focus to the next part, or the previous one if `step` is negative.
    pub fn focus_next(&mut self, step: i64) {
        let ring = [Part::Draft, Part::Sources, Part::Items];
        let here = ring.iter().position(|part| *part == self.part).unwrap_or(0);
        self.focus_part(ring[(here + if step > 0 { 1 } else { 2 }) % 3]);
    }

    /// Moves the focus to a part.
    pub fn focus_part(&mut self, part: Part) {
        self.part = part;
        if part != Part::Items {
            self.text = part;
        }
    }

    /// Moves within the focused part.
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

    /// Scrolls the sources, regardless of the focus.
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
    pub branch: BranchId,
    /// The summaries, each followed by the summaries that it replaced.
    pub cards: Vec<SummaryCard>,
    /// Whether they are being loaded.
    pub loading: bool,
    /// Index of the summary under the cursor.
    pub cursor: usize,
    /// Rows of its text scrolled off the top.
    pub scroll: usize,
}

impl SummaryList {
    /// Creates the empty list of a branch while it is loaded.
    pub fn new(branch: BranchId) -> Self {
        Self { branch, cards: Vec::new(), loading: true, cursor: 0, scroll: 0 }
    }

    /// Stores the summaries. The cursor stays on its summary.
    pub fn fill(&mut self, cards: Vec<SummaryCard>) {
        let selected = self.selected().map(|card| card.summary.id);
        let found = cards.iter().position(|card| Some(card.summary.id) == selected);
        self.cursor = found.unwrap_or(self.cursor).min(cards.len().saturating_sub(1));
        (self.cards, self.loading) = (cards, false);
    }

    /// The summary under the cursor.
    pub fn selected(&self) -> Option<&SummaryCard> {
        self.cards.get(self.cursor)
    }
}

/// The purpose of a request about summaries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SummaryPending {
    /// To draft a summary on this branch.
    Draft(BranchId),
    /// To save the edited text of a draft.
    Edit {
        branch: BranchId,
        /// Number of the draft.
        number: u64,
        /// The edited text.
        text: String,
    },
    /// To list the accepted summaries.
    List,
    /// To accept a draft, or to change an accepted summary; an open list is loaded again afterward.
    Change(BranchId),
    /// To preview the acceptance of a draft.
    Preview(PreviewKey),
    /// To stop module summaries; the requests that write them report the outcome.
    Stop,
}
