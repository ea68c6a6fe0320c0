//! Answers side by side: a stored call beside its replay, or the branches of a race.
//! Not for: the next request under other settings (`screens::what_if::model`).

use crate::domain::base::ids::{BranchId, NodeId, RunId};
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::tui::chat::model::live::Live;
use crate::tui::model::session::Session;
use std::collections::HashMap;

/// What the answers have to do with each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerRelations {
    /// A stored call, then the same call made again.
    Replay {
        /// The branch of the stored call.
        origin: BranchId,
        /// What was left out, with its first words.
        without: Option<(Atom, String)>,
    },
    /// One prompt on several branches.
    Race,
}

/// One answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// What is particular about it, unsanitized.
    pub title: String,
    /// The branch on which it comes; none for one that was there before.
    pub branch: Option<BranchId>,
    /// The answer, where it was there before.
    pub node: Option<NodeId>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RaceScreen {
    /// What they have to do with each other.
    pub of: AnswerRelations,
    /// They.
    pub columns: Vec<Column>,
    /// The selected one.
    pub cursor: usize,
    /// Rows of all that are scrolled past.
    pub scroll: usize,
    /// Rows of the longest, and rows of a page, when last drawn.
    pub seen: (usize, usize),
}

impl RaceScreen {
    /// These answers; the newest selected.
    #[must_use]
    pub fn new(of: AnswerRelations, columns: Vec<Column>) -> Self {
        let cursor = if of == AnswerRelations::Race { 0 } else { columns.len().saturating_sub(1) };
        Self { of, columns, cursor, scroll: 0, seen: (0, 1) }
    }

    /// The selected answer.
    #[must_use]
    pub fn selected(&self) -> Option<&Column> {
        self.columns.get(self.cursor)
    }

    /// The branches on which answers come, the selected one apart.
    #[must_use]
    pub fn others(&self) -> Vec<BranchId> {
        let others = self.columns.iter().enumerate().filter(|(at, _)| *at != self.cursor);
        others.filter_map(|(_, column)| column.branch).collect()
    }

    /// Goes to the next answer, or the one before.
    pub fn turn(&mut self, step: i64) {
        let count = self.columns.len().max(1);
        self.cursor = (self.cursor + if step > 0 { 1 } else { count - 1 }) % count;
    }

    /// Scrolls them all.
    pub fn step(&mut self, by: i64) {
        let last = i64::try_from(self.seen.0.saturating_sub(self.seen.1)).unwrap_or(i64::MAX);
        let here = i64::try_from(self.scroll).unwrap_or(0).saturating_add(by).clamp(0, last);
        self.scroll = usize::try_from(here).unwrap_or(0);
    }
}

impl Column {
    /// The node of its answer, once there is one.
    #[must_use]
    pub fn answer(&self, session: Option<&Session>, live: &HashMap<BranchId, Live>) -> Option<NodeId> {
        let Some(branch) = self.branch else { return self.node };
        if live.contains_key(&branch) {
            return None;
        }
        let session = session?;
        let found = session.find(branch)?;
        found.head.filter(|head| Some(*head) != found.fork && session.run_of_answer(*head).is_some())
    }
}

/// What a request about races and repeated calls was made for.
#[derive(Clone, PartialEq, Debug)]
pub enum RacePending {
    /// To list the items of a stored call, one of which is left out of its repetition.
    Items(RunId),
    /// To repeat a stored call.
    Replay,
    /// To make a branch for each of these settings and ask this text on all of them.
    Branches(Vec<Overrides>, String),
    /// To ask on one of the branches.
    Entry(BranchId),
}
