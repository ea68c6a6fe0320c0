//! The whole way of a query: gate, search, cards, and the record of it.
//! Not for: any of the steps.

use super::RetrievalError;
use super::fill::{Filled, Room, fill};
use super::gate;
use super::query::Query;
use super::search::{Ask, search};
use crate::domain::evidence::{Evidence, Gate, NearMiss, PassWhy, RetrievalSet};
use crate::domain::hash::Hash;
use std::ops::Range;

/// What a query found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The gate's decision; where it is shut, there are no cards.
    pub gate: Gate,
    /// Cards and near misses.
    pub filled: Filled,
}

/// Looks a message up, if the gate opens or a person forces it. `before`: whether an earlier set can be inherited.
///
/// # Errors
/// When stored postings cannot be read.
pub fn find(ask: &Ask<'_>, text: &str, room: &Room<'_>, forced: bool, before: bool) -> Result<Found, RetrievalError> {
    let gate = if forced { Gate::Pass(PassWhy::Forced) } else { gate::gate(ask, text, before)? };
    if !gate.is_open() {
        return Ok(Found { gate, filled: Filled::default() });
    }
    let hits = search(ask, &Query::new(ask.index, ask.scope, text))?;
    Ok(Found { gate, filled: fill(ask, &hits, room) })
}

impl Found {
    /// The record of it. `filters` is the digest of what limited the search, `content` gives the content hash of a message.
    #[must_use]
    pub fn record(&self, query: &str, filters: Hash, content: &dyn Fn(&Hash) -> Hash) -> RetrievalSet {
        let item = |card: &super::fill::Card| Evidence {
            key: card.key,
            content: content(&card.key),
            span: span(card.spans.first(), card.spans.last()),
            score: card.score,
            score_parts: card.parts,
            rank: card.rank,
            tokens: card.tokens,
        };
        let near = |near: &super::fill::Near| NearMiss {
            key: near.key,
            span: span(Some(&near.span), Some(&near.span)),
            score: near.score,
            score_parts: near.parts,
            why: near.why,
        };
        let items = self.filled.cards.iter().map(item).collect();
        RetrievalSet::new(query.to_owned(), filters, self.gate, items, self.filled.near.iter().map(near).collect())
    }
}

fn span(first: Option<&Range<usize>>, last: Option<&Range<usize>>) -> (u32, u32) {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (first.map_or(0, |span| small(span.start)), last.map_or(0, |span| small(span.end)))
}
