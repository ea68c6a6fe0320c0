//! A solved plan, changed a little without being solved again: without one item, or written for another model. For calls
//! that are made again to see what the change does.
//! Not for: new calls; those are solved.

use super::{explain, render};
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::input::RequestShape;
use crate::domain::planning::plan::{Budget, ContextPlan, Reason, Verdict};
use crate::domain::planning::policy::Section;

/// The plan without the row of `atom`; nothing where no such row goes, or where it is what is asked.
#[must_use]
pub fn without(plan: &ContextPlan, shape: &RequestShape, atom: Atom) -> Option<ContextPlan> {
    let mut made = plan.clone();
    let row = made.rows.iter_mut().find(|row| row.included() && row.atom == atom)?;
    if row.section() == Some(Section::UserMessage) {
        return None;
    }
    row.verdict = Verdict::Out { needed: 0, remedy: None };
    row.reason = Reason::UserExcluded { once: true };
    Some(summed(made, shape))
}

/// The plan for another model of a profile, with that model's room. Tokens stay as they were counted.
#[must_use]
pub fn asking(plan: &ContextPlan, shape: &RequestShape, profile: &str, budget: Budget) -> ContextPlan {
    let made = ContextPlan { profile: profile.to_owned(), model: shape.model.clone(), budget, ..plan.clone() };
    summed(made, shape)
}

/// The plan whose request counts `tokens` by its own rules (see [`crate::context::checks`]): what a neighbour that is gone changed of a
/// label or a separator is put to what is asked.
#[must_use]
pub fn counted(mut plan: ContextPlan, tokens: u32) -> ContextPlan {
    let (more, less) = (tokens.saturating_sub(plan.est_total), plan.est_total.saturating_sub(tokens));
    if let Some(row) = plan.rows.iter_mut().find(|row| row.section() == Some(Section::UserMessage)) {
        row.tokens = (row.tokens + more).saturating_sub(less);
        plan.est_total = tokens;
    }
    plan
}

fn summed(mut plan: ContextPlan, shape: &RequestShape) -> ContextPlan {
    plan.framing = render::framing(&render::skeleton(&plan.rows, plan.layout, &shape.dialect));
    let rows: u32 = plan.included().map(|row| row.tokens).sum();
    plan.est_total = rows + plan.framing + plan.tools;
    plan.id = explain::identity(shape, &plan);
    plan
}
