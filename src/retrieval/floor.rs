//! The minimum that a candidate must reach: its question must be about this conversation, and the candidate about the
//! question. Candidates below it are never included, however much room there is.
//! Not for: whether a message asks for anything (`gate`), scores (`search`), or room (`fill`).
//!
//! The weight of a question is the sum of its content words' idf; a word that is not on the path weighs as much as one
//! that occurs once, and so does the name of a speaker. One place of the path (a message and its two neighbors) must
//! contain `COVERED` of this weight, and a candidate's score must reach `SCORED` of it. A candidate whose cosine is far
//! above the mean of the path is included whatever its words.

use super::RetrievalError;
use super::gate::{self, MessageSignals};
use super::search::{Hit, SearchOptions};
use super::tuning::chatty;
use std::collections::HashSet;

/// Share of a question's weight that one place must contain.
const COVERED: f32 = 0.29;
/// Text less chat-like than this has no floor: questions about long messages use other words than the messages, so a
/// floor would lose their answers.
const CHAT: f32 = 0.5;
/// Share of a question's weight that a candidate's score must reach.
const SCORED: f32 = 0.08;

/// The floor for one question.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Floor {
    /// Whether some place of the path covers enough of the question.
    covered: bool,
    /// The minimum score.
    least: f32,
    /// Passages of the index whose cosine is far above the mean.
    near: HashSet<u32>,
}

impl Floor {
    /// The floor for a question over the searchable messages.
    ///
    /// # Errors
    /// If stored postings cannot be read.
    pub fn new(ask: &SearchOptions<'_>, text: &str) -> Result<Self, RetrievalError> {
        let signs = gate::measure(ask, text)?;
        let near = ask.cosines.map(|cosines| gate::far_above(cosines, signs.asks)).unwrap_or_default();
        if chatty(ask.scope.shape.mean_tokens) < CHAT {
            return Ok(Self { covered: true, least: f32::NEG_INFINITY, near });
        }
        Ok(Self { covered: covered(&signs), least: SCORED * weight(&signs), near })
    }

    /// Whether a candidate reaches the floor.
    #[must_use]
    pub fn passes(&self, ask: &SearchOptions<'_>, hit: &Hit) -> bool {
        if self.covered && hit.score >= self.least {
            return true;
        }
        let known = ask.index.known(ask.scope.number(hit.position));
        let passage = known.and_then(|known| known.first.checked_add(u32::try_from(hit.passage).ok()?));
        passage.is_some_and(|passage| self.near.contains(&passage))
    }
}

#[allow(clippy::cast_precision_loss, reason = "a number of words")]
fn weight(signs: &MessageSignals) -> f32 {
    signs.mass + (signs.content - signs.known) as f32 * signs.once
}

/// A known identifier, or a phrase that points to the past, suffices to show that older messages are meant.
#[allow(clippy::cast_precision_loss, reason = "a number of speakers")]
fn covered(signs: &MessageSignals) -> bool {
    let names = signs.named as f32 * signs.once;
    signs.code || signs.cue || signs.within + names >= COVERED * (weight(signs) + names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_covered_by_the_weight_of_its_words() {
        let signs = |known: usize, content: usize, within: f32| MessageSignals {
            content,
            known,
            within,
            mass: within,
            once: 4.0,
            ..MessageSignals::default()
        };
        for (sign, expected) in [
            (signs(1, 1, 2.0), true),
            (signs(1, 4, 4.0), false),
            (signs(2, 4, 6.0), true),
            (signs(1, 4, 1.0), false),
            (MessageSignals { cue: true, ..signs(1, 4, 1.0) }, true),
            (MessageSignals { code: true, ..signs(1, 4, 1.0) }, true),
            (MessageSignals { named: 1, ..signs(1, 4, 2.0) }, true),
        ] {
            assert_eq!(covered(&sign), expected, "{sign:?}");
        }
    }
}
