//! The displayed plan: requested when typing rests, shown when it arrives.
//! Not for: solving plans (the engine) or sending (`ask`).

use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::planning::Warning;
use crate::engine::api::{Answer, PlanAnswer, PlanRequest, Planned};
use crate::tui::chat::model::pending::TurnPending;
use crate::tui::chat::model::plan::DisplayedPlan;
use crate::tui::screens::request::model::RequestScreen;
use crate::tui::screens::summaries::update_effect;
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;

/// Requests a plan of the draft once typing has rested.
pub(crate) fn request_plan_when_due(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.plan.due.is_none_or(|due| due > model.now) {
        return;
    }
    model.plan.due = None;
    let Some(branch) = model.session.as_ref().map(|session| session.current) else { return };
    let draft = model.composer.next_draft();
    model.plan.generation += 1;
    model.plan.asked = Some((branch, draft.clone()));
    model.requests.pending.retain(|_, what_for| *what_for != Pending::Turn(TurnPending::Plan));
    let generation = model.plan.generation;
    send(model, PlanRequest::Replan { branch, generation, draft }, TurnPending::Plan, out);
}

/// Handles the requested plan, unless the draft changed since.
pub(crate) fn answered(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Plan(PlanAnswer::Planned(solved))) => {
            if let Some((branch, draft)) = model.plan.asked.clone().filter(|_| model.plan.due.is_none()) {
                let generation = model.plan.generation;
                show(model, DisplayedPlan { generation, branch, draft, solved });
            }
        }
        Err(failure) if matches!(failure.kind, FailureKind::Stale | FailureKind::Blocked) => {}
        result => show_answer(model, result),
    }
}

/// Handles a plan that the engine solved by itself.
pub(crate) fn plan_solved(model: &mut Model, branch: BranchId, generation: u64, planned: Planned) {
    if !model.is_current(branch) || generation < model.plan.generation {
        return;
    }
    let Some((_, draft)) = model.plan.asked.clone().filter(|(asked, _)| *asked == branch) else { return };
    show(model, DisplayedPlan { generation, branch, draft, solved: planned });
}

/// Shows a plan in the panel and in the request overlay.
fn show(model: &mut Model, shown: DisplayedPlan) {
    let same = model.plan.shown.as_ref().is_some_and(|old| old.solved == shown.solved);
    if !same {
        announce(model, &shown);
        for overlay in model.layers.all_mut::<RequestScreen>().filter(|overlay| overlay.sent().is_none()) {
            overlay.show_planned(&shown.solved);
        }
    }
    if let Planned::Plan { plan, .. } = &shown.solved {
        update_effect::planned(model, shown.branch, plan);
    }
    model.plan.reused(&shown);
    model.plan.outdated = false;
    model.plan.shown = Some(shown);
}

/// Shows once that the size of the window was adjusted.
fn announce(model: &mut Model, shown: &DisplayedPlan) {
    let adjustment = |shown: &DisplayedPlan| match &shown.solved {
        Planned::Plan { plan, .. } => {
            let adjusted = plan.warnings.iter().find(|warning| matches!(warning, Warning::WindowAdjusted { .. }));
            adjusted.map(Warning::sentence)
        }
        Planned::Blocked(_) => None,
    };
    let before = model.plan.shown.as_ref().filter(|old| old.branch == shown.branch).and_then(adjustment);
    if let Some(text) = adjustment(shown).filter(|text| Some(text) != before.as_ref()) {
        model.status.say(Severity::Notice, text, model.now);
    }
}
