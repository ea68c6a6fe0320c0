//! Answers about summaries and their figures.
//! Not for: module summaries (`tool`).

use crate::domain::summary::{Stats, SummaryCard, SummaryDraft};
use std::sync::Arc;

/// An answer about summaries.
#[derive(Clone, PartialEq, Debug)]
pub enum SummaryAnswer {
    /// The waiting draft of a summary, if any.
    Draft(Option<Arc<SummaryDraft>>),
    /// Summaries, newest version first.
    Summaries(Vec<SummaryCard>),
    /// Statistics; figures that need a plan are empty if there is none.
    Stats(Box<Stats>),
}
