//! The fields of a plan's JSON about the admission of a row: its step in the order of admission, the number of calls
//! that its mark lasts, and the rows that are sent or left out together with it.
//! Not for: the other fields of a row (`shape`), or admission itself (`context`).

use crate::domain::base::Hash;
use crate::domain::conversation::{Atom, LeaseTurns, MarkKind};
use crate::domain::planning::Reason;
use crate::domain::planning::{ContextPlan, Row, RowKind, Section};
use serde_json::{Value, json};

/// Returns a row's JSON with `priority`, `ttl`, and `companions`.
pub(super) fn with_admission(mut value: Value, plan: &ContextPlan, row: &Row) -> Value {
    value["priority"] = if row.included() { priority(plan, row) } else { step_of(row) }.into();
    value["ttl"] = json!(ttl(row));
    value["companions"] = json!(companions(plan, row));
    value
}

/// Returns the step of admission in which a row that is left out would get its room; `None` if it is never sent.
fn step_of(row: &Row) -> Option<&'static str> {
    match (row.pin, row.kind) {
        (Some(MarkKind::Leased { .. }), _) => Some("lease"),
        (_, RowKind::Code) if row.atom == Atom::code_map() => Some("map"),
        (_, RowKind::Card | RowKind::Search | RowKind::Quote | RowKind::Memory | RowKind::Code) => Some("retrieved"),
        (_, RowKind::Turn | RowKind::Preamble | RowKind::Range) => Some("window"),
        (_, RowKind::Summary) => Some("summary"),
        (_, RowKind::Rules | RowKind::Skills | RowKind::Module) => Some("rules"),
        (_, RowKind::Text | RowKind::State | RowKind::Note) => Some("required"),
        (_, RowKind::Message | RowKind::Part | RowKind::Request) => None,
    }
}

/// Returns the step of admission in which an included row gets its room. The steps, in their order: `required`,
/// `lease`, `newest_turn`, `summary`, `rules`, `map`, `retrieved`, `window`, `automatic_lease`.
fn priority(plan: &ContextPlan, row: &Row) -> Option<&'static str> {
    let newest = || plan.included().filter(|other| in_window(other)).filter_map(|other| other.source.turn).max();
    if in_window(row) && row.source.turn == newest() { Some("newest_turn") } else { row.reason.facts().step }
}

fn in_window(row: &Row) -> bool {
    row.reason.facts().step == Some("window")
}

/// Returns the number of calls that the row's mark lasts, including this call; `None` if the mark has no end.
fn ttl(row: &Row) -> Option<u32> {
    match row.pin {
        Some(MarkKind::Leased { turns }) => Some(turns.into()).filter(|_| turns != LeaseTurns::TASK),
        Some(MarkKind::Ephemeral | MarkKind::IncludeOnce) => Some(1),
        Some(MarkKind::Sticky | MarkKind::Exclude | MarkKind::ExcludeOnce) | None => None,
    }
}

/// Returns the ids of the rows that are sent or left out together with a row: a heading and the found items below it,
/// or an earlier error and its solution.
fn companions(plan: &ContextPlan, row: &Row) -> Vec<Hash> {
    let ids = |is_companion: &dyn Fn(&Row) -> bool| -> Vec<Hash> {
        plan.included().filter(|other| is_companion(other)).map(|other| other.atom.key()).collect()
    };
    let is_found = |row: &Row| match row.reason {
        Reason::Retrieved { .. } => Some(false),
        Reason::Touchpoint { .. } | Reason::KeptCode { .. } if row.kind == RowKind::Code => Some(true),
        _ => None,
    };
    let heads = |row: &Row| {
        let heading = row.kind == RowKind::Search && row.section() == Some(Section::Retrieved);
        heading.then(|| row.atom == Atom::code_search())
    };
    if let Some(code) = is_found(row) {
        return ids(&|other| heads(other) == Some(code));
    }
    if let Some(code) = heads(row) {
        return ids(&|other| is_found(other) == Some(code));
    }
    let is_error = |row: &Row| matches!(row.reason, Reason::ErrorBefore | Reason::ErrorResolved);
    let pairs: Vec<&Row> = plan.included().filter(|row| is_error(row)).collect();
    let pair = pairs.chunks(2).find(|pair| pair.iter().any(|other| other.atom == row.atom && is_error(row)));
    pair.into_iter().flatten().filter(|other| other.atom != row.atom).map(|other| other.atom.key()).collect()
}
