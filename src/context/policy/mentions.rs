//! Extracts the terms of a text, and counts how often a turn's terms occur again later.
//! Not for: search (`retrieval`), which weights terms by how rare they are.

use std::collections::HashMap;

/// Maximum terms kept per text; the first terms are kept.
const MAX_TERMS: usize = 256;
/// With fewer turns than this, no term counts as too common.
const FEW_TURNS: usize = 8;
/// Minimum characters of a term.
const MIN_CHARS: usize = 4;
/// Common words of [`MIN_CHARS`] characters or more that carry no content.
const COMMON: &[&str] = &[
    "about", "after", "again", "also", "because", "been", "before", "being", "could", "does", "doing", "done", "each",
    "even", "from", "have", "here", "into", "it's", "just", "like", "make", "many", "more", "most", "much", "need",
    "only", "other", "over", "please", "same", "should", "some", "such", "than", "that", "that's", "their", "them",
    "then", "there", "these", "they", "thing", "this", "those", "time", "under", "very", "want", "well", "were",
    "what", "when", "where", "which", "while", "will", "with", "would", "your",
];

/// Returns the distinct terms of a text as sorted hashes: words of four characters or more in lower case; names and
/// paths whole (`src/auth.rs`, `refresh_token`, `tree::Slot`).
pub fn terms(text: &str) -> Vec<u64> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '\\' | ':' | '-' | '\'');
    let mut found = Vec::new();
    for word in text.split(|c: char| !inside(c)) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        if word.chars().nth(MIN_CHARS - 1).is_none() {
            continue;
        }
        let word = word.to_lowercase();
        if COMMON.binary_search(&word.as_str()).is_err() {
            let hash = fnv(word.as_bytes());
            if !found.contains(&hash) {
                found.push(hash);
            }
        }
        if found.len() >= MAX_TERMS {
            break;
        }
    }
    found.sort_unstable();
    found
}

/// FNV-1a: the same on every machine. A rare collision only shifts a score.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns for each turn (oldest first, the open one last) the number of occurrences of its terms in later turns, and
/// in all turns. A term counts once per turn; a term that more than half of the turns use is left out.
pub fn mentions(turns: &[Vec<u64>]) -> Vec<(u32, u32)> {
    let mut all: HashMap<u64, u32> = HashMap::new();
    for term in turns.iter().flatten() {
        *all.entry(*term).or_default() += 1;
    }
    let many = turns.len() / 2;
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let counted = turns.iter().map(|terms| {
        let mut sum = (0_u32, 0_u32);
        for term in terms {
            let total = all.get(term).copied().unwrap_or(0);
            let before = seen.entry(*term).or_default();
            *before += 1;
            if turns.len() < FEW_TURNS || total as usize <= many {
                sum = (sum.0 + total - *before, sum.1 + total);
            }
        }
        sum
    });
    counted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_sorted() {
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn terms_are_names_and_long_words() {
        assert_eq!(terms("What is src/auth.rs, then?"), terms("(SRC/auth.rs)"));
        assert_eq!(terms("go on with it").len(), 0);
        assert_eq!(terms("token token Token's").len(), 2);
        assert_ne!(terms("refresh_token"), terms("refresh token"));
        let many: Vec<String> = (0..900).map(|n| format!("word{n}")).collect();
        assert_eq!(terms(&many.join(" ")).len(), MAX_TERMS);
    }

    /// The newest turn has no later mention, and a turn without terms has none at all.
    #[test]
    fn mentions_count_turns() {
        let turns: Vec<Vec<u64>> = ["parser", "lexer", "so it is", "parser", "tokens"].map(terms).into();
        assert_eq!(mentions(&turns), [(1, 2), (0, 1), (0, 0), (0, 2), (0, 1)]);
        let mut many = vec![terms("parser"); 7];
        many.insert(0, terms("parser lexer"));
        many.push(terms("lexer"));
        assert_eq!((mentions(&many)[0], mentions(&many)[1]), ((1, 2), (0, 0)), "most turns name the parser");
        assert_eq!(mentions(&[]), []);
    }
}
