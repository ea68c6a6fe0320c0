//! The planner: a frozen input in, a plan with reasons out, and the plan as bytes. Pure: no clock, no files, no store,
//! no tokenizer, no randomness.
//!
//! * [`plan`] solves: `policy` scores, `admission` admits, [`explain`] makes the rows. [`render`] makes the bytes,
//!   once.
//! * [`already_in`] returns the turns that are sent regardless of retrieval, so that no source repeats them.
//! * [`summary`] makes summaries of older turns and checks which facts they dropped.
//! * After the answer: [`references`] finds the references in a text, [`activation`] decides the program's leases, and
//!   [`item_use`] determines which items the answer used.
//!
//! Not for: collecting candidates (`engine::plans`) or posting (`llm`).

pub mod activation;
mod admission;
pub mod explain;
pub mod item_use;
pub mod policy;
pub mod references;
pub mod render;
pub mod summary;

use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::message::Role;
use crate::domain::planning::input::{PlanInput, TurnInput};
use crate::domain::planning::plan::{Blocked, ContextPlan, Row};
use admission::admit::AllowanceUse;
use admission::coverage::SummaryCoverage;
use admission::{accepted_summaries, admit, forms, state_request, window};
use std::collections::HashSet;

/// Solves the plan of a call.
///
/// # Errors
/// [`Blocked`] if the required items (instructions, open turn, permanent pins, tools) exceed the budget.
pub fn plan(input: &PlanInput) -> Result<ContextPlan, Box<Blocked>> {
    let input = state_request::with_state_request(input)?;
    let admitted = admit::admit(&input)?;
    Ok(explain::explain(&input, &admitted))
}

/// Returns the tokens of the answers and tool results of an open turn, in full and with framing.
pub fn results_tokens(open: &TurnInput) -> u32 {
    let results = open.messages.iter().filter(|message| message.role != Role::User && message.bar.is_none());
    results.fold(0, |sum, message| sum.saturating_add(forms::cost_in(message, message.whole)))
}

/// The parts of a request that do not depend on retrieval.
#[derive(Clone, Debug, Default)]
pub struct AlreadyIn {
    /// The rows that are sent.
    pub rows: Vec<Row>,
    /// Turns that are sent or that a person excluded.
    pub closed: HashSet<Atom>,
    /// Whether turns that would be sent are searched, because a summary that covers them lacks what the question names.
    /// Never set if the newest summary was sent with the last call, whose plan decided about it.
    pub reopened: bool,
}

/// Returns the content that is sent while `kept` tokens stay free for retrieved candidates, or `None` if the call is
/// blocked. Ignores the retrieved candidates themselves: sources call this to learn which texts they must not repeat.
pub fn already_in(input: &PlanInput, kept: u32) -> Option<AlreadyIn> {
    let input = &*state_request::with_state_request(input).ok()?;
    // Ignores summaries, so that a newly accepted one does not make its turns searchable.
    let no_summaries = SummaryCoverage::new(input, Vec::new());
    let admitted = admit::admit_with(input, no_summaries, AllowanceUse::KeptFree(kept), None).ok()?;
    let used = || accepted_summaries::admit(input, AllowanceUse::KeptFree(kept)).map(|plan| plan.summed.used);
    let used = if input.summaries.iter().any(|one| one.lacks) { used().ok()? } else { Vec::new() };
    let lacking = input.summaries.iter().filter(|one| one.lacks && used.contains(&one.by));
    let lacking = SummaryCoverage::new(input, lacking.map(|one| one.by).collect());
    let retained = SummaryCoverage::new(input, window::retained_summaries(input).collect());
    let is_decided = input.summaries.last().is_none_or(|newest| retained.used.contains(&newest.by));
    let mut sent = admitted.places.iter().zip(&lacking.by).filter(|(place, _)| place.is_sent());
    let reopened = !is_decided && sent.any(|(_, lacking)| lacking.is_some());
    let closed = input.turns.iter().enumerate().filter(|(at, _)| {
        let is_sent = admitted.places[*at].is_sent() || retained.by[*at].is_some();
        admitted.places[*at].is_excluded() || (is_sent && lacking.by[*at].is_none())
    });
    let closed = closed.map(|(_, turn)| turn.atom).collect();
    Some(AlreadyIn { rows: explain::included(&admitted), closed, reopened })
}

/// Returns whether the plan of an input is larger than the plan of another one; false if either is blocked.
#[must_use]
pub fn is_larger(input: &PlanInput, other: &PlanInput) -> bool {
    let size = |input: &PlanInput| plan(input).map(|plan| plan.est_total).ok();
    size(input).zip(size(other)).is_some_and(|(size, other)| size > other)
}
