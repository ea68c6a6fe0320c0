//! Whether a message asks for older ones at all. "continue", "why?" and chit-chat must pull nothing; a question must open.
//! Lists of words alone do not generalise, so the collection itself judges: how rare on this path the words of the message
//! are, and how much of them stands together in one place of it.
//! Not for: searching (`search`). A person overrides the gate with one key.

use super::RetrievalError;
use super::query::Query;
use super::search::{Ask, idf, lists};
use super::stops::{is_filler, is_stop, past_cue};
use super::words::{Term, words_of};
use crate::domain::evidence::{Gate, PassWhy, SkipWhy};

/// What the gate sees in a message.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Signs {
    /// Its words, all of them.
    pub words: usize,
    /// Its different content words: no stop words, no words of mere conversation, no names of speakers.
    pub content: usize,
    /// Those that stand on the path.
    pub known: usize,
    /// The highest idf among them.
    pub rarest: f32,
    /// The sum of their idf.
    pub mass: f32,
    /// The highest sum of idf of them in one message and the two beside it.
    pub together: f32,
    /// The most of them in such a place.
    pub shared: usize,
    /// What a word would weigh that stands once on the path.
    pub once: f32,
    /// Speakers whom it names.
    pub named: usize,
    /// It is a question.
    pub asks: bool,
    /// It points to the past.
    pub cue: bool,
}

/// Reads the signs of a message over a scope.
///
/// # Errors
/// When stored postings cannot be read.
pub fn signs(ask: &Ask<'_>, text: &str) -> Result<Signs, RetrievalError> {
    let low = text.to_lowercase().replace('’', "'");
    let all: Vec<String> = words_of(&low).map(|word| word.replace('\'', "")).collect();
    let query = Query::new(ask.index, text);
    let names = ask.index.speakers();
    let named = |term: Term| query.speakers.iter().any(|at| names[usize::from(*at)].terms.contains(&term));
    let mut content: Vec<Term> = Vec::new();
    ask.index.analyzer().each(text, &mut |term, word| {
        if !is_filler(&word.lower) && !named(term) {
            content.push(term);
        }
    });
    content.sort_unstable();
    content.dedup();
    let slots = ask.scope.slots();
    let found = lists(ask, &content, slots)?;
    let mut places = vec![(0.0_f32, 0_usize); ask.scope.len()];
    let mut signs = Signs {
        words: all.len(),
        content: content.len(),
        named: query.speakers.len(),
        once: idf(slots, 1),
        asks: asks(&low, &all),
        cue: past_cue(&low).is_some(),
        ..Signs::default()
    };
    for list in found.iter().flatten().filter(|list| !list.is_empty()) {
        let weight = idf(slots, list.len());
        signs.known += 1;
        signs.mass += weight;
        signs.rarest = signs.rarest.max(weight);
        let mut reached = 0;
        for (slot, _) in list {
            let position = ask.scope.position(*slot as usize);
            for near in reached.max(position.saturating_sub(1))..(position + 2).min(places.len()) {
                places[near] = (places[near].0 + weight, places[near].1 + 1);
                reached = near + 1;
            }
        }
    }
    for (sum, count) in places {
        signs.together = signs.together.max(sum);
        signs.shared = signs.shared.max(count);
    }
    Ok(signs)
}

fn asks(low: &str, words: &[String]) -> bool {
    const WH: &[&str] =
        &["what", "when", "where", "which", "who", "whom", "whose", "why", "how", "did", "does", "was", "were"];
    low.contains('?') || low.contains('？') || words.first().is_some_and(|word| WH.contains(&word.as_str()))
}

/// Decides from the signs. `before`: whether there is a previous set to inherit.
#[must_use]
pub fn decide(signs: &Signs, before: bool) -> Gate {
    let shut = |why| if before { Gate::Inherited(why) } else { Gate::Skipped(why) };
    if signs.cue && signs.known > 0 {
        return Gate::Pass(PassWhy::Cue);
    }
    if signs.content == 0 {
        return shut(SkipWhy::NoContent);
    }
    if signs.known == 0 {
        return shut(SkipWhy::Unknown);
    }
    if signs.known >= 3 {
        return Gate::Pass(PassWhy::Several);
    }
    if signs.rarest >= 3.0 {
        return Gate::Pass(PassWhy::Rare);
    }
    shut(SkipWhy::Common)
}

/// [`signs`], then [`decide`].
///
/// # Errors
/// When stored postings cannot be read.
pub fn gate(ask: &Ask<'_>, text: &str, before: bool) -> Result<Gate, RetrievalError> {
    if ask.scope.slots() == 0 {
        return Ok(if before {
            Gate::Inherited(SkipWhy::NothingToFind)
        } else {
            Gate::Skipped(SkipWhy::NothingToFind)
        });
    }
    Ok(decide(&signs(ask, text)?, before))
}

/// Whether a word says nothing by itself: a stop word or one of mere conversation.
#[must_use]
pub fn says_nothing(word: &str) -> bool {
    is_stop(word) || is_filler(word)
}
