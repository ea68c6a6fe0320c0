//! Scores the symbols of an index for a query, from BM25 over the fields of a symbol, the scores of its file and path,
//! flow over the graph of uses, and the kind of symbol. The same index and query always give the same scores.
//! Not for: touchpoints and budgets (`cards`).

use super::query::Query;
use crate::code::index::graph::UNIT;
use crate::code::index::record::Counts;
use crate::code::index::records::{Index, SymbolId};
use crate::code::tuning::Tuning;
use crate::domain::code::symbols::{Kind, Parts};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Minimum characters of a word that may have shorter or longer forms.
const MIN_FORM_CHARS: usize = 3;
/// Maximum letters by which a form may be longer.
const MAX_EXTRA_CHARS: usize = 6;
/// Maximum longer forms of one word.
const MAX_FORMS: usize = 100;

/// Maximum words that are named as the reason for a hit.
const MAX_MATCHED: usize = 3;

/// A symbol that matches a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    /// The symbol.
    pub id: SymbolId,
    /// The score. Higher is better; comparable only within one query.
    pub score: f32,
    /// The parts of the score.
    pub parts: Parts,
    /// The words of the query that weigh most in the symbol, heaviest first.
    pub matched: Vec<Box<str>>,
}

/// Returns the `most` best symbols for a query, best first.
#[must_use]
pub fn rank(index: &Index, query: &Query, tuning: &Tuning, most: usize) -> Vec<Hit> {
    let mut table = ScoreTable::new(index);
    let terms = terms(index, query, tuning);
    for term in &terms {
        table.term(index, &term.text, term.weight, tuning);
    }
    table.score_named_files(index, query);
    let mut hits = table.combine(index, query, tuning);
    let better = |a: &Hit, b: &Hit| b.score.total_cmp(&a.score).then_with(|| compare_places(index, a.id, b.id));
    // Keep twice as many, because spreading over files moves some up.
    if hits.len() > 2 * most {
        hits.select_nth_unstable_by(2 * most, better);
        hits.truncate(2 * most);
    }
    hits.sort_unstable_by(better);
    spread_over_files(index, &mut hits, tuning);
    hits.truncate(most);
    add_matched(index, query, &terms, &mut hits);
    hits
}

/// A term that is searched, and the term of the query behind it.
struct Term {
    text: Box<str>,
    weight: f32,
    of: Box<str>,
}

/// Adds to each hit the words of the query that weigh most in it.
#[allow(clippy::cast_precision_loss, reason = "a count")]
fn add_matched(index: &Index, query: &Query, terms: &[Term], hits: &mut [Hit]) {
    let places: HashMap<SymbolId, usize> = hits.iter().map(|hit| hit.id).zip(0..).collect();
    let mut found: Vec<Vec<(f32, &str)>> = vec![Vec::new(); hits.len()];
    for term in terms {
        let Some(word) = query.words.get(&term.of) else { continue };
        let postings = index.postings_of(&term.text);
        let weight = term.weight * idf(index.len() as f32, postings.len());
        let at = postings.iter().filter_map(|posting| places.get(&posting.symbol));
        at.for_each(|at| found[*at].push((weight, word)));
    }
    for (hit, mut words) in hits.iter_mut().zip(found) {
        words.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        for (_, word) in words {
            if hit.matched.len() < MAX_MATCHED && hit.matched.iter().all(|known| **known != *word) {
                hit.matched.push(word.into());
            }
        }
    }
}

fn compare_places(index: &Index, a: SymbolId, b: SymbolId) -> Ordering {
    match (index.symbol(a), index.symbol(b)) {
        (Some((one, here)), Some((two, there))) => {
            here.path.cmp(&there.path).then(one.span.start.cmp(&two.span.start)).then(a.cmp(&b))
        }
        _ => a.cmp(&b),
    }
}

/// Returns the query's terms, and terms of the index that shorten or lengthen them: `proc`, `process`, `processor`.
fn terms(index: &Index, query: &Query, tuning: &Tuning) -> Vec<Term> {
    let mut all: BTreeMap<Box<str>, (f32, &Box<str>)> =
        query.terms.iter().map(|(term, weight)| (term.clone(), (*weight, term))).collect();
    let mut more: Vec<(Box<str>, f32, &Box<str>)> = Vec::new();
    for (term, weight) in &query.terms {
        if term.len() < MIN_FORM_CHARS || !term.bytes().all(|byte| byte.is_ascii_lowercase()) {
            continue;
        }
        let longer = index
            .longer_terms(term)
            .filter(|other| other.len() <= term.len() + MAX_EXTRA_CHARS && index.contains_term(other));
        let from = term.len().saturating_sub(MAX_EXTRA_CHARS).max(MIN_FORM_CHARS);
        let shorter = (from..term.len()).map(|end| &term[..end]).filter(|other| index.contains_term(other));
        for other in longer.take(MAX_FORMS).chain(shorter) {
            #[allow(clippy::cast_precision_loss, reason = "lengths of words")]
            let share = other.len().min(term.len()) as f32 / other.len().max(term.len()) as f32;
            more.push((other.into(), weight * tuning.prefix * share, term));
        }
    }
    for (term, weight, of) in more {
        let known = all.entry(term).or_insert((weight, of));
        if known.0 < weight {
            *known = (weight, of);
        }
    }
    all.into_iter().map(|(text, (weight, of))| Term { text, weight, of: of.clone() }).collect()
}

/// The scores of all symbols and files while they are being summed.
struct ScoreTable {
    words: Vec<f32>,
    files: Vec<f32>,
    paths: Vec<f32>,
    named_files: Vec<f32>,
    means: [f32; 4],
    symbols: f32,
    file_count: f32,
    mean_file: f32,
}

#[allow(clippy::cast_precision_loss, reason = "counts as shares")]
impl ScoreTable {
    fn new(index: &Index) -> Self {
        let (mut count, mut length) = (0_u32, 0_u64);
        for file in index.files().filter(|file| file.count > 0) {
            count += 1;
            length += u64::from(file.length);
        }
        Self {
            words: vec![0.0; index.symbol_slots()],
            files: vec![0.0; index.file_slots()],
            paths: vec![0.0; index.file_slots()],
            named_files: vec![0.0; index.file_slots()],
            means: index.mean_lengths(),
            symbols: index.len() as f32,
            file_count: count as f32,
            mean_file: (length as f32 / (count.max(1) as f32)).max(1.0),
        }
    }

    fn term(&mut self, index: &Index, term: &str, weight: f32, tuning: &Tuning) {
        let mut found: Vec<(SymbolId, u32, f32)> = Vec::new();
        let mut sums: Vec<(u32, f32)> = Vec::new();
        for posting in index.postings_of(term) {
            let Some(scored) = index.scored.get(posting.symbol as usize) else { continue };
            if !index.is_file(scored.file) {
                continue;
            }
            found.push((posting.symbol, scored.file, self.frequency(posting.counts, scored.lengths, tuning)));
            let raw: f32 = posting.counts.iter().zip(tuning.fields).map(|(c, w)| f32::from(*c) * w.sqrt()).sum();
            match sums.last_mut() {
                Some((file, sum)) if *file == scored.file => *sum += raw,
                _ => sums.push((scored.file, raw)),
            }
        }
        let rarity = idf(self.symbols, found.len());
        for (symbol, _, tf) in found {
            self.words[symbol as usize] += weight * rarity * tf / (tuning.k1 + tf);
        }
        let rarity = idf(self.file_count, sums.len());
        for (file, tf) in sums {
            let length = index.file(file).map_or(0, |file| file.length) as f32 / self.mean_file;
            let tf = tf / (1.0 - tuning.file_b + tuning.file_b * length);
            self.files[file as usize] += weight * rarity * tf / (tuning.k1 + tf);
        }
        let paths: Vec<u32> = index.paths_with(term).iter().copied().filter(|file| index.is_file(*file)).collect();
        let rarity = idf(self.file_count, paths.len());
        for file in paths {
            self.paths[file as usize] += weight * rarity;
        }
    }

    fn frequency(&self, counts: Counts, lengths: [u32; 4], tuning: &Tuning) -> f32 {
        let mut sum = 0.0;
        for field in 0..4 {
            if counts[field] > 0 {
                let length = lengths[field] as f32 / self.means[field];
                sum += tuning.fields[field] * f32::from(counts[field]) / (1.0 - tuning.b + tuning.b * length);
            }
        }
        sum
    }

    /// Gives a score to files that the query names by path.
    fn score_named_files(&mut self, index: &Index, query: &Query) {
        for (number, score) in (0_u32..).zip(&mut self.named_files) {
            let Some(file) = index.file(number) else { continue };
            if query.paths.iter().any(|path| *file.shown == **path || file.shown.ends_with(&format!("/{path}"))) {
                *score = 1.0;
            }
        }
    }

    fn combine(&self, index: &Index, query: &Query, tuning: &Tuning) -> Vec<Hit> {
        let best_words = max_score(&self.words);
        let (best_file, best_path) = (max_score(&self.files), max_score(&self.paths));
        let flow = self.flow(index, best_words, tuning);
        let of_tests = if query.asks && !query.names_tests() { tuning.test_asked } else { tuning.test };
        let mut hits = Vec::new();
        for file in index.files() {
            let Some(number) = index.scored.get(file.first as usize).map(|scored| scored.file) else { continue };
            if file.count == 0 {
                continue;
            }
            let file_size = tuning.file_size * (file.count as f32).ln();
            let of_file = tuning.file * self.files[number as usize] / best_file;
            let of_path = tuning.path * self.paths[number as usize] / best_path + self.named_files[number as usize];
            for id in file.first..file.first + file.count {
                let Some((symbol, _)) = index.symbol(id) else { continue };
                let own = |id: SymbolId| self.words.get(id as usize).copied().unwrap_or_default() / best_words;
                let parent_score = symbol.parent.map_or(0.0, |parent| own(file.first + parent));
                let before = if id > file.first + 1 { own(id - 1) } else { 0.0 };
                let after = if id + 1 < file.first + file.count { own(id + 1) } else { 0.0 };
                let exact = query.names.get(symbol.name.as_ref()).map_or(0.0, |weight| weight * tuning.exact);
                let mut parts = Parts {
                    words: own(id),
                    file: of_file,
                    path: of_path,
                    graph: tuning.graph * flow.get(&id).map_or(0.0, |flow| *flow as f32 / UNIT as f32).min(1.0),
                    near: tuning.parent * parent_score + tuning.beside * (before + after),
                    exact,
                    ..Parts::default()
                };
                // A file does not match only because its symbols do.
                let matches_only_by_symbols =
                    symbol.kind == Kind::File && parts.words <= 0.0 && self.named_files[number as usize] <= 0.0;
                if matches_only_by_symbols || parts.sum() <= 0.0 {
                    continue;
                }
                let lines = symbol.lines.1.saturating_sub(symbol.lines.0).saturating_add(1) as f32;
                let prior = tuning.size * lines.min(400.0).ln() + file_size;
                let is_named = parts.exact > 0.0 || self.named_files[number as usize] > 0.0;
                let of_tests = if is_named { tuning.test } else { of_tests };
                let kind_factor =
                    kind_factor(symbol.kind, tuning) * if symbol.test || file.test { of_tests } else { 1.0 };
                let sum = parts.sum() + prior;
                parts.prior = sum * kind_factor - parts.sum();
                hits.push(Hit { id, score: parts.sum(), parts, matched: Vec::new() });
            }
        }
        hits
    }

    /// Returns the scores that the best symbols pass on to the symbols they use and to their users.
    fn flow(&self, index: &Index, best: f32, tuning: &Tuning) -> BTreeMap<SymbolId, u64> {
        let mut seeds: Vec<(SymbolId, f32)> = (0_u32..)
            .zip(&self.words)
            .filter(|(_, score)| **score > best * 0.3)
            .map(|(id, score)| (id, score / best))
            .collect();
        seeds.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| compare_places(index, a.0, b.0)));
        seeds.truncate(40);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares from 0 to 1")]
        let seeds: Vec<(SymbolId, u64)> =
            seeds.into_iter().map(|(id, share)| (id, (share * UNIT as f32) as u64)).collect();
        index.graph().flow(&seeds, tuning.rounds, tuning.back)
    }
}

fn kind_factor(kind: Kind, tuning: &Tuning) -> f32 {
    match kind {
        Kind::File => tuning.whole,
        Kind::Module | Kind::Impl => tuning.shell,
        Kind::Constant | Kind::Type | Kind::Prototype => tuning.small,
        _ => 1.0,
    }
}

/// Lowers later symbols of a file that already has many hits.
fn spread_over_files(index: &Index, hits: &mut [Hit], tuning: &Tuning) {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for hit in hits.iter_mut() {
        let file = index.scored.get(hit.id as usize).map_or(0, |scored| scored.file);
        let count = counts.entry(file).or_default();
        #[allow(clippy::cast_precision_loss, reason = "a count")]
        let less = tuning.spread * (*count as f32).sqrt();
        hit.parts.prior -= less;
        hit.score = hit.parts.sum();
        *count += 1;
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| compare_places(index, a.id, b.id)));
}

fn max_score(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(f32::MIN_POSITIVE, f32::max)
}

/// Returns the inverse document frequency (Robertson and Zaragoza 2009), plus one to keep it positive.
#[allow(clippy::cast_precision_loss, reason = "counts of documents")]
pub(crate) fn idf(all: f32, with: usize) -> f32 {
    let with = with as f32;
    (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
}
