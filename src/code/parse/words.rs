//! Turns identifiers, comments, and questions into terms: the lowercase parts of identifiers, English stems, and joined
//! names (`read_only`, `ReadOnly`, and `readonly` share a term).
//! Not for: the weight of terms (`query`, `rank`).

use crate::domain::base::identifier;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum bytes of a word. Longer ones are data.
pub const MAX_WORD_BYTES: usize = 80;
/// Maximum words whose terms one analyzer caches.
const MAX_CACHED: usize = 50_000;

/// Computes the terms of words, with a cache.
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
    /// Returns the terms of an identifier or word: its parts and, if there are several, the parts joined.
    pub fn terms(&mut self, word: &str) -> Arc<[Box<str>]> {
        if let Some(known) = self.known.get(word) {
            return Arc::clone(known);
        }
        let terms: Arc<[Box<str>]> = self.compute_terms(word).into();
        if self.known.len() >= MAX_CACHED {
            self.known.clear();
        }
        self.known.insert(word.into(), Arc::clone(&terms));
        terms
    }

    fn compute_terms(&self, word: &str) -> Vec<Box<str>> {
        if word.len() > MAX_WORD_BYTES {
            return Vec::new();
        }
        let parts = parts(word);
        let is_term = |part: &&str| (part.len() > 1 || !part.is_ascii()) && !is_stop(&part.to_lowercase());
        let mut terms: Vec<Box<str>> =
            parts.iter().copied().filter(|part| is_term(part)).map(|part| self.stem(part)).collect();
        if parts.len() > 1 {
            let whole: String = parts.concat();
            terms.push(self.stem(&whole));
        }
        terms
    }

    /// Returns the lowercase stem of one word without inner boundaries.
    pub fn stem(&self, word: &str) -> Box<str> {
        let lower = word.to_lowercase();
        if lower.len() > 2 && lower.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.stemmer.stem(&lower).into()
        } else {
            lower.into()
        }
    }
}

/// Splits an identifier at characters that are not letters or digits, before an uppercase letter that starts a word,
/// and between letters and digits.
pub fn parts(word: &str) -> Vec<&str> {
    identifier::parts(word, |c| !c.is_alphanumeric())
}

/// Returns the words of a text: runs of letters, digits, and underscores.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').map(|word| word.trim_matches('_')).filter(|word| {
        !word.is_empty() && word.len() <= MAX_WORD_BYTES && !word.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// English stop words, which are neither indexed nor searched. Sorted.
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

/// Returns whether a lowercase word is a stop word.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}
