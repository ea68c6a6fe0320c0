//! Composes cards of hits: the best hits together with the messages that they must not be separated from, without near
//! duplicates, in the order of the path, each with its text in every position. How many of them are sent is not decided
//! here.
//! Not for: scores (`search`), the text of a card (`cards`), or choosing cards within a budget (`context::admission`).

use super::cards::{CardWriter, Piece, day, label};
use super::floor::Floor;
use super::index::passages::{estimate, passages};
use super::index::words::Term;
use super::search::{Hit, SearchOptions};
use super::tuning::Tuning;
use crate::domain::base::Hash;
use crate::domain::call::{MissReason, ScoreParts};
use crate::domain::planning::Preceding;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// Two passages are near duplicates if at least this percentage of the shorter passage's word trigrams occur in the
/// other.
const DUPLICATE_PERCENT: usize = 85;
/// Passages with fewer word trigrams are never duplicates.
const MIN_TRIGRAMS: usize = 8;
/// The approximate tokens of a line in addition to its passage.
const LINE_TOKENS: u32 = 4;

/// The rules for cards.
#[derive(Clone, Copy)]
pub struct CardRules<'a> {
    /// Counts the tokens of a text.
    pub count: &'a dyn Fn(&str) -> u32,
    /// Returns the positions that must not be separated from a position (an atom's call and results): a range that
    /// contains it.
    pub together: &'a dyn Fn(usize) -> Range<usize>,
    /// Maximum number of hits returned that are no cards.
    pub near: usize,
    /// The minimum that a hit must reach to be a card; `None` for no minimum.
    pub floor: Option<&'a Floor>,
    /// Returns whether cards with about this many tokens in total are enough to choose from. Then no more hits are
    /// composed.
    pub is_enough: &'a dyn Fn(u32) -> bool,
}

/// A message, or passages of it, as it may be sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// Position of the message on the path.
    pub position: usize,
    pub key: Hash,
    /// Byte ranges of its passages in the text.
    pub spans: Vec<Range<usize>>,
    /// Its lines in each position, in the order of [`Preceding::ALL`], with their tokens.
    pub texts: [(String, u32); 3],
    /// Score of its best passage; for a message that is a card only with another, the other message's score.
    pub score: f32,
    pub parts: ScoreParts,
    /// Its rank among the hits, from 1.
    pub rank: u32,
    /// The order in which it is tried. Cards with the same number must not be separated.
    pub order: u32,
    /// The number of its day among the days of all cards.
    pub day: u32,
    /// Whether it is the card before it with one more passage.
    pub extends: bool,
}

impl Card {
    /// Returns its lines after other cards.
    pub fn text(&self, after: Preceding) -> &str {
        &self.texts[after as usize].0
    }
}

/// A hit that is no card, or that is not sent.
#[derive(Clone, PartialEq, Debug)]
pub struct UnsentHit {
    /// Position of the message on the path.
    pub position: usize,
    pub key: Hash,
    /// Byte range of the passage.
    pub span: Range<usize>,
    pub score: f32,
    pub parts: ScoreParts,
    /// Why it is not sent.
    pub why: MissReason,
}

/// Cards in the order of the path, and hits that are no cards.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Composed {
    pub cards: Vec<Card>,
    /// Hits that are no cards, best first.
    pub near: Vec<UnsentHit>,
}

/// Composes cards of the best hits.
pub fn compose(options: &SearchOptions<'_>, hits: &[Hit], rules: &CardRules<'_>) -> Composed {
    let mut composer = Composer {
        options,
        rules,
        messages: BTreeMap::new(),
        tokens: 0,
        groups: 0,
        runs: TrigramIndex::default(),
        near: Vec::new(),
        cache: HashMap::new(),
    };
    let is_above = |at: &usize| rules.floor.is_none_or(|floor| floor.passes(options, &hits[*at]));
    let (above, below_floor): (Vec<usize>, Vec<usize>) = ranked(options, hits).into_iter().partition(is_above);
    for at in above {
        if (rules.is_enough)(composer.tokens) {
            break;
        }
        composer.add_hit(at + 1, &hits[at]);
    }
    below_floor.into_iter().take(rules.near).for_each(|at| composer.record_miss(&hits[at], MissReason::Unrelated));
    composer.into_composed()
}

/// Returns the indices of the hits in the order in which they are tried: score per token, weighted by the tuning's
/// `size_penalty`.
fn ranked(options: &SearchOptions<'_>, hits: &[Hit]) -> Vec<usize> {
    let size_penalty =
        options.tuning.map_or_else(|| Tuning::of(&options.scope.shape).size_penalty, |tuning| tuning.size_penalty);
    let value = |hit: &Hit| {
        let known = options.index.known(options.scope.number(hit.position));
        let tokens = known.map_or(1.0, |known| f32::from(known.tokens) / f32::from(known.passages.max(1)));
        if hit.score > 0.0 { hit.score / (tokens + 8.0).powf(size_penalty) } else { hit.score }
    };
    let mut ranked: Vec<(usize, f32)> = hits.iter().map(value).enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.into_iter().map(|(at, _)| at).collect()
}

struct Composer<'a> {
    options: &'a SearchOptions<'a>,
    rules: &'a CardRules<'a>,
    /// Chosen messages by position.
    messages: BTreeMap<usize, ChosenMessage>,
    /// The approximate tokens of all passages.
    tokens: u32,
    /// Number of hits that added passages.
    groups: u32,
    runs: TrigramIndex,
    near: Vec<UnsentHit>,
    /// Messages read so far.
    cache: HashMap<usize, Rc<MessagePassages>>,
}

/// The text of a message with the ranges of its passages.
struct MessagePassages {
    text: String,
    spans: Vec<Range<usize>>,
}

/// A message with its chosen passages.
#[derive(Default)]
struct ChosenMessage {
    pieces: BTreeMap<usize, Piece>,
    /// Its passages in the order in which they were chosen, each with the hit, its rank, and its number.
    steps: Vec<(usize, Hit, usize, u32)>,
}

impl Composer<'_> {
    /// Adds a hit and the messages it must not be separated from.
    fn add_hit(&mut self, rank: usize, hit: &Hit) {
        let is_chosen = |(position, passage): (usize, usize), messages: &BTreeMap<usize, ChosenMessage>| {
            messages.get(&position).is_some_and(|message| message.pieces.contains_key(&passage))
        };
        if is_chosen((hit.position, hit.passage), &self.messages) {
            return;
        }
        let Some(own) = self.piece(hit.position, hit) else { return };
        let runs = TrigramIndex::of(&self.options.index.analyzer().terms(&own.text));
        if self.runs.has_duplicate(&runs) {
            return self.record_miss(hit, MissReason::Duplicate);
        }
        self.runs.add(runs);
        let run = (self.rules.together)(hit.position);
        let (start, end) =
            (run.start.min(hit.position), run.end.max(hit.position + 1).min(self.options.scope.messages()));
        for position in start..end {
            let passage = if position == hit.position { hit.passage } else { 0 };
            let is_known = position != hit.position && self.messages.contains_key(&position);
            let Some(piece) = (!is_known).then(|| self.piece(position, hit)).flatten() else { continue };
            self.tokens = self.tokens.saturating_add(estimate(&piece.text) + LINE_TOKENS);
            let message = self.messages.entry(position).or_default();
            message.pieces.insert(passage, piece);
            message.steps.push((passage, *hit, rank, self.groups));
        }
        self.groups += 1;
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
    fn piece(&mut self, position: usize, hit: &Hit) -> Option<Piece> {
        let known = self.options.index.known(self.options.scope.number(position))?;
        let message = self.read_message(position);
        let at = if position == hit.position { hit.passage } else { 0 };
        let text = message.text[message.spans.get(at)?.clone()].to_owned();
        let name = self.options.texts.speaker(&known.key);
        let speaker = label(name.as_deref().unwrap_or_default(), known.role.name());
        Some(Piece { text, speaker, day: day(known.at), last: at + 1 == message.spans.len() })
    }

    fn record_miss(&mut self, hit: &Hit, why: MissReason) {
        if self.near.len() >= self.rules.near {
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

    fn into_composed(mut self) -> Composed {
        let mut writer = CardWriter::new(self.rules.count);
        let mut days: HashMap<Option<String>, u32> = HashMap::new();
        let mut before: Option<(usize, u32)> = None;
        let mut cards = Vec::new();
        for (position, message) in std::mem::take(&mut self.messages) {
            let Some(known) = self.options.index.known(self.options.scope.number(position)) else { continue };
            let spans = self.read_message(position);
            let number = u32::try_from(days.len()).unwrap_or(u32::MAX);
            let day = *days.entry(message.pieces.values().next().and_then(|piece| piece.day.clone())).or_insert(number);
            // Without another card before it, it is written as after any other.
            let (dated, gap) = before.map_or((true, position > 0), |(last, of)| (of != day, last + 1 < position));
            let mut chosen: BTreeMap<usize, &Piece> = BTreeMap::new();
            let mut best: Option<(usize, Hit)> = None;
            for (nth, (passage, hit, rank, order)) in message.steps.iter().enumerate() {
                chosen.extend(message.pieces.get(passage).map(|piece| (*passage, piece)));
                let pieces: Vec<(usize, &Piece)> = chosen.iter().map(|(at, piece)| (*at, *piece)).collect();
                let mut lines = |dated: bool, gap: bool| writer.lines(&pieces, dated, gap);
                let texts = [lines(dated, gap), lines(false, true), lines(true, position > 0)];
                let (rank, hit) = best.filter(|(before, _)| before < rank).unwrap_or((*rank, *hit));
                best = Some((rank, hit));
                cards.push(Card {
                    position,
                    key: known.key,
                    spans: chosen.keys().filter_map(|at| spans.spans.get(*at).cloned()).collect(),
                    texts,
                    score: hit.score,
                    parts: hit.parts,
                    rank: u32::try_from(rank).unwrap_or(u32::MAX),
                    order: *order,
                    day,
                    extends: nth > 0,
                });
            }
            before = Some((position, day));
        }
        Composed { cards, near: self.near }
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
