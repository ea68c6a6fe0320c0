//! The planner: a frozen input in, a plan with reasons out, and the plan as bytes. Pure: no clock, no files, no store, no
//! tokenizer, no randomness.
//!
//! * [`plan`] solves: score → admit → explain.
//! * [`already_in`] says what goes whatever is found, so that nothing is looked up that is said already.
//! * [`render`] makes the request's bytes, once.
//! * [`render_forms`] says what of a message is sent in each form.
//! * [`variant`] changes a solved plan a little: without an item, or for another model.
//! * [`edited`] accounts for a request that a person edited by hand.
//! * `state_request` decides whether the model is asked to keep a state block.
//! * [`summary`] makes summaries of older turns and checks what they dropped.
//! * [`item_use`] finds out which items an answer used.
//! * [`checks`] counts a body by the plan's own rules, from its bytes alone.
//!
//! Not for: collecting what may go (`engine::plans`) or posting (`llm`).

pub mod activation;
mod admit;
mod blocked;
pub mod cause;
#[cfg(test)]
mod cause_tests;
pub mod checks;
mod choose;
pub mod edited;
#[cfg(test)]
mod edited_tests;
mod excluded;
mod explain;
mod forms;
pub mod item_use;
#[cfg(test)]
mod laws_tests;
mod offers;
pub mod policy;
mod price;
pub mod references;
pub mod render;
pub mod render_forms;
mod state_request;
mod summaries;
pub mod summary;
pub mod variant;
mod window;

use crate::domain::conversation::mark::Atom;
use crate::domain::planning::input::PlanInput;
use crate::domain::planning::plan::{Blocked, ContextPlan, Row};
use std::collections::HashSet;
use summaries::Summed;

/// Solves the plan of a call.
///
/// # Errors
/// [`Blocked`] when what must go (instructions, open turn, sticky pins, tools) is larger than the prompt budget.
pub fn plan(input: &PlanInput) -> Result<ContextPlan, Box<Blocked>> {
    let input = state_request::decided(input)?;
    let admitted = admit::admit(&input)?;
    Ok(explain::explain(&input, &admitted))
}

/// What goes whatever is found.
#[derive(Clone, Debug, Default)]
pub struct AlreadyIn {
    /// The rows that go.
    pub rows: Vec<Row>,
    /// Turns that go, or that a person took out.
    pub closed: HashSet<Atom>,
}

/// What goes while `kept` tokens stay free for what is looked up; nothing where the call is blocked. Offers of what was looked
/// up count for nothing here: this is what sources ask to learn what is said already.
#[must_use]
pub fn already_in(input: &PlanInput, kept: u32) -> Option<AlreadyIn> {
    let input = &*state_request::decided(input).ok()?;
    // As if no summary stood for anything: what was accepted since opens no turn to the search.
    let bare = Summed::new(input, Vec::new());
    let admitted = admit::admit_with(input, bare, admit::LookedUp::KeptFree(kept), None).ok()?;
    let used = || admit::admit_beside(input, admit::LookedUp::KeptFree(kept)).map(|plan| plan.summed.used);
    let used = if input.summaries.iter().any(|one| one.lacks) { used().ok()? } else { Vec::new() };
    let lacking = input.summaries.iter().filter(|one| one.lacks && used.contains(&one.by));
    let lacking = lacking.map(|one| one.by).collect();
    let (lacking, went_on) = (Summed::new(input, lacking), Summed::new(input, window::went_on(input).collect()));
    let closed = input.turns.iter().enumerate().filter(|(at, _)| {
        let goes = admitted.places[*at].goes() || went_on.by[*at].is_some();
        admitted.places[*at].taken_out() || (goes && lacking.by[*at].is_none())
    });
    let closed = closed.map(|(_, turn)| turn.atom).collect();
    Some(AlreadyIn { rows: explain::included(&admitted), closed })
}
