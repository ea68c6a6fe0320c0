//! Decides which ranked symbols go into a call: whether a message is about code at all, and how a focus changes the
//! order.
//! Not for: ranking (`rank`), or what is sent of a symbol (`cards`).

use super::names;
use super::query::Query;
use super::rank::Hit;
use crate::code::index::records::{Index, SymbolId};
use crate::domain::call::retrieval_set::SkipReason;
use crate::domain::code::symbols::{Kind, Parts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Terms below this weight are common verbs of change or of asking.
const MIN_TELLING_WEIGHT: f32 = 0.5;
/// Terms below this weight are joined words.
const MIN_WORD_WEIGHT: f32 = 0.9;
/// Number of hits that decide whether a message is about code.
const HITS_CONSIDERED: usize = 12;
/// Maximum symbols of one name that a focus refers to.
const MAX_SAME_NAME: usize = 6;
/// Maximum symbols that a file in focus adds without matching the words.
const MAX_OF_FILE: u32 = 60;
/// What a focus adds to a score, as a share of the best score: for the symbol itself, for its file or folder, for
/// symbols one use away, and for symbols one use away from those behind the message.
const FOCUS_SYMBOL: f32 = 1.5;
const FOCUS_PLACE: f32 = 0.8;
const FOCUS_HOP: f32 = 0.5;
const FOCUS_BESIDE: f32 = 0.2;

/// A person's focus: files, folders, and symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Paths of files and folders.
    pub paths: Vec<String>,
    /// Symbols.
    pub symbols: Vec<SymbolId>,
    /// Names that match nothing.
    pub unknown: Vec<String>,
}

impl Scope {
    /// Returns whether the scope is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.symbols.is_empty()
    }

    /// Returns whether a file is in the scope.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        self.paths.iter().any(|place| path == place || path.strip_prefix(place.as_str()).is_some_and(in_folder))
    }
}

fn in_folder(rest: &str) -> bool {
    rest.starts_with('/')
}

/// Resolves names: to a file or folder by its path or the end of its path, otherwise to symbols by name.
#[must_use]
pub fn scope(index: &Index, named: &[String]) -> Scope {
    let mut scope = Scope::default();
    for name in named {
        let wanted = name.trim().trim_start_matches("./").trim_end_matches('/');
        let (path, symbol) = wanted.split_once('#').map_or((wanted, None), |(path, symbol)| (path, Some(symbol)));
        if let (Some(place), None) = (place(index, path), symbol) {
            scope.paths.push(place);
            continue;
        }
        let wanted = symbol.unwrap_or(wanted);
        let own = wanted.rsplit([':', '.']).next().unwrap_or_default();
        let found = names::find(index, wanted, 50).into_iter().filter(|found| {
            symbol.is_none_or(|_| found.path == path) && found.qualified.rsplit([':', '.']).next() == Some(own)
        });
        let ids: Vec<SymbolId> = found
            .take(MAX_SAME_NAME)
            .filter_map(|found| names::at(index, &found.path, &found.qualified, found.lines.0))
            .collect();
        if ids.is_empty() {
            scope.unknown.push(name.clone());
        }
        scope.symbols.extend(ids);
    }
    scope
}

/// Returns the file or folder that a path or the end of a path refers to; the first if there are several.
fn place(index: &Index, wanted: &str) -> Option<String> {
    if wanted.is_empty() {
        return None;
    }
    let is_folder = |shown: &str| shown.strip_prefix(wanted).is_some_and(in_folder);
    if index.file_at(Path::new(wanted)).is_some() || index.files().any(|file| is_folder(&file.shown)) {
        return Some(wanted.to_owned());
    }
    let end = format!("/{wanted}");
    let inside = format!("/{wanted}/");
    index.files().find_map(|file| match file.shown.find(&inside) {
        Some(at) => Some(file.shown[..at + end.len()].to_owned()),
        None => file.shown.ends_with(&end).then(|| file.shown.to_string()),
    })
}

/// Raises hits in focus, adds symbols that the focus names regardless of the words, and sorts by score.
#[must_use]
pub fn focused(index: &Index, hits: Vec<Hit>, scope: &Scope, related: &[SymbolId]) -> Vec<Hit> {
    if scope.is_empty() && related.is_empty() {
        return hits;
    }
    let best = hits.iter().map(|hit| hit.score).fold(1.0, f32::max);
    let own: BTreeSet<SymbolId> = scope.symbols.iter().copied().collect();
    let hops = index.graph().hops(&scope.symbols, 1);
    let related_hops = index.graph().hops(related, 1);
    let share = |id: SymbolId| {
        let is_reached = |hops: &BTreeMap<SymbolId, u32>| hops.get(&id).is_some_and(|hop| *hop > 0);
        let by_hops = if is_reached(&hops) { FOCUS_HOP } else { 0.0 }.max(if is_reached(&related_hops) {
            FOCUS_BESIDE
        } else {
            0.0
        });
        let by_place = index.symbol(id).filter(|(_, file)| scope.holds(&file.shown)).map_or(0.0, |_| FOCUS_PLACE);
        if own.contains(&id) { FOCUS_SYMBOL } else { by_hops.max(by_place) }
    };
    let mut all: BTreeMap<SymbolId, Hit> = hits.into_iter().map(|hit| (hit.id, hit)).collect();
    let files =
        index.files().filter(|file| file.count <= MAX_OF_FILE && scope.paths.iter().any(|path| **path == *file.shown));
    let of_files = files.flat_map(|file| file.first..file.first + file.count);
    for id in own.iter().copied().chain(hops.keys().copied()).chain(of_files) {
        let shown = index.symbol(id).is_some_and(|(symbol, _)| !matches!(symbol.kind, Kind::File | Kind::Impl));
        if shown && !all.contains_key(&id) {
            all.insert(id, Hit { id, score: 0.0, parts: Parts::default() });
        }
    }
    let mut hits: Vec<Hit> = all
        .into_values()
        .map(|mut hit| {
            hit.parts.focus = best * share(hit.id);
            hit.score = hit.parts.sum();
            hit
        })
        .collect();
    let place = |hit: &Hit| index.symbol(hit.id).map(|(symbol, file)| (file.path.clone(), symbol.span.start));
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| place(a).cmp(&place(b))));
    hits
}

/// Returns the reason why a message is not about code: it names nothing, nothing known, or too few of the best symbols'
/// terms. Returns `None` if it is about code: it spells out a name or a path, or the best symbols contain two of its
/// words, or its only word. For a question (`is_question`), one word is enough if half of its words are known.
#[must_use]
pub fn skip_reason(index: &Index, query: &Query, hits: &[Hit], is_question: bool) -> Option<SkipReason> {
    let is_defined = |name: &str| index.defined(name).iter().any(|id| index.is_symbol(*id));
    let spelled_out = query.names.keys().any(|name| is_defined(name))
        || query.paths.iter().any(|path| index.files().any(|file| file.shown.ends_with(path.as_str())));
    if spelled_out {
        return None;
    }
    // Joined words weigh less than words, and verbs of asking less than both.
    let words = query.terms.values().filter(|weight| **weight >= MIN_WORD_WEIGHT).count();
    let known: Vec<(&str, f32)> = query
        .terms
        .iter()
        .filter(|(term, _)| index.contains_term(term))
        .map(|(term, weight)| (term.as_ref(), *weight))
        .collect();
    if words == 0 {
        return Some(SkipReason::NoContent);
    }
    if known.iter().all(|(_, weight)| *weight < MIN_TELLING_WEIGHT) {
        return Some(SkipReason::Unknown);
    }
    let matched = |hit: &Hit| {
        let of = |term: &str| index.postings_of(term).iter().any(|posting| posting.symbol == hit.id);
        let matched: Vec<f32> = known.iter().filter(|(term, _)| of(term)).map(|(_, weight)| *weight).collect();
        if matched.iter().any(|weight| *weight >= MIN_TELLING_WEIGHT) { matched.len() } else { 0 }
    };
    let most = hits.iter().take(HITS_CONSIDERED).map(matched).max().unwrap_or_default();
    let half_known = known.iter().filter(|(_, weight)| *weight >= MIN_WORD_WEIGHT).count() * 2 >= words;
    let enough = if is_question && half_known { 1 } else { 2.min(words) };
    (most < enough).then_some(SkipReason::Faint)
}
