//! What a look through older messages and memories brings to a conversation of the planner's tests, in the steps of a real
//! one: memories within their share, a plan that keeps room free, cards for what fits and is not in that plan's window,
//! near misses and suggestions as rows. Knows nothing of the engine.

use super::talk::{Bag, On, Talk, memory_atom};
use pleach::context;
use pleach::context::render_forms;
use pleach::domain::base::hash::Hash;
use pleach::domain::call::tokens::{CountTokens, Encoding};
use pleach::domain::conversation::mark::{Atom, MarkKind};
use pleach::domain::planning::input::{Block, Near, PlanInput};
use pleach::domain::planning::mode::Mode;
use pleach::domain::planning::plan::{Reason, RowKind, Scores, Source};
use pleach::domain::planning::policy::Section;
use std::collections::HashSet;

/// Tokens that the frame around the cards takes at most.
const FRAME: u32 = 48;
/// Memories take at most this part of the room.
const SHARE: u32 = 2;

struct Look<'a> {
    talk: &'a Talk,
    encoding: Encoding,
    counter: &'a dyn CountTokens,
    bag: Bag,
}

/// Adds what the look brings.
pub(super) fn add(talk: &Talk, encoding: Encoding, counter: &dyn CountTokens, bag: Bag, input: &mut PlanInput) -> Bag {
    let mut look = Look { talk, encoding, counter, bag };
    let wanted = if talk.policy.retrieval { talk.mode } else { Mode::Off };
    let tokens = wanted.limits(input.budget.prompt).retrieval_tokens;
    look.memories(tokens, input);
    if let Some(settled) = &talk.looked.settled {
        input.reserve = settled.reserve;
        let blocks = look.cards(&settled.cards);
        input.blocks.extend(blocks);
    } else if tokens > 0 && !talk.looked.fits.is_empty() {
        look.older(tokens, input);
    } else if !talk.looked.fits.is_empty() {
        input.near.push(near(search(), RowKind::Search, 0, Reason::ModeOff, "search-anyway"));
    }
    look.suggested(input);
    look.bag
}

fn search() -> Atom {
    Atom::Section { text: Hash::of(b"search") }
}

fn near(atom: Atom, kind: RowKind, tokens: u32, reason: Reason, action: &str) -> Near {
    let remedy = (action.to_owned(), "brings it in".to_owned());
    let (source, scores) = (Source::default(), Scores::default());
    Near { atom, kind, title: "near".into(), tokens, reason, remedy, source, scores }
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
        }
    }

    fn memories(&mut self, tokens: u32, input: &mut PlanInput) {
        for (on, kind) in &self.talk.marks {
            if let (On::Memory(text), true) = (on, kind.excludes()) {
                let once = *kind == MarkKind::ExcludeOnce;
                input.near.push(near(memory_atom(text), RowKind::Memory, 9, Reason::UserExcluded { once }, "exclude"));
            }
        }
        let (start, mut room) = (input.blocks.len(), tokens / SHARE);
        let mut going = Vec::new();
        let marked = |text: &String| self.talk.marks.iter().any(|(on, _)| *on == On::Memory(text.clone()));
        let free: Vec<&String> = self.talk.looked.memories.iter().filter(|text| !marked(text)).collect();
        for text in free {
            let body = render_forms::fenced("Remembered, confirmed by the user", text);
            let block = self.block(RowKind::Memory, Reason::Memory { standing: false }, memory_atom(text), body);
            let settled = self.talk.looked.settled.as_ref();
            if settled.map_or(block.tokens > room, |settled| !settled.memories.contains(text)) {
                let reason = if tokens == 0 { Reason::ModeOff } else { Reason::Budget { free: room } };
                input.near.push(near(memory_atom(text), RowKind::Memory, block.tokens, reason, "include-once"));
            } else {
                room = room.saturating_sub(block.tokens);
                going.push((memory_atom(text), block.tokens));
                input.blocks.push(block);
            }
        }
        if self.talk.looked.settled.is_none() && !going.is_empty() && context::plan(input).is_err() {
            input.blocks.truncate(start);
            let out = |(atom, tokens)| near(atom, RowKind::Memory, tokens, Reason::Budget { free: 0 }, "include-once");
            input.near.extend(going.into_iter().map(out));
        }
    }

    /// Cards for what fits, as far as a plan with that much room kept free does not hold it.
    fn older(&mut self, tokens: u32, input: &mut PlanInput) {
        let held: u32 = input.blocks.iter().filter(|block| block.section == Section::Retrieved).map(|b| b.tokens).sum();
        input.reserve = tokens;
        let out = taken(input).or_else(|| {
            input.reserve = 0;
            taken(input)
        });
        let Some(out) = out.filter(|_| input.reserve > 0) else { return };
        let mut room = tokens.saturating_sub(FRAME).saturating_sub(held);
        let mut cards = Vec::new();
        for (turn, at) in self.talk.looked.fits.iter().copied() {
            let candidate = &input.turns[turn];
            let key = self.talk.key(turn, at);
            let stands = candidate.messages.iter().any(|message| message.key == key && message.bar.is_none());
            let by_hand = self.talk.marks.iter().any(|(on, kind)| {
                kind.excludes() && matches!(on, On::Message(t, a) | On::Episode(t, a) if (*t, *a) == (turn, at))
            });
            if !stands || by_hand || out.contains(&candidate.atom) {
                continue;
            }
            let size = self.counter.count(self.encoding, &self.told((turn, at)));
            if size <= room {
                room -= size;
                cards.push((turn, at));
            } else {
                let reason = if at == 0 { Reason::Budget { free: room } } else { Reason::Duplicate };
                input.near.push(near(Atom::Message { node: key }, RowKind::Card, size, reason, "include-once"));
            }
        }
        let blocks = self.cards(&cards);
        input.blocks.extend(blocks);
        let kept = std::mem::replace(&mut input.reserve, 0);
        if taken(input) != Some(out) && !cards.is_empty() {
            input.reserve = kept;
        }
    }

    fn told(&self, (turn, at): (usize, usize)) -> String {
        let words: Vec<&str> = self.talk.turns[turn][at].text.split_whitespace().collect();
        let words: String = words.join(" ").chars().take(160).collect();
        format!("{turn}.{at}: {words}\n")
    }

    /// A heading, then the cards, between delimiters.
    fn cards(&mut self, cards: &[(usize, usize)]) -> Vec<Block> {
        let Some(last) = cards.len().checked_sub(1) else { return Vec::new() };
        let all: String = cards.iter().map(|card| self.told(*card)).collect();
        let mark = render_forms::delimiter(&all);
        let heading = format!("## Earlier messages that may bear on this, quoted\n\n<<<{mark}\n");
        let mut blocks = vec![self.block(RowKind::Search, Reason::Searched { among: 9 }, search(), heading)];
        for (place, card) in cards.iter().enumerate() {
            let tail = if place == last { format!("{mark}>>>\n\n") } else { String::new() };
            let text = format!("{}{tail}", self.told(*card));
            let reason = Reason::Retrieved { rank: u32::try_from(place + 1).unwrap() };
            let atom = Atom::Message { node: self.talk.key(card.0, card.1) };
            blocks.push(self.block(RowKind::Card, reason, atom, text));
        }
        blocks
    }

    fn suggested(&self, input: &mut PlanInput) {
        let marked = |turn: usize| {
            self.talk
                .marks
                .iter()
                .any(|(on, _)| matches!(on, On::Turn(at) | On::Message(at, _) | On::Episode(at, _) if *at == turn))
        };
        for (turn, at) in self.talk.looked.suggested.iter().filter(|(turn, _)| !marked(*turn)) {
            let atom = Atom::Message { node: self.talk.key(*turn, *at) };
            input.near.push(near(atom, RowKind::Message, 30, Reason::PinSuggested, "pin"));
        }
    }
}

/// Turns that are in the request already, or that a person took out; none where the call is blocked.
fn taken(input: &PlanInput) -> Option<HashSet<Atom>> {
    let plan = context::plan(input).ok()?;
    let closed = |reason: &Reason| matches!(reason, Reason::UserExcluded { .. });
    let rows = plan.rows.iter().filter(|row| row.included() || closed(&row.reason));
    let turns: HashSet<Atom> = input.turns.iter().map(|turn| turn.atom).collect();
    Some(rows.map(|row| row.atom).filter(|atom| turns.contains(atom)).collect())
}
