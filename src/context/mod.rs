//! The planner: a frozen input in, a plan with reasons out, and the plan as bytes. Pure: no clock, no files, no store,
//! no tokenizer, no randomness.
//!
//! * [`plan`] solves: `policy` scores, `admission` admits, [`explain`] makes the rows. [`render`] makes the bytes,
//!   once.
//! * [`within`] admits the candidates of one source alone, for a search without a plan.
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

use crate::domain::conversation::{Atom, Role};
use crate::domain::planning::{Blocked, Reason};
use crate::domain::planning::{ContextPlan, PlanInput, Row, RowKind, StateRequestOutcome, TurnInput};
use admission::admit::{Admitted, AllowanceUse};
use admission::coverage::SummaryCoverage;
#[cfg(test)]
pub(crate) use admission::laws_tests::assert_leaving_frees_enough;
pub use admission::offers::{enough_within, within};
pub use admission::sequence::SentCandidate;
use admission::{accepted_summaries, admit, forms, state_request, window};
use std::collections::HashSet;

/// Solves the plan of a call.
///
/// # Errors
/// [`Blocked`] if the required items (instructions, open turn, permanent pins, tools) exceed the budget.
pub fn plan(input: &PlanInput) -> Result<ContextPlan, Box<Blocked>> {
    state_request::admit(input, explain::explain)
}

/// Solves the plan of a call, and returns beside it whether the request asks for a state block; `None` if the input has
/// no such request.
///
/// # Errors
/// As [`plan`].
pub fn plan_with_state(input: &PlanInput) -> Result<(ContextPlan, Option<StateRequestOutcome>), Box<Blocked>> {
    state_request::admit(input, |admitted| (explain::explain(admitted), state_request::outcome(input, admitted)))
}

/// Returns the tokens of the answers and tool results of an open turn, in full and with framing.
pub fn results_tokens(open: &TurnInput) -> u32 {
    let results = open.messages.iter().filter(|message| message.role != Role::User && message.bar.is_none());
    results.fold(0, |sum, message| sum.saturating_add(forms::cost_in(message, message.whole)))
}

/// Returns a predicate that tells whether candidates with a given total of tokens are enough to choose the retrieved
/// items of a plan from.
pub fn enough_for(input: &PlanInput) -> impl Fn(u32) -> bool + use<> {
    enough_within(input.allowance)
}

/// The parts of a request that do not depend on retrieval.
#[derive(Clone, Debug, Default)]
pub struct AlreadyIn {
    /// The rows that are sent while the allowance stays free for retrieved candidates.
    pub rows: Vec<Row>,
    /// Turns that are sent or that a person excluded.
    pub closed: HashSet<Atom>,
    /// The rows of other turns that are sent if nothing is retrieved, if they were requested.
    pub displaceable: Vec<Row>,
    /// Whether turns that would be sent are searched, because a summary that covers them lacks what the question names.
    /// Never set if the newest summary was sent with the last call, whose plan decided about it.
    pub reopened: bool,
}

/// Returns the content that is sent while the allowance stays free for retrieved candidates, or `None` if the call is
/// blocked. Ignores the retrieved candidates themselves: sources use this to learn which texts they must not repeat.
/// `displaceable` requests the turns that retrieved candidates may displace.
pub fn already_in(input: &PlanInput, displaceable: bool) -> Option<AlreadyIn> {
    if let Some(asking) = state_request::certainly_asking(input)
        && let Some(admitted) = without_retrieved(&asking, input.allowance)
        && state_request::sends_newest(&admitted)
    {
        return unrepeatable(&admitted, displaceable);
    }
    let admitted = without_retrieved(input, input.allowance)?;
    // If no turn leaves for the allowance, none leaves without it, and the model is not asked for a state block.
    if !state_request::may_ask(&admitted) {
        return unrepeatable(&admitted, displaceable);
    }
    let answer = |decided: &Admitted<'_>| {
        let is_asked = decided.input.state_request.is_none();
        let admitted = if is_asked { &without_retrieved(decided.input, input.allowance)? } else { &admitted };
        unrepeatable(admitted, displaceable)
    };
    state_request::admit(input, answer).ok()?
}

/// Admits everything except retrieved candidates, and keeps `kept` tokens free for them. Ignores summaries, so that
/// a newly accepted one does not make its turns searchable. `None` if the call is blocked.
fn without_retrieved(input: &PlanInput, kept: u32) -> Option<Admitted<'_>> {
    admit::admit_with(input, SummaryCoverage::new(input, Vec::new()), AllowanceUse::KeptFree(kept), None).ok()
}

fn unrepeatable(admitted: &Admitted<'_>, displaceable: bool) -> Option<AlreadyIn> {
    let input = admitted.input;
    let used =
        || accepted_summaries::admit(input, AllowanceUse::KeptFree(input.allowance)).map(|plan| plan.summed.used);
    let used = if input.summaries.iter().any(|one| one.lacks) { used().ok()? } else { Vec::new() };
    let lacking = input.summaries.iter().filter(|one| one.lacks && used.contains(&one.by));
    let lacking = SummaryCoverage::new(input, lacking.map(|one| one.by).collect());
    let retained = SummaryCoverage::new(input, window::retained_summaries(input).collect());
    let is_decided = input.summaries.last().is_none_or(|newest| retained.used.contains(&newest.by));
    let mut sent = admitted.places.iter().zip(&lacking.lacks).filter(|(place, _)| place.is_sent());
    let reopened = !is_decided && sent.any(|(_, lacks)| *lacks);
    let closed = input.turns.iter().enumerate().filter(|(at, _)| {
        let is_sent = admitted.places[*at].is_sent() || retained.by[*at].is_some();
        admitted.places[*at].is_excluded() || (is_sent && !lacking.lacks[*at])
    });
    let closed: HashSet<Atom> = closed.map(|(_, turn)| turn.atom).collect();
    let without_any = (displaceable && closed.len() < input.turns.len()).then(|| without_retrieved(input, 0)).flatten();
    let mut open_rows = without_any.map(|admitted| explain::included(&admitted)).unwrap_or_default();
    open_rows.retain(|row| row.kind == RowKind::Turn && row.reason != Reason::Open && !closed.contains(&row.atom));
    Some(AlreadyIn { rows: explain::included(admitted), closed, displaceable: open_rows, reopened })
}

/// Returns whether the last request contained summaries and its window applies to this input.
pub fn retains_summaries(input: &PlanInput) -> bool {
    window::retained_summaries(input).next().is_some()
}

/// Returns why the plan with an accepted summary is worse than the plan without it: it is larger, or lacks a turn that no
/// summary covers although there is room for it. `None` if either plan is blocked.
pub fn why_worse(with: &PlanInput, without: &PlanInput) -> Option<Reason> {
    let read = |plan: &Admitted<'_>| {
        let turns = plan.input.turns.iter().zip(&plan.places).filter(|(_, place)| place.is_sent());
        (explain::size(plan), turns.map(|(turn, _)| turn.atom).collect::<HashSet<Atom>>())
    };
    let Ok((size, sent)) = state_request::admit(without, read) else { return None };
    let why_worse = |plan: &Admitted<'_>| {
        let turn = || accepted_summaries::left_out_turn(plan, &sent);
        let is_larger = (explain::size(plan) > size).then_some(Reason::SavesNothing);
        is_larger.or_else(|| turn().map(|turn| Reason::DisplacesTurn { turn }))
    };
    state_request::admit(with, why_worse).ok().flatten()
}
