//! Computes the gains of a passage's score from its context: its neighbors on the path, its sitting, its speaker, its
//! role. Fuses the result with cosines.
//! Not for: scores from words (`search`).
//!
//! Within a sitting s(i) = w(i) + before·w(i−1) + after·w(i+1), where w(i) is the score of the best passage of message
//! i: the answer follows its question. Cosines are fused as z-scores, which keep the distance between passages; ranks
//! would not.
#![allow(clippy::cast_possible_truncation, reason = "scores are single precision")]

use super::query::Query;
use super::search::{Hit, LARGE, MOST_HITS, SearchOptions, Words, best};
use super::tuning::Tuning;
use crate::domain::call::ScoreParts;
use crate::domain::conversation::Role;

/// Combines the words' scores with the gains from context into hits, by decreasing sum. Hits are `allowed`; gains come
/// from all `counted` messages.
pub(super) fn combine(
    options: &SearchOptions<'_>,
    tuning: &Tuning,
    query: &Query,
    (allowed, counted): (&[bool], &[bool]),
    word_scores: &Words,
) -> Vec<Hit> {
    let scope = options.scope;
    let Words { bm25, feedback, with_form } = word_scores;
    let words: Vec<f32> = bm25.iter().zip(feedback).map(|(own, learned)| own + learned).collect();
    let (_, spread) = spread(&words);
    let neighbor_gains = neighbor_gains(options, &words, counted, tuning.before, tuning.after);
    let sittings = best_of_sittings(options, &words, &neighbor_gains, counted);
    let cosine = options.cosines.map(|cosines| cosine_scores(options, tuning, cosines, allowed));
    let mut has_form = vec![false; scope.slots()];
    for (slot, _) in with_form {
        has_form[*slot as usize] = true;
    }
    let parts = |slot: usize| {
        let position = scope.position(slot);
        let (speaker, mut prior) = gains(options, tuning, query, position, spread);
        if has_form[slot] {
            prior += tuning.form * spread;
        }
        ScoreParts {
            bm25: bm25[slot],
            feedback: feedback[slot],
            smooth: neighbor_gains[position],
            sitting: tuning.sitting * sittings[scope.sitting(position) as usize],
            speaker,
            prior,
            cos: cosine.as_ref().map_or(0.0, |cosine| cosine[slot] * spread),
        }
    };
    // In a large scope a good sitting alone is weak evidence; in a small one it may be the only evidence.
    let least = if scope.slots() < LARGE { 1.0 } else { 0.0 };
    let sums: Vec<f32> = (0..scope.slots())
        .map(|slot| {
            let position = scope.position(slot);
            let sitting = sittings[scope.sitting(position) as usize] * least;
            let is_supported = words[slot] + neighbor_gains[position] + sitting > 0.0
                || cosine.is_some()
                || query.hints.names(scope.at(position));
            if is_supported { parts(slot).sum() } else { f32::NEG_INFINITY }
        })
        .collect();
    best(options, &sums, allowed, MOST_HITS)
        .into_iter()
        .map(|slot| {
            let position = scope.position(slot);
            Hit { position, passage: slot - scope.span(position).start, score: sums[slot], parts: parts(slot) }
        })
        .collect()
}

/// Returns the mean and the standard deviation, or 1 if all scores are equal.
fn spread(scores: &[f32]) -> (f32, f32) {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().map(|score| f64::from(*score)).sum::<f64>() / count;
    let square = scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum::<f64>() / count;
    let spread = square.sqrt() as f32;
    (mean as f32, if spread > 0.0 { spread } else { 1.0 })
}

/// Returns the gain of each message from its counted neighbors in the same sitting.
fn neighbor_gains(options: &SearchOptions<'_>, scores: &[f32], counted: &[bool], before: f32, after: f32) -> Vec<f32> {
    let scope = options.scope;
    let best: Vec<f32> =
        (0..scope.messages())
            .map(|position| {
                if counted[position] { scope.span(position).map(|slot| scores[slot]).fold(0.0, f32::max) } else { 0.0 }
            })
            .collect();
    (0..scope.messages())
        .map(|at| {
            let near =
                |to: usize, share: f32| if scope.sitting(at) == scope.sitting(to) { share * best[to] } else { 0.0 };
            let previous = if at > 0 { near(at - 1, before) } else { 0.0 };
            let next = if at + 1 < scope.messages() { near(at + 1, after) } else { 0.0 };
            previous + next
        })
        .collect()
}

fn best_of_sittings(options: &SearchOptions<'_>, words: &[f32], neighbor_gains: &[f32], counted: &[bool]) -> Vec<f32> {
    let scope = options.scope;
    let count = scope.messages().checked_sub(1).map_or(0, |last| scope.sitting(last) as usize + 1);
    let mut best = vec![0.0_f32; count];
    if count > 1 {
        for (slot, own) in words.iter().enumerate() {
            let position = scope.position(slot);
            if counted[position] {
                let top = &mut best[scope.sitting(position) as usize];
                *top = top.max(own + neighbor_gains[position]);
            }
        }
    }
    best
}

/// Returns the gains of a message from its speaker, and from its role and time.
fn gains(options: &SearchOptions<'_>, tuning: &Tuning, query: &Query, position: usize, spread: f32) -> (f32, f32) {
    let speaker = query.speakers.len() == 1 && query.speakers[0] == options.scope.speaker(position);
    let mut prior = 0.0;
    if !options.scope.shape.named {
        let user = options.scope.is_user(position);
        prior += match query.hints.role {
            Some(role) if (role == Role::User) == user => tuning.role + if user { tuning.user } else { 0.0 },
            None if user => tuning.user,
            Some(_) | None => 0.0,
        };
    }
    if !query.hints.times.is_empty() && query.hints.names(options.scope.at(position)) {
        prior += tuning.dated;
    }
    (if speaker { tuning.speaker * spread } else { 0.0 }, prior * spread)
}

/// Returns the z-scores of the cosines, each with shares of its neighbors' cosines, by slot.
fn cosine_scores(options: &SearchOptions<'_>, tuning: &Tuning, cosines: &[(u32, f32)], allowed: &[bool]) -> Vec<f32> {
    let finite = || cosines.iter().filter(|(_, cosine)| cosine.is_finite());
    let lowest = finite().map(|(_, cosine)| *cosine).fold(f32::INFINITY, f32::min);
    let mut by_slot = vec![if lowest.is_finite() { lowest } else { 0.0 }; options.scope.slots()];
    for (passage, cosine) in finite() {
        if let Some(place) = by_slot.get_mut(options.scope.slot(*passage) as usize) {
            *place = *cosine;
        }
    }
    let neighbor_gains = neighbor_gains(options, &by_slot, allowed, tuning.cosine_before, tuning.cosine_after);
    let sums: Vec<f32> =
        (0..by_slot.len()).map(|slot| by_slot[slot] + neighbor_gains[options.scope.position(slot)]).collect();
    let (mean, spread) = spread(&sums);
    sums.iter().map(|sum| tuning.cosine * (sum - mean) / spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_spread_around_their_mean() {
        assert_eq!(spread(&[1.0, 3.0, 1.0, 3.0]), (2.0, 1.0));
        assert_eq!(spread(&[-6.0, 6.0]), (0.0, 6.0));
        for alike in [[].as_slice(), &[5.0, 5.0]] {
            assert!((spread(alike).1 - 1.0).abs() < f32::EPSILON, "equal scores are divided by it, too");
        }
    }
}
