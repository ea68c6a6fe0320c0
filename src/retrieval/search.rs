//! Scores the passages of a scope for a query: BM25 over the path's own statistics, words learned from the best
//! passages, and smoothing between neighbors (`smooth`).
//! Not for: which messages are searchable (`scope`), computing cosines, or cards (`fill`).
//!
//! BM25 is Robertson's, with idf = ln(1 + (N − df + ½) / (df + ½)). Learning words from the best passages is
//! Rocchio-style relevance feedback, with passages weighted by their score.
#![allow(clippy::cast_precision_loss, reason = "scores are single precision; counts stay far below its limit")]

use super::RetrievalError;
use super::index::codec::Postings;
use super::index::segment::Source;
use super::index::session::Index;
use super::index::words::Term;
use super::query::Query;
use super::scope::{Filter, NOWHERE, Scope};
use super::smooth;
use super::tuning::Tuning;
use crate::domain::base::hash::Hash;
use crate::domain::call::retrieval_set::ScoreParts;
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

/// Supplies texts of messages by their keys.
pub trait MessageTexts {
    /// The text as it was indexed; `None` if it no longer exists.
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>>;
    /// The speaker's name for display.
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
    /// Texts.
    pub texts: &'a dyn MessageTexts,
    /// What is searchable.
    pub filter: &'a Filter,
    /// Cosines of passages (by index number) with the query, if there is an embedder. Passages that are not listed
    /// count as the lowest listed.
    pub cosines: Option<&'a [(u32, f32)]>,
    /// Constants that replace those of the scope's shape.
    pub tuning: Option<&'a Tuning>,
}

/// A passage found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hit {
    /// Position of its message on the path.
    pub position: usize,
    /// Index of the passage within the message.
    pub passage: usize,
    /// Its score.
    pub score: f32,
    /// The parts of the score.
    pub parts: ScoreParts,
}

/// One number for every slot.
pub(super) type Scores = Vec<f32>;

/// Scores from the words of a query, by slot.
pub(super) struct Words {
    /// From its own words.
    pub(super) bm25: Scores,
    /// From learned words.
    pub(super) feedback: Scores,
    /// Slots with what the query's form asks for.
    pub(super) formed: List,
}

/// The occurrences of one term on the path: slots with counts.
pub(super) type List = Vec<(u32, u32)>;

/// Passages by decreasing score; equal ones by their place on the path. Only passages that some word, neighbor or
/// cosine supports.
///
/// # Errors
/// If stored postings cannot be read.
pub fn search(ask: &SearchOptions<'_>, query: &Query) -> Result<Vec<Hit>, RetrievalError> {
    let tuning = ask.tuning.copied().unwrap_or_else(|| Tuning::of(&ask.scope.shape));
    let allowed = ask.filter.allowed(ask.index, ask.scope);
    let mut bm25 = vec![0.0; ask.scope.slots()];
    for (weight, list) in leading(ask, query)? {
        add(ask, &tuning, weight, &list, &mut bm25);
    }
    let mut feedback = vec![0.0; ask.scope.slots()];
    if tuning.feedback > 0.0 {
        let learned = learn(ask, &tuning, query, &bm25, &allowed)?;
        for (weight, list) in &learned {
            add(ask, &tuning, *weight, list, &mut feedback);
        }
    }
    let formed = match query.hints.wants {
        Some(term) if tuning.form > 0.0 => lists(ask, &[term], ask.scope.slots())?.pop().flatten().unwrap_or_default(),
        _ => List::new(),
    };
    let words = Words { bm25, feedback, formed };
    Ok(smooth::combine(ask, &tuning, query, &allowed, &words))
}

/// The on-path lists of terms (sorted, without duplicates); `None` for terms with more than `most` occurrences in the
/// scope.
pub(super) fn lists(ask: &SearchOptions<'_>, terms: &[Term], most: usize) -> Result<Vec<Option<List>>, RetrievalError> {
    let mut found: Vec<Option<List>> = vec![Some(Vec::new()); terms.len()];
    ask.index.lists(terms, ask.source, &mut |at, first, bytes| {
        let Some(list) = &mut found[at] else { return };
        for posting in Postings::new(bytes) {
            let slot = ask.scope.slot(first.saturating_add(posting.passage));
            if slot != NOWHERE {
                list.push((slot, posting.count));
            }
        }
        if list.len() > most {
            found[at] = None;
        }
    })?;
    Ok(found)
}

/// The lists of the query's terms with their weights. In a large scope very frequent terms are left out, unless nothing
/// else is left, and the rarest select the passages.
fn leading(ask: &SearchOptions<'_>, query: &Query) -> Result<Vec<(f32, List)>, RetrievalError> {
    let slots = ask.scope.slots();
    let names: Vec<Term> = query.terms.iter().map(|(term, _)| *term).collect();
    let large = slots >= LARGE;
    let mut found = lists(ask, &names, if large { slots * FREQUENT / 100 } else { slots })?;
    if found.iter().all(|list| list.as_ref().is_none_or(Vec::is_empty)) && found.iter().any(Option::is_none) {
        found = lists(ask, &names, slots)?;
    }
    let mut leading: Vec<(f32, List)> =
        query.terms.iter().zip(found).filter_map(|((_, weight), list)| Some((*weight, list?))).collect();
    leading.retain(|(_, list)| !list.is_empty());
    if large {
        leading.sort_by_key(|(_, list)| list.len());
        leading.truncate(LEADING);
    }
    Ok(leading)
}

/// Adds the BM25 score of one weighted term to `scores`.
fn add(ask: &SearchOptions<'_>, tuning: &Tuning, weight: f32, list: &List, scores: &mut Scores) {
    let mean = ask.scope.shape.mean_terms.max(1.0);
    let weight = weight * idf(ask.scope.slots(), list.len()) * (tuning.k1 + 1.0);
    for (slot, count) in list {
        let slot = *slot as usize;
        let count = *count as f32;
        let length = f32::from(ask.scope.length(slot)) / mean;
        scores[slot] += weight * count / (count + tuning.k1 * (1.0 - tuning.b + tuning.b * length));
    }
}

/// ln(1 + (N − df + ½) / (df + ½)).
#[must_use]
pub fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// The slots with the highest finite scores among the allowed, best first, equal ones in order.
pub(super) fn best(ask: &SearchOptions<'_>, scores: &[f32], allowed: &[bool], most: usize) -> Vec<usize> {
    let held = |slot: &usize| scores[*slot] > f32::NEG_INFINITY && allowed[ask.scope.position(*slot)];
    let mut slots: Vec<usize> = (0..scores.len()).filter(held).collect();
    let by_score = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if slots.len() > most {
        slots.select_nth_unstable_by(most, by_score);
        slots.truncate(most);
    }
    slots.sort_unstable_by(by_score);
    slots
}

/// Lists of words that the best passages have and the query lacks, with weights.
fn learn(
    ask: &SearchOptions<'_>,
    tuning: &Tuning,
    query: &Query,
    scores: &Scores,
    allowed: &[bool],
) -> Result<Vec<(f32, List)>, RetrievalError> {
    let slots = ask.scope.slots();
    let masses = masses(ask, tuning, query, scores, allowed);
    let names: Vec<Term> = masses.iter().map(|(term, _)| *term).collect();
    let found = lists(ask, &names, if slots >= LARGE { slots * LEARNABLE / 100 } else { slots })?;
    let weigh = |((term, mass), list): (&(Term, f32), Option<List>)| {
        let list = list?;
        Some((mass * idf(slots, list.len()), *term, list))
    };
    let mut weighted: Vec<(f32, Term, List)> = masses.iter().zip(found).filter_map(weigh).collect();
    weighted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    weighted.truncate(tuning.feedback_terms);
    let highest = weighted.first().map_or(1.0, |(weight, _, _)| *weight);
    Ok(weighted.into_iter().map(|(weight, _, list)| (weight * tuning.feedback / highest, list)).collect())
}

/// The share of the best passages taken by each word that the query lacks; the largest shares, in the order of the
/// terms.
fn masses(
    ask: &SearchOptions<'_>,
    tuning: &Tuning,
    query: &Query,
    scores: &Scores,
    allowed: &[bool],
) -> Vec<(Term, f32)> {
    let spoken: Vec<f32> = scores.iter().map(|score| if *score > 0.0 { *score } else { f32::NEG_INFINITY }).collect();
    let teachers = best(ask, &spoken, allowed, tuning.feedback_passages);
    let total: f32 = teachers.iter().map(|slot| scores[*slot]).sum();
    let mut masses: HashMap<Term, f32> = HashMap::new();
    for slot in teachers {
        let mut terms = terms_of(ask, slot);
        let length = terms.len().max(1) as f32;
        terms.sort_unstable();
        for same in terms.chunk_by(|a, b| a == b).filter(|same| !query.holds(same[0])) {
            *masses.entry(same[0]).or_default() += scores[slot] / total * same.len() as f32 / length;
        }
    }
    let names: Vec<Term> = ask
        .scope
        .names()
        .iter()
        .flat_map(|name| ask.index.speakers()[usize::from(*name)].terms.iter().copied())
        .collect();
    masses.retain(|term, _| !names.contains(term));
    let mut learned: Vec<(Term, f32)> = masses.into_iter().collect();
    learned.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    learned.truncate(CONSIDERED);
    learned.sort_unstable_by_key(|(term, _)| *term);
    learned
}

fn terms_of(ask: &SearchOptions<'_>, slot: usize) -> Vec<Term> {
    let position = ask.scope.position(slot);
    let Some(known) = ask.index.known(ask.scope.number(position)) else { return Vec::new() };
    let Some(text) = ask.texts.text(&known.key) else { return Vec::new() };
    let which = slot - ask.scope.span(position).start;
    let Some(span) = super::index::passages::passages(&text).into_iter().nth(which) else { return Vec::new() };
    ask.index.analyzer().terms(&text[span])
}
