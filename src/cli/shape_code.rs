//! The JSON of searches of the code and of rows of code, as parts of a plan's.
//! Not for: the plan itself (`shape`).

use crate::domain::base::hash::Hash;
use crate::domain::call::code_set::{CodeCandidate, CodeSet};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::plan::{ContextPlan, Reason, Row, RowKind};
use crate::domain::planning::policy::Section;
use serde_json::{Value, json};

/// Returns a row's JSON with what rows of code also show: in which order they get room, for how many more turns a mark
/// keeps them, and the rows with which they are sent or left out together.
pub(super) fn with_row(mut value: Value, plan: &ContextPlan, row: &Row) -> Value {
    let heading = row.atom == Atom::code_search();
    if row.kind != RowKind::Code && !heading {
        return value;
    }
    let found = |row: &&Row| row.kind == RowKind::Code && row.section() == Some(Section::Retrieved);
    let companions: Vec<Hash> = match row.section() {
        Some(Section::Retrieved) if heading => plan.included().filter(found).map(|row| row.atom.key()).collect(),
        Some(Section::Retrieved) => vec![Atom::code_search().key()],
        _ => Vec::new(),
    };
    let priority = match &row.reason {
        Reason::Sticky | Reason::IncludedOnce => "required",
        Reason::Leased { engine: false, .. } => "lease",
        Reason::Leased { .. } | Reason::Ephemeral => "automatic_lease",
        Reason::Oriented => "map",
        _ => "retrieved",
    };
    let ttl: Option<u32> = match row.pin {
        Some(MarkKind::Leased { turns }) => Some(turns.into()),
        Some(MarkKind::Ephemeral | MarkKind::IncludeOnce) => Some(1),
        Some(MarkKind::Sticky | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => None,
    };
    (value["priority"], value["ttl"], value["companions"]) = (json!(priority), json!(ttl), json!(companions));
    value
}

/// Returns a plan's JSON with the set of the search of the code, if there is one.
pub(super) fn with_set(mut value: Value, searched: Option<&CodeSet>) -> Value {
    if let Some(searched) = searched {
        value["code_set"] = set(searched);
    }
    value
}

/// Returns the set of a search of the code.
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
        "candidates": set.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "near": set.near().map(candidate).collect::<Vec<_>>(),
    })
}
