//! The search of older messages and memories for planner tests, in the same steps as the real one: memories within
//! their share, what is sent in any case, cards for what fits and is not among it, and suggested pins as rows. Does not
//! use the engine.

use super::talk::{Contents, MarkTarget, Talk, memory_atom};
use pleach::context;
use pleach::context::render::render_forms;
use pleach::domain::base::Hash;
use pleach::domain::call::{CountTokens, Encoding};
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{
    Block, Candidate, Mode, Offer, OfferLimit, OmittedItem, PlanInput, RowKind, Scores, Section, Source,
};

/// Memories take at most this fraction of the room.
const SHARE: u32 = 2;

struct Look<'a> {
    talk: &'a Talk,
    encoding: Encoding,
    counter: &'a dyn CountTokens,
    bag: Contents,
    reopened: bool,
}

/// Adds the results of the search. Also returns whether turns are searched only because a summary lacks what the
/// question names.
pub(super) fn add(
    talk: &Talk,
    encoding: Encoding,
    counter: &dyn CountTokens,
    bag: Contents,
    input: &mut PlanInput,
) -> (Contents, bool) {
    let mut look = Look { talk, encoding, counter, bag, reopened: false };
    let wanted = if talk.policy.retrieval { talk.mode } else { Mode::Off };
    let tokens = wanted.limits(input.budget.prompt).retrieval_tokens;
    input.allowance = tokens;
    look.memories(tokens, input);
    if tokens > 0 && !talk.search_results.fits.is_empty() {
        look.older(input);
    } else if !talk.search_results.fits.is_empty() {
        input.near.push(near(search(), RowKind::Search, 0, Reason::ModeOff, "search-anyway"));
    }
    look.suggested(input);
    (look.bag, look.reopened)
}

fn search() -> Atom {
    Atom::Section { text: Hash::of(b"search") }
}

/// The row of an accepted summary with which the request would be worse.
pub(super) fn summary_left_out(why: Reason) -> OmittedItem {
    near(Atom::Section { text: Hash::of(b"summary") }, RowKind::Summary, 0, why, "capsules")
}

fn near(atom: Atom, kind: RowKind, tokens: u32, reason: Reason, action: &str) -> OmittedItem {
    let remedy = (action.to_owned(), "brings it in".to_owned());
    let (source, scores) = (Source::default(), Scores::default());
    OmittedItem { atom, kind, title: "near".into(), tokens, reason, remedy, source, scores }
}

impl Look<'_> {
    fn block(&mut self, kind: RowKind, reason: Reason, atom: Atom, text: String) -> Block {
        let hash = Hash::of(text.as_bytes());
        let tokens = self.counter.count(self.encoding, &text);
        self.bag.blocks.insert(hash, text.into());
        Block {
            section: Section::Retrieved,
            kind,
            text: hash,
            tokens,
            title: "found".into(),
            reason,
            atom: Some(atom),
            source: Source::default(),
            scores: Scores { score: Some(700), parts: vec![("words".into(), 700)] },
            repeats: Vec::new(),
        }
    }

    fn memories(&mut self, tokens: u32, input: &mut PlanInput) {
        for (on, kind) in &self.talk.marks {
            if let (MarkTarget::Memory(text), true) = (on, kind.excludes()) {
                let once = *kind == MarkKind::ExcludeOnce;
                input.near.push(near(memory_atom(text), RowKind::Memory, 9, Reason::UserExcluded { once }, "exclude"));
            }
        }
        let marked = |text: &String| self.talk.marks.iter().any(|(on, _)| *on == MarkTarget::Memory(text.clone()));
        let free: Vec<&String> = self.talk.search_results.memories.iter().filter(|text| !marked(text)).collect();
        let mut candidates = Vec::new();
        for (order, text) in (0..).zip(free) {
            let body = render_forms::fenced("Remembered, confirmed by the user", text);
            let block = self.block(RowKind::Memory, Reason::Memory { always: false }, memory_atom(text), body);
            if tokens == 0 {
                let off = near(memory_atom(text), RowKind::Memory, block.tokens, Reason::ModeOff, "include-once");
                input.near.push(off);
            } else {
                candidates.push(Candidate::plain(block, order, ("include-once", "brings it in")));
            }
        }
        input.offers.push(Offer::new(None, candidates, OfferLimit::Allowance { parts: 1, of: SHARE }));
    }

    /// Cards for matching messages that fit and are not sent in any case.
    fn older(&mut self, input: &mut PlanInput) {
        let Some(already_in) = context::already_in(input, false) else { return };
        self.reopened = already_in.reopened;
        let fits = self.talk.search_results.fits.iter().copied().filter(|(turn, at)| {
            let candidate = &input.turns[*turn];
            let key = self.talk.key(*turn, *at);
            let is_sent = candidate.messages.iter().any(|message| message.key == key && message.bar.is_none());
            let by_hand = self.talk.marks.iter().any(|(on, kind)| {
                kind.excludes()
                    && matches!(on, MarkTarget::Message(t, a) | MarkTarget::Episode(t, a) if (t, a) == (turn, at))
            });
            is_sent && !by_hand && !already_in.closed.contains(&candidate.atom)
        });
        let cards: Vec<(usize, usize)> = fits.collect();
        let offer = self.cards(&cards, input);
        input.offers.push(offer);
    }

    fn card_text(&self, (turn, at): (usize, usize)) -> String {
        let words: Vec<&str> = self.talk.turns[turn][at].text.split_whitespace().collect();
        let words: String = words.join(" ").chars().take(160).collect();
        format!("{turn}.{at}: {words}\n")
    }

    /// A heading and the cards in path order, between delimiters.
    fn cards(&mut self, cards: &[(usize, usize)], input: &PlanInput) -> Offer {
        let all: String = cards.iter().map(|card| self.card_text(*card)).collect();
        let mark = render_forms::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let heading = self.block(RowKind::Search, Reason::Searched { among: 9 }, search(), heading);
        let mut candidates = Vec::new();
        for (place, card) in (0..).zip(cards) {
            let reason = Reason::Retrieved { rank: place + 1 };
            let atom = Atom::Message { node: self.talk.key(card.0, card.1) };
            let card_text = self.card_text(*card);
            let texts = ["", "[on a day]\n"].into_iter().flat_map(|day| {
                [String::new(), format!("{mark}>>>\n\n")].map(|tail| format!("{day}{card_text}{tail}"))
            });
            let blocks: Vec<Block> = texts.map(|text| self.block(RowKind::Card, reason.clone(), atom, text)).collect();
            let one = Candidate::plain(blocks[0].clone(), place, ("include-once", "brings it in"));
            let texts = [0, 1, 2, 3, 2, 3].map(|at: usize| (blocks[at].text, blocks[at].tokens));
            candidates.push((*card, Candidate { texts, turn: Some(input.turns[card.0].atom), ..one }));
        }
        candidates.sort_by_key(|(card, _)| *card);
        let candidates = candidates.into_iter().map(|(_, candidate)| candidate).collect();
        Offer::new(Some(heading), candidates, OfferLimit::WHOLE_ALLOWANCE)
    }

    fn suggested(&self, input: &mut PlanInput) {
        let marked = |turn: usize| {
            self.talk
                .marks
                .iter()
                .any(|(on, _)| matches!(on, MarkTarget::Turn(at) | MarkTarget::Message(at, _) | MarkTarget::Episode(at, _) if *at == turn))
        };
        for (turn, at) in self.talk.search_results.suggested.iter().filter(|(turn, _)| !marked(*turn)) {
            let atom = Atom::Message { node: self.talk.key(*turn, *at) };
            input.near.push(near(atom, RowKind::Message, 30, Reason::SuggestedByModel, "pin"));
        }
    }
}
