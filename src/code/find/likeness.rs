//! Changes the order of hits by how near their meaning is to the message's, as an embedder sees it.
//! Not for: computing vectors (`engine::indexing`), or scores from words (`rank`).

use super::brief::brief;
use super::rank::Hit;
use crate::code::index::records::{Index, SymbolId};
use std::collections::HashMap;

/// Weight of cosines relative to the other parts of a score, both in standard deviations over the hits.
const WEIGHT: f32 = 1.0;
/// The maximum bytes of a text that is embedded: about 120 tokens.
const MAX_BYTES: usize = 480;

/// Returns the text of a symbol that is embedded: its qualified name, signature, and the first sentence of its
/// documentation; `None` if the symbol is not in the index. `file` is the text of its file.
#[must_use]
pub fn embedded_text(index: &Index, id: SymbolId, file: &[u8]) -> Option<String> {
    let bytes = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
    brief(index, id, file, (&bytes, u32::try_from(MAX_BYTES).unwrap_or(u32::MAX)))
}

/// Adds to each hit's score how far its cosine with the message stands above the mean of the hits, and sorts by score.
/// Hits without a cosine count as the mean. Without two different cosines nothing changes.
#[allow(clippy::cast_precision_loss, reason = "a count of hits")]
pub fn raise(hits: &mut [Hit], cosines: &HashMap<SymbolId, f32>) {
    let known: Vec<f32> = hits.iter().filter_map(|hit| cosines.get(&hit.id).copied()).collect();
    let (mean, deviation) = spread(&known);
    let (_, unit) = spread(&hits.iter().map(|hit| hit.score).collect::<Vec<f32>>());
    if deviation <= f32::EPSILON {
        return;
    }
    for hit in hits.iter_mut() {
        let Some(cosine) = cosines.get(&hit.id) else { continue };
        hit.parts.meaning = WEIGHT * unit * (cosine - mean) / deviation;
        hit.score = hit.parts.sum();
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Returns the mean and the standard deviation.
#[allow(clippy::cast_precision_loss, reason = "a count of hits")]
fn spread(values: &[f32]) -> (f32, f32) {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f32>() / count;
    (mean, variance.sqrt())
}
