//! A draft in memory: its body and kept items, its tokens, and the facts that it dropped.
//! Not for: writing a body (`writer`), or acts on a draft (`drafts`).

use crate::context::summary::survive::RequiredFacts;
use crate::context::summary::{Size, SummaryError, keep, ratio};
use crate::domain::base::Failure;
use crate::domain::summary::accepted::ratio_milli;
use crate::domain::summary::{KeptSentence, Summary, SummaryDraft, SummarySource};
use crate::engine::plans::sources::summaries::summary_text;
use std::sync::Arc;

/// A draft with the facts that it should contain.
#[derive(Clone)]
pub(crate) struct PendingDraft {
    pub(crate) draft: SummaryDraft,
    pub(crate) wanted: Arc<RequiredFacts>,
    /// Maximum tokens of the summary, so that it fits into the level that it is sent in.
    pub(crate) most: u32,
    /// Whether it is stored for its branch.
    pub(crate) stored: bool,
}

impl From<SummaryError> for Failure {
    fn from(error: SummaryError) -> Self {
        let failure = Self::user(format!("{}.", crate::engine::sessions::session::capital(&error.to_string())))
            .kept("Nothing was changed.");
        match error {
            SummaryError::TooShort { .. } => failure.todo("Summarize more turns, or let the model write the summary."),
            SummaryError::NothingOld { .. }
            | SummaryError::NothingNew { .. }
            | SummaryError::AllStay
            | SummaryError::OtherLane
            | SummaryError::NoSuchTurn { .. }
            | SummaryError::NotSmaller { .. }
            | SummaryError::Empty => failure,
        }
    }
}

impl PendingDraft {
    /// Returns the draft with this body and these kept items: with its tokens, checks, and dropped items recomputed.
    pub(crate) fn composed(
        &self,
        body: String,
        kept: Vec<KeptSentence>,
        source: SummarySource,
        count: &dyn Fn(&str) -> u32,
    ) -> Result<Self, SummaryError> {
        if body.trim().is_empty() && kept.is_empty() {
            return Err(SummaryError::Empty);
        }
        let text = keep::joined(&body, &kept);
        let confidence = self.wanted.survival(&text).milli();
        let dropped = self.wanted.dropped(&text);
        let mut summary = Summary { text: Some(text), kept, source, confidence, ..self.draft.summary.clone() };
        summary.tokens = count(&summary_text(&summary, None));
        ratio(summary.original_tokens, summary.tokens)?;
        let draft = SummaryDraft { summary: summary.sealed(), body, dropped: dropped.into(), ..self.draft.clone() };
        Ok(Self { draft, ..self.clone() })
    }

    /// Returns the draft for display, with all warnings.
    pub(crate) fn shown(&self) -> SummaryDraft {
        SummaryDraft { warnings: self.warnings(), ..self.draft.clone() }
    }

    /// Returns the tokens that may still be added by keeping items: the summary stays below half of its sources,
    /// below twice its usual size, and in its level.
    pub(crate) fn room(&self) -> u32 {
        let most = (self.draft.summary.original_tokens / 2).min(Size::default().most * 2).min(self.most);
        most.saturating_sub(self.draft.summary.tokens)
    }

    /// Returns the warnings that a person should see before accepting.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let summary = &self.draft.summary;
        let mut warnings = self.draft.warnings.clone();
        if summary.too_detailed() {
            let ratio = ratio_milli(summary.original_tokens, summary.tokens);
            warnings.push(format!(
                "The summary is too detailed: only {}.{} times shorter than its sources (at least 2 times is \
                required).",
                ratio / 1_000,
                ratio % 1_000 / 100
            ));
        }
        if summary.tokens > self.most {
            warnings.push(format!(
                "The summary is not sent: it takes {} tokens (estimated), and the session level has room for {}.",
                summary.tokens, self.most
            ));
        }
        if self.draft.masked > 0 {
            let secrets = if self.draft.masked == 1 { "secret was" } else { "secrets were" };
            warnings.push(format!("{} {secrets} masked in the sources first.", self.draft.masked));
        }
        warnings
    }
}
