//! The record of one file: its symbols, the words of each by field, and the names that each uses.
//! Not for: reading source (`parse::file`), searching (`records`), or encoding (`codec`).

use crate::code::parse::receivers::UseForm;
use crate::code::parse::words::Analyzer;
use crate::code::symbol::{Symbol, to_u32};
use crate::domain::base::Hash;
use crate::domain::code::{Language, ParseOutcome};
use std::collections::HashMap;
use std::path::PathBuf;

/// The minimum length of a name that creates edges, in characters; shorter names, such as `i` and `fn`, do not.
const MIN_NAME_CHARS: usize = 3;

/// The part of a symbol that a word is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Name,
    /// The signature or attributes.
    Head,
    /// The documentation.
    Doc,
    /// The body, including comments and strings.
    Body,
}

/// The number of fields.
pub const FIELDS: usize = 4;

/// How often a term occurs in each field of a symbol, at most 255.
pub type Counts = [u8; FIELDS];

/// The words of a file's symbols. Terms and names are indexes into the file's own tables.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Words {
    /// Every term once.
    pub terms: Vec<Box<str>>,
    /// (symbol, term, counts), sorted.
    pub term_counts: Vec<(u32, u32, Counts)>,
    /// Every name once.
    pub names: Vec<Box<str>>,
    /// (symbol, used name, how it is used), sorted, each once. The third value is 0 if the kind of use is not known, 1
    /// for a use by name alone, 2 for a member of something unknown, or 3 + the number of the name of the type or
    /// module that has the member.
    pub uses: Vec<(u32, u32, u32)>,
    state: ReadState,
}

/// Lookup tables used while a file is read; empty afterward.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct ReadState {
    words: HashMap<Box<str>, Vec<u32>>,
    names: HashMap<Box<str>, u32>,
    terms: HashMap<Box<str>, u32>,
    hits: Vec<(u32, u32, u8)>,
}

impl Words {
    /// Adds a word of a symbol. If `used`, also records it as a name that the symbol uses.
    pub fn name(&mut self, analyzer: &mut Analyzer, symbol: u32, word: &str, field: Field, used: bool) {
        if !self.state.words.contains_key(word) {
            let terms = analyzer.terms(word);
            let numbers = terms.iter().map(|term| number_of(&mut self.terms, &mut self.state.terms, term)).collect();
            self.state.words.insert(word.into(), numbers);
        }
        let Some(terms) = self.state.words.get(word) else { return };
        for term in terms {
            self.state.hits.push((symbol, *term, field as u8));
        }
        if used {
            self.add_use(symbol, word, &UseForm::Unsure);
        }
        if self.state.hits.len() > 4_000_000 {
            self.merge_hits();
        }
    }

    /// Adds the use of a name.
    pub(crate) fn add_use(&mut self, symbol: u32, name: &str, via: &UseForm) {
        if name.len() < MIN_NAME_CHARS {
            return;
        }
        let mut number = |name: &str| number_of(&mut self.names, &mut self.state.names, name);
        let how = match via {
            UseForm::Unsure => 0,
            UseForm::Name => 1,
            UseForm::Member => 2,
            UseForm::Owner(owner) => number(owner).saturating_add(3),
        };
        let name = number(name);
        self.uses.push((symbol, name, how));
    }

    /// Finishes reading: sums up and sorts the counts.
    pub fn finish(&mut self) {
        self.merge_hits();
        self.uses.sort_unstable();
        self.uses.dedup();
        self.uses.shrink_to_fit();
        self.state = ReadState::default();
    }

    fn merge_hits(&mut self) {
        let mut hits = std::mem::take(&mut self.state.hits);
        hits.sort_unstable();
        let mut counts = std::mem::take(&mut self.term_counts);
        for (symbol, term, field) in hits {
            match counts.last_mut() {
                Some((s, t, count)) if (*s, *t) == (symbol, term) => {
                    count[usize::from(field)] = count[usize::from(field)].saturating_add(1);
                }
                _ => {
                    let mut count = [0; FIELDS];
                    count[usize::from(field)] = 1;
                    counts.push((symbol, term, count));
                }
            }
        }
        counts.sort_unstable();
        counts.dedup_by(|later, kept| {
            let same = (later.0, later.1) == (kept.0, kept.1);
            if same {
                kept.2.iter_mut().zip(later.2).for_each(|(count, more)| *count = count.saturating_add(more));
            }
            same
        });
        self.term_counts = counts;
    }
}

/// Returns the number of a text in a table. Adds the text if the table lacks it.
fn number_of(table: &mut Vec<Box<str>>, numbers: &mut HashMap<Box<str>, u32>, text: &str) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = to_u32(table.len());
    table.push(text.into());
    numbers.insert(text.into(), number);
    number
}

/// A file's metadata for detecting changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileStamp {
    /// The size in bytes.
    pub size: u64,
    /// The modification time in nanoseconds since 1970.
    pub changed: i64,
}

/// The record of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The path relative to the root.
    pub path: PathBuf,
    /// The size and time when it was read.
    pub stamp: FileStamp,
    /// The hash of its bytes, or of nothing when it was not read.
    pub hash: Hash,
    /// Whether it was parsed, or why not.
    pub outcome: ParseOutcome,
    pub language: Option<Language>,
    /// Whether parts of it did not parse.
    pub errors: bool,
    /// The number of lines, or 0 when it was not read.
    pub lines: u32,
    /// Its symbols; the first is the file itself. Empty unless parsed.
    pub symbols: Vec<Symbol>,
    /// The words and uses of its symbols.
    pub words: Words,
}
