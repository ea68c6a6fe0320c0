//! All records in a searchable form: symbols, postings of terms, and names with their definitions and uses. A changed
//! file is removed and inserted again; results do not depend on the order of insertion.
//! Not for: reading files (`build`), or scores (`rank`).

use super::graph::Graph;
use super::name_use::{NO_NAME, NameShape, NameUse};
use super::paths::{is_test_path, module_path, path_terms, shown};
use super::postings::{Interner, Lists, Posting};
use super::record::{FileStamp, Record};
use crate::code::parse::words::Analyzer;
use crate::code::symbol::{Symbol, to_u32};
use crate::domain::base::Hash;
use crate::domain::code::{Kind, Language, ParseOutcome};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A symbol's number in the index, valid until the symbol's file changes.
pub type SymbolId = u32;

/// A file of the index.
#[derive(Clone, Debug)]
pub struct File {
    /// The path relative to the root.
    pub path: PathBuf,
    /// The path as text, with `/` between its parts.
    pub shown: Box<str>,
    /// The size and time when it was read.
    pub stamp: FileStamp,
    /// The hash of its bytes.
    pub hash: Hash,
    /// Whether it was parsed, or why not.
    pub outcome: ParseOutcome,
    pub language: Option<Language>,
    /// Whether parts of it did not parse.
    pub errors: bool,
    pub lines: u32,
    /// Whether its path belongs to tests, examples, or benchmarks.
    pub test: bool,
    /// The number of its first symbol.
    pub first: SymbolId,
    /// The number of its symbols.
    pub count: u32,
    /// The number of its words, for length normalization.
    pub length: u32,
}

impl File {
    /// Returns whether it contains settings or a document instead of code.
    pub fn is_text(&self) -> bool {
        self.language.is_some_and(Language::is_text)
    }

    /// Returns the numbers of its symbols.
    pub fn symbols(&self) -> Range<SymbolId> {
        self.first..self.first + self.count
    }
}

/// A symbol's data for scoring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scored {
    /// The number of its file.
    pub(crate) file: u32,
    /// The number of words by field.
    pub(crate) lengths: [u32; 4],
    /// The start and count of its uses.
    uses: (u32, u32),
    /// Whether it belongs to a text file.
    pub(crate) is_text: bool,
    /// Whether it is a member of a type.
    pub(crate) is_member: bool,
    /// The number of the name of the type or module that it is directly in, or [`NO_NAME`].
    pub(crate) owner: u32,
}

/// The index of a workspace's code.
#[derive(Default)]
pub struct Index {
    files: Vec<Option<File>>,
    exists: Vec<bool>,
    by_path: BTreeMap<PathBuf, u32>,
    symbols: Vec<Symbol>,
    pub(crate) scored: Vec<Scored>,
    terms: Interner<true>,
    postings: Lists<Posting>,
    paths: Lists<u32>,
    names: Interner<false>,
    definitions: Lists<SymbolId>,
    /// Numbers of `name_uses`, by symbol.
    uses: Vec<u32>,
    name_uses: Vec<NameUse>,
    use_numbers: HashMap<NameUse, u32>,
    /// The number of symbols: of code, and of text files.
    symbol_counts: [usize; 2],
    /// The number of words by field: of code, and of text files.
    lengths: [[u64; 4]; 2],
    graph: Graph,
    stale: bool,
}

impl Index {
    /// Inserts a file, replacing the record with the same path. [`Index::refresh`] updates the graph.
    pub fn insert(&mut self, record: &Record) {
        self.remove(&record.path);
        let number = to_u32(self.files.len());
        let first = to_u32(self.symbols.len());
        let shown = shown(&record.path);
        let mut file = File {
            path: record.path.clone(),
            test: is_test_path(&shown),
            shown: shown.into(),
            stamp: record.stamp,
            hash: record.hash,
            outcome: record.outcome,
            language: record.language,
            errors: record.errors,
            lines: record.lines,
            first,
            count: to_u32(record.symbols.len()),
            length: 0,
        };
        self.symbols.extend(record.symbols.iter().cloned());
        let is_text = file.is_text();
        let scored = Scored { file: number, is_text, owner: NO_NAME, ..Scored::default() };
        self.scored.resize(self.symbols.len(), scored);
        self.add_postings(record, &mut file);
        self.add_uses(record, first);
        self.by_path.insert(record.path.clone(), number);
        self.symbol_counts[usize::from(is_text)] += record.symbols.len();
        self.files.push(Some(file));
        self.exists.push(true);
        self.stale = true;
    }

    fn add_postings(&mut self, record: &Record, file: &mut File) {
        let numbers: Vec<u32> = record.words.terms.iter().map(|term| self.terms.number(term)).collect();
        for &(symbol, term, counts) in &record.words.term_counts {
            let (Some(term), symbol) = (numbers.get(term as usize), file.first + symbol) else { continue };
            self.postings.push(*term, Posting { symbol, counts });
            if let Some(scored) = self.scored.get_mut(symbol as usize) {
                scored.lengths.iter_mut().zip(counts).for_each(|(length, count)| *length += u32::from(count));
            }
        }
        for symbol in file.symbols() {
            let lengths = self.scored[symbol as usize].lengths;
            let sums = &mut self.lengths[usize::from(file.is_text())];
            sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += u64::from(length));
            file.length += lengths.iter().sum::<u32>();
        }
        if file.count > 0 {
            let mut analyzer = Analyzer::default();
            for term in path_terms(&mut analyzer, &file.shown) {
                let term = self.terms.number(&term);
                self.paths.push(term, to_u32(self.files.len()));
            }
        }
    }

    fn add_uses(&mut self, record: &Record, first: u32) {
        let numbers: Vec<u32> = record.words.names.iter().map(|name| self.names.number(name)).collect();
        let mut uses = record.words.uses.iter().peekable();
        for (at, symbol) in (0_u32..).zip(&record.symbols) {
            let begin = to_u32(self.uses.len());
            while let Some((_, name, shape)) = uses.next_if(|(user, ..)| *user == at) {
                let Some(name) = numbers.get(*name as usize) else { continue };
                let shape = self.shape(*shape, &record.words.names);
                let number = self.use_number(NameUse { name: *name, shape });
                self.uses.push(number);
            }
            let parent = symbol.parent.and_then(|parent| record.symbols.get(parent as usize));
            let is_member = parent.is_some_and(|parent| parent.kind.has_methods());
            let owner = parent.filter(|parent| is_member || parent.kind == Kind::Module);
            let owner = owner.map_or(NO_NAME, |owner| self.names.number(&owner.name));
            let scored = &mut self.scored[(first + at) as usize];
            scored.uses = (begin, to_u32(self.uses.len()) - begin);
            (scored.is_member, scored.owner) = (is_member, owner);
            if !matches!(symbol.kind, Kind::File | Kind::Impl) && symbol.name.len() > 2 {
                let name = self.names.number(&symbol.name);
                self.definitions.push(name, first + at);
            }
        }
    }

    /// Returns the shape of a use from its stored number ([`Words::uses`](super::record::Words::uses)) and the file's
    /// names.
    fn shape(&mut self, stored: u32, names: &[Box<str>]) -> NameShape {
        match stored {
            0 => NameShape::Unsure,
            1 => NameShape::Name,
            2 => NameShape::Member,
            owner => {
                let owner = names.get(owner as usize - 3).map_or("", |owner| owner);
                let (module, owner) =
                    owner.split_once("::").map_or((None, owner), |(module, owner)| (Some(module), owner));
                let module = module.map_or(NO_NAME, |module| self.names.number(module));
                NameShape::Owner { owner: self.names.number(owner), module }
            }
        }
    }

    fn use_number(&mut self, used: NameUse) -> u32 {
        let next = to_u32(self.name_uses.len());
        *self.use_numbers.entry(used).or_insert_with(|| {
            self.name_uses.push(used);
            next
        })
    }

    /// Removes a file, if the index contains it.
    pub fn remove(&mut self, path: &Path) {
        let Some(number) = self.by_path.remove(path) else { return };
        let Some(file) = self.files.get_mut(number as usize).and_then(Option::take) else { return };
        for symbol in file.symbols() {
            let lengths = self.scored[symbol as usize].lengths;
            let sums = &mut self.lengths[usize::from(file.is_text())];
            sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum -= u64::from(length));
        }
        self.exists[number as usize] = false;
        self.symbol_counts[usize::from(file.is_text())] -= file.count as usize;
        self.stale = true;
    }

    /// Records a new time of a file whose bytes are the same.
    pub fn touch(&mut self, path: &Path, stamp: FileStamp) {
        let number = self.by_path.get(path).copied();
        if let Some(file) = number.and_then(|number| self.files.get_mut(number as usize)?.as_mut()) {
            file.stamp = stamp;
        }
    }

    /// Updates the graph of uses, and compacts the index when removed files have left many unused slots.
    pub fn refresh(&mut self) {
        if self.is_sparse() {
            self.compact();
        }
        if std::mem::take(&mut self.stale) {
            self.graph = Graph::build(self);
        }
    }

    /// Performs the first half of [`Index::refresh`] for an index behind a lock: compacts it. Returns whether the graph
    /// was rebuilt, too.
    pub fn compact_if_sparse(&mut self) -> bool {
        let is_sparse = self.is_sparse();
        if is_sparse {
            self.refresh();
        }
        is_sparse
    }

    /// Returns whether removed files have left many unused slots.
    fn is_sparse(&self) -> bool {
        self.symbols.len() > 2 * self.len() + 10_000
    }

    /// Performs the second half: returns a new graph if the current one is out of date. The current one may be used
    /// meanwhile.
    pub fn rebuilt_graph(&self) -> Option<Graph> {
        self.stale.then(|| Graph::build(self))
    }

    /// Replaces the graph with a graph that was built from the index in its current state.
    pub fn put_graph(&mut self, graph: Graph) {
        (self.graph, self.stale) = (graph, false);
    }

    /// Frees memory that was reserved for growth, after many insertions.
    pub fn shrink(&mut self) {
        self.postings.shrink();
        self.symbols.shrink_to_fit();
        self.scored.shrink_to_fit();
        self.uses.shrink_to_fit();
    }

    fn compact(&mut self) {
        let mut numbers = vec![u32::MAX; self.symbols.len()];
        let (mut symbols, mut scored, mut uses) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = std::mem::take(&mut self.files);
        for file in files.iter_mut().flatten() {
            let first = to_u32(symbols.len());
            for old in file.symbols() {
                numbers[old as usize] = to_u32(symbols.len());
                let mut one = self.scored[old as usize];
                let begin = to_u32(uses.len());
                uses.extend_from_slice(self.uses_of(old));
                one.uses.0 = begin;
                scored.push(one);
                symbols.push(self.symbols[old as usize].clone());
            }
            file.first = first;
        }
        self.files = files;
        let renew = |symbol: &mut u32| {
            *symbol = numbers.get(*symbol as usize).copied().unwrap_or(u32::MAX);
            *symbol != u32::MAX
        };
        self.postings.retain(|posting| renew(&mut posting.symbol));
        self.definitions.retain(renew);
        let files = &self.files;
        self.paths.retain(|file| files.get(*file as usize).is_some_and(Option::is_some));
        (self.symbols, self.scored, self.uses) = (symbols, scored, uses);
        self.stale = true;
    }

    /// Returns the names that a symbol uses, and how.
    pub(crate) fn name_uses(&self, symbol: SymbolId) -> impl Iterator<Item = NameUse> {
        self.uses_of(symbol).iter().filter_map(|number| self.name_uses.get(*number as usize).copied())
    }

    fn uses_of(&self, symbol: SymbolId) -> &[u32] {
        let Some(scored) = self.scored.get(symbol as usize) else { return &[] };
        let (begin, count) = (scored.uses.0 as usize, scored.uses.1 as usize);
        self.uses.get(begin..begin + count).unwrap_or_default()
    }

    /// Returns the files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.by_path.values().filter_map(|number| self.files.get(*number as usize)?.as_ref())
    }

    /// Returns the file at a path.
    pub fn file_at(&self, path: &Path) -> Option<&File> {
        self.files.get(*self.by_path.get(path)? as usize)?.as_ref()
    }

    /// Returns the number of file slots, including removed files.
    pub(crate) fn file_slots(&self) -> usize {
        self.files.len()
    }

    /// Returns whether the file of a number exists.
    pub(crate) fn is_file(&self, number: u32) -> bool {
        self.exists.get(number as usize).copied().unwrap_or_default()
    }

    /// Returns the file of a number, unless it was removed.
    pub(crate) fn file(&self, number: u32) -> Option<&File> {
        self.files.get(number as usize)?.as_ref()
    }

    /// Returns whether a symbol exists.
    pub(crate) fn is_symbol(&self, id: SymbolId) -> bool {
        self.scored.get(id as usize).is_some_and(|scored| self.is_file(scored.file))
    }

    /// Returns whether a symbol exists and belongs to code.
    pub(crate) fn is_code(&self, id: SymbolId) -> bool {
        self.scored.get(id as usize).is_some_and(|scored| !scored.is_text && self.is_file(scored.file))
    }

    /// Returns a symbol and its file, unless the file was removed.
    pub fn symbol(&self, id: SymbolId) -> Option<(&Symbol, &File)> {
        let file = self.file(self.scored.get(id as usize)?.file)?;
        Some((self.symbols.get(id as usize)?, file))
    }

    /// Returns the symbol that contains a symbol.
    pub fn parent(&self, id: SymbolId) -> Option<SymbolId> {
        let (symbol, file) = self.symbol(id)?;
        symbol.parent.map(|parent| file.first + parent)
    }

    /// Returns the symbol that contains a symbol, with its data.
    pub fn enclosing(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbol(self.parent(id)?).map(|(enclosing, _)| enclosing)
    }

    /// Returns the number of symbols, including files.
    pub fn len(&self) -> usize {
        self.symbol_counts.iter().sum()
    }

    /// Returns the number of symbols of code, including files.
    pub fn code_len(&self) -> usize {
        self.symbol_counts[0]
    }

    /// Returns whether the index has no symbols.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of symbol slots.
    pub(crate) fn symbol_slots(&self) -> usize {
        self.symbols.len()
    }

    /// Returns the mean number of words by field: of code, and of text files.
    pub(crate) fn mean_lengths(&self) -> [[f32; 4]; 2] {
        let mean = |sum: u64, count: usize| (sum as f32 / count.max(1) as f32).max(1.0);
        [0, 1].map(|class| self.lengths[class].map(|sum| mean(sum, self.symbol_counts[class])))
    }

    /// Returns the symbols that contain a term, including removed ones.
    pub(crate) fn postings_of(&self, term: &str) -> &[Posting] {
        self.terms.get(term).map(|term| self.postings.get(term)).unwrap_or_default()
    }

    /// Returns the files whose paths contain a term, including removed ones.
    pub(crate) fn paths_with(&self, term: &str) -> &[u32] {
        self.terms.get(term).map(|term| self.paths.get(term)).unwrap_or_default()
    }

    /// Returns whether an existing symbol or path contains a term, of code only unless `text`.
    pub(crate) fn contains_term(&self, term: &str, text: bool) -> bool {
        let counts = |id: SymbolId| if text { self.is_symbol(id) } else { self.is_code(id) };
        self.postings_of(term).iter().any(|posting| counts(posting.symbol))
            || self.paths_with(term).iter().filter_map(|file| self.file(*file)).any(|file| text || !file.is_text())
    }

    /// Returns the short terms that begin with the text and are longer, in order.
    pub(crate) fn longer_terms<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        self.terms.longer_words(text)
    }

    /// Returns the definitions of a name, including removed ones.
    pub fn defined(&self, name: &str) -> &[SymbolId] {
        self.names.get(name).map(|name| self.definitions.get(name)).unwrap_or_default()
    }

    /// Returns the number of a name.
    pub(crate) fn name_number(&self, name: &str) -> Option<u32> {
        self.names.get(name)
    }

    pub(crate) fn definitions(&self, name: u32) -> &[SymbolId] {
        self.definitions.get(name)
    }

    /// Returns the number of names.
    pub(crate) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// Returns the graph of uses.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns a symbol's qualified name: modules from its path, enclosing symbols, and its own name.
    pub fn qualified(&self, id: SymbolId) -> String {
        let Some((symbol, file)) = self.symbol(id) else { return String::new() };
        let mut parts = vec![symbol.name.to_string()];
        let mut at = symbol.parent;
        while let Some(parent) = at {
            let Some((enclosing, _)) = self.symbol(file.first + parent) else { break };
            if enclosing.kind != Kind::File {
                parts.push(enclosing.name.to_string());
            }
            at = enclosing.parent;
        }
        if symbol.kind == Kind::File {
            parts.clear();
        }
        parts.extend(module_path(&file.shown).into_iter().rev());
        parts.reverse();
        parts.join(file.language.map_or("::", Language::separator))
    }
}
