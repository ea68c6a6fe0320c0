//! Groups the questions of a conversation by subject. Integer arithmetic, so that the result is the same on every
//! machine.
//! Not for: searching an embedder's vectors (`vectors::memory`) or the kind of work in a conversation
//! (`context::policy::conversation`).
//!
//! A query is the vector that an embedder gave it, or else a vector of hashed words, word pairs, and character
//! trigrams, each added with a sign to one of [`WIDTH`] dimensions. Its cosine with a cluster's centroid is compared by
//! cross-multiplying integers. Below 0.35 (0.45 between embedded queries) a new cluster begins; a query without content
//! words stays in the current cluster.

use super::index::stops::is_filler;
use super::index::words::{Analyzer, hash};
use crate::domain::call::ClusterId;

/// Dimensions of a vector.
pub const WIDTH: usize = 256;
/// The cosine in percent below which a new cluster begins: between hashed queries, and between embedded ones. With
/// all-MiniLM-L6-v2, 90% of the pairs of `LoCoMo`'s questions that the same message answers are above 0.45, and 3% of
/// the pairs about different conversations.
const MIN_COSINE_PERCENT: (i128, i128) = (35, 45);
/// Vectors are scaled to about this length before they are added to a centroid.
const UNIT: i64 = 1_000;

/// Weights of a word, of a word pair, of a trigram.
const WEIGHTS: (i64, i64, i64) = (4, 2, 1);

/// A query as a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionVector(Vec<i64>);

impl QuestionVector {
    /// Returns the vector that an embedder gave a query; `None` for the zero vector, which is similar to nothing.
    pub fn embedded(values: &[i8]) -> Option<Self> {
        values.iter().any(|value| *value != 0).then(|| Self(values.iter().map(|value| i64::from(*value)).collect()))
    }

    /// Returns the vector of a query's hashed words; `None` without content words.
    pub fn of_words(text: &str) -> Option<Self> {
        let analyzer = Analyzer::default();
        let (mut stems, mut places) = (Vec::new(), vec![0_i64; WIDTH]);
        let mut add_feature = |feature: u64, weight: i64| {
            let mixed = feature.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let sign = if mixed >> 63 == 0 { 1 } else { -1 };
            places[usize::try_from((mixed >> 40) % WIDTH as u64).unwrap_or(0)] += sign * weight;
        };
        analyzer.each(text, &mut |term, word| {
            if is_filler(&word.lower) {
                return;
            }
            stems.push(term);
            add_feature(term, WEIGHTS.0);
            let chars: Vec<char> = format!(" {} ", word.lower).chars().collect();
            for run in chars.windows(3) {
                add_feature(hash(&run.iter().collect::<String>()), WEIGHTS.2);
            }
        });
        for pair in stems.windows(2) {
            add_feature(pair[0].rotate_left(17) ^ pair[1], WEIGHTS.1);
        }
        (!stems.is_empty() && places.iter().any(|place| *place != 0)).then_some(Self(places))
    }

    /// Returns the vector scaled to a length of about [`UNIT`].
    fn scaled(&self) -> Vec<i64> {
        let length = i64::try_from(squared_length(&self.0).isqrt()).unwrap_or(i64::MAX).max(1);
        self.0.iter().map(|place| place * UNIT / length).collect()
    }
}

fn squared_length(places: &[i64]) -> u128 {
    places.iter().map(|place| u128::from(place.unsigned_abs()).pow(2)).sum()
}

/// Returns whether cos(a, b) ≥ `percent` %: dot > 0 and dot² · 100² ≥ percent² · |a|² · |b|².
fn is_near(a: &[i64], b: &[i64], percent: i128) -> bool {
    let dot: i128 = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
    let lengths = squared_length(a).checked_mul(squared_length(b)).and_then(|product| i128::try_from(product).ok());
    let right = lengths.and_then(|product| product.checked_mul(percent * percent));
    let left = dot.checked_mul(dot).and_then(|squared_length| squared_length.checked_mul(100 * 100));
    dot > 0 && matches!((left, right), (Some(left), Some(right)) if left >= right)
}

/// The subjects of a sequence of questions, which are either all hashed or all embedded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clusters {
    /// Whether the questions are embedded.
    embedded: bool,
    /// Centroids: sums of scaled vectors, halved when they become long; oldest first.
    known: Vec<(ClusterId, Vec<i64>)>,
    /// The cluster of the last question.
    current: Option<ClusterId>,
}

/// The cluster of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuestionPlace {
    pub id: ClusterId,
    /// The cosine with the cluster in thousandths; `None` for a question without content words.
    pub likeness: Option<i32>,
    /// Whether the question begins the cluster.
    pub new: bool,
}

impl QuestionPlace {
    /// Returns whether the question has no content words, so that it stays in the cluster of the one before it.
    pub fn inherited(self) -> bool {
        self.likeness.is_none()
    }
}

impl Clusters {
    /// Creates an empty list of subjects for embedded questions. The default is for hashed questions.
    pub fn of_embedded() -> Self {
        Self { embedded: true, ..Self::default() }
    }

    /// Returns the cluster of a question without recording the question: the current cluster if it is near, else the
    /// oldest other cluster that is near, else a new one, named by turn `number`. A question without content words
    /// stays in the current cluster; `None` if there is none.
    pub fn place(&self, question: Option<&QuestionVector>, number: u32) -> Option<QuestionPlace> {
        let inherits = |id| QuestionPlace { id, likeness: None, new: false };
        let Some(question) = question else { return self.current.map(inherits) };
        let vector = question.scaled();
        let percent = if self.embedded { MIN_COSINE_PERCENT.1 } else { MIN_COSINE_PERCENT.0 };
        let own = self.known.iter().filter(|(id, _)| Some(*id) == self.current);
        let fits = own.chain(&self.known).find(|(_, centroid)| is_near(centroid, &vector, percent));
        Some(match fits {
            Some((id, centroid)) => QuestionPlace { id: *id, likeness: Some(likeness(centroid, &vector)), new: false },
            None => QuestionPlace { id: ClusterId(number), likeness: Some(1_000), new: true },
        })
    }

    /// Records a question and returns its cluster.
    pub fn take(&mut self, question: Option<&QuestionVector>, number: u32) -> Option<QuestionPlace> {
        let placed = self.place(question, number)?;
        if let Some(question) = question {
            let vector = question.scaled();
            match self.known.iter_mut().find(|(id, _)| *id == placed.id) {
                Some((_, centroid)) => {
                    centroid.iter_mut().zip(&vector).for_each(|(sum, place)| *sum += place);
                    if squared_length(centroid) > (1 << 48) {
                        for sum in centroid.iter_mut() {
                            *sum /= 2;
                        }
                    }
                }
                None => self.known.push((placed.id, vector)),
            }
        }
        self.current = Some(placed.id);
        Some(placed)
    }
}

/// Returns the cosine of two vectors in thousandths, rounded down.
fn likeness(a: &[i64], b: &[i64]) -> i32 {
    let dot: i128 = a.iter().zip(b).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum();
    let lengths = squared_length(a).isqrt().saturating_mul(squared_length(b).isqrt()).max(1);
    let lengths = i128::try_from(lengths).unwrap_or(i128::MAX);
    i32::try_from((dot.saturating_mul(1_000) / lengths).clamp(-1_000, 1_000)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(questions: &[&str]) -> Vec<u32> {
        let mut clusters = Clusters::default();
        let taken = questions.iter().zip(1..).map(|(text, number)| {
            let hashed = QuestionVector::of_words(text);
            let placed = clusters.place(hashed.as_ref(), number);
            assert_eq!(placed, clusters.take(hashed.as_ref(), number));
            placed.map_or(0, |placed| placed.id.0)
        });
        taken.collect()
    }

    #[test]
    fn a_change_of_subject_is_a_new_cluster() {
        let questions = [
            "How is the refresh token rotated in the login service?",
            "Where does the login service store the refresh token?",
            "ok, go on",
            "Which flour makes sourdough bread rise best?",
            "why?",
            "Does sourdough bread need more flour?",
            "Back to the login service: is its refresh token hashed?",
        ];
        assert_eq!(ids(&questions), [1, 1, 1, 4, 4, 4, 1]);
    }

    /// Embedded questions need no common word, but a larger cosine.
    #[test]
    fn embedded_questions_are_compared_by_their_vectors() {
        let vectors = [[100, 0, 0], [60, 80, 0], [0, 30, 95], [0, 0, 0], [90, 10, 0]];
        let mut clusters = Clusters::of_embedded();
        let taken = vectors.iter().zip(1..).map(|(values, number)| {
            let placed = clusters.take(QuestionVector::embedded(values).as_ref(), number);
            placed.map_or(0, |placed| placed.id.0)
        });
        assert_eq!(taken.collect::<Vec<_>>(), [1, 1, 3, 3, 1]);
        let far = QuestionVector::embedded(&[40, 92, 0]);
        let (mut words, mut embedded) = (Clusters::default(), Clusters::of_embedded());
        let first = QuestionVector::embedded(&[100, 0, 0]);
        assert_eq!(
            [&mut words, &mut embedded].map(|clusters| {
                clusters.take(first.as_ref(), 1);
                clusters.place(far.as_ref(), 2).map(|place| place.id.0)
            }),
            [Some(1), Some(2)]
        );
    }

    #[test]
    fn empty_questions_inherit() {
        assert_eq!(ids(&["go on"]), [0]);
    }

    #[test]
    fn similarity_is_the_cosine() {
        let found = [likeness(&[3, 4], &[3, 4]), likeness(&[1, 0], &[0, 1]), likeness(&[30, 40], &[40, 30])];
        assert_eq!(found, [1_000, 0, 960]);
    }

    proptest! {
        #[test]
        fn questions_of_any_length_weigh_the_same(question in "([a-z]{3,9} ){1,40}") {
            let Some(hashed) = QuestionVector::of_words(&question) else { return Ok(()) };
            let (length, unit) = (squared_length(&hashed.scaled()).isqrt(), u128::from(UNIT.unsigned_abs()));
            prop_assert!(length > unit / 2 && length < unit * 2, "{}", length);
        }

        #[test]
        fn a_cluster_is_named_by_its_first_question(queries in proptest::collection::vec("\\PC{0,40}", 0..12)) {
            let texts: Vec<&str> = queries.iter().map(String::as_str).collect();
            let ids = ids(&texts);
            for (at, id) in ids.iter().enumerate().filter(|(_, id)| **id > 0) {
                prop_assert!(*id as usize <= at + 1);
                prop_assert_eq!(ids[*id as usize - 1], *id, "its first question is in it");
            }
        }
    }

    #[test]
    fn a_subject_is_followed_however_often_it_was_asked_about() {
        let (mut clusters, question) =
            (Clusters::default(), QuestionVector::of_words("How is the refresh token rotated?"));
        for number in 1..20_000 {
            clusters.take(question.as_ref(), number);
        }
        assert!(clusters.known.len() == 1 && squared_length(&clusters.known[0].1) <= 1 << 48);
    }
}
