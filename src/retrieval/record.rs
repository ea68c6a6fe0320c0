//! Builds the record of a retrieval.
//! Not for: retrieving (`search`, `compose`) or storing it (`store`).

use super::compose::{Card, Composed, UnsentHit};
use crate::domain::base::Hash;
use crate::domain::call::{Evidence, Gate, MissReason, NearMiss, RetrievalSet};
use crate::domain::planning::Preceding;
use std::ops::Range;

impl Card {
    /// Returns the byte range from its first to its last passage.
    pub fn span(&self) -> (u32, u32) {
        span(self.spans.first(), self.spans.last())
    }
}

impl Composed {
    /// Returns the record of these cards before it is known which are sent: all of them are items and near misses; see
    /// [`RetrievalSet::record_sent`]. `filters` is the digest of the limits of the search; `content` returns the
    /// content hash of a message.
    pub fn record(&self, gate: Gate, query: &str, filters: Hash, content: &dyn Fn(&Hash) -> Hash) -> RetrievalSet {
        let tokens = |card: &Card| card.texts[Preceding::Other as usize].1;
        let item = |card: &Card| Evidence {
            key: card.key,
            content: content(&card.key),
            span: card.span(),
            score: card.score,
            score_parts: card.parts,
            rank: card.rank,
            tokens: tokens(card),
        };
        let unsent = |card: &&Card| NearMiss {
            key: card.key,
            span: card.span(),
            score: card.score,
            score_parts: card.parts,
            why: MissReason::NoRoom { missing: tokens(card) },
        };
        let near = |near: &UnsentHit| NearMiss {
            key: near.key,
            span: span(Some(&near.span), Some(&near.span)),
            score: near.score,
            score_parts: near.parts,
            why: near.why,
        };
        let items = self.cards.iter().map(item).collect();
        let mut by_order: Vec<&Card> = self.cards.iter().filter(|card| !card.extends).collect();
        by_order.sort_by_key(|card| card.order);
        let near = by_order.iter().map(unsent).chain(self.near.iter().map(near)).collect();
        RetrievalSet::new(query.to_owned(), filters, gate, items, near)
    }
}

fn span(first: Option<&Range<usize>>, last: Option<&Range<usize>>) -> (u32, u32) {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    (first.map_or(0, |span| small(span.start)), last.map_or(0, |span| small(span.end)))
}
