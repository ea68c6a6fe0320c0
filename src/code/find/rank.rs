//! Scores the symbols of an index for a query, from BM25 over the fields of a symbol, the scores of its file and path,
//! flow over the graph of uses, and the kind of symbol. The same index and query always give the same scores.
//! Not for: touchpoints and budgets (`cards`).

use super::files;
use super::query::Query;
use crate::code::index::graph::UNIT;
use crate::code::index::record::Counts;
use crate::code::index::records::{File, Index, SymbolId};
use crate::code::tuning::Tuning;
use crate::domain::code::{Kind, Parts};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Minimum characters of a word that may have shorter or longer forms.
const MIN_FORM_CHARS: usize = 3;
/// Maximum number of additional letters of a longer form.
const MAX_EXTRA_CHARS: usize = 6;
/// Maximum longer forms of one word.
const MAX_FORMS: usize = 100;

/// Maximum words that are named as the reason for a hit.
const MAX_MATCHED: usize = 3;

/// A symbol that matches a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit {
    pub id: SymbolId,
    /// The score. Higher is better; comparable only within one query.
    pub score: f32,
    /// The parts of the score.
    pub parts: Parts,
    /// The words of the query that weigh most in the symbol, heaviest first.
    pub matched: Vec<Box<str>>,
    /// Whether it contains too little of the query to be sent after the first ones.
    pub weak: bool,
}

/// Returns the `most` best symbols for a query, best first.
pub fn rank(index: &Index, query: &Query, tuning: &Tuning, most: usize) -> Vec<Hit> {
    let mut table = ScoreTable::new(index, query);
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
    spread_over_files(index, &mut hits, tuning.spread);
    hits.truncate(most);
    add_matched(index, query, &terms, &mut hits);
    hits
}

/// A term that is searched, and the term of the query that it comes from.
struct Term {
    text: Box<str>,
    weight: f32,
    of: Box<str>,
}

/// Adds to each hit the words of the query that weigh most in it.
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
    let text = query.asks_for_text();
    for (term, weight) in &query.terms {
        if term.len() < MIN_FORM_CHARS || !term.bytes().all(|byte| byte.is_ascii_lowercase()) {
            continue;
        }
        let longer = index
            .longer_terms(term)
            .filter(|other| other.len() <= term.len() + MAX_EXTRA_CHARS && index.contains_term(other, text));
        let from = term.len().saturating_sub(MAX_EXTRA_CHARS).max(MIN_FORM_CHARS);
        let shorter = (from..term.len()).map(|end| &term[..end]).filter(|other| index.contains_term(other, text));
        for other in longer.take(MAX_FORMS).chain(shorter) {
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

/// The scores of all symbols and files while they are being summed. Code and text files are counted apart, so that the
/// scores of code do not depend on text files.
struct ScoreTable {
    words: Vec<f32>,
    files: Vec<f32>,
    paths: Vec<f32>,
    named_files: Vec<f32>,
    classes: [Class; 2],
    asks_for_text: bool,
}

/// The statistics for the scores of code, or those for the scores of text files.
#[derive(Clone, Copy, Default)]
struct Class {
    /// Mean numbers of words by field.
    means: [f32; 4],
    symbols: f32,
    files: f32,
    /// The mean number of words of a file.
    mean_file: f32,
    /// The best scores of a symbol, a file, and a path; scores are divided by these.
    best: [f32; 3],
}

impl ScoreTable {
    fn new(index: &Index, query: &Query) -> Self {
        let (mut counts, mut lengths) = ([0_u32; 2], [0_u64; 2]);
        for file in index.files().filter(|file| file.count > 0) {
            counts[usize::from(file.is_text())] += 1;
            lengths[usize::from(file.is_text())] += u64::from(file.length);
        }
        let means = index.mean_lengths();
        // The rarity of a word in text files is its rarity in all files.
        let symbols = [index.code_len(), index.len()];
        let files = [counts[0], counts[0] + counts[1]];
        let class = |at: usize| Class {
            means: means[at],
            symbols: symbols[at] as f32,
            files: files[at] as f32,
            mean_file: (lengths[at] as f32 / (counts[at].max(1) as f32)).max(1.0),
            best: [f32::MIN_POSITIVE; 3],
        };
        Self {
            words: vec![0.0; index.symbol_slots()],
            files: vec![0.0; index.file_slots()],
            paths: vec![0.0; index.file_slots()],
            named_files: vec![0.0; index.file_slots()],
            classes: [class(0), class(1)],
            asks_for_text: query.asks_for_text(),
        }
    }

    fn term(&mut self, index: &Index, term: &str, weight: f32, tuning: &Tuning) {
        let mut found: Vec<(SymbolId, usize, f32)> = Vec::new();
        let mut sums: Vec<(u32, usize, f32)> = Vec::new();
        for posting in index.postings_of(term) {
            let Some(scored) = index.scored.get(posting.symbol as usize) else { continue };
            if !index.is_file(scored.file) {
                continue;
            }
            let class = usize::from(scored.is_text);
            let means = &self.classes[class].means;
            found.push((posting.symbol, class, frequency(posting.counts, scored.lengths, means, tuning)));
            let raw: f32 = posting.counts.iter().zip(tuning.fields).map(|(c, w)| f32::from(*c) * w.sqrt()).sum();
            match sums.last_mut() {
                Some((file, _, sum)) if *file == scored.file => *sum += raw,
                _ => sums.push((scored.file, class, raw)),
            }
        }
        let code = found.iter().filter(|(_, class, _)| *class == 0).count();
        let rarity = self.rarities(|class| class.symbols, [code, found.len()]);
        for (symbol, class, tf) in found {
            self.words[symbol as usize] += weight * rarity[class] * tf / (tuning.k1 + tf);
        }
        let code = sums.iter().filter(|(_, class, _)| *class == 0).count();
        let rarity = self.rarities(|class| class.files, [code, sums.len()]);
        for (file, class, tf) in sums {
            let length = index.file(file).map_or(0, |file| file.length) as f32 / self.classes[class].mean_file;
            let tf = tf / (1.0 - tuning.file_b + tuning.file_b * length);
            self.files[file as usize] += weight * rarity[class] * tf / (tuning.k1 + tf);
        }
        let with = |file: &u32| Some((*file, usize::from(index.file(*file)?.is_text())));
        let paths: Vec<(u32, usize)> = index.paths_with(term).iter().filter_map(with).collect();
        let code = paths.iter().filter(|(_, class)| *class == 0).count();
        let rarity = self.rarities(|class| class.files, [code, paths.len()]);
        for (file, class) in paths {
            self.paths[file as usize] += weight * rarity[class];
        }
    }

    /// Returns the rarity of a term in code and in all files.
    fn rarities(&self, all: impl Fn(&Class) -> f32, with: [usize; 2]) -> [f32; 2] {
        [0, 1].map(|at| idf(all(&self.classes[at]), with[at]))
    }

    /// Finds the best scores of each class. Text files are compared with code; code is compared with text files only
    /// when the query asks for them.
    fn find_best(&mut self, index: &Index) {
        let mut best = [[f32::MIN_POSITIVE; 3]; 2];
        let mut raise = |at: usize, is_text: bool, score: f32| {
            let code = !is_text || self.asks_for_text;
            for class in best.iter_mut().skip(usize::from(!code)) {
                class[at] = class[at].max(score);
            }
        };
        for (scored, words) in index.scored.iter().zip(&self.words) {
            raise(0, scored.is_text, *words);
        }
        for (number, (words, path)) in (0_u32..).zip(self.files.iter().zip(&self.paths)) {
            let is_text = index.file(number).is_some_and(File::is_text);
            raise(1, is_text, *words);
            raise(2, is_text, *path);
        }
        for (class, best) in self.classes.iter_mut().zip(best) {
            class.best = best;
        }
    }

    /// Gives a score to files that the query names by path.
    fn score_named_files(&mut self, index: &Index, query: &Query) {
        let by_name = files::named_only_by_name(index, query);
        for (number, score) in (0_u32..).zip(&mut self.named_files) {
            let Some(file) = index.file(number) else { continue };
            let is_named = by_name.iter().any(|name| *file.shown == **name);
            if is_named
                || query.paths.iter().any(|path| *file.shown == **path || file.shown.ends_with(&format!("/{path}")))
            {
                *score = 1.0;
            }
        }
    }

    fn combine(&mut self, index: &Index, query: &Query, tuning: &Tuning) -> Vec<Hit> {
        self.find_best(index);
        let flow = self.flow(index, tuning);
        let of_text = text_factor(query, tuning);
        let factors = TestFactors::new(query, tuning);
        let mut hits = Vec::new();
        for file in index.files() {
            let Some(number) = index.scored.get(file.first as usize).map(|scored| scored.file) else { continue };
            if file.count == 0 {
                continue;
            }
            let [best_words, best_file, best_path] = self.classes[usize::from(file.is_text())].best;
            let of_class = if file.is_text() { of_text } else { 1.0 };
            let file_size = tuning.file_size * (file.count as f32).ln();
            let of_file = tuning.file * self.files[number as usize] / best_file;
            let of_path = tuning.path * self.paths[number as usize] / best_path + self.named_files[number as usize];
            for id in file.symbols() {
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
                let of_tests = factors.of(symbol.test, file.test, is_named);
                // A setting that the query spells out is what it asks about.
                let of_class = if parts.exact > 0.0 { 1.0 } else { of_class };
                let factor = kind_factor(symbol.kind, tuning) * of_tests * of_class;
                let sum = parts.sum() + prior;
                parts.prior = sum * factor - parts.sum();
                hits.push(Hit { id, score: parts.sum(), parts, matched: Vec::new(), weak: false });
            }
        }
        hits
    }

    /// Returns the scores that the best symbols pass on to the symbols they use and to their users.
    fn flow(&self, index: &Index, tuning: &Tuning) -> BTreeMap<SymbolId, u64> {
        let best = self.classes[0].best[0];
        let mut seeds: Vec<(SymbolId, f32)> = (0_u32..)
            .zip(&self.words)
            .filter(|(id, score)| **score > best * 0.3 && index.is_code(*id))
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

/// Returns how often a term occurs in a symbol, weighted by field and length.
fn frequency(counts: Counts, lengths: [u32; 4], means: &[f32; 4], tuning: &Tuning) -> f32 {
    let mut sum = 0.0;
    for field in 0..4 {
        if counts[field] > 0 {
            let length = lengths[field] as f32 / means[field];
            sum += tuning.fields[field] * f32::from(counts[field]) / (1.0 - tuning.b + tuning.b * length);
        }
    }
    sum
}

/// Returns the factor for text files.
fn text_factor(query: &Query, tuning: &Tuning) -> f32 {
    let [usual, about_code] = tuning.text;
    if query.asks_for_text() {
        1.0
    } else if !query.is_about_code() && (query.asks || query.names_text) {
        usual
    } else {
        about_code
    }
}

/// The factors for tests: for tests that the query names, for files of tests, and for tests in other files.
struct TestFactors {
    named: f32,
    file: f32,
    inside: f32,
}

impl TestFactors {
    fn new(query: &Query, tuning: &Tuning) -> Self {
        let (file, inside) = match (query.names_tests(), query.asks) {
            (true, _) => (tuning.test, tuning.test),
            (false, true) => (tuning.test_asked, tuning.test_asked),
            (false, false) => (tuning.test_stated, tuning.test),
        };
        Self { named: tuning.test, file, inside }
    }

    fn of(&self, symbol: bool, file: bool, is_named: bool) -> f32 {
        match (symbol || file, is_named, file) {
            (false, ..) => 1.0,
            (true, true, _) => self.named,
            (true, false, true) => self.file,
            (true, false, false) => self.inside,
        }
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

/// Prefers symbols of other files if only a few symbols are sent: among the first hits, another symbol of the same file
/// must score clearly higher than the first symbol of another file; after them, other files come first. The hits are
/// given and returned best first.
pub fn prefer_other_files(index: &Index, hits: Vec<Hit>, tuning: &Tuning) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    // The number of chosen hits of each file, and its other hits, best first, with their places among all hits.
    let mut files: BTreeMap<u32, (f32, VecDeque<(usize, Hit)>)> = BTreeMap::new();
    for placed in hits.into_iter().enumerate() {
        files.entry(file_of(index, &placed.1)).or_default().1.push_back(placed);
    }
    let next_of = |file: u32, (taken, others): &(f32, VecDeque<(usize, Hit)>), spread: f32| {
        let less = best * spread * taken.sqrt();
        others.front().map(|(place, hit)| NextHit { file, place: *place, less, score: hit.score - less })
    };
    let order = |a: &NextHit, b: &NextHit| a.score.total_cmp(&b.score).then(b.place.cmp(&a.place));
    let mut chosen = Vec::new();
    for (spread, most) in tuning.spread_sent.into_iter().zip([tuning.first_sent, usize::MAX]) {
        let mut next: Vec<_> = files.iter().filter_map(|(file, hits)| next_of(*file, hits, spread)).collect();
        next.sort_by(order);
        while chosen.len() < most
            && let Some(NextHit { file, less, .. }) = next.pop()
            && let Some(of_file) = files.get_mut(&file)
            && let Some((_, mut hit)) = of_file.1.pop_front()
        {
            hit.parts.prior -= less;
            hit.score = hit.parts.sum();
            chosen.push(hit);
            of_file.0 += 1.0;
            if let Some(further) = next_of(file, of_file, spread) {
                let at = next.partition_point(|other| order(other, &further).is_lt());
                next.insert(at, further);
            }
        }
    }
    chosen
}

/// The best hit of a file that is not chosen yet.
struct NextHit {
    file: u32,
    place: usize,
    /// The score that the hit loses because other hits of its file were chosen first, and its remaining score.
    less: f32,
    score: f32,
}

fn file_of(index: &Index, hit: &Hit) -> u32 {
    index.scored.get(hit.id as usize).map_or(0, |scored| scored.file)
}

/// Lowers later symbols of a file that already has many hits.
fn spread_over_files(index: &Index, hits: &mut [Hit], spread: f32) {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for hit in hits.iter_mut() {
        let count = counts.entry(file_of(index, hit)).or_default();
        let less = spread * (*count as f32).sqrt();
        hit.parts.prior -= less;
        hit.score = hit.parts.sum();
        *count += 1;
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| compare_places(index, a.id, b.id)));
}

/// Returns the inverse document frequency (Robertson and Zaragoza 2009), plus one to keep it positive.
pub(crate) fn idf(all: f32, with: usize) -> f32 {
    let with = with as f32;
    (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
}
