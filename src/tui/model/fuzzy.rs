//! Fuzzy matching: a score for how well words match a text, and the matching letters.
//! Not for: lists (`screens::picker::model`).

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::fmt;

/// A typed query, prepared for matching many texts.
pub struct Fuzzy {
    pattern: Pattern,
    matcher: Matcher,
    letters: Vec<char>,
    found: Vec<u32>,
}

impl fmt::Debug for Fuzzy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fuzzy").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

/// How well a text matches. Higher is better; scores of one [`Fuzzy`] can be compared.
pub type Score = u32;

impl Fuzzy {
    /// Matches the words in any order, and the letters of each word in order. Ignores case.
    #[must_use]
    pub fn new(wanted: &str) -> Self {
        let pattern = Pattern::new(wanted, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy);
        Self { pattern, matcher: Matcher::new(Config::DEFAULT), letters: Vec::new(), found: Vec::new() }
    }

    /// The score of a text, and the indices of the matching characters in ascending order.
    pub fn find(&mut self, text: &str) -> Option<(Score, Vec<usize>)> {
        self.found.clear();
        // One index for each character, so that matches can be drawn.
        self.letters.clear();
        self.letters.extend(text.chars());
        let score = self.pattern.indices(Utf32Str::Unicode(&self.letters), &mut self.matcher, &mut self.found)?;
        self.found.sort_unstable();
        self.found.dedup();
        Some((score, self.found.iter().filter_map(|at| usize::try_from(*at).ok()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(wanted: &str, texts: &[&'static str]) -> &'static str {
        let mut fuzzy = Fuzzy::new(wanted);
        let scored = texts.iter().filter_map(|text| Some((fuzzy.find(text)?.0, *text)));
        scored.max_by_key(|(score, _)| *score).map_or("", |(_, text)| text)
    }

    #[test]
    fn word_starts_and_runs_of_letters_score_best() {
        let actions = ["toggle-hidden", "theme", "hide-the-members", "other"];
        assert_eq!(best("theme", &actions), "theme");
        assert_eq!(best("hm", &["rhythm", "hide-members"]), "hide-members");
        assert_eq!(best("context hide", &["hide the context", "hide the tools"]), "hide the context");
        assert_eq!(best("zzz", &actions), "");
    }

    #[test]
    fn indices_count_characters() {
        assert_eq!(Fuzzy::new("tö").find("日 Töne").unwrap().1, [2, 3]);
        assert_eq!(Fuzzy::new("").find("x").unwrap().1, Vec::<usize>::new());
        assert!(Fuzzy::new("b a").find("ab").is_some(), "words in any order");
    }
}
