//! Decides whether a message is about the workspace's code: "continue" and questions about other subjects must add no
//! symbols; a question about the code must add some. The index itself decides: how much of a message's weight one
//! symbol contains, and whether a word of it names a symbol, file, or folder.
//! Not for: ranking (`rank`), or the focus (`choose`).

use super::choose;
use super::query::Query;
use super::rank::{Hit, idf};
use crate::code::index::common_names::is_common;
use crate::code::index::paths::module_path;
use crate::code::index::record::Counts;
use crate::code::index::records::{File, Index, SymbolId};
use crate::domain::call::retrieval_set::{PassReason, SkipReason};
use std::collections::{BTreeMap, BTreeSet};

/// Number of hits that decide whether a message is about code.
const HITS_CONSIDERED: usize = 12;
/// Share of a message's weight that one of the best symbols must contain: for a question that names something in the
/// workspace, for another question, for a statement or its first line, and for a change that names something in the
/// workspace.
const MIN_COVERED_NAMED: f32 = 0.37;
const MIN_COVERED_UNNAMED: f32 = 0.6;
const MIN_COVERED_STATED: f32 = 0.3;
const MIN_COVERED_CHANGED: f32 = 0.2;
/// The same for a statement or an order about something of the person: "Add eggs to my list".
const MIN_COVERED_PERSONAL: f32 = 0.6;
/// A word that occurs in at most one symbol of this many, and only in bodies or tests, is incidental unless the message
/// writes it as an identifier: it says nothing about the subject of the workspace.
const SYMBOLS_PER_INCIDENTAL: usize = 1_000;
/// How much a word of a question counts that a symbol contains only in its body.
const BODY_SHARE: f32 = 0.5;

/// What a message does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageKind {
    Asks,
    States,
    /// Names the change to make: "Fix the parser of dates".
    Changes,
    /// May name the change to make, "Limit the queue", or has an identifier of known words.
    Orders,
}

/// The gate's measurements of a message, or of its first line.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct MessageSignals {
    /// Number of different content words.
    content: usize,
    /// Number of these words that occur in the workspace.
    known: usize,
    /// The highest number of these words in one of the best symbols.
    together: usize,
    /// The highest share of the message's weight in one of the best symbols. A word that does not occur in the
    /// workspace weighs as much as a word that occurs once.
    covered: f32,
    /// Whether a content word is the name of a symbol, file, or folder outside the tests.
    is_named: bool,
    /// Whether its first line is about something of the person.
    is_personal: bool,
}

/// Returns the reason why a message adds no code; `None` if it is about code.
#[must_use]
pub fn skip_reason(index: &Index, query: &Query, hits: &[Hit]) -> Option<SkipReason> {
    if spells_out(index, query) {
        return None;
    }
    let kind = if query.asks { MessageKind::Asks } else { MessageKind::States };
    let why = decide(&measure(index, query, (&query.content, kind), hits), kind)?;
    if query.asks {
        return Some(why);
    }
    if (query.is_change || query.is_order) && labels_file(index, query) {
        return None;
    }
    // The first line states the subject of a long message; no symbol contains much of the rest.
    let first: BTreeSet<Box<str>> = query.first_line.intersection(&query.content).cloned().collect();
    let text = query.asks_for_text();
    let has_identifier =
        !query.identifiers.is_empty() && query.identifiers.iter().all(|term| index.contains_term(term, text));
    let kind = match (query.is_change, query.is_order || has_identifier) {
        (true, _) => MessageKind::Changes,
        (false, true) => MessageKind::Orders,
        (false, false) => MessageKind::States,
    };
    decide(&measure(index, query, (&first, kind), hits), kind).map(|_| why)
}

/// Returns the reason why a message adds code.
#[must_use]
pub fn pass_reason(index: &Index, query: &Query) -> PassReason {
    if spells_out(index, query) { PassReason::Named } else { PassReason::Matches }
}

/// Decides from the signals. A single content word must name something in the workspace. A question must be covered,
/// less so if it names something; a statement must also share two words with one symbol, unless it names the change to
/// make, or may do so and names something. A statement or an order about something of the person must be covered like a
/// question, and share two words.
fn decide(signals: &MessageSignals, kind: MessageKind) -> Option<SkipReason> {
    if signals.content == 0 {
        return Some(SkipReason::NoContent);
    }
    if signals.known == 0 {
        return Some(SkipReason::Unknown);
    }
    let (together, covered) = match (kind, signals.is_named) {
        (MessageKind::Asks, true) => (1, MIN_COVERED_NAMED),
        (MessageKind::Asks, false) => (2, MIN_COVERED_UNNAMED),
        (MessageKind::States, true) => (2.min(signals.content), MIN_COVERED_STATED),
        (MessageKind::Orders, true) | (MessageKind::Changes, false) => (1, MIN_COVERED_STATED),
        (MessageKind::States | MessageKind::Orders, false) => (2, MIN_COVERED_STATED),
        (MessageKind::Changes, true) => (1, MIN_COVERED_CHANGED),
    };
    let (together, covered) = match kind {
        MessageKind::States | MessageKind::Orders | MessageKind::Changes if signals.is_personal => {
            (together.max(2.min(signals.content)), covered.max(MIN_COVERED_PERSONAL))
        }
        MessageKind::Asks | MessageKind::States | MessageKind::Orders | MessageKind::Changes => (together, covered),
    };
    (signals.together < together || signals.covered < covered).then_some(SkipReason::Faint)
}

/// Returns whether a message spells out an identifier or path of the workspace.
fn spells_out(index: &Index, query: &Query) -> bool {
    query.names.keys().any(|name| index.defined(name).iter().any(|id| index.is_symbol(*id)))
        || query.paths.iter().any(|path| choose::place(index, path).is_some())
}

/// Returns whether a word of a message's label is the name of a file or folder outside the tests.
fn labels_file(index: &Index, query: &Query) -> bool {
    query.label.iter().any(|term| query.words.get(term).is_some_and(|word| is_file(index, (term, word), false)))
}

#[allow(clippy::cast_precision_loss, reason = "counts of symbols")]
fn measure(
    index: &Index,
    query: &Query,
    (content, kind): (&BTreeSet<Box<str>>, MessageKind),
    hits: &[Hit],
) -> MessageSignals {
    // Prose of documents would cover messages about anything.
    let text = query.asks_for_text();
    let all = if text { index.len() } else { index.code_len() };
    let once = idf(all as f32, 1);
    let counts = |id: SymbolId| text || index.is_code(id);
    let is_text_file = |file: u32| index.file(file).is_some_and(File::is_text);
    let in_body = match kind {
        MessageKind::Asks => BODY_SHARE,
        MessageKind::States | MessageKind::Orders | MessageKind::Changes => 1.0,
    };
    let hits: Vec<&Hit> = hits.iter().filter(|hit| counts(hit.id)).take(HITS_CONSIDERED).collect();
    let mut signals =
        MessageSignals { content: content.len(), is_personal: query.is_personal, ..MessageSignals::default() };
    let mut places: Vec<(usize, f32)> = vec![(0, 0.0); hits.len()];
    let mut mass = 0.0;
    for term in content {
        if !index.contains_term(term, text) {
            mass += once;
            continue;
        }
        signals.known += 1;
        let holding: BTreeMap<SymbolId, Counts> =
            index.postings_of(term).iter().map(|at| (at.symbol, at.counts)).filter(|(id, _)| counts(*id)).collect();
        let in_path: BTreeSet<u32> =
            index.paths_with(term).iter().copied().filter(|file| text || !is_text_file(*file)).collect();
        if in_path.is_empty() && !query.identifiers.contains(term) && is_incidental(index, &holding, all) {
            mass += once;
            continue;
        }
        let weight = idf(all as f32, holding.len().max(1));
        mass += weight;
        for (place, hit) in places.iter_mut().zip(&hits) {
            let file = index.scored.get(hit.id as usize).map(|scored| scored.file);
            let share = match holding.get(&hit.id) {
                _ if file.is_some_and(|file| in_path.contains(&file)) => 1.0,
                Some(counts) if is_outside_body(*counts) => 1.0,
                Some(_) => in_body,
                None => continue,
            };
            *place = (place.0 + 1, place.1 + share * weight);
        }
        signals.is_named |= query.words.get(term).is_some_and(|word| names(index, (term, word), text));
    }
    signals.together = places.iter().map(|place| place.0).max().unwrap_or_default();
    signals.covered = places.iter().map(|place| place.1).fold(0.0, f32::max) / mass.max(f32::MIN_POSITIVE);
    signals
}

/// Returns whether a word is incidental: few of `all` symbols contain it, and outside the tests only in their bodies.
fn is_incidental(index: &Index, holding: &BTreeMap<SymbolId, Counts>, all: usize) -> bool {
    let is_test = |id: SymbolId| index.symbol(id).is_some_and(|(symbol, file)| symbol.test || file.test);
    holding.len() * SYMBOLS_PER_INCIDENTAL <= all
        && holding.iter().all(|(id, counts)| !is_outside_body(*counts) || is_test(*id))
}

/// Returns whether a word occurs in the name, head, or documentation of a symbol.
fn is_outside_body([name, head, doc, _]: Counts) -> bool {
    name > 0 || head > 0 || doc > 0
}

/// Returns whether a word is the name of a symbol, file, or folder outside the tests. Names of the standard library's
/// methods, such as `next`, do not count. Headings, settings, and text files count only if `text`.
fn names(index: &Index, (term, word): (&str, &str), text: bool) -> bool {
    if is_common(word) {
        return false;
    }
    let mut letters = word.chars();
    let capitalized: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let is_subject = |id: &SymbolId| {
        index.symbol(*id).is_some_and(|(symbol, file)| !symbol.test && !file.test && (text || !file.is_text()))
    };
    let is_symbol = [word, capitalized.as_str()].iter().any(|name| index.defined(name).iter().any(is_subject));
    is_symbol || is_file(index, (term, word), text)
}

/// Returns whether a word is the name of a file or folder outside the tests. Text files count only if `text`.
fn is_file(index: &Index, (term, word): (&str, &str), text: bool) -> bool {
    let files = index.paths_with(term).iter().filter_map(|file| index.file(*file));
    let mut files = files.filter(|file| !file.test && (text || !file.is_text()));
    // Python marks inner modules with an underscore.
    let is_name = |part: &String| part.trim_start_matches('_').eq_ignore_ascii_case(word);
    files.any(|file| module_path(&file.shown).iter().any(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals on both sides of every border of the rule.
    #[test]
    fn the_rule_has_the_documented_borders() {
        let faint = Some(SkipReason::Faint);
        let of = |content, known, together, covered, is_named| MessageSignals {
            content,
            known,
            together,
            covered,
            is_named,
            is_personal: false,
        };
        let personal = |signals| MessageSignals { is_personal: true, ..signals };
        let (asks, states, changes) = (MessageKind::Asks, MessageKind::States, MessageKind::Changes);
        let orders = MessageKind::Orders;
        for (signals, kind, wanted) in [
            (of(0, 0, 0, 0.0, false), asks, Some(SkipReason::NoContent)),
            (of(2, 0, 0, 0.0, false), asks, Some(SkipReason::Unknown)),
            (of(1, 1, 1, 1.0, false), asks, faint),
            (of(1, 1, 1, 1.0, true), asks, None),
            (of(3, 1, 1, 0.37, true), asks, None),
            (of(3, 1, 1, 0.36, true), asks, faint),
            (of(3, 2, 2, 0.6, false), asks, None),
            (of(3, 2, 2, 0.59, false), asks, faint),
            (of(3, 2, 1, 0.6, false), asks, faint),
            (of(1, 1, 1, 1.0, true), states, None),
            (of(1, 1, 1, 1.0, false), states, faint),
            (of(4, 2, 2, 0.3, false), states, None),
            (of(4, 2, 2, 0.29, false), states, faint),
            (of(4, 2, 1, 0.9, true), states, faint),
            (of(4, 2, 1, 0.3, false), changes, None),
            (of(4, 2, 1, 0.3, true), orders, None),
            (of(4, 2, 1, 0.29, true), orders, faint),
            (of(4, 2, 1, 0.9, false), orders, faint),
            (of(4, 2, 2, 0.3, false), orders, None),
            (of(4, 2, 1, 0.29, false), changes, faint),
            (of(4, 2, 1, 0.2, true), changes, None),
            (of(4, 2, 1, 0.19, true), changes, faint),
            (personal(of(4, 2, 2, 0.6, false)), changes, None),
            (personal(of(4, 2, 2, 0.59, true)), changes, faint),
            (personal(of(4, 2, 1, 0.9, true)), changes, faint),
            (personal(of(1, 1, 1, 0.9, true)), orders, None),
            (personal(of(4, 2, 2, 0.59, true)), states, faint),
            (personal(of(3, 1, 1, 0.37, true)), asks, None),
            (of(1, 0, 0, 0.0, false), changes, Some(SkipReason::Unknown)),
            (of(0, 0, 0, 0.0, false), changes, Some(SkipReason::NoContent)),
        ] {
            assert_eq!(decide(&signals, kind), wanted, "{signals:?} {kind:?}");
        }
    }
}
