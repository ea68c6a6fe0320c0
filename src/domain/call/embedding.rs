//! Embedding of texts: the port, its errors, and the arithmetic shared by all embedders.
//! Not for: the models (`llm::embedders`) or comparing vectors (`retrieval::vectors::memory`).

use super::provider::ProviderError;

/// The purpose of embedding a text; some models distinguish purposes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purpose {
    /// A question that is compared with passages.
    Query,
    /// A passage that questions are compared with.
    Passage,
}

/// The reason why texts could not be embedded. All texts are unsanitized.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum EmbedError {
    /// The caller stopped the embedding.
    #[error("embedding was stopped")]
    Stopped,
    /// The model's files are missing, damaged, or of an unsupported kind.
    #[error("the embedding model in {place} can't be used: {why}")]
    Model {
        /// The directory.
        place: String,
        /// The fault of the model.
        why: String,
    },
    /// The settings specify no valid embedder.
    #[error("the embedder can't be set up: {0}")]
    Settings(String),
    /// The server refused, failed, or could not be reached.
    #[error("{}", .0.what)]
    Server(ProviderError),
    /// The server's answer lacks the requested vectors.
    #[error("the embedding server's answer can't be used: {0}")]
    Answer(String),
}

/// Computes vectors of texts.
pub trait Embed: Send + Sync {
    /// Returns an id of the vectors' origin, the same across starts. Only vectors with the same id can be compared.
    /// Never contains a secret.
    fn id(&self) -> String;

    /// Returns the number of dimensions of the vectors; 0 if it is known only after the first answer.
    fn dims(&self) -> usize;

    /// Returns whether texts are sent to another machine.
    fn remote(&self) -> bool;

    /// Returns one vector per text, in order. A vector has length 1, or is all zeros if there is nothing to embed (an
    /// empty text); it is always finite. A text longer than the model's limit is split, and its vector is the mean of
    /// its parts' vectors, weighted by length. Blocks, so it must run on its own thread. Calls `go_on` often and stops
    /// when that returns false.
    fn embed(&self, texts: &[&str], purpose: Purpose, go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Scales a vector to length 1. A vector that is zero or not finite becomes all zeros.
pub fn normalize(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
    let scale = square.sqrt().recip();
    if !square.is_finite() || !scale.is_finite() {
        vector.fill(0.0);
        return;
    }
    for value in vector {
        #[allow(clippy::cast_possible_truncation, reason = "at most 1 either way")]
        let scaled = (f64::from(*value) * scale) as f32;
        *value = scaled;
    }
}

/// Returns the weighted mean of the vectors of a text's parts (weight and vector), scaled to length 1. Each part's
/// vector is scaled to length 1 first.
pub fn pooled(parts: Vec<(f32, Vec<f32>)>) -> Vec<f32> {
    let mut sum: Vec<f32> = Vec::new();
    for (weight, mut part) in parts {
        normalize(&mut part);
        sum.resize(sum.len().max(part.len()), 0.0);
        for (sum, value) in sum.iter_mut().zip(part) {
            *sum += weight * value;
        }
    }
    normalize(&mut sum);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn always_of_length_one_or_zero(mut vector in proptest::collection::vec(any::<f32>(), 0..50)) {
            normalize(&mut vector);
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            prop_assert!(vector.iter().all(|value| value.is_finite()));
            prop_assert!(length.abs() < 1e-6 || (length - 1.0).abs() < 1e-4, "{length}");
        }
    }

    #[test]
    fn parts_are_weighted() {
        let (x, y) = (vec![5.0, 0.0], vec![0.0, 0.1]);
        assert_eq!(pooled(vec![(1.0, x.clone())]), [1.0, 0.0]);
        let mixed = pooled(vec![(3.0, x.clone()), (4.0, y)]);
        assert!((mixed[0] - 0.6).abs() < 1e-6 && (mixed[1] - 0.8).abs() < 1e-6, "{mixed:?}");
        assert_eq!(pooled(vec![(1.0, x.clone()), (1.0, x.iter().map(|value| -value).collect())]), [0.0, 0.0]);
        assert_eq!(pooled(Vec::new()), Vec::<f32>::new());
    }

    #[test]
    fn invalid_vectors_become_zeros() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut vector = vec![1.0, bad];
            normalize(&mut vector);
            assert_eq!(vector, [0.0, 0.0]);
        }
        let mut tiny = vec![f32::MIN_POSITIVE; 2];
        normalize(&mut tiny);
        assert!((tiny[0] - 0.5_f32.sqrt()).abs() < 1e-6);
    }
}
