//! Draws the code search in the pane for the selected line: the decision, the query, and the candidates with their
//! scores.
//! Not for: searches of older messages, whose results have separate rows.

use super::model::RequestScreen;
use crate::domain::call::{CodeCandidate, CodeOutcome, CodeSet};
use crate::domain::conversation::Atom;
use crate::domain::planning::{Planned, Row};
use crate::tui::view::prelude::*;

/// The code search of the plan on the screen, if the row represents it. Without details, only the decision and the
/// numbers.
pub(crate) fn rows(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, room: usize) -> Vec<Line> {
    let details = overlay.details;
    if row.atom != Atom::code_search() {
        return Vec::new();
    }
    let shown = view.model.plan.shown.as_ref().map(|shown| &shown.solved);
    let set = match (overlay.sent(), shown) {
        (Some(_), _) => overlay.call().and_then(|found| found.code_set.as_ref()),
        (None, Some(Planned::Plan { code_set, .. })) => code_set.as_ref(),
        (None, _) => None,
    };
    let Some(set) = set else { return Vec::new() };
    let mut rows = TextRows::plain(&set.sentence(), room, Ink::Text);
    if !set.candidates.is_empty() {
        rows.extend(TextRows::plain(&numbers(set), room, Ink::Dim));
    }
    if details {
        rows.extend(TextRows::plain(&format!("set {}, query: {}", set.id.short(), set.query), room, Ink::Dim));
        rows.extend(set.candidates.iter().flat_map(|one| TextRows::plain(&candidate(one), room, Ink::Dim)));
    }
    rows
}

fn numbers(set: &CodeSet) -> String {
    let (shown, near) = (set.sent().count() as u64, set.near().count() as u64);
    let near = match near {
        1 => "1 near miss".to_owned(),
        near => format!("{near} near misses"),
    };
    format!("{} sent, {near}", text::counted(shown, "symbol"))
}

fn candidate(one: &CodeCandidate) -> String {
    let because = if one.because.is_empty() { String::new() } else { format!("; {}", one.because) };
    let outcome = if one.outcome == CodeOutcome::Below { "near miss" } else { one.outcome.sentence() };
    format!("{}. {}  {:.2}: {outcome}{because}", one.rank, one.code.title(), one.score)
}
