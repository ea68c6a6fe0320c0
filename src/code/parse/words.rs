//! From identifiers, comments and questions to terms: parts of identifiers in lower case, English stems, and names written
//! together (`read_only`, `ReadOnly` and `readonly` meet as one term).
//! Not for: which terms matter (`query`, `rank`).

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashMap;
use std::sync::Arc;

/// Longest word that is looked at, in bytes; longer ones are data.
pub const LONGEST: usize = 80;
/// Words whose terms are remembered at most, by one analyzer.
const REMEMBERED: usize = 50_000;

/// Terms of words; remembers what it has worked out.
pub struct Analyzer {
    stemmer: Stemmer,
    known: HashMap<Box<str>, Arc<[Box<str>]>>,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Analyzer {
    /// The terms of one identifier or word: its parts, and the whole written together where there are several parts.
    pub fn terms(&mut self, word: &str) -> Arc<[Box<str>]> {
        if let Some(known) = self.known.get(word) {
            return Arc::clone(known);
        }
        let made: Arc<[Box<str>]> = self.make(word).into();
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.into(), Arc::clone(&made));
        made
    }

    fn make(&self, word: &str) -> Vec<Box<str>> {
        if word.len() > LONGEST {
            return Vec::new();
        }
        let parts = parts(word);
        let tells = |part: &&str| (part.len() > 1 || !part.is_ascii()) && !is_stop(&part.to_lowercase());
        let mut terms: Vec<Box<str>> =
            parts.iter().copied().filter(|part| tells(part)).map(|part| self.stem(part)).collect();
        if parts.len() > 1 {
            let whole: String = parts.concat();
            terms.push(self.stem(&whole));
        }
        terms
    }

    /// The stem of one word without inner borders, in lower case.
    #[must_use]
    pub fn stem(&self, word: &str) -> Box<str> {
        let low = word.to_lowercase();
        if low.len() > 2 && low.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.stemmer.stem(&low).into()
        } else {
            low.into()
        }
    }
}

/// An identifier's parts as written: cut at what is no letter or digit, before an upper-case letter that begins a word, and
/// between letters and digits.
#[must_use]
pub fn parts(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !c.is_alphanumeric() {
            if at > start {
                found.push(&word[start..at]);
            }
            start = at + c.len_utf8();
            before = None;
            continue;
        }
        let next = chars.peek().map(|(_, c)| *c);
        let cut = before.is_some_and(|b| {
            (b.is_lowercase() && c.is_uppercase())
                || (b.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase))
                || (b.is_numeric() != c.is_numeric())
        });
        if cut && at > start {
            found.push(&word[start..at]);
            start = at;
        }
        before = Some(c);
    }
    if start < word.len() {
        found.push(&word[start..]);
    }
    found
}

/// The words of a text: runs of letters, digits and underscores.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(|word| word.trim_matches('_'))
        .filter(|word| !word.is_empty() && word.len() <= LONGEST && !word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// English words that carry no subject; never indexed, never asked for. Sorted.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "about", "above", "actually", "after", "again", "all", "also", "although", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "could", "did", "didn", "do", "does",
    "doesn", "don", "done", "each", "either", "else", "etc", "even", "ever", "every", "few", "for", "from", "further",
    "had", "has", "have", "having", "he", "hence", "her", "here", "his", "how", "however", "i", "if", "in", "into", "is",
    "isn", "it", "its", "itself", "just", "ll", "may", "maybe", "me", "might", "more", "most", "much", "must", "my", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "please", "quite",
    "rather", "re", "really", "s", "same", "shall", "she", "should", "shouldn", "since", "so", "some", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those", "though",
    "through", "thus", "to", "too", "under", "until", "up", "upon", "us", "ve", "very", "via", "was", "we", "were", "what",
    "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without",
    "won", "would", "yet", "you", "your",
];

/// Whether a word, in lower case, carries no subject.
#[must_use]
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}
