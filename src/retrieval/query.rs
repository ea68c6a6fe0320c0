//! A parsed query: its terms without stop words and speakers' names, and the speakers it names.
//! Not for: deciding whether to search (`gate`).

use super::hints::Hints;
use super::index::session::Index;
use super::index::words::Term;
use super::scope::Scope;

/// A parsed query.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    /// Its terms with their weights, sorted, without duplicates.
    pub terms: Vec<(Term, f32)>,
    /// Numbers of the speakers it names, sorted.
    pub speakers: Vec<u16>,
    /// The content that its form asks for.
    pub hints: Hints,
}

impl Query {
    /// Parses a text. The names of the scope's speakers are not terms, unless nothing else is left.
    pub fn new(index: &Index, scope: &Scope, text: &str) -> Self {
        let mut terms = index.analyzer().terms(text);
        terms.sort_unstable();
        let speakers = index.speakers();
        let is_named = |speaker: &&u16| {
            speakers[usize::from(**speaker)].terms.iter().any(|term| terms.binary_search(term).is_ok())
        };
        let named: Vec<u16> = scope.names().iter().filter(is_named).copied().collect();
        let is_name = |term: Term| named.iter().any(|number| speakers[usize::from(*number)].terms.contains(&term));
        let mut all = Vec::new();
        for same in terms.chunk_by(|a, b| a == b) {
            let repeats = f32::from(u16::try_from(same.len()).unwrap_or(u16::MAX));
            all.push((same[0], 1.0 + repeats.ln()));
        }
        let without: Vec<(Term, f32)> = all.iter().copied().filter(|(term, _)| !is_name(*term)).collect();
        Self {
            terms: if without.is_empty() { all } else { without },
            speakers: named,
            hints: Hints::new(text, scope.newest()),
        }
    }

    /// Returns whether the query contains a term.
    pub fn contains(&self, term: Term) -> bool {
        self.terms.binary_search_by_key(&term, |(term, _)| *term).is_ok()
    }
}
