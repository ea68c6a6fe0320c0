//! Turns text into terms: words of any script in lower case, identifiers whole and in parts, paths, pairs of CJK
//! characters, English stems. A term is a 64-bit hash, the same on every machine, so that an index contains no text.
//! Not for: which terms matter (`search`) or word lists (`stops`).

use super::stops;
use crate::domain::base::identifier;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

/// A hashed stem.
pub type Term = u64;

/// Maximum bytes of a word; longer runs (encoded data) are ignored.
const MAX_WORD_BYTES: usize = 96;

/// A word of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word<'a> {
    /// In lower case, without apostrophes and without a possessive ending.
    pub lower: Cow<'a, str>,
    /// As written.
    pub raw: &'a str,
}

/// Hashes a stem: 64-bit FNV-1a with a final mix, so that all bits depend on all bytes.
pub fn hash(stem: &str) -> Term {
    let folded =
        stem.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (folded ^ (folded >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Number of words whose terms are cached.
const CACHED_WORDS: usize = 1 << 15;

/// Turns text into terms.
pub struct Analyzer {
    stemmer: Stemmer,
    /// Cached terms of recent words (`None` for stop words), since a conversation repeats its words.
    known: RefCell<HashMap<Box<str>, Option<Term>>>,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: RefCell::default() }
    }
}

impl Analyzer {
    /// Returns the terms of a text in order, without stop words.
    pub fn terms(&self, text: &str) -> Vec<Term> {
        let mut found = Vec::with_capacity(text.len() / 8);
        self.each(text, &mut |term, _| found.push(term));
        found
    }

    /// Calls `found` with each term of a text and its word, without stop words.
    pub fn each<'a>(&self, text: &'a str, found: &mut dyn FnMut(Term, &Word<'a>)) {
        for chunk in text.split_whitespace() {
            let before = chunk.trim_matches(|c: char| !c.is_alphanumeric());
            if is_path(before) {
                let word = Word { lower: lower(before), raw: before };
                found(hash(&word.lower), &word);
            }
            for raw in words_of(chunk) {
                self.word(raw, found);
            }
        }
    }

    /// Returns the term of a plain word in lower case.
    pub fn stem(&self, word: &str) -> Term {
        if word.bytes().all(|byte| byte.is_ascii_alphabetic()) { hash(&self.stemmer.stem(word)) } else { hash(word) }
    }

    /// Returns the term of a word in lower case; `None` for a stop word.
    fn term(&self, lower: &str) -> Option<Term> {
        let mut known = self.known.borrow_mut();
        if let Some(term) = known.get(lower) {
            return *term;
        }
        let term = (!stops::is_stop(lower)).then(|| self.stem(lower));
        if known.len() >= CACHED_WORDS {
            known.clear();
        }
        known.insert(lower.into(), term);
        term
    }

    fn word<'a>(&self, raw: &'a str, found: &mut dyn FnMut(Term, &Word<'a>)) {
        if raw.len() > MAX_WORD_BYTES {
            return;
        }
        if raw.chars().next().is_some_and(is_cjk) {
            push_pairs(raw, found);
            return;
        }
        let word = Word { lower: lower(raw), raw };
        let Some(term) = self.term(&word.lower) else { return };
        found(term, &word);
        let whole = raw.bytes().all(|byte| byte.is_ascii_lowercase());
        let parts = if whole { Vec::new() } else { identifier_parts(raw) };
        if parts.len() > 1 {
            for part in parts.into_iter().filter(|part| part.len() > 1) {
                let word = Word { lower: lower(part), raw: part };
                if let Some(term) = self.term(&word.lower) {
                    found(term, &word);
                }
            }
        }
    }
}

/// Returns the words of a text as written: runs of letters, digits, underscores, and inner apostrophes; runs of CJK
/// characters.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_alphanumeric() || c == '_')?;
        rest = &rest[start..];
        let cjk = rest.chars().next().is_some_and(is_cjk);
        let inner = |c: char| {
            if cjk {
                is_cjk(c)
            } else {
                !is_cjk(c) && (c.is_alphanumeric() || matches!(c, '_' | '\'' | '’' | '\u{300}'..='\u{36f}'))
            }
        };
        let end = rest.find(|c: char| !inner(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word.trim_end_matches(['\'', '’', '_']))
    })
    .filter(|word| !word.is_empty())
}

fn lower(raw: &str) -> Cow<'_, str> {
    if raw.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Cow::Borrowed(raw);
    }
    let lowered = raw.to_lowercase();
    let stripped = lowered.strip_suffix("'s").or_else(|| lowered.strip_suffix("’s")).unwrap_or(&lowered);
    Cow::Owned(stripped.chars().filter(|c| !matches!(c, '\'' | '’')).collect())
}

fn push_pairs<'a>(raw: &'a str, found: &mut dyn FnMut(Term, &Word<'a>)) {
    let starts: Vec<usize> = raw.char_indices().map(|(at, _)| at).chain([raw.len()]).collect();
    let wide = if starts.len() > 2 { 2 } else { 1 };
    for at in 0..starts.len() - wide {
        let pair = &raw[starts[at]..starts[at + wide]];
        found(hash(pair), &Word { lower: Cow::Borrowed(pair), raw: pair });
    }
}

/// Returns whether a character belongs to a script without spaces between words.
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

/// Returns whether a piece of text between spaces is a path or a qualified name: it contains `/`, `\`, `.`, or `::`
/// between its ends.
fn is_path(chunk: &str) -> bool {
    let joined = chunk.contains(['/', '\\']) || chunk.contains("::") || chunk.contains('.');
    joined && chunk.len() <= MAX_WORD_BYTES && !chunk.contains("...") && !chunk.contains(['(', '"', ','])
}

/// Splits an identifier into parts, up to its first apostrophe.
fn identifier_parts(raw: &str) -> Vec<&str> {
    identifier::parts(raw.split(['\'', '’']).next().unwrap_or_default(), |c| c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lowers(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Analyzer::default().each(text, &mut |_, word| found.push(word.lower.to_string()));
        found
    }

    #[test]
    fn identifiers_come_whole_and_in_parts() {
        assert_eq!(lowers("parseHttpRequest"), ["parsehttprequest", "parse", "http", "request"]);
        assert_eq!(lowers("HTTPServer2"), ["httpserver2", "http", "server"]);
        assert_eq!(lowers("max_line_len"), ["max_line_len", "max", "line", "len"]);
        assert_eq!(lowers("(src/llm/tokens.rs)."), ["src/llm/tokens.rs", "src", "llm", "tokens", "rs"]);
        assert_eq!(lowers("Caroline's don't"), ["caroline"]);
    }

    #[test]
    fn scripts_without_spaces_come_in_pairs() {
        assert_eq!(lowers("数据库 x"), ["数据", "据库", "x"]);
        assert_eq!(lowers("东"), ["东"]);
    }

    #[test]
    fn forms_of_a_word_are_one_term() {
        let analyzer = Analyzer::default();
        assert_eq!(analyzer.terms("Adopted adopting ADOPTS the"), analyzer.terms("adopt adopt adopt"));
        assert_eq!(hash("adopt"), 0xeb3d_fbc8_c762_c74c, "stored indexes hold these numbers");
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "\\PC{0,60}") {
            for term_word in words_of(&text) {
                prop_assert!(text.contains(term_word));
            }
            prop_assert_eq!(Analyzer::default().terms(&text), Analyzer::default().terms(&text));
        }
    }
}
