//! The planner: a frozen input in, a plan with reasons out, and the plan as bytes. Pure: no clock, no files, no store, no
//! tokenizer, no randomness.
//!
//! * [`plan`] solves: score → admit → explain.
//! * [`render`] makes the request's bytes, once.
//! * [`project`] says what of a message is sent in each form.
//! * [`altered`] changes a solved plan a little: without an item, or for another model.
//! * [`edited`] accounts for a request that a person edited by hand.
//! * [`condense`] makes summaries of older turns and checks what they dropped.
//! * [`audit`] counts a body by the plan's own rules, from its bytes alone.

pub mod activation;
mod admit;
pub mod altered;
pub mod audit;
pub mod blame;
#[cfg(test)]
mod blame_tests;
mod blocked;
mod choose;
pub mod condense;
pub mod edited;
mod explain;
mod forms;
#[cfg(test)]
mod laws_tests;
mod left_out;
pub mod policy;
mod price;
pub mod project;
pub mod references;
pub mod render;
mod summed;
mod window;

use crate::domain::input::PlanInput;
use crate::domain::plan::{Blocked, ContextPlan};

/// Solves the plan of a call.
///
/// # Errors
/// [`Blocked`] when what must go (instructions, open turn, sticky pins, tools) is larger than the prompt budget.
pub fn plan(input: &PlanInput) -> Result<ContextPlan, Box<Blocked>> {
    let admitted = admit::admit(input)?;
    Ok(explain::explain(input, &admitted))
}
