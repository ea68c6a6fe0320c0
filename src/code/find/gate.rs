//! Decides whether a message is about the workspace's code: "continue" and questions about other subjects must add no
//! symbols; a question about the code must add some. The index itself decides: how much of a message's weight one
//! symbol contains, and whether a word of it names a symbol, file, or folder.
//! Not for: ranking (`rank`), or the focus (`choose`).

use super::files;
use super::query::Query;
use super::rank::{Hit, idf};
use crate::code::index::common_names::is_common;
use crate::code::index::paths::module_path;
use crate::code::index::records::{File, Index, SymbolId};
use crate::code::parse::words::{Analyzer, parts};
use crate::domain::call::{PassReason, SkipReason};
use std::collections::BTreeSet;

/// Number of hits that decide whether a message is about code.
const HITS_CONSIDERED: usize = 12;
/// Share of a message's weight that one of the best symbols must contain: for a question that names something in the
/// workspace, for another question, for a statement or its first line, and for a change that names something in the
/// workspace.
const MIN_COVERED_NAMED: f32 = 0.37;
const MIN_COVERED_UNNAMED: f32 = 0.6;
const MIN_COVERED_STATED: f32 = 0.3;
const MIN_COVERED_CHANGED: f32 = 0.2;

/// A word is rare if no more symbols contain it than this share of all, as a divisor, or than this number.
const RARE_SHARE: usize = 50;
const RARE: usize = 5;

/// What a message does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageKind {
    Asks,
    /// Asks about settings, installation, or documents, or how a part of the code works.
    AsksForSubject,
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
    /// Whether a content word is the name of a symbol, file, or folder outside the tests, or, in a question with
    /// "where" or "how", a part of the name of one of the best symbols.
    is_named: bool,
}

/// Returns the reason why a message adds no code; `None` if it is about code.
pub fn skip_reason(index: &Index, query: &Query, hits: &[Hit]) -> Option<SkipReason> {
    if spells_out(index, query) {
        return None;
    }
    let kind = match (query.asks, query.asks_for_text() || query.asks_how_it_works) {
        (true, true) => MessageKind::AsksForSubject,
        (true, false) => MessageKind::Asks,
        (false, _) => MessageKind::States,
    };
    let why = decide(&measure(index, query, &query.content, hits), kind);
    if query.asks {
        return why;
    }
    if orders_text(index, query) {
        return why.or(Some(SkipReason::Faint));
    }
    let why = why?;
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
    decide(&measure(index, query, &first, hits), kind).map(|_| why)
}

/// Returns the reason why a message adds code.
pub fn pass_reason(index: &Index, query: &Query) -> PassReason {
    if spells_out(index, query) { PassReason::Named } else { PassReason::Matches }
}

/// Decides from the signals. A single content word must name something in the workspace, except in a question about
/// settings or documents, or about how a part of the code works. A question must be covered, less so if it names
/// something; a statement must also share two words with one symbol, unless it names the change to make, or may do so
/// and names something.
fn decide(signals: &MessageSignals, kind: MessageKind) -> Option<SkipReason> {
    if signals.content == 0 {
        return Some(SkipReason::NoContent);
    }
    if signals.known == 0 {
        return Some(SkipReason::Unknown);
    }
    let (together, covered) = match (kind, signals.is_named) {
        (MessageKind::Asks | MessageKind::AsksForSubject, true) => (1, MIN_COVERED_NAMED),
        (MessageKind::AsksForSubject, false) => (2.min(signals.content), MIN_COVERED_UNNAMED),
        (MessageKind::Asks, false) => (2, MIN_COVERED_UNNAMED),
        (MessageKind::States, true) => (2.min(signals.content), MIN_COVERED_STATED),
        (MessageKind::Orders, true) | (MessageKind::Changes, false) => (1, MIN_COVERED_STATED),
        (MessageKind::States | MessageKind::Orders, false) => (2, MIN_COVERED_STATED),
        (MessageKind::Changes, true) => (1, MIN_COVERED_CHANGED),
    };
    (signals.together < together || signals.covered < covered).then_some(SkipReason::Faint)
}

/// Returns whether a message is about a text or an everyday matter that names nothing in the workspace, and none of its
/// other words is rare and names something there: "write a haiku about autumn".
fn orders_text(index: &Index, query: &Query) -> bool {
    let is_name = |term: &str, word: &str| names(index, (term, word), false);
    let is_named = |term: &str| {
        let word = query.words.get(term);
        word.is_some_and(|word| is_name(term, word) || word.strip_suffix('s').is_some_and(|one| is_name(term, one)))
    };
    let rare = (index.code_len() / RARE_SHARE).max(RARE);
    let is_rare = |term: &str| index.postings_of(term).iter().filter(|one| index.is_code(one.symbol)).count() <= rare;
    let mut others = query.first_line.intersection(&query.content).filter(|term| !query.prose.contains(*term));
    query.prose.iter().any(|term| !is_named(term)) && !others.any(|term| is_rare(term) && is_named(term))
}

/// Returns whether a message spells out an identifier, or names a file or folder, of the workspace.
fn spells_out(index: &Index, query: &Query) -> bool {
    spells_out_name(index, query) || !files::named(index, query).is_empty()
}

/// Returns whether a message spells out an identifier of the workspace.
fn spells_out_name(index: &Index, query: &Query) -> bool {
    query.names.keys().any(|name| index.defined(name).iter().any(|id| index.is_symbol(*id)))
}

/// Returns whether a word of a message's label is the name of a file or folder outside the tests.
fn labels_file(index: &Index, query: &Query) -> bool {
    query.label.iter().any(|term| query.words.get(term).is_some_and(|word| is_file(index, (term, word), false)))
}

/// The symbols and files that contain a content word.
struct Occurrences {
    /// The weight of the word: how rare it is.
    weight: f32,
    symbols: BTreeSet<SymbolId>,
    /// The files whose paths contain it.
    files: BTreeSet<u32>,
}

impl Occurrences {
    /// Prose of documents would cover messages about anything: text files count only if the query asks for them.
    fn new(index: &Index, query: &Query, term: &str) -> Self {
        let text = query.asks_for_text();
        let all = if text { index.len() } else { index.code_len() } as f32;
        let is_text_file = |file: u32| index.file(file).is_some_and(File::is_text);
        let symbols = index.postings_of(term).iter().map(|posting| posting.symbol);
        let symbols: BTreeSet<SymbolId> = symbols.filter(|id| text || index.is_code(*id)).collect();
        let files = index.paths_with(term).iter().copied().filter(|file| text || !is_text_file(*file)).collect();
        Self { weight: idf(all, symbols.len().max(1)), symbols, files }
    }

    fn contain(&self, index: &Index, id: SymbolId) -> bool {
        let file = || index.scored.get(id as usize).map(|scored| scored.file);
        self.symbols.contains(&id) || file().is_some_and(|file| self.files.contains(&file))
    }
}

fn measure(index: &Index, query: &Query, content: &BTreeSet<Box<str>>, hits: &[Hit]) -> MessageSignals {
    let text = query.asks_for_text();
    let all = if text { index.len() } else { index.code_len() } as f32;
    let counts = |id: SymbolId| text || index.is_code(id);
    let hits: Vec<&Hit> = hits.iter().filter(|hit| counts(hit.id)).take(HITS_CONSIDERED).collect();
    let mut signals = MessageSignals { content: content.len(), ..MessageSignals::default() };
    let mut places: Vec<(usize, f32)> = vec![(0, 0.0); hits.len()];
    let mut mass = 0.0;
    let analyzer = Analyzer::default();
    for term in content {
        if !index.contains_term(term, text) {
            if text && query.only_asks_for_text(term) {
                signals.content -= 1;
            } else {
                mass += idf(all, 1);
            }
            continue;
        }
        let found = Occurrences::new(index, query, term);
        signals.known += 1;
        mass += found.weight;
        for (place, hit) in places.iter_mut().zip(&hits) {
            if found.contain(index, hit.id) {
                *place = (place.0 + 1, place.1 + found.weight);
            }
        }
        let word = query.words.get(term).filter(|word| !query.asks_generally(word));
        signals.is_named |= word.is_some_and(|word| {
            let in_name = || hits.iter().any(|hit| has_in_name(index, hit.id, (&analyzer, term)));
            names(index, (term, word), text) || (query.asks_where && !is_common(word) && in_name())
        });
    }
    signals.together = places.iter().map(|place| place.0).max().unwrap_or_default();
    signals.covered = places.iter().map(|place| place.1).fold(0.0, f32::max) / mass.max(f32::MIN_POSITIVE);
    signals
}

/// Marks the hits that contain too little of the query to be sent after the first ones.
///
/// A question asks for one place: among the best hits, a symbol must contain two of its content words, and as much of
/// its weight as a question must find that names nothing. All other hits are weak. A task often changes many places,
/// and a question that spells out an identifier also asks for its uses: there, one content word is enough. What a focus
/// or the path of a file names is never weak, nor is a hit with a similar meaning.
///
/// The rule has no constants of its own. It was compared with others on 140 commits of two projects that the ranking was
/// not tuned on: each stricter rule for tasks found fewer of the changed files, because a commit changes many places that
/// share only one word with its message.
pub fn mark_weak(index: &Index, query: &Query, hits: &mut [Hit]) {
    if query.content.is_empty() {
        return;
    }
    let found: Vec<Occurrences> = query.content.iter().map(|term| Occurrences::new(index, query, term)).collect();
    let mass: f32 = found.iter().map(|one| one.weight).sum();
    let named = files::named(index, query);
    let is_named = |id: SymbolId| index.symbol(id).is_some_and(|(_, file)| files::hold(&named, &file.shown));
    let asks_for_place = query.asks && !spells_out_name(index, query);
    let is_enough = |at: usize, weights: &[f32]| {
        if asks_for_place {
            at < HITS_CONSIDERED && weights.len() >= 2 && weights.iter().sum::<f32>() >= MIN_COVERED_UNNAMED * mass
        } else {
            !weights.is_empty()
        }
    };
    for (at, hit) in hits.iter_mut().enumerate() {
        let weights: Vec<f32> = found.iter().filter(|one| one.contain(index, hit.id)).map(|one| one.weight).collect();
        let is_chosen = hit.parts.focus > 0.0 || hit.parts.meaning > 0.0 || is_named(hit.id);
        hit.weak = !is_chosen && !is_enough(at, &weights);
    }
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

/// Returns whether a term is a part of a symbol's name, outside the tests.
fn has_in_name(index: &Index, id: SymbolId, (analyzer, term): (&Analyzer, &str)) -> bool {
    let is_part = |name: &str| parts(name).iter().any(|part| *analyzer.stem(part) == *term);
    index.symbol(id).is_some_and(|(symbol, file)| !symbol.test && !file.test && is_part(&symbol.name))
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
        };
        let (asks, states, changes) = (MessageKind::Asks, MessageKind::States, MessageKind::Changes);
        let orders = MessageKind::Orders;
        for (signals, kind, wanted) in [
            (of(0, 0, 0, 0.0, false), asks, Some(SkipReason::NoContent)),
            (of(2, 0, 0, 0.0, false), asks, Some(SkipReason::Unknown)),
            (of(1, 1, 1, 1.0, false), asks, faint),
            (of(1, 1, 1, 1.0, true), asks, None),
            (of(1, 1, 1, 0.6, false), MessageKind::AsksForSubject, None),
            (of(1, 1, 1, 0.59, false), MessageKind::AsksForSubject, faint),
            (of(3, 1, 1, 0.6, false), MessageKind::AsksForSubject, faint),
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
            (of(1, 0, 0, 0.0, false), changes, Some(SkipReason::Unknown)),
            (of(0, 0, 0, 0.0, false), changes, Some(SkipReason::NoContent)),
        ] {
            assert_eq!(decide(&signals, kind), wanted, "{signals:?} {kind:?}");
        }
    }
}
