//! The JSON of code searches, which is part of a plan's JSON.
//! Not for: the plan itself (`shape`).

use crate::domain::call::{CodeCandidate, CodeSet};
use crate::domain::conversation::Atom;
use serde_json::{Value, json};

/// Returns a plan's JSON with the retrieval set of the code search, if there is one.
pub(super) fn with_set(mut value: Value, searched: Option<&CodeSet>) -> Value {
    if let Some(searched) = searched {
        value["code_set"] = set(searched);
    }
    value
}

/// Returns the JSON of a code search's retrieval set.
fn set(set: &CodeSet) -> Value {
    let candidate = |one: &CodeCandidate| {
        json!({
            "id": Atom::Section { text: one.code.key() }.key(),
            "path": one.code.path,
            "symbol": one.code.qualified,
            "kind": one.code.kind,
            "span": one.code.lines,
            "rank": one.rank,
            "score": one.score,
            "score_parts": one.score_parts,
            "matched": one.matched,
            "why": one.because,
            "tokens": one.tokens,
            "outcome": one.outcome,
            "outcome_text": one.outcome.sentence(),
        })
    };
    json!({
        "id": set.id,
        "query": set.query,
        "gate": set.gate,
        "gate_text": set.sentence(),
        "mode": set.mode,
        "focus": set.focus,
        "among": set.among,
        "embedder": set.embedder,
        "candidates": set.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "near": set.near().map(candidate).collect::<Vec<_>>(),
    })
}
