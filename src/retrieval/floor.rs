//! Defines the minimum that a candidate must reach: its question must be about this conversation, and the candidate
//! about the question. Candidates below the floor are never included, regardless of the room.
//! Not for: deciding whether to search (`gate`), scores (`search`), or cards (`compose`).
//!
//! The weight of a question is the sum of its content words' idf; a word that is not on the path, or the name of a
//! speaker, weighs as much as a word that occurs once. One place of the path (a message and its two neighbors) must
//! contain `MIN_COVERED` of this weight, and a candidate's score must reach `MIN_SCORED` of it. The candidate or a
//! neighbor must contain a word of the question or a learned one, or the candidate must contain what the question's
//! form asks for: a good sitting or speaker alone is no evidence. With vectors, the score alone decides. A candidate from
//! a time that the question names is included regardless of its words, as is one whose cosine is far above the mean, even
//! if no place covers the question.
//!
//! In a conversation of long messages, a message and its neighbors contain most words of any question. There, one
//! passage of the path must contain `MIN_COVERED_LONG` of the weight, and scores have no minimum: questions about long
//! messages use other words than the messages.

use super::RetrievalError;
use super::gate::{self, MessageSignals};
use super::hints::Hints;
use super::query::Query;
use super::search::{self, Hit, SearchOptions};
use super::tuning::chatty;
use crate::domain::call::ScoreParts;
use std::collections::HashSet;

/// Share of a question's weight that one place must contain.
const MIN_COVERED: f32 = 0.29;
/// Share of a question's weight that one passage must contain in a conversation of long messages.
const MIN_COVERED_LONG: f32 = 0.34;
/// Text that is less chat-like than this is a conversation of long messages.
const MIN_CHATTY: f32 = 0.5;
/// Share of a question's weight that a candidate's score must reach.
const MIN_SCORED: f32 = 0.08;

/// The floor for one question.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Floor {
    /// Whether some place of the path covers enough of the question.
    is_covered: bool,
    /// The minimum score.
    min_score: f32,
    /// The times that the question names.
    hints: Hints,
    /// Slots that contain the content that the question's form asks for.
    with_form: HashSet<usize>,
    /// Passages of the index whose cosine is far above the mean.
    near: HashSet<u32>,
    /// Passages of the index that have a cosine.
    embedded: HashSet<u32>,
}

impl Floor {
    /// Computes the floor for a question over the searchable messages.
    pub fn new(options: &SearchOptions<'_>, text: &str) -> Result<Self, RetrievalError> {
        let query = Query::new(options.index, options.scope, text);
        let signals = gate::measure(options, text, &query)?;
        let hints = query.hints;
        let near = options.cosines.map(|cosines| gate::far_above(cosines, signals.asks)).unwrap_or_default();
        let embedded = options.cosines.into_iter().flatten().map(|(passage, _)| *passage).collect();
        let wanted: Vec<_> = hints.wants.into_iter().collect();
        let lists = search::lists(options, &wanted, options.scope.slots())?;
        let with_form = lists.into_iter().flatten().flatten().map(|(slot, _)| slot as usize).collect();
        if chatty(options.scope.shape.mean_tokens) < MIN_CHATTY {
            let is_covered = is_covered(&signals, (signals.in_passage, MIN_COVERED_LONG));
            return Ok(Self { is_covered, min_score: f32::NEG_INFINITY, hints, with_form, near, embedded });
        }
        let is_covered = is_covered(&signals, (signals.within, MIN_COVERED));
        Ok(Self { is_covered, min_score: MIN_SCORED * question_weight(&signals), hints, with_form, near, embedded })
    }

    /// Returns whether a candidate reaches the floor.
    pub fn passes(&self, options: &SearchOptions<'_>, hit: &Hit) -> bool {
        let ScoreParts { bm25, feedback, smooth, .. } = hit.parts;
        let slot = options.scope.span(hit.position).start + hit.passage;
        let is_evidence = bm25 + feedback + smooth > 0.0 || self.with_form.contains(&slot);
        let is_dated = self.hints.names(options.scope.at(hit.position));
        if self.is_covered && (is_dated || is_evidence && hit.score >= self.min_score) {
            return true;
        }
        let known = options.index.known(options.scope.number(hit.position));
        let passage = known.and_then(|known| known.first.checked_add(u32::try_from(hit.passage).ok()?));
        passage
            .is_some_and(|passage| self.near.contains(&passage) || self.is_covered && self.embedded.contains(&passage))
    }
}

fn question_weight(signals: &MessageSignals) -> f32 {
    signals.mass + (signals.content - signals.known) as f32 * signals.once
}

/// Returns whether the weight that one place contains is at least this share of the question's weight. A known
/// identifier, a phrase that points to the past, or a time from which there are messages is sufficient evidence that
/// the question refers to older messages.
fn is_covered(signals: &MessageSignals, (contained, share): (f32, f32)) -> bool {
    let names = signals.named as f32 * signals.once;
    signals.code || signals.cue || signals.dated || contained + names >= share * (question_weight(signals) + names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_covered_by_the_weight_of_its_words() {
        let signals = |known: usize, content: usize, within: f32| MessageSignals {
            content,
            known,
            within,
            mass: within,
            once: 4.0,
            ..MessageSignals::default()
        };
        for (signals, expected) in [
            (signals(1, 1, 2.0), true),
            (signals(1, 4, 4.0), false),
            (signals(2, 4, 6.0), true),
            (signals(1, 4, 1.0), false),
            (MessageSignals { cue: true, ..signals(1, 4, 1.0) }, true),
            (MessageSignals { code: true, ..signals(1, 4, 1.0) }, true),
            (MessageSignals { named: 1, ..signals(1, 4, 2.0) }, true),
            (MessageSignals { dated: true, ..signals(1, 4, 1.0) }, true),
        ] {
            assert_eq!(is_covered(&signals, (signals.within, MIN_COVERED)), expected, "{signals:?}");
        }
    }
}
