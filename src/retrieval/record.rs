//! Makes the record of a retrieval.
//! Not for: retrieving (`search`, `fill`) or storing it (`store`).

use super::fill::{Card, Filled, UnsentHit};
use crate::domain::base::Hash;
use crate::domain::call::{Evidence, Gate, NearMiss, RetrievalSet};
use std::ops::Range;

impl Filled {
    /// Returns the record of these cards. `filters` is the digest of the limits of the search; `content` returns the
    /// content hash of a message.
    pub fn record(&self, gate: Gate, query: &str, filters: Hash, content: &dyn Fn(&Hash) -> Hash) -> RetrievalSet {
        let item = |card: &Card| Evidence {
            key: card.key,
            content: content(&card.key),
            span: span(card.spans.first(), card.spans.last()),
            score: card.score,
            score_parts: card.parts,
            rank: card.rank,
            tokens: card.tokens,
        };
        let near = |near: &UnsentHit| NearMiss {
            key: near.key,
            span: span(Some(&near.span), Some(&near.span)),
            score: near.score,
            score_parts: near.parts,
            why: near.why,
        };
        let items = self.cards.iter().map(item).collect();
        RetrievalSet::new(query.to_owned(), filters, gate, items, self.near.iter().map(near).collect())
    }
}

fn span(first: Option<&Range<usize>>, last: Option<&Range<usize>>) -> (u32, u32) {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (first.map_or(0, |span| small(span.start)), last.map_or(0, |span| small(span.end)))
}
