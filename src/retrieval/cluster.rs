//! Query clusters (what a branch is about just now) and the state of a conversation, both in whole numbers, the same on
//! every machine.
//! Not for: the vectors of an embedder (`vector`), and nothing here looks anything up.
//!
//! A query becomes a vector of hashed words, pairs of words and runs of three characters, each counted once into one of
//! [`WIDTH`] places with a sign. Its cosine with a cluster's centroid is compared by cross-multiplying whole numbers. Below
//! 0.35 a new cluster begins (see DEFINITIONS of the design: query cluster); a query that names nothing inherits.

use super::stops::is_filler;
use super::words::{Analyzer, hash, words_of};
use crate::domain::evidence::ClusterId;
use serde::{Deserialize, Serialize};

/// Places of a vector.
pub const WIDTH: usize = 256;
/// The cosine below which a new cluster begins, in percent.
const LEAST: i128 = 35;
/// Vectors are scaled to about this length before they are added to a centroid.
const UNIT: i64 = 1_000;

/// Weight of a whole word, of a pair of words, of three characters.
const WEIGHTS: (i64, i64, i64) = (4, 2, 1);

/// A hashed query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hashed(Vec<i64>);

impl Hashed {
    /// The vector of a query; none where it names nothing.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let analyzer = Analyzer::default();
        let (mut stems, mut places) = (Vec::new(), vec![0_i64; WIDTH]);
        let mut put = |feature: u64, weight: i64| {
            let mixed = feature.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let sign = if mixed >> 63 == 0 { 1 } else { -1 };
            places[usize::try_from((mixed >> 40) % WIDTH as u64).unwrap_or(0)] += sign * weight;
        };
        analyzer.each(text, &mut |term, word| {
            if is_filler(&word.lower) {
                return;
            }
            stems.push(term);
            put(term, WEIGHTS.0);
            let chars: Vec<char> = format!(" {} ", word.lower).chars().collect();
            for run in chars.windows(3) {
                put(hash(&run.iter().collect::<String>()), WEIGHTS.2);
            }
        });
        for pair in stems.windows(2) {
            put(pair[0].rotate_left(17) ^ pair[1], WEIGHTS.1);
        }
        (!stems.is_empty() && places.iter().any(|place| *place != 0)).then_some(Self(places))
    }

    /// Scaled so that its length is about [`UNIT`].
    fn scaled(&self) -> Vec<i64> {
        let length = i64::try_from(square(&self.0).isqrt()).unwrap_or(i64::MAX).max(1);
        self.0.iter().map(|place| place * UNIT / length).collect()
    }
}

fn square(places: &[i64]) -> u128 {
    places.iter().map(|place| u128::from(place.unsigned_abs()).pow(2)).sum()
}

/// Whether cos(a, b) ≥ [`LEAST`] %: dot > 0 and dot² · 100² ≥ least² · |a|² · |b|².
fn near(a: &[i64], b: &[i64]) -> bool {
    let dot: i128 = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
    let lengths = square(a).checked_mul(square(b)).and_then(|product| i128::try_from(product).ok());
    let right = lengths.and_then(|product| product.checked_mul(LEAST * LEAST));
    let left = dot.checked_mul(dot).and_then(|square| square.checked_mul(100 * 100));
    dot > 0 && matches!((left, right), (Some(left), Some(right)) if left >= right)
}

/// The clusters of one branch.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Clusters {
    /// Centroids (sums of scaled vectors, halved when they grow long), by ordinal.
    centroids: Vec<Vec<i64>>,
    /// The cluster of the last query.
    current: Option<ClusterId>,
}

impl Clusters {
    /// The cluster of the last query.
    #[must_use]
    pub fn current(&self) -> Option<ClusterId> {
        self.current
    }

    /// Where a query belongs, without remembering it: the current cluster if it is near, else the first other that is,
    /// else a new one. A query that names nothing inherits.
    #[must_use]
    pub fn place(&self, query: &str) -> Option<ClusterId> {
        let Some(hashed) = Hashed::new(query) else { return self.current };
        let vector = hashed.scaled();
        let fits = |id: &ClusterId| self.centroid(*id).is_some_and(|centroid| near(centroid, &vector));
        let all = (1..=self.count()).map(ClusterId);
        self.current.filter(fits).or_else(|| all.into_iter().find(fits)).or(Some(ClusterId(self.count() + 1)))
    }

    /// Takes a query up, and gives its cluster.
    pub fn take(&mut self, query: &str) -> Option<ClusterId> {
        let id = self.place(query)?;
        if let Some(hashed) = Hashed::new(query) {
            let vector = hashed.scaled();
            match self.centroids.get_mut(id.0 as usize - 1) {
                Some(centroid) => {
                    centroid.iter_mut().zip(&vector).for_each(|(sum, place)| *sum += place);
                    if square(centroid) > (1 << 48) {
                        for sum in centroid.iter_mut() {
                            *sum /= 2;
                        }
                    }
                }
                None => self.centroids.push(vector),
            }
        }
        self.current = Some(id);
        Some(id)
    }

    fn centroid(&self, id: ClusterId) -> Option<&Vec<i64>> {
        self.centroids.get((id.0 as usize).checked_sub(1)?)
    }

    fn count(&self) -> u32 {
        u32::try_from(self.centroids.len()).unwrap_or(u32::MAX - 1)
    }
}

/// What a conversation is doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Doing {
    /// None of the others.
    #[default]
    General,
    /// Writing programs.
    Coding,
    /// Looking for a fault.
    Debugging,
    /// Finding things out.
    Research,
}

/// What a person's message says about what the conversation is doing; none where it says nothing. Whole words only ("important"
/// is no import), never after a "no" or "without"; debugging wins over coding, both over research.
#[must_use]
pub fn doing(text: &str) -> Option<Doing> {
    const CODING: &[&str] =
        &["code", "function", "class", "import", "struct", "method", "compile", "refactor", "implement"];
    const DEBUGGING: &[&str] =
        &["error", "errors", "bug", "bugs", "debug", "fix", "crash", "panic", "traceback", "exception"];
    const RESEARCH: &[&str] = &["research", "find", "search", "learn", "compare", "investigate"];
    const NOT: &[&str] = &["no", "not", "without", "zero", "never"];
    let low = text.to_lowercase();
    let words: Vec<&str> = words_of(&low).collect();
    let says = |list: &[&str]| {
        words.iter().enumerate().any(|(at, word)| list.contains(word) && !(at > 0 && NOT.contains(&words[at - 1])))
    };
    [(DEBUGGING, Doing::Debugging), (CODING, Doing::Coding), (RESEARCH, Doing::Research)]
        .into_iter()
        .find(|(list, _)| says(list))
        .map(|(_, doing)| doing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_of_subject_is_a_new_cluster() {
        let mut clusters = Clusters::default();
        let ids: Vec<u32> = [
            "How is the refresh token rotated in the login service?",
            "Where does the login service store the refresh token?",
            "ok, go on",
            "Which flour makes sourdough bread rise best?",
            "why?",
            "Does sourdough bread need more flour?",
            "Back to the login service: is its refresh token hashed?",
        ]
        .iter()
        .map(|query| clusters.take(query).unwrap().0)
        .collect();
        assert_eq!(ids, [1, 1, 1, 2, 2, 2, 1]);
    }

    #[test]
    fn nothing_said_nothing_inherited() {
        assert_eq!(Clusters::default().take("go on"), None);
    }

    #[test]
    fn whole_words_say_what_is_being_done() {
        assert_eq!(doing("It is important, a classic"), None);
        assert_eq!(doing("There are no errors"), None);
        assert_eq!(doing("fix the bug in this function"), Some(Doing::Debugging));
        assert_eq!(doing("write a function"), Some(Doing::Coding));
        assert_eq!(doing("Find out who wrote it"), Some(Doing::Research));
    }

    proptest! {
        #[test]
        fn any_queries_give_ordinals_without_holes(queries in proptest::collection::vec("\\PC{0,40}", 0..12)) {
            let mut clusters = Clusters::default();
            let mut highest = 0;
            for query in &queries {
                let placed = clusters.place(query);
                let taken = clusters.take(query);
                prop_assert_eq!(placed, taken);
                if let Some(ClusterId(id)) = taken {
                    prop_assert!(id <= highest + 1);
                    highest = highest.max(id);
                }
            }
        }
    }
}
