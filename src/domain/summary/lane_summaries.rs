//! The summaries of a lane: the newest accepted one, and whether a draft waits.
//! Not for: the lanes of a path (`conversation::lane_use`).

use super::accepted::SummaryKind;
use super::draft::{SummaryCard, SummaryDraft};
use crate::domain::conversation::Lane;

/// The state of a lane's summaries.
#[derive(Clone, Copy, Debug)]
pub struct LaneSummaries<'a> {
    /// The newest accepted summary.
    pub card: Option<&'a SummaryCard>,
    /// Whether a draft waits for a decision.
    pub draft: bool,
}

impl<'a> LaneSummaries<'a> {
    /// Finds a lane's summaries among those of a branch.
    pub fn of(lane: &Lane, cards: &'a [SummaryCard], draft: Option<&SummaryDraft>) -> Self {
        let own = |kind: SummaryKind, text: &str| kind == SummaryKind::Lane && Lane::read(text) == *lane;
        Self {
            card: cards.iter().find(|card| card.active && own(card.summary.kind, &card.summary.lane)),
            draft: draft.is_some_and(|draft| own(draft.summary.kind, &draft.summary.lane)),
        }
    }

    /// Returns the state in words.
    pub fn status(&self) -> &'static str {
        match (self.card, self.draft) {
            (_, true) => "draft waiting",
            (Some(card), false) if card.included => "summary",
            (Some(_), false) => "older summary",
            (None, false) => "no summary",
        }
    }
}
