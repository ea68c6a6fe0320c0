//! The JSON of searches of the code and of rows of code, as parts of a plan's.
//! Not for: the plan itself (`shape`).

use crate::domain::base::hash::Hash;
use crate::domain::call::code_set::{CodeCandidate, CodeSet};
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::planning::plan::{ContextPlan, Reason, Row, RowKind};
use crate::domain::planning::policy::Section;
use serde::Serialize;
use serde_json::{Value, json};

/// What rows of code also show: in which order they get room, for how many more turns a mark keeps them, and the rows
/// with which they are sent or left out together.
#[derive(Serialize)]
pub(super) struct CodeRowShape {
    priority: &'static str,
    ttl: Option<u32>,
    companions: Vec<Hash>,
}

/// Returns what a row of code also shows; `None` for other rows.
pub(super) fn row(plan: &ContextPlan, row: &Row) -> Option<CodeRowShape> {
    let heading = row.atom == Atom::code_search();
    if row.kind != RowKind::Code && !heading {
        return None;
    }
    let found = |row: &&Row| row.kind == RowKind::Code && row.section() == Some(Section::Retrieved);
    let companions = match row.section() {
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
    let ttl = match row.pin {
        Some(MarkKind::Leased { turns }) => Some(turns.into()),
        Some(MarkKind::Ephemeral | MarkKind::IncludeOnce) => Some(1),
        Some(MarkKind::Sticky | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => None,
    };
    Some(CodeRowShape { priority, ttl, companions })
}

/// Returns the set of a search of the code.
pub(super) fn set(set: &CodeSet) -> Value {
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
