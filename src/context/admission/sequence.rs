//! The candidates of one offer that are sent, in sending order, with their tokens. What precedes a candidate determines its
//! text, so one candidate more changes only its own text and those beside it.
//! Not for: deciding which candidates are sent (`offers`).

use crate::domain::base::Hash;
use crate::domain::planning::{Candidate, Offer, Preceding};
use std::ops::Range;

/// A candidate that is sent, with its place among the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentCandidate {
    /// Index of the candidate in its offer.
    pub at: usize,
    /// What is sent before it.
    pub after: Preceding,
    pub tokens: u32,
}

/// The candidates that are sent.
#[derive(Clone, Default)]
pub(super) struct Sequence {
    /// Their indices in the offer, in sending order.
    pub(super) sent: Vec<usize>,
    /// Their tokens, without the heading.
    tokens: u64,
}

/// The texts of an offer's candidates.
pub(super) struct OfferTexts<'a> {
    offer: &'a Offer,
    /// For each candidate: the number of items before it; a candidate and those that extend it are one item.
    pub(super) items: Vec<usize>,
}

impl<'a> OfferTexts<'a> {
    pub(super) fn new(offer: &'a Offer) -> Self {
        let item = |item: &mut usize, one: &Candidate| {
            *item += usize::from(!one.extends);
            Some(*item)
        };
        Self { offer, items: offer.candidates.iter().scan(0, item).collect() }
    }

    /// Returns the sequence of these candidates, at most one for each item.
    pub(super) fn sequence(&self, sent: Vec<usize>) -> Sequence {
        let tokens = self.tokens_of(&sent, 0..sent.len());
        Sequence { sent, tokens }
    }

    /// Puts a candidate in its place, where it replaces another of the same item. If it is not sent itself, only that
    /// one leaves.
    pub(super) fn place(&self, sequence: &mut Sequence, at: usize, is_sent: bool) {
        let sent = &mut sequence.sent;
        let place = sent.partition_point(|other| self.items[*other] < self.items[at]);
        let replaced = usize::from(sent.get(place).is_some_and(|other| self.items[*other] == self.items[at]));
        let changed = |count: usize| place.saturating_sub(1)..place + count + 1;
        let old = self.tokens_of(sent, changed(replaced));
        sent.splice(place..place + replaced, is_sent.then_some(at));
        sequence.tokens = sequence.tokens - old + self.tokens_of(sent, changed(usize::from(is_sent)));
    }

    /// Returns the tokens of a sequence with the heading.
    pub(super) fn tokens(&self, sequence: &Sequence) -> u32 {
        let heading = self.offer.heading.as_ref().filter(|_| !sequence.sent.is_empty());
        let heading = heading.map_or(0, |heading| u64::from(heading.tokens));
        u32::try_from(sequence.tokens + heading).unwrap_or(u32::MAX)
    }

    /// Returns the candidates of a sequence, each with its text.
    pub(super) fn sent(&self, sequence: &Sequence) -> impl Iterator<Item = (SentCandidate, Hash)> {
        sequence.sent.iter().enumerate().map(|(nth, at)| {
            let (after, (text, tokens)) = self.text(&sequence.sent, nth);
            (SentCandidate { at: *at, after, tokens }, text)
        })
    }

    /// Returns the tokens of some of the candidates that are sent.
    fn tokens_of(&self, sent: &[usize], range: Range<usize>) -> u64 {
        (range.start..range.end.min(sent.len())).map(|nth| u64::from(self.text(sent, nth).1.1)).sum()
    }

    /// Returns what precedes a candidate that is sent, and its text with its tokens.
    fn text(&self, sent: &[usize], nth: usize) -> (Preceding, (Hash, u32)) {
        let (all, at) = (&self.offer.candidates, sent[nth]);
        let after = match nth.checked_sub(1).map(|before| sent[before]) {
            Some(before) if self.items[before] + 1 == self.items[at] => Preceding::Previous,
            Some(before) if all[before].stretch == all[at].stretch => Preceding::Stretch,
            Some(_) | None => Preceding::Other,
        };
        (after, all[at].text(after, nth + 1 == sent.len()))
    }
}
