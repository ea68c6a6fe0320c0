//! Turns hits into cards: the best that fit, together with the messages they must not be separated from, without near
//! duplicates, in the order of the path.
//! Not for: scores (`search`) or how a card is written (`cards`).

use super::cards::{CardList, Piece, PiecePlace, day, label};
use super::floor::Floor;
use super::index::passages::{estimate, passages};
use super::index::words::Term;
use super::search::{Hit, SearchOptions};
use super::tuning::Tuning;
use crate::domain::base::hash::Hash;
use crate::domain::call::retrieval_set::{MissReason, ScoreParts};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Two passages are near duplicates if at least this percentage of the shorter one's word trigrams occur in the other.
const ALIKE: usize = 85;
/// Passages with fewer word trigrams are never duplicates.
const FEWEST_RUNS: usize = 8;
/// After this many consecutive hits that do not fit, filling stops.
const PATIENCE: usize = 60;
/// With fewer tokens left, filling stops.
const CRUMBS: u32 = 8;

/// The limits for cards.
#[derive(Clone, Copy)]
pub struct CardRoom<'a> {
    /// Maximum tokens of all cards together.
    pub tokens: u32,
    /// Counts the tokens of a text.
    pub count: &'a dyn Fn(&str) -> u32,
    /// The positions that must not be separated from one (an atom's call and results): a range that contains it.
    pub together: &'a dyn Fn(usize) -> Range<usize>,
    /// Maximum number of near misses returned.
    pub near: usize,
    /// What a hit must reach to be included; `None` for no limit.
    pub floor: Option<&'a Floor>,
}

/// An included message, or passages of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// Position of the message on the path.
    pub position: usize,
    /// Its key.
    pub key: Hash,
    /// Byte ranges of its passages in the text.
    pub spans: Vec<Range<usize>>,
    /// Its lines as sent after the card before it.
    pub text: String,
    /// Its lines if that card is not sent.
    pub alone: String,
    /// Tokens of its lines.
    pub tokens: u32,
    /// Score of its best passage; for messages included only with another, the score of that one.
    pub score: f32,
    /// The parts of the score.
    pub parts: ScoreParts,
    /// Its rank among the hits, from 1.
    pub rank: u32,
}

/// A hit that was not included.
#[derive(Clone, PartialEq, Debug)]
pub struct UnsentHit {
    /// Position of the message on the path.
    pub position: usize,
    /// Its key.
    pub key: Hash,
    /// Byte range of the passage.
    pub span: Range<usize>,
    /// Its score.
    pub score: f32,
    /// The parts of the score.
    pub parts: ScoreParts,
    /// Why it was not included.
    pub why: MissReason,
}

/// Cards in the order of the path, and near misses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filled {
    /// The cards.
    pub cards: Vec<Card>,
    /// The sum of their tokens, which equals the count of their joined text.
    pub tokens: u32,
    /// Near misses, best first.
    pub near: Vec<UnsentHit>,
}

/// Fills the room with the best hits.
#[must_use]
pub fn fill(ask: &SearchOptions<'_>, hits: &[Hit], room: &CardRoom<'_>) -> Filled {
    let mut work = Work {
        ask,
        room,
        sheet: CardList::new(room.count),
        runs: WordRuns::default(),
        taken: HashMap::new(),
        near: Vec::new(),
        read: HashMap::new(),
    };
    let passes = |at: &usize| room.floor.is_none_or(|floor| floor.passes(ask, &hits[*at]));
    let (may, below): (Vec<usize>, Vec<usize>) = order(ask, hits).into_iter().partition(passes);
    let mut failed = 0;
    for at in may {
        let (rank, hit) = (at + 1, &hits[at]);
        if failed >= PATIENCE || work.left() < CRUMBS {
            if work.near.len() >= room.near {
                break;
            }
            work.miss(hit, MissReason::Below);
        } else if work.take(rank, hit) {
            failed = 0;
        } else {
            failed += 1;
        }
    }
    below.into_iter().take(room.near).for_each(|at| work.miss(&hits[at], MissReason::Unrelated));
    work.finish()
}

/// The order in which hits are tried.
fn order(ask: &SearchOptions<'_>, hits: &[Hit]) -> Vec<usize> {
    let thrift = ask.tuning.map_or_else(|| Tuning::of(&ask.scope.shape).thrift, |tuning| tuning.thrift);
    let worth = |hit: &Hit| {
        let known = ask.index.known(ask.scope.number(hit.position));
        let tokens = known.map_or(1.0, |known| f32::from(known.tokens) / f32::from(known.passages.max(1)));
        if hit.score > 0.0 { hit.score / (tokens + 8.0).powf(thrift) } else { hit.score }
    };
    let mut order: Vec<(usize, f32)> = hits.iter().map(worth).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.into_iter().map(|(at, _)| at).collect()
}

struct Work<'a> {
    ask: &'a SearchOptions<'a>,
    room: &'a CardRoom<'a>,
    sheet: CardList<'a>,
    runs: WordRuns,
    /// Rank and hit that included each place.
    taken: HashMap<PiecePlace, (usize, Hit)>,
    near: Vec<UnsentHit>,
    /// Messages read so far.
    read: HashMap<usize, Rc<MessagePassages>>,
}

/// A text with the ranges of its passages.
struct MessagePassages {
    text: String,
    spans: Vec<Range<usize>>,
}

impl Work<'_> {
    /// Adds a hit and the messages it must not be separated from; false if nothing new was added.
    fn take(&mut self, rank: usize, hit: &Hit) -> bool {
        if self.sheet.holds((hit.position, hit.passage)) {
            return true;
        }
        let pieces = self.pieces(hit);
        let Some((_, own)) = pieces.iter().find(|(place, _)| *place == (hit.position, hit.passage)) else {
            return false;
        };
        let runs = WordRuns::of(&self.ask.index.analyzer().terms(&own.text));
        if self.runs.hold(&runs) {
            self.miss(hit, MissReason::Duplicate);
            return true;
        }
        let rough: u32 = pieces.iter().map(|(_, piece)| estimate(&piece.text)).sum();
        if rough / 2 > self.left() {
            // Far too long by any estimate, so it is not counted exactly.
            self.miss(hit, MissReason::NoRoom { missing: rough - self.left() });
            return false;
        }
        let places: Vec<PiecePlace> = pieces.iter().map(|(place, _)| *place).collect();
        match self.sheet.add(pieces, self.room.tokens) {
            Ok(()) => {
                self.runs.add(runs);
                for place in places {
                    self.taken.entry(place).or_insert((rank, *hit));
                }
                true
            }
            Err(needed) => {
                self.miss(hit, MissReason::NoRoom { missing: needed - self.room.tokens });
                false
            }
        }
    }

    fn left(&self) -> u32 {
        self.room.tokens.saturating_sub(self.sheet.tokens())
    }

    /// The pieces of a hit and of the messages it must not be separated from.
    fn pieces(&mut self, hit: &Hit) -> Vec<(PiecePlace, Piece)> {
        let run = (self.room.together)(hit.position);
        let (start, end) = (run.start.min(hit.position), run.end.max(hit.position + 1).min(self.ask.scope.messages()));
        (start..end).flat_map(|position| self.message(position, hit)).collect()
    }

    /// A message's text and the ranges of its passages, read once.
    fn read(&mut self, position: usize) -> Rc<MessagePassages> {
        if let Some(read) = self.read.get(&position) {
            return Rc::clone(read);
        }
        let known = self.ask.index.known(self.ask.scope.number(position));
        let text = known.and_then(|known| self.ask.texts.text(&known.key)).unwrap_or_default().into_owned();
        let read = Rc::new(MessagePassages { spans: passages(&text), text });
        self.read.insert(position, Rc::clone(&read));
        read
    }

    fn message(&mut self, position: usize, hit: &Hit) -> Vec<(PiecePlace, Piece)> {
        let Some(known) = self.ask.index.known(self.ask.scope.number(position)) else { return Vec::new() };
        let read = self.read(position);
        let name = self.ask.texts.speaker(&known.key);
        let speaker = label(name.as_deref().unwrap_or_default(), known.role.name());
        // A message that only comes with the hit is represented by its first passage.
        let wanted = if position == hit.position { hit.passage } else { 0 };
        let many = read.spans.len();
        let piece = |(at, span): (usize, &Range<usize>)| {
            let text = read.text[span.clone()].to_owned();
            ((position, at), Piece { text, speaker: speaker.clone(), day: day(known.at), last: at + 1 == many })
        };
        read.spans.iter().enumerate().filter(|(at, _)| *at == wanted).map(piece).collect()
    }

    fn miss(&mut self, hit: &Hit, why: MissReason) {
        if self.near.len() >= self.room.near {
            return;
        }
        let Some(known) = self.ask.index.known(self.ask.scope.number(hit.position)) else { return };
        let span = self.read(hit.position).spans.get(hit.passage).cloned().unwrap_or_default();
        self.near.push(UnsentHit {
            position: hit.position,
            key: known.key,
            span,
            score: hit.score,
            parts: hit.parts,
            why,
        });
    }

    fn finish(mut self) -> Filled {
        let mut cards: Vec<Card> = Vec::new();
        let sheet = std::mem::replace(&mut self.sheet, CardList::new(self.room.count));
        for ((position, passage), line, tokens) in sheet.lines() {
            let Some(known) = self.ask.index.known(self.ask.scope.number(position)) else { continue };
            let Some((rank, hit)) = self.taken.get(&(position, passage)).copied() else { continue };
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            let span = self.read(position).spans.get(passage).cloned().unwrap_or_default();
            match cards.last_mut().filter(|card| card.position == position) {
                Some(card) => {
                    card.spans.push(span);
                    card.text.push_str(&line);
                    card.alone.push_str(&line);
                    card.tokens += tokens;
                    if rank < card.rank {
                        (card.rank, card.score, card.parts) = (rank, hit.score, hit.parts);
                    }
                }
                None => cards.push(Card {
                    position,
                    key: known.key,
                    spans: vec![span],
                    text: line,
                    alone: sheet.line_alone((position, passage)),
                    tokens,
                    score: hit.score,
                    parts: hit.parts,
                    rank,
                }),
            }
        }
        self.near.truncate(self.room.near);
        Filled { cards, tokens: sheet.tokens(), near: self.near }
    }
}

/// Word trigrams of all cards.
#[derive(Default)]
struct WordRuns {
    holders: HashMap<Term, Vec<u32>>,
    sizes: Vec<usize>,
}

impl WordRuns {
    fn of(terms: &[Term]) -> Vec<Term> {
        let join = |run: &[Term]| run.iter().fold(7_u64, |hash, term| hash.rotate_left(21).wrapping_mul(31) ^ term);
        let mut runs: Vec<Term> = terms.windows(3).map(join).collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// Whether a card contains nearly all of these trigrams, or they contain nearly all of a card's.
    fn hold(&self, runs: &[Term]) -> bool {
        if runs.len() < FEWEST_RUNS {
            return false;
        }
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for holder in runs.iter().filter_map(|run| self.holders.get(run)).flatten() {
            *shared.entry(*holder).or_default() += 1;
        }
        shared.iter().any(|(holder, shared)| shared * 100 >= ALIKE * runs.len().max(self.sizes[*holder as usize]))
    }

    fn add(&mut self, runs: Vec<Term>) {
        let number = u32::try_from(self.sizes.len()).unwrap_or(u32::MAX);
        self.sizes.push(runs.len());
        for run in runs {
            self.holders.entry(run).or_default().push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_duplicates_share_nearly_all_trigrams() {
        let runs = |terms: std::ops::Range<Term>| WordRuns::of(&terms.collect::<Vec<_>>());
        let mut held = WordRuns::default();
        held.add(runs(500..540));
        held.add(runs(0..100));
        assert!(held.hold(&runs(0..100)) && held.hold(&runs(0..99)) && held.hold(&runs(500..540)));
        assert!(!held.hold(&runs(50..150)) && !held.hold(&runs(0..50)) && !held.hold(&runs(200..300)));
        assert!(!WordRuns::default().hold(&runs(0..100)) && !held.hold(&Vec::new()));
    }
}
