//! The two hot loops of a search: the number of differing signs, and sums of products of integers.
//! Not for: choosing the vectors to compare (`memory`).
//!
//! Both are plain loops that the compiler vectorizes; the sums are of integers and therefore the same on every machine.
//! Large inputs are split and processed in parallel, with the same result.
#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processors only")]

use super::cpu::run;
use super::memory::DocSet;
use pulp::NullaryFnOnce;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Number of vectors whose signs are stored side by side, word for word.
pub(crate) const LANES: usize = 32;

/// The number of parts that are processed in parallel.
const PARTS: usize = 4;
const MIN_PARALLEL_SCAN: usize = 100_000;
const MIN_PARALLEL_PRODUCTS: usize = 4_000;

/// Finds the vectors nearest to a question by their signs. The distance counts one for each differing sign, and three
/// where the question's own value is large (`heavy`), as if it had two bits per dimension.
pub(crate) struct Scan<'a> {
    /// The signs in groups of [`LANES`] vectors: for each word of signs, that word of every vector in the group.
    pub(crate) blocks: &'a [[u64; LANES]],
    /// The document of each vector.
    pub(crate) docs: &'a [u32],
    /// The question's signs.
    pub(crate) signs: &'a [u64],
    /// A set bit for each large value of the question.
    pub(crate) heavy: &'a [u64],
    /// The documents that may be found; `None` for all.
    pub(crate) allowed: Option<&'a DocSet>,
    /// Number of requested results.
    pub(crate) wanted: usize,
}

impl Scan<'_> {
    /// Returns the slots of at least `wanted` vectors, in order: all vectors up to the smallest distance that gives
    /// enough.
    pub(crate) fn places(self) -> Vec<u32> {
        if self.docs.len() < MIN_PARALLEL_SCAN {
            let (limit, mut found) = run(self);
            found.retain(|(distance, _)| *distance <= limit);
            return found.into_iter().map(|(_, place)| place).collect();
        }
        let wanted = self.wanted;
        let parts = in_parallel(self.parts(), |(first, part)| {
            let (limit, found) = run(part);
            (limit, first, found)
        });
        let limit = parts.iter().map(|(limit, ..)| *limit).min().unwrap_or_default();
        let limit = smallest_limit(limit, wanted, parts.iter().flat_map(|(_, _, found)| found));
        let each = parts
            .into_iter()
            .flat_map(|(_, first, found)| found.into_iter().map(move |(distance, at)| (distance, first + at)));
        each.filter(|(distance, _)| *distance <= limit).map(|(_, place)| place).collect()
    }

    /// Returns the same scan for each part, with the slot of its first vector.
    fn parts(&self) -> Vec<(u32, Self)> {
        let step = self.docs.len().div_ceil(PARTS).next_multiple_of(LANES);
        let blocks = self.blocks.chunks(step / LANES * self.signs.len());
        let each = (0_u32..).step_by(step).zip(blocks.zip(self.docs.chunks(step)));
        each.map(|(first, (blocks, docs))| (first, Self { blocks, docs, ..*self })).collect()
    }
}

/// Returns the smallest distance that gives at least `wanted` results, given all results up to `limit`.
fn smallest_limit<'a>(limit: u64, wanted: usize, found: impl Iterator<Item = &'a (u64, u32)>) -> u64 {
    let mut distance: Vec<u64> = found.map(|(distance, _)| *distance).filter(|distance| *distance <= limit).collect();
    match wanted.checked_sub(1).filter(|last| *last < distance.len()) {
        Some(last) => *distance.select_nth_unstable(last).1,
        None => limit,
    }
}

/// Runs the work on each part in parallel, and returns the results in order. Parts for which the system starts no
/// thread run on this one.
fn in_parallel<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let work = &work;
    thread::scope(|scope| {
        let start = |part| {
            let waiting = Arc::new(Mutex::new(Some(part)));
            let part = waiting.clone();
            let run = move || take(&part).map(work);
            let thread = thread::Builder::new().name("vector-scan".to_owned()).spawn_scoped(scope, run);
            (waiting, thread)
        };
        let running: Vec<_> = parts.into_iter().map(start).collect();
        let joined = running.into_iter().filter_map(|(waiting, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => take(&waiting).map(work),
        });
        joined.collect()
    })
}

fn take<P>(part: &Mutex<Option<P>>) -> Option<P> {
    part.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl NullaryFnOnce for Scan<'_> {
    type Output = (u64, Vec<(u64, u32)>);

    /// Scans all blocks. The limit only decreases while nearer vectors are found, so skipped vectors were always beyond
    /// it.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "distances are small, and so are places")]
    fn call(self) -> Self::Output {
        let farthest = 3 * 64 * self.signs.len();
        let mut limit = Limit { at: farthest, inside: 0, with: vec![0; farthest + 1] };
        let mut found = Vec::with_capacity(self.wanted * 4);
        let mut first = 0;
        for (block, docs) in self.blocks.chunks_exact(self.signs.len()).zip(self.docs.chunks(LANES)) {
            let distance = sign_distances(block, self.signs, self.heavy);
            let mut near = false;
            for distance in distance {
                near |= distance <= limit.at as u64;
            }
            if near {
                for (lane, doc) in docs.iter().enumerate() {
                    if distance[lane] <= limit.at as u64 && self.allowed.is_none_or(|allowed| allowed.contains(*doc)) {
                        found.push((distance[lane], first + lane as u32));
                        limit.record(distance[lane] as usize, self.wanted);
                    }
                }
            }
            first += LANES as u32;
        }
        (limit.at as u64, found)
    }
}

/// The smallest distance within which enough vectors were found.
struct Limit {
    at: usize,
    inside: usize,
    with: Vec<u32>,
}

impl Limit {
    fn record(&mut self, distance: usize, wanted: usize) {
        self.with[distance] += 1;
        self.inside += 1;
        while self.at > 0 && self.inside - self.with[self.at] as usize >= wanted {
            self.inside -= self.with[self.at] as usize;
            self.at -= 1;
        }
    }
}

#[inline(always)]
fn sign_distances(block: &[[u64; LANES]], signs: &[u64], heavy: &[u64]) -> [u64; LANES] {
    let mut total = [0_u64; LANES];
    for at in 0..block.len().min(signs.len()).min(heavy.len()) {
        for lane in 0..LANES {
            let differ = block[at][lane] ^ signs[at];
            total[lane] += u64::from(differ.count_ones()) + 2 * u64::from((differ & heavy[at]).count_ones());
        }
    }
    total
}

/// Sums of products of a question's values with the values of some vectors.
pub(crate) struct Products<'a> {
    /// The question's values.
    pub(crate) query: &'a [i16],
    /// The values of all vectors, one after the other.
    pub(crate) values: &'a [i8],
    /// The vectors to multiply.
    pub(crate) slots: &'a [u32],
    /// The sum for each of them.
    pub(crate) out: &'a mut [i32],
}

impl Products<'_> {
    /// Fills `out`.
    pub(crate) fn fill(self) {
        if self.slots.len() < MIN_PARALLEL_PRODUCTS {
            return run(self);
        }
        let Self { query, values, slots, out } = self;
        let step = slots.len().div_ceil(PARTS);
        let each = slots.chunks(step).zip(out.chunks_mut(step));
        in_parallel(each.map(|(slots, out)| Products { query, values, slots, out }).collect(), run);
    }
}

impl NullaryFnOnce for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (slot, out) in self.slots.iter().zip(self.out) {
            let from = *slot as usize * self.query.len();
            let values = &self.values[from..from + self.query.len()];
            let mut sum = 0_i32;
            for (query, value) in self.query.iter().zip(values) {
                sum += i32::from(*query) * i32::from(*value);
            }
            *out = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Large scans run in parts, small ones at once; both must find the same.
    #[test]
    fn parallel_scans_equal_one_scan() {
        let count = MIN_PARALLEL_SCAN + 77;
        let scrambled = |n: usize| (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let blocks: Vec<[u64; LANES]> = (0..count.div_ceil(LANES))
            .map(|block| std::array::from_fn(|lane| scrambled(block * LANES + lane).rotate_left(17) ^ 0x5555))
            .collect();
        let docs: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
        let question = (vec![0x0123_4567_89AB_CDEF], vec![0xFF00_FF00_0FF0_0FF0]);
        for wanted in [1, 500, 20_000, count, count + 5] {
            let whole = scan(&blocks, &docs, &question, None, wanted);
            let (limit, mut found) = run(Scan { ..whole });
            found.retain(|(distance, _)| *distance <= limit);
            let expected: Vec<u32> = found.into_iter().map(|(_, place)| place).collect();
            assert_eq!(whole.places(), expected, "{wanted}");
        }
        let values: Vec<i8> =
            (0..MIN_PARALLEL_PRODUCTS * 2).map(|n| (scrambled(n) >> 56).to_le_bytes()[0].cast_signed()).collect();
        let slots: Vec<u32> = (0..u32::try_from(MIN_PARALLEL_PRODUCTS).unwrap()).rev().collect();
        let (mut parts, mut one) = (vec![0; slots.len()], vec![0; slots.len()]);
        Products { query: &[7, -3], values: &values, slots: &slots, out: &mut parts }.fill();
        run(Products { query: &[7, -3], values: &values, slots: &slots, out: &mut one });
        assert_eq!(parts, one);
    }

    fn scan<'a>(
        blocks: &'a [[u64; LANES]],
        docs: &'a [u32],
        question: &'a (Vec<u64>, Vec<u64>),
        allowed: Option<&'a DocSet>,
        wanted: usize,
    ) -> Scan<'a> {
        Scan { blocks, docs, signs: &question.0, heavy: &question.1, allowed, wanted }
    }

    proptest! {
        #[test]
        fn finds_all_within_the_limit(blocks in proptest::collection::vec(any::<[u64; LANES]>(), 12..70), words in 1_usize..12, less in 0..LANES, seed in any::<u64>(), wanted in 1_usize..80) {
            let scrambled = |salt: u64| (0..words as u64).map(move |n| (seed ^ salt).wrapping_mul(2 * n + 1)).collect::<Vec<u64>>();
            let question = (scrambled(0), scrambled(0xABCD_EF01_2345));
            let docs: Vec<u32> = (0..u32::try_from(blocks.len() / words * LANES - less).unwrap()).rev().collect();
            let allowed: DocSet = docs.iter().copied().filter(|doc| doc % 3 != 1).collect();
            let distance = |place: usize| {
                let count = |word: usize| {
                    let differ = blocks[place / LANES * words + word][place % LANES] ^ question.0[word];
                    differ.count_ones() + 2 * (differ & question.1[word]).count_ones()
                };
                (0..words).map(count).sum::<u32>()
            };
            let mut all: Vec<u32> = (0..docs.len()).filter(|place| allowed.contains(docs[*place])).map(distance).collect();
            all.sort_unstable();
            let limit = all.get(wanted - 1).copied().unwrap_or(u32::MAX);
            let expected: Vec<u32> = (0..).zip(&docs).filter(|(place, doc)| allowed.contains(**doc) && distance(*place as usize) <= limit).map(|(place, _)| place).collect();
            prop_assert_eq!(scan(&blocks, &docs, &question, Some(&allowed), wanted).places(), expected);
        }

        #[test]
        fn products_add_up(pairs in proptest::collection::vec((-8191_i16..=8191, any::<i8>()), 1..500)) {
            let (query, values): (Vec<i16>, Vec<i8>) = pairs.iter().copied().unzip();
            let doubled: Vec<i8> = values.iter().map(|value| value / 2).chain(values.iter().copied()).collect();
            let mut out = [0; 2];
            Products { query: &query, values: &doubled, slots: &[1, 0], out: &mut out }.fill();
            let sum = |half: i64| pairs.iter().map(|(a, b)| i64::from(*a) * (i64::from(*b) / half)).sum::<i64>();
            prop_assert_eq!(out.map(i64::from), [sum(1), sum(2)]);
        }
    }

    #[test]
    fn the_most_that_can_differ() {
        let question = (vec![0; 256], vec![u64::MAX; 256]);
        let blocks = vec![[u64::MAX; LANES]; 256];
        assert_eq!(scan(&blocks, &[7; LANES], &question, None, 1).places().len(), LANES);
        assert_eq!(sign_distances(&blocks, &question.0, &question.1), [3 * 16_384; LANES]);
        assert_eq!(scan(&[], &[], &question, None, 1).places(), [0; 0]);
    }
}
