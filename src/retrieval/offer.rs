//! Offers cards to admission.
//! Not for: composing cards (`compose`), or admitting them (`context::admission`).

use super::compose::{Card, Composed};
use crate::domain::base::Hash;
use crate::domain::conversation::Atom;
use crate::domain::planning::Reason;
use crate::domain::planning::{Block, Candidate, Offer, OfferLimit, RowKind, Section};

impl Composed {
    /// Returns the cards as an offer without anything around them.
    pub fn offer(&self) -> Offer {
        let candidates = self.cards.iter().map(|card| card.candidate(("", 0), &mut |_, _| ())).collect();
        Offer::new(None, candidates, OfferLimit::Room)
    }
}

impl Card {
    /// Returns the card as a candidate without title, source, and turn. `tail` follows the last card, with its tokens;
    /// `keep` gets each text with its hash.
    pub fn candidate(&self, tail: (&str, u32), keep: &mut dyn FnMut(Hash, String)) -> Candidate {
        let texts = std::array::from_fn(|at| {
            let (text, tokens) = &self.texts[at / 2];
            let (behind, more) = if at % 2 == 1 { tail } else { ("", 0) };
            let text = format!("{text}{behind}");
            let hash = Hash::of(text.as_bytes());
            keep(hash, text);
            (hash, tokens + more)
        });
        let block = Block {
            atom: Some(Atom::Message { node: self.key }),
            ..Block::new(Section::Retrieved, RowKind::Card, texts[0], "", Reason::Retrieved { rank: self.rank })
        };
        let one = Candidate::plain(block, self.order, ("include-once", "includes its turn in the next request"));
        Candidate { texts, stretch: self.day, extends: self.extends, ..one }
    }
}
