//! Turns hits into cards: the best hits that fit, together with the messages that they must not be separated from,
//! without near duplicates, in the order of the path.
//! Not for: scores (`search`) or the text of a card (`cards`).

use super::cards::{CardList, Piece, PiecePlace, day, label};
use super::floor::Floor;
use super::index::passages::{estimate, passages};
use super::index::words::Term;
use super::search::{Hit, SearchOptions};
use super::tuning::Tuning;
use crate::domain::base::Hash;
use crate::domain::call::{MissReason, ScoreParts};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Two passages are near duplicates if at least this percentage of the shorter passage's word trigrams occur in the
/// other.
const DUPLICATE_PERCENT: usize = 85;
/// Passages with fewer word trigrams are never duplicates.
const MIN_TRIGRAMS: usize = 8;
/// Filling stops after this many consecutive hits that do not fit.
const MAX_MISFITS: usize = 60;
/// Filling stops when fewer tokens than this are left.
const MIN_ROOM: u32 = 8;

/// The limits for cards.
#[derive(Clone, Copy)]
pub struct CardRoom<'a> {
    /// Maximum tokens of all cards together.
    pub tokens: u32,
    /// Counts the tokens of a text.
    pub count: &'a dyn Fn(&str) -> u32,
    /// Returns the positions that must not be separated from a position (an atom's call and results): a range that
    /// contains it.
    pub together: &'a dyn Fn(usize) -> Range<usize>,
    /// Maximum number of near misses returned.
    pub near: usize,
    /// The minimum that a hit must reach to be included; `None` for no minimum.
    pub floor: Option<&'a Floor>,
}

/// An included message, or passages of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// Position of the message on the path.
    pub position: usize,
    pub key: Hash,
    /// Byte ranges of its passages in the text.
    pub spans: Vec<Range<usize>>,
    /// Its lines as sent, following the previous card.
    pub text: String,
    /// Its lines if the previous card is not sent.
    pub alone: String,
    /// Tokens of its lines.
    pub tokens: u32,
    /// Score of its best passage; for a message that is included only with another, the other message's score.
    pub score: f32,
    pub parts: ScoreParts,
    /// Its rank among the hits, from 1.
    pub rank: u32,
}

/// A hit that was not included.
#[derive(Clone, PartialEq, Debug)]
pub struct UnsentHit {
    /// Position of the message on the path.
    pub position: usize,
    pub key: Hash,
    /// Byte range of the passage.
    pub span: Range<usize>,
    pub score: f32,
    pub parts: ScoreParts,
    /// Why it was not included.
    pub why: MissReason,
}

/// Cards in the order of the path, and near misses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filled {
    pub cards: Vec<Card>,
    /// The sum of their tokens, which equals the count of their joined text.
    pub tokens: u32,
    /// Near misses, best first.
    pub near: Vec<UnsentHit>,
}

/// Fills the room with the best hits.
pub fn fill(options: &SearchOptions<'_>, hits: &[Hit], room: &CardRoom<'_>) -> Filled {
    let mut filler = CardFiller {
        options,
        room,
        list: CardList::new(room.count),
        runs: TrigramIndex::default(),
        taken: HashMap::new(),
        near: Vec::new(),
        cache: HashMap::new(),
    };
    let is_above = |at: &usize| room.floor.is_none_or(|floor| floor.passes(options, &hits[*at]));
    let (above, below_floor): (Vec<usize>, Vec<usize>) = ranked(options, hits).into_iter().partition(is_above);
    let mut misfits = 0;
    for at in above {
        let (rank, hit) = (at + 1, &hits[at]);
        // Without any card, the room is too small for every hit, and nothing better filled it.
        let is_full = filler.list.tokens() > 0 && filler.remaining() < MIN_ROOM;
        if misfits >= MAX_MISFITS || is_full {
            if filler.near.len() >= room.near {
                break;
            }
            filler.record_miss(hit, MissReason::Below);
        } else if filler.add_hit(rank, hit) {
            misfits = 0;
        } else {
            misfits += 1;
        }
    }
    below_floor.into_iter().take(room.near).for_each(|at| filler.record_miss(&hits[at], MissReason::Unrelated));
    filler.into_filled()
}

/// Returns the indices of the hits in the order in which they are tried: score per token, weighted by the tuning's
/// thrift.
fn ranked(options: &SearchOptions<'_>, hits: &[Hit]) -> Vec<usize> {
    let thrift = options.tuning.map_or_else(|| Tuning::of(&options.scope.shape).thrift, |tuning| tuning.thrift);
    let value = |hit: &Hit| {
        let known = options.index.known(options.scope.number(hit.position));
        let tokens = known.map_or(1.0, |known| f32::from(known.tokens) / f32::from(known.passages.max(1)));
        if hit.score > 0.0 { hit.score / (tokens + 8.0).powf(thrift) } else { hit.score }
    };
    let mut ranked: Vec<(usize, f32)> = hits.iter().map(value).enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.into_iter().map(|(at, _)| at).collect()
}

struct CardFiller<'a> {
    options: &'a SearchOptions<'a>,
    room: &'a CardRoom<'a>,
    list: CardList<'a>,
    runs: TrigramIndex,
    /// For each included place, the hit that included it, and its rank.
    taken: HashMap<PiecePlace, (usize, Hit)>,
    near: Vec<UnsentHit>,
    /// Messages read so far.
    cache: HashMap<usize, Rc<MessagePassages>>,
}

/// The text of a message with the ranges of its passages.
struct MessagePassages {
    text: String,
    spans: Vec<Range<usize>>,
}

impl CardFiller<'_> {
    /// Adds a hit and the messages it must not be separated from. Returns false if there is no room for them.
    fn add_hit(&mut self, rank: usize, hit: &Hit) -> bool {
        if self.list.contains((hit.position, hit.passage)) {
            return true;
        }
        let pieces = self.pieces(hit);
        let Some((_, own)) = pieces.iter().find(|(place, _)| *place == (hit.position, hit.passage)) else {
            return false;
        };
        let runs = TrigramIndex::of(&self.options.index.analyzer().terms(&own.text));
        if self.runs.has_duplicate(&runs) {
            self.record_miss(hit, MissReason::Duplicate);
            return true;
        }
        let estimated: u32 = pieces.iter().map(|(_, piece)| estimate(&piece.text)).sum();
        if estimated / 2 > self.remaining() {
            // It is far too long even by a generous estimate, so it is not counted exactly.
            self.record_miss(hit, MissReason::NoRoom { missing: estimated - self.remaining() });
            return false;
        }
        let places: Vec<PiecePlace> = pieces.iter().map(|(place, _)| *place).collect();
        match self.list.add(pieces, self.room.tokens) {
            Ok(()) => {
                self.runs.add(runs);
                for place in places {
                    self.taken.entry(place).or_insert((rank, *hit));
                }
                true
            }
            Err(needed) => {
                self.record_miss(hit, MissReason::NoRoom { missing: needed - self.room.tokens });
                false
            }
        }
    }

    fn remaining(&self) -> u32 {
        self.room.tokens.saturating_sub(self.list.tokens())
    }

    /// Returns the pieces of a hit and of the messages it must not be separated from.
    fn pieces(&mut self, hit: &Hit) -> Vec<(PiecePlace, Piece)> {
        let run = (self.room.together)(hit.position);
        let (start, end) =
            (run.start.min(hit.position), run.end.max(hit.position + 1).min(self.options.scope.messages()));
        (start..end).filter_map(|position| self.piece(position, hit)).collect()
    }

    /// Returns a message's text and the ranges of its passages; each message is read once.
    fn read_message(&mut self, position: usize) -> Rc<MessagePassages> {
        if let Some(message) = self.cache.get(&position) {
            return Rc::clone(message);
        }
        let known = self.options.index.known(self.options.scope.number(position));
        let text = known.and_then(|known| self.options.texts.text(&known.key)).unwrap_or_default().into_owned();
        let message = Rc::new(MessagePassages { spans: passages(&text), text });
        self.cache.insert(position, Rc::clone(&message));
        message
    }

    /// Returns the passage of the hit, or the first one of a message that only accompanies the hit.
    fn piece(&mut self, position: usize, hit: &Hit) -> Option<(PiecePlace, Piece)> {
        let known = self.options.index.known(self.options.scope.number(position))?;
        let message = self.read_message(position);
        let at = if position == hit.position { hit.passage } else { 0 };
        let text = message.text[message.spans.get(at)?.clone()].to_owned();
        let name = self.options.texts.speaker(&known.key);
        let speaker = label(name.as_deref().unwrap_or_default(), known.role.name());
        Some(((position, at), Piece { text, speaker, day: day(known.at), last: at + 1 == message.spans.len() }))
    }

    fn record_miss(&mut self, hit: &Hit, why: MissReason) {
        if self.near.len() >= self.room.near {
            return;
        }
        let Some(known) = self.options.index.known(self.options.scope.number(hit.position)) else { return };
        let span = self.read_message(hit.position).spans.get(hit.passage).cloned().unwrap_or_default();
        self.near.push(UnsentHit {
            position: hit.position,
            key: known.key,
            span,
            score: hit.score,
            parts: hit.parts,
            why,
        });
    }

    fn into_filled(mut self) -> Filled {
        let mut cards: Vec<Card> = Vec::new();
        let list = std::mem::replace(&mut self.list, CardList::new(self.room.count));
        for ((position, passage), line, tokens) in list.lines() {
            let Some(known) = self.options.index.known(self.options.scope.number(position)) else { continue };
            let Some((rank, hit)) = self.taken.get(&(position, passage)).copied() else { continue };
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            let span = self.read_message(position).spans.get(passage).cloned().unwrap_or_default();
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
                    alone: list.line_alone((position, passage)),
                    tokens,
                    score: hit.score,
                    parts: hit.parts,
                    rank,
                }),
            }
        }
        Filled { cards, tokens: list.tokens(), near: self.near }
    }
}

/// Word trigrams of all cards.
#[derive(Default)]
struct TrigramIndex {
    cards_by_trigram: HashMap<Term, Vec<u32>>,
    sizes: Vec<usize>,
}

impl TrigramIndex {
    fn of(terms: &[Term]) -> Vec<Term> {
        let join = |run: &[Term]| run.iter().fold(7_u64, |hash, term| hash.rotate_left(21).wrapping_mul(31) ^ term);
        let mut runs: Vec<Term> = terms.windows(3).map(join).collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// Returns whether a card contains nearly all of these trigrams, or these trigrams contain nearly all of a card's.
    fn has_duplicate(&self, runs: &[Term]) -> bool {
        if runs.len() < MIN_TRIGRAMS {
            return false;
        }
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for card in runs.iter().filter_map(|run| self.cards_by_trigram.get(run)).flatten() {
            *shared.entry(*card).or_default() += 1;
        }
        shared
            .iter()
            .any(|(card, shared)| shared * 100 >= DUPLICATE_PERCENT * runs.len().max(self.sizes[*card as usize]))
    }

    fn add(&mut self, runs: Vec<Term>) {
        let number = u32::try_from(self.sizes.len()).unwrap_or(u32::MAX);
        self.sizes.push(runs.len());
        for run in runs {
            self.cards_by_trigram.entry(run).or_default().push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_duplicates_share_nearly_all_trigrams() {
        let runs = |terms: std::ops::Range<Term>| TrigramIndex::of(&terms.collect::<Vec<_>>());
        let mut index = TrigramIndex::default();
        index.add(runs(500..540));
        index.add(runs(0..100));
        assert!(
            index.has_duplicate(&runs(0..100))
                && index.has_duplicate(&runs(0..99))
                && index.has_duplicate(&runs(500..540))
        );
        assert!(
            !index.has_duplicate(&runs(50..150))
                && !index.has_duplicate(&runs(0..50))
                && !index.has_duplicate(&runs(200..300))
        );
        assert!(!TrigramIndex::default().has_duplicate(&runs(0..100)) && !index.has_duplicate(&Vec::new()));
    }
}
