//! Resolves the names of a focus to files, folders, and symbols, and changes the order of hits for a focus.
//! Not for: ranking (`rank`), or the lines of a symbol that are sent (`cards`).

use super::files::{self, place};
use super::names;
use super::query::Query;
use super::rank::Hit;
use crate::code::index::records::{File, Index, SymbolId};
use crate::domain::code::symbols::own_name;
use crate::domain::code::{Kind, Parts};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum symbols of one name that a focus refers to.
const MAX_SAME_NAME: usize = 6;
/// Maximum symbols that a file in focus adds without matching the words.
const MAX_OF_FILE: u32 = 60;
/// The amount that a focus adds to a score, as a share of the best score: for the symbol itself, for its file or
/// folder, for symbols one use away, and for symbols one use away from the symbols that the message is about.
const FOCUS_SYMBOL: f32 = 1.5;
const FOCUS_PLACE: f32 = 0.8;
const FOCUS_HOP: f32 = 0.5;
const FOCUS_BESIDE: f32 = 0.2;

/// A person's focus: files, folders, and symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Paths of files and folders.
    pub paths: Vec<String>,
    pub symbols: Vec<SymbolId>,
    /// Names that match nothing.
    pub unknown: Vec<String>,
}

impl Scope {
    /// Returns whether the scope is empty.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.symbols.is_empty()
    }

    /// Returns whether a file is in the scope.
    pub fn holds(&self, path: &str) -> bool {
        files::hold(&self.paths, path)
    }
}

/// Resolves names: to a file or folder by its path or the end of its path, otherwise to symbols by name.
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
        let found = names::find(index, wanted, 50)
            .into_iter()
            .filter(|found| symbol.is_none_or(|_| found.path == path) && own_name(&found.qualified) == own);
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

/// Raises hits in focus, adds symbols that the focus names regardless of the words, and sorts by score.
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
        let by_hops = match (is_reached(&hops), is_reached(&related_hops)) {
            (true, _) => FOCUS_HOP,
            (false, true) => FOCUS_BESIDE,
            (false, false) => 0.0,
        };
        let by_place = index.symbol(id).filter(|(_, file)| scope.holds(&file.shown)).map_or(0.0, |_| FOCUS_PLACE);
        if own.contains(&id) { FOCUS_SYMBOL } else { by_hops.max(by_place) }
    };
    let mut all: BTreeMap<SymbolId, Hit> = hits.into_iter().map(|hit| (hit.id, hit)).collect();
    let files =
        index.files().filter(|file| file.count <= MAX_OF_FILE && scope.paths.iter().any(|path| **path == *file.shown));
    let of_files = files.flat_map(File::symbols);
    for id in own.iter().copied().chain(hops.keys().copied()).chain(of_files) {
        let shown = index.symbol(id).is_some_and(|(symbol, _)| !matches!(symbol.kind, Kind::File | Kind::Impl));
        if shown && !all.contains_key(&id) {
            all.insert(id, Hit { id, score: 0.0, parts: Parts::default(), matched: Vec::new(), weak: false });
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

/// Keeps the hits that a query names: by identifier, or by the path of their file or of a folder around it.
pub fn mentioned(index: &Index, query: &Query, mut hits: Vec<Hit>) -> Vec<Hit> {
    let places = Scope { paths: files::named(index, query), ..Scope::default() };
    hits.retain(|hit| {
        index.symbol(hit.id).is_some_and(|(symbol, file)| {
            let is_named = query.names.contains_key(&symbol.name) || places.holds(&file.shown);
            is_named && !matches!(symbol.kind, Kind::File | Kind::Impl)
        })
    });
    hits
}
