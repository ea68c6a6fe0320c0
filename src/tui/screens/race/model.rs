//! State of the answers side by side: a stored call and its repetition, or the branches of a race.
//! Not for: previews of the next call under other settings (`screens::what_if::model`).

use crate::domain::base::{BranchId, NodeId, RunId};
use crate::domain::call::Limits;
use crate::domain::conversation::{Atom, Overrides};
use crate::domain::planning::Draft;
use crate::tui::chat::model::live::Live;
use crate::tui::model::list::Scroll;
use crate::tui::model::session::Session;
use std::collections::HashMap;
use std::sync::Arc;

/// How the answers are related.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnswerRelations {
    /// A stored call and its repetition.
    Replay {
        /// The branch of the stored call.
        origin: BranchId,
        /// The item that was left out, with its first words.
        without: Option<(Atom, String)>,
    },
    /// One prompt, sent on several branches.
    Race,
}

/// One answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The settings or branch that distinguish the answer, not sanitized.
    pub title: String,
    /// The branch that receives the answer; None for a stored answer.
    pub branch: Option<BranchId>,
    /// The node of a stored answer.
    pub node: Option<NodeId>,
}

/// A question that is sent to several models.
#[derive(Clone, PartialEq, Debug)]
pub struct RaceQuestion {
    pub text: Arc<str>,
    /// Limits for each branch.
    pub limits: Limits,
}

/// Answers side by side.
#[derive(Clone, Debug)]
pub struct RaceScreen {
    /// How the answers are related.
    pub of: AnswerRelations,
    /// The answers.
    pub columns: Vec<Column>,
    /// Index of the selected answer.
    pub cursor: usize,
    /// The scroll position of all answers; its number of rows is that of the longest answer.
    pub scroll: Scroll,
}

impl RaceScreen {
    /// Creates the screen. A race starts at its first answer, a repeated call at its newest.
    pub fn new(of: AnswerRelations, columns: Vec<Column>) -> Self {
        let cursor = if of == AnswerRelations::Race { 0 } else { columns.len().saturating_sub(1) };
        Self { of, columns, cursor, scroll: Scroll::default() }
    }

    /// The selected answer.
    pub fn selected(&self) -> Option<&Column> {
        self.columns.get(self.cursor)
    }

    /// The branches of the answers that are not selected.
    pub fn others(&self) -> Vec<BranchId> {
        let others = self.columns.iter().enumerate().filter(|(at, _)| *at != self.cursor);
        others.filter_map(|(_, column)| column.branch).collect()
    }

    /// Selects the next answer, or the previous one if `step` is negative.
    pub fn select_next(&mut self, step: i64) {
        let count = self.columns.len().max(1);
        self.cursor = (self.cursor + if step > 0 { 1 } else { count - 1 }) % count;
    }
}

impl Column {
    /// The node of the answer; None until the answer is complete.
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

/// The purpose of a request about races and repeated calls.
#[derive(Clone, PartialEq, Debug)]
pub enum RacePending {
    /// To list the items of a stored call, so that a person leaves one out.
    Items(RunId),
    /// To replay a stored call.
    Replay,
    /// To create a branch for each of these settings and then send this draft on all of them. A refused line returns to
    /// the composer.
    Branches { variants: Vec<Overrides>, draft: Draft, of: BranchId, line: Arc<str> },
    /// To send the prompt on one of the branches.
    Entry(BranchId, Draft),
}
