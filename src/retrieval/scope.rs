//! Defines the text that a branch may find: the messages of its path in order, their passages in order (slots), their
//! sittings (stretches of messages without a long gap), and the statistics of the whole. Everything is computed from
//! the path alone, so that other branches do not affect it.
//! Not for: scores (`search`).
#![allow(clippy::cast_possible_truncation, reason = "statistics are single precision")]

use super::index::session::{Index, IndexedMessage, NOBODY};
use crate::domain::conversation::Role;
use std::ops::Range;

/// The slot of a passage that is not on the path.
pub const NO_SLOT: u32 = u32::MAX;
/// Gaps shorter than this many seconds never end a sitting.
const MIN_BREAK_SECONDS: i64 = 20 * 60;
/// Minimum ratio of a gap between two sittings to the usual gap within one.
const MIN_BREAK_RATIO: f64 = 8.0;

/// The messages of a path, prepared for searching.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Index numbers of the messages, in the order of the path.
    path: Vec<u32>,
    /// First slot of each message, and the end.
    firsts: Vec<u32>,
    /// Position on the path of each slot's message.
    positions: Vec<u32>,
    /// Slot of each passage of the index.
    slots: Vec<u32>,
    /// Number of terms in each slot.
    lengths: Vec<u16>,
    /// Number of the sitting of each message.
    sittings: Vec<u32>,
    /// Speaker of each message.
    speakers: Vec<u16>,
    /// Whether each message is a user's.
    users: Vec<bool>,
    /// Numbers of the speakers, sorted, without duplicates.
    names: Vec<u16>,
    /// Time of each message in seconds since 1970.
    times: Vec<i64>,
    /// Statistics of the text.
    pub shape: Shape,
}

/// Statistics of a path's text, which determine the constants of the search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Shape {
    /// Mean terms per passage.
    pub mean_terms: f32,
    /// Mean estimated tokens per message.
    pub mean_tokens: f32,
    /// Whether at least two speakers are known by name.
    pub named: bool,
}

impl Scope {
    /// Returns the scope of a path, given by the index numbers of its messages in order; unknown and removed ones have
    /// no passages.
    pub fn new(index: &Index, path: &[u32]) -> Self {
        let mut scope = Self { slots: vec![NO_SLOT; index.passages() as usize], ..Self::default() };
        scope.path = path.to_vec();
        let known: Vec<Option<&IndexedMessage>> = path.iter().map(|number| index.known(*number)).collect();
        for (position, known) in known.iter().enumerate() {
            scope.firsts.push(count(scope.positions.len()));
            scope.speakers.push(known.map_or(NOBODY, |known| known.speaker));
            scope.users.push(known.is_some_and(|known| known.role == Role::User));
            scope.times.push(known.map_or(i64::MIN, |known| known.at));
            let Some(known) = known else { continue };
            for passage in known.first..known.first + u32::from(known.passages) {
                scope.slots[passage as usize] = count(scope.positions.len());
                scope.positions.push(count(position));
                scope.lengths.push(index.length(passage));
            }
        }
        scope.firsts.push(count(scope.positions.len()));
        scope.sittings = sittings(&scope.times);
        scope.names.clone_from(&scope.speakers);
        scope.names.sort_unstable();
        scope.names.dedup();
        scope.names.retain(|name| *name != NOBODY);
        scope.shape = shape(&known, &scope.lengths, scope.names.len() > 1);
        scope
    }

    /// Returns the number of messages.
    pub fn messages(&self) -> usize {
        self.path.len()
    }

    /// Returns the number of passages.
    pub fn slots(&self) -> usize {
        self.positions.len()
    }

    /// Returns the index number of the message at a position.
    pub fn number(&self, position: usize) -> u32 {
        self.path[position]
    }

    /// Returns the speaker of the message at a position.
    pub fn speaker(&self, position: usize) -> u16 {
        self.speakers[position]
    }

    /// Returns whether the message at a position is a user's.
    pub fn is_user(&self, position: usize) -> bool {
        self.users[position]
    }

    /// Numbers of the speakers on the path, sorted, without duplicates.
    pub fn names(&self) -> &[u16] {
        &self.names
    }

    /// Time of the message at a position in seconds since 1970; `i64::MIN` if unknown.
    pub fn at(&self, position: usize) -> i64 {
        self.times[position]
    }

    /// Returns the time of the newest message with a known time, in seconds since 1970.
    pub fn newest(&self) -> Option<i64> {
        self.times.iter().copied().max().filter(|at| *at > i64::MIN)
    }

    /// Returns the slots of the message at a position.
    pub fn span(&self, position: usize) -> Range<usize> {
        self.firsts[position] as usize..self.firsts[position + 1] as usize
    }

    /// Returns the position of a slot's message.
    pub fn position(&self, slot: usize) -> usize {
        self.positions[slot] as usize
    }

    /// Returns the slot of a passage of the index, or [`NO_SLOT`].
    pub fn slot(&self, passage: u32) -> u32 {
        self.slots.get(passage as usize).copied().unwrap_or(NO_SLOT)
    }

    /// Returns the number of terms in a slot.
    pub fn length(&self, slot: usize) -> u16 {
        self.lengths[slot]
    }

    /// Returns the sitting of the message at a position.
    pub fn sitting(&self, position: usize) -> u32 {
        self.sittings[position]
    }
}

/// Limits which messages of a scope are searchable. The others still count in the statistics.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Ranges of positions that are not searchable: in the window, already in the plan, excluded.
    pub out: Vec<Range<usize>>,
    /// Ranges of these whose scores still count for their neighbors and for learned words.
    pub sent: Vec<Range<usize>>,
    /// Only messages of this lane are searchable.
    pub lane: Option<u32>,
}

impl Filter {
    /// Returns for each position whether it is searchable.
    pub fn allowed(&self, index: &Index, scope: &Scope) -> Vec<bool> {
        let mut allowed: Vec<bool> = match self.lane {
            None => vec![true; scope.messages()],
            Some(lane) => scope.path.iter().map(|n| index.known(*n).is_some_and(|known| known.lane == lane)).collect(),
        };
        fill(&self.out, false, &mut allowed);
        allowed
    }

    /// Returns for each position whether its scores count, given which positions are searchable.
    pub fn counted(&self, allowed: &[bool]) -> Vec<bool> {
        let mut counted = allowed.to_vec();
        fill(&self.sent, true, &mut counted);
        counted
    }
}

fn fill(ranges: &[Range<usize>], value: bool, positions: &mut [bool]) {
    for run in ranges {
        let end = run.end.min(positions.len());
        positions[run.start.min(end)..end].fill(value);
    }
}

fn shape(known: &[Option<&IndexedMessage>], lengths: &[u16], named: bool) -> Shape {
    let not_empty = || known.iter().flatten().filter(|known| known.passages > 0);
    Shape {
        mean_terms: ratio(lengths.iter().map(|length| u64::from(*length)).sum(), lengths.len() as u64),
        mean_tokens: ratio(not_empty().map(|known| u64::from(known.tokens)).sum(), not_empty().count() as u64),
        named,
    }
}

/// Returns the number of each message's sitting. A sitting ends at a gap that is long for this conversation: the border
/// between short and long gaps best separates their logarithms (Otsu's criterion), if the two kinds differ clearly.
fn sittings(times: &[i64]) -> Vec<u32> {
    let gap = |pair: &[i64]| if pair[0] == i64::MIN || pair[1] == i64::MIN { 0 } else { (pair[1] - pair[0]).max(0) };
    let limit = break_length(times.windows(2).map(gap).collect());
    let mut now = 0;
    let mut found = Vec::with_capacity(times.len());
    for at in 0..times.len() {
        if at > 0 && limit.is_some_and(|limit| gap(&times[at - 1..=at]) >= limit) {
            now += 1;
        }
        found.push(now);
    }
    found
}

/// Returns the shortest gap that ends a sitting, in seconds; `None` if there is only one kind of gap.
fn break_length(mut gaps: Vec<i64>) -> Option<i64> {
    gaps.sort_unstable();
    let logs: Vec<f64> = gaps.iter().map(|gap| (1.0 + seconds(*gap)).ln()).collect();
    let total: f64 = logs.iter().sum();
    let all = logs.len() as f64;
    let (mut below, mut best) = (0.0, None::<(f64, usize)>);
    for at in 1..logs.len() {
        below += logs[at - 1];
        if gaps[at] < MIN_BREAK_SECONDS || gaps[at] == gaps[at - 1] {
            continue;
        }
        let (low, high) = (below / at as f64, (total - below) / (all - at as f64));
        let separation = (high - low) * (high - low) * (at as f64) * (all - at as f64);
        if high - low >= MIN_BREAK_RATIO.ln() && best.is_none_or(|(most, _)| separation > most) {
            best = Some((separation, at));
        }
    }
    best.map(|(_, at)| gaps[at])
}

fn seconds(gap: i64) -> f64 {
    f64::from(u32::try_from(gap).unwrap_or(u32::MAX))
}

fn ratio(sum: u64, count: u64) -> f32 {
    if count == 0 { 0.0 } else { (sum as f64 / count as f64) as f32 }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::retrieval::index::session::Entry;
    use proptest::prelude::*;

    #[test]
    fn the_mean_is_over_the_messages_that_say_something() {
        let mut index = Index::new();
        let path: Vec<u32> = (0_u8..)
            .zip(["abcdefgh", "abcdefgh abcdefg", "", ""])
            .map(|(n, text)| {
                let (key, role) = (Hash::of(&[n]), Role::User);
                index.add(&Entry { key, role, speaker: None, at: None, lane: 0, text })
            })
            .collect();
        let mean = Scope::new(&index, &path).shape.mean_tokens;
        assert!((mean - 3.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn sittings_end_where_gaps_are_long_for_the_conversation() {
        let chat: Vec<i64> = (0..30).map(|i| i64::from(i) * 40 + i64::from(i / 10) * 86_400).collect();
        let found = sittings(&chat);
        assert_eq!((found[9], found[10], found[29]), (0, 1, 2));
        let slow: Vec<i64> = (0..30).map(|i| i64::from(i) * 90).collect();
        assert!(sittings(&slow).iter().all(|sitting| *sitting == 0));
        assert!(sittings(&[i64::MIN; 5]).iter().all(|sitting| *sitting == 0));
        let letters: Vec<i64> = (0..30).map(|i| i64::from(i) * 86_400).collect();
        assert!(sittings(&letters).iter().all(|sitting| *sitting == 0));
    }

    #[test]
    fn unknown_times_end_no_sitting() {
        let minutes = |at: i64| if at % 7 == 3 { i64::MIN } else { at * 60 + at / 10 * 86_400 };
        let times: Vec<i64> = (0..30).map(minutes).collect();
        let found = sittings(&times);
        assert_eq!((found[2], found[3], found[4]), (0, 0, 0));
        assert_eq!((found[9], *found.last().unwrap()), (0, 1), "one break is beside an unknown time");
    }

    proptest! {
        /// Otsu's criterion: the greatest distance between the classes is the least variance within them.
        #[test]
        fn the_border_between_gaps_leaves_the_least_variance(gaps in proptest::collection::vec(0_i64..200_000, 2..14)) {
            let mut sorted = gaps.clone();
            sorted.sort_unstable();
            let logs: Vec<f64> = sorted.iter().map(|gap| (1.0 + seconds(*gap)).ln()).collect();
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            let within = |part: &[f64]| part.iter().map(|log| (log - mean(part)).powi(2)).sum::<f64>();
            let borders = (1..logs.len()).filter(|at| {
                let wide = mean(&logs[*at..]) - mean(&logs[..*at]) >= MIN_BREAK_RATIO.ln();
                wide && sorted[*at] >= MIN_BREAK_SECONDS && sorted[*at] > sorted[*at - 1]
            });
            let costs: Vec<(i64, f64)> =
                borders.map(|at| (sorted[at], within(&logs[..at]) + within(&logs[at..]))).collect();
            let least = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
            match break_length(gaps) {
                Some(border) => {
                    let cost = costs.iter().find(|(gap, _)| *gap == border).map(|(_, cost)| *cost);
                    prop_assert!(cost.is_some_and(|cost| cost <= least + 1e-6), "{border}: {costs:?}");
                }
                None => prop_assert!(costs.is_empty(), "{costs:?}"),
            }
        }
    }
}
