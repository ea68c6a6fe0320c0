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

/// How a text contains words literally, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Literal {
    /// Each of them begins a word of the text.
    Start,
    /// The text contains each of them.
    Inside,
}

/// The words of a query: runs of letters and digits, without case.
#[derive(Clone, Debug)]
pub struct Words(Vec<String>);

impl Words {
    /// Splits a query into its words.
    pub fn new(wanted: &str) -> Self {
        Self(words(&wanted.to_lowercase()).map(str::to_owned).collect())
    }

    /// How a text contains the words; None if it lacks one of them, or if there are none.
    pub fn find(&self, text: &str) -> Option<Literal> {
        let text = text.to_lowercase();
        let begins = |wanted: &String| words(&text).any(|word| word.starts_with(wanted.as_str()));
        if self.0.is_empty() || !self.0.iter().all(|wanted| text.contains(wanted.as_str())) {
            return None;
        }
        Some(if self.0.iter().all(begins) { Literal::Start } else { Literal::Inside })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
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
    fn words_are_found_literally() {
        let find = |wanted: &str, text: &str| Words::new(wanted).find(text);
        assert_eq!(find("Exp", "/export  A conversation"), Some(Literal::Start));
        assert_eq!(find("budget-up", "budget-up"), Some(Literal::Start));
        assert_eq!(find("port", "/export"), Some(Literal::Inside));
        assert_eq!([find("ept", "/export"), find("export z", "/export"), find(" …", "…")], [None; 3]);
    }

    #[test]
    fn indices_count_characters() {
        assert_eq!(Fuzzy::new("tö").find("日 Töne").unwrap().1, [2, 3]);
        assert_eq!(Fuzzy::new("").find("x").unwrap().1, Vec::<usize>::new());
        assert!(Fuzzy::new("b a").find("ab").is_some(), "words in any order");
    }
}
