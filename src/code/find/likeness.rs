//! Changes the order of hits by the similarity of their meaning to the message, as an embedder computes it.
//! Not for: computing vectors (`engine::indexing`), or scores from words (`rank`).

use super::brief::brief;
use super::rank::Hit;
use crate::code::index::records::{Index, SymbolId};
use crate::code::symbol::to_u32;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Weight of cosines relative to the other parts of a score, both in standard deviations over the hits, and the minimum
/// number of standard deviations above the mean for a cosine to count.
const WEIGHT: f32 = 0.5;
const BACKGROUND: f32 = 1.0;
/// The maximum bytes of a text that is embedded: about 120 tokens.
const MAX_BYTES: u32 = 480;

/// Returns the text of a symbol that is embedded: its qualified name, signature, and the first sentence of its
/// documentation; `None` if the symbol is not in the index. `file` is the text of its file.
pub fn embedded_text(index: &Index, id: SymbolId, file: &[u8]) -> Option<String> {
    brief(index, id, file, (&|text| to_u32(text.len()), MAX_BYTES))
}

/// Raises the hits whose cosine with the message is clearly above the mean of all hits, and sorts by score. If all
/// cosines are equal, nothing changes.
pub fn raise<S: BuildHasher>(hits: &mut [Hit], cosines: &HashMap<SymbolId, f32, S>) {
    let known: Vec<f32> = hits.iter().filter_map(|hit| cosines.get(&hit.id).copied()).collect();
    let (mean, deviation) = spread(&known);
    let (_, unit) = spread(&hits.iter().map(|hit| hit.score).collect::<Vec<f32>>());
    if deviation <= f32::EPSILON {
        return;
    }
    for hit in hits.iter_mut() {
        let Some(cosine) = cosines.get(&hit.id) else { continue };
        let above = (cosine - mean) / deviation - BACKGROUND;
        hit.parts.meaning = WEIGHT * unit * above.max(0.0);
        hit.score = hit.parts.sum();
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Returns the mean and the standard deviation.
fn spread(values: &[f32]) -> (f32, f32) {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::code::symbols::Parts;

    fn hits(scores: &[f32]) -> Vec<Hit> {
        let parts = |words| Parts { words, ..Parts::default() };
        (0..)
            .zip(scores)
            .map(|(id, score)| Hit { id, score: *score, parts: parts(*score), matched: Vec::new(), weak: false })
            .collect()
    }

    #[test]
    fn only_hits_clearly_above_the_others_are_raised() {
        let scores = [1.2, 1.1, 1.0, 1.0, 1.0, 1.0];
        let of = |cosines: [f32; 6]| {
            let mut hits = hits(&scores);
            raise(&mut hits, &(0..).zip(cosines).collect::<HashMap<_, _>>());
            let sums = hits.iter().all(|hit| (hit.score - hit.parts.sum()).abs() < 1e-6);
            assert!(sums && hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
            hits.iter().map(|hit| (hit.id, hit.parts.meaning > 0.0)).collect::<Vec<_>>()
        };
        let order: Vec<(SymbolId, bool)> = (0..6).map(|id| (id, false)).collect();
        assert_eq!(of([0.3; 6]), order, "all are equally near");
        assert_eq!(of([0.1, 0.2, 0.1, 0.2, 0.1, 0.2]), order, "none stands out");
        let raised = of([0.1, 0.1, 0.1, 0.1, 0.1, 0.9]);
        assert_eq!(raised.iter().find(|(_, raised)| *raised), Some(&(5, true)));
        assert_ne!(raised[5].0, 5, "{raised:?}");
        let mut untouched = hits(&scores);
        raise(&mut untouched, &HashMap::new());
        assert_eq!(untouched, hits(&scores));
    }
}
