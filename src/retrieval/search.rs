//! Scores the passages of a scope for a query: BM25 over the path's own statistics, words learned from the best
//! passages, and smoothing between neighbors (`smooth`).
//! Not for: which messages are searchable (`scope`), computing cosines, or cards (`compose`).
//!
//! BM25 is Robertson's, with idf = ln(1 + (N − df + ½) / (df + ½)). Learning words from the best passages is
//! Rocchio-style relevance feedback, with passages weighted by their score.

use super::index::codec::Postings;
use super::index::passages::passages;
use super::index::segment::Source;
use super::index::session::Index;
use super::index::words::Term;
use super::query::Query;
use super::scope::{Filter, NO_SLOT, Scope};
use super::tuning::Tuning;
use super::{RetrievalError, smooth};
use crate::domain::base::Hash;
use crate::domain::call::ScoreParts;
use std::borrow::Cow;
use std::collections::HashMap;

/// From this many passages on, very frequent terms are left out.
pub(super) const LARGE: usize = 20_000;
/// A term in more than this percentage of a large scope is left out.
const FREQUENT: usize = 8;
/// Maximum query terms that select passages in a large scope, rarest first.
const LEADING: usize = 12;
/// Maximum number of hits.
pub const MOST_HITS: usize = 2_000;
/// Maximum words of the best passages considered for learning.
const CONSIDERED: usize = 60;
/// A word in more than this percentage of a large scope is not learned.
const LEARNABLE: usize = 2;

/// Supplies the texts of messages by their keys.
pub trait MessageTexts {
    /// Returns the text as it was indexed; `None` if it no longer exists.
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>>;
    /// Returns the speaker's name for display.
    fn speaker(&self, key: &Hash) -> Option<Cow<'_, str>>;
}

/// Where and how to search.
#[derive(Clone, Copy)]
pub struct SearchOptions<'a> {
    /// The session's index.
    pub index: &'a Index,
    /// The path.
    pub scope: &'a Scope,
    /// Postings that are not in memory.
    pub source: &'a dyn Source,
    pub texts: &'a dyn MessageTexts,
    /// The limits on searchable messages.
    pub filter: &'a Filter,
    /// Cosines of passages (by index number) with the query, if there is an embedder. Passages that are not listed
    /// count as the lowest listed.
    pub cosines: Option<&'a [(u32, f32)]>,
    /// Constants that replace the constants for the scope's shape.
    pub tuning: Option<&'a Tuning>,
}

/// A passage found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hit {
    /// Position of its message on the path.
    pub position: usize,
    /// Index of the passage within the message.
    pub passage: usize,
    pub score: f32,
    pub parts: ScoreParts,
}

/// One number per slot.
pub(super) type Scores = Vec<f32>;

/// Scores from the words of a query, by slot.
pub(super) struct Words {
    /// From its own words.
    pub(super) bm25: Scores,
    /// From learned words.
    pub(super) feedback: Scores,
    /// Slots that contain the content that the query's form asks for.
    pub(super) with_form: List,
}

/// The occurrences of one term on the path: slots with counts.
pub(super) type List = Vec<(u32, u32)>;

/// Returns the passages by decreasing score; passages with equal scores by their place on the path. Contains only
/// passages that some word, neighbor, or cosine supports.
pub fn search(options: &SearchOptions<'_>, query: &Query) -> Result<Vec<Hit>, RetrievalError> {
    let tuning = options.tuning.copied().unwrap_or_else(|| Tuning::of(&options.scope.shape));
    let allowed = options.filter.allowed(options.index, options.scope);
    let counted = options.filter.counted(&allowed);
    let mut bm25 = vec![0.0; options.scope.slots()];
    for (weight, list) in leading_lists(options, query)? {
        add(options, &tuning, weight, &list, &mut bm25);
    }
    let mut feedback = vec![0.0; options.scope.slots()];
    if tuning.feedback > 0.0 {
        let learned = learn(options, &tuning, query, &bm25, &counted)?;
        for (weight, list) in &learned {
            add(options, &tuning, *weight, list, &mut feedback);
        }
    }
    let with_form = match query.hints.wants {
        Some(term) if tuning.form > 0.0 => {
            lists(options, &[term], options.scope.slots())?.pop().flatten().unwrap_or_default()
        }
        _ => List::new(),
    };
    let words = Words { bm25, feedback, with_form };
    Ok(smooth::combine(options, &tuning, query, (&allowed, &counted), &words))
}

/// Returns the on-path lists of terms (sorted, without duplicates); `None` for terms with more than `most` occurrences
/// in the scope.
pub(super) fn lists(
    options: &SearchOptions<'_>,
    terms: &[Term],
    most: usize,
) -> Result<Vec<Option<List>>, RetrievalError> {
    let mut found: Vec<Option<List>> = vec![Some(Vec::new()); terms.len()];
    options.index.lists(terms, options.source, &mut |at, first, bytes| {
        let Some(list) = &mut found[at] else { return };
        for posting in Postings::new(bytes) {
            let slot = options.scope.slot(first.saturating_add(posting.passage));
            if slot != NO_SLOT {
                list.push((slot, posting.count));
            }
        }
        if list.len() > most {
            found[at] = None;
        }
    })?;
    Ok(found)
}

/// Returns the lists of the query's terms with their weights. In a large scope, very frequent terms are left out unless
/// no other term remains, and only the rarest terms select passages.
fn leading_lists(options: &SearchOptions<'_>, query: &Query) -> Result<Vec<(f32, List)>, RetrievalError> {
    let slots = options.scope.slots();
    let names: Vec<Term> = query.terms.iter().map(|(term, _)| *term).collect();
    let large = slots >= LARGE;
    let mut found = lists(options, &names, if large { slots * FREQUENT / 100 } else { slots })?;
    if found.iter().all(|list| list.as_ref().is_none_or(Vec::is_empty)) && found.iter().any(Option::is_none) {
        found = lists(options, &names, slots)?;
    }
    let mut leading_lists: Vec<(f32, List)> =
        query.terms.iter().zip(found).filter_map(|((_, weight), list)| Some((*weight, list?))).collect();
    leading_lists.retain(|(_, list)| !list.is_empty());
    if large {
        leading_lists.sort_by_key(|(_, list)| list.len());
        leading_lists.truncate(LEADING);
    }
    Ok(leading_lists)
}

/// Adds the BM25 score of one weighted term to `scores`.
fn add(options: &SearchOptions<'_>, tuning: &Tuning, weight: f32, list: &List, scores: &mut Scores) {
    let mean = options.scope.shape.mean_terms.max(1.0);
    let weight = weight * idf(options.scope.slots(), list.len()) * (tuning.k1 + 1.0);
    for (slot, count) in list {
        let slot = *slot as usize;
        let count = *count as f32;
        let length = f32::from(options.scope.length(slot)) / mean;
        scores[slot] += weight * count / (count + tuning.k1 * (1.0 - tuning.b + tuning.b * length));
    }
}

/// Returns the inverse document frequency: ln(1 + (N − df + ½) / (df + ½)).
pub fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// Returns the slots with the highest finite scores among the allowed ones, best first; equal scores in the order of
/// slots.
pub(super) fn best(options: &SearchOptions<'_>, scores: &[f32], allowed: &[bool], most: usize) -> Vec<usize> {
    let is_candidate = |slot: &usize| scores[*slot] > f32::NEG_INFINITY && allowed[options.scope.position(*slot)];
    let mut slots: Vec<usize> = (0..scores.len()).filter(is_candidate).collect();
    let by_score = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if slots.len() > most {
        slots.select_nth_unstable_by(most, by_score);
        slots.truncate(most);
    }
    slots.sort_unstable_by(by_score);
    slots
}

/// Returns the lists of words that the best passages contain and the query lacks, with weights.
fn learn(
    options: &SearchOptions<'_>,
    tuning: &Tuning,
    query: &Query,
    scores: &Scores,
    counted: &[bool],
) -> Result<Vec<(f32, List)>, RetrievalError> {
    let slots = options.scope.slots();
    let term_shares = term_shares(options, tuning, query, scores, counted);
    let names: Vec<Term> = term_shares.iter().map(|(term, _)| *term).collect();
    let found = lists(options, &names, if slots >= LARGE { slots * LEARNABLE / 100 } else { slots })?;
    let weigh = |((term, share), list): (&(Term, f32), Option<List>)| {
        let list = list?;
        Some((share * idf(slots, list.len()), *term, list))
    };
    let mut weighted: Vec<(f32, Term, List)> = term_shares.iter().zip(found).filter_map(weigh).collect();
    weighted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    weighted.truncate(tuning.feedback_terms);
    let highest = weighted.first().map_or(1.0, |(weight, _, _)| *weight);
    Ok(weighted.into_iter().map(|(weight, _, list)| (weight * tuning.feedback / highest, list)).collect())
}

/// Returns for each word that the query lacks its share of the best passages; only the largest shares, in the order of
/// the terms.
fn term_shares(
    options: &SearchOptions<'_>,
    tuning: &Tuning,
    query: &Query,
    scores: &Scores,
    counted: &[bool],
) -> Vec<(Term, f32)> {
    let positive: Vec<f32> = scores.iter().map(|score| if *score > 0.0 { *score } else { f32::NEG_INFINITY }).collect();
    let best_slots = best(options, &positive, counted, tuning.feedback_passages);
    let total: f32 = best_slots.iter().map(|slot| scores[*slot]).sum();
    let mut term_shares: HashMap<Term, f32> = HashMap::new();
    for slot in best_slots {
        let mut terms = terms_of(options, slot);
        let length = terms.len().max(1) as f32;
        terms.sort_unstable();
        for same in terms.chunk_by(|a, b| a == b).filter(|same| !query.contains(same[0])) {
            *term_shares.entry(same[0]).or_default() += scores[slot] / total * same.len() as f32 / length;
        }
    }
    let names: Vec<Term> = options
        .scope
        .names()
        .iter()
        .flat_map(|name| options.index.speakers()[usize::from(*name)].terms.iter().copied())
        .collect();
    term_shares.retain(|term, _| !names.contains(term));
    let mut learned: Vec<(Term, f32)> = term_shares.into_iter().collect();
    learned.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    learned.truncate(CONSIDERED);
    learned.sort_unstable_by_key(|(term, _)| *term);
    learned
}

fn terms_of(options: &SearchOptions<'_>, slot: usize) -> Vec<Term> {
    let position = options.scope.position(slot);
    let Some(known) = options.index.known(options.scope.number(position)) else { return Vec::new() };
    let Some(text) = options.texts.text(&known.key) else { return Vec::new() };
    let which = slot - options.scope.span(position).start;
    let Some(span) = passages(&text).into_iter().nth(which) else { return Vec::new() };
    options.index.analyzer().terms(&text[span])
}
