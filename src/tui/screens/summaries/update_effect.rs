//! Updates about the effect of summaries on the next request: the preview of accepting a draft, and the notice after a
//! summary was accepted or undone.
//! Not for: deciding about summaries (`update`).

use super::model::{DraftScreen, SummaryPending};
use super::model_effect::{AcceptancePreview, ChangedSummary, PreviewKey, describe_effect};
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::planning::{ContextPlan, PlanFigures, omitted_summary};
use crate::engine::api::{Answer, PlanAnswer, PlanRequest, Planned};
use crate::tui::update::prelude::*;

/// When a preview that could not be made now is requested again, in milliseconds.
const RETRY_MS: u64 = 300;

/// Requests a preview of accepting the draft, once for each plan and text of the draft.
pub(crate) fn request_preview(model: &mut Model, out: &mut Vec<Cmd>) {
    let (now, is_current) = (model.now, model.plan.current());
    let Some(shown) = model.plan.shown.clone().filter(|_| is_current) else { return };
    let Some(screen) = model.layers.top_mut::<DraftScreen>().filter(|screen| screen.branch == shown.branch) else {
        return;
    };
    let (Some(draft), Planned::Plan { plan, .. }) = (&screen.draft, &shown.solved) else { return };
    let key = (plan.id, draft.summary.id);
    let preview = &mut screen.preview;
    if preview.key != Some(key) {
        *preview = AcceptancePreview { key: Some(key), due: Some(now), outcome: None };
    }
    if preview.due.take_if(|due| *due <= now).is_some() {
        let request = PlanRequest::PreviewSummary { branch: shown.branch, draft: shown.draft, number: draft.number };
        send(model, request, SummaryPending::Preview(key), out);
    }
}

/// Stores the outcome of a preview, or why there is none.
pub(crate) fn previewed(model: &mut Model, key: PreviewKey, result: &Result<Answer, Failure>) {
    let now = model.now;
    for screen in model.layers.all_mut::<DraftScreen>().filter(|screen| screen.preview.key == Some(key)) {
        let preview = &mut screen.preview;
        match result {
            Ok(Answer::Plan(PlanAnswer::Preview(found))) => preview.outcome = Some(Ok(found.clone())),
            Err(failure) if failure.kind != FailureKind::Stale => preview.outcome = Some(Err(failure.to_string())),
            // A newer plan is being solved, or another preview replaced this one.
            Ok(_) | Err(_) => preview.due = Some(now + RETRY_MS),
        }
    }
}

/// Reports that a summary was accepted or undone. The effect follows with the next plan.
pub(crate) fn changed(model: &mut Model, branch: BranchId, notice: String) {
    let before = model.plan.plan(branch).cloned();
    model.drafts.changed = before.map(|before| ChangedSummary { branch, before, notice: notice.clone() });
    model.status.say(Severity::Notice, notice, model.now);
}

/// Adds the effect of the summary that was accepted or undone to its notice, now that the next request is planned.
pub(crate) fn planned(model: &mut Model, branch: BranchId, plan: &ContextPlan) {
    let Some(changed) = model.drafts.changed.take().filter(|changed| changed.branch == branch) else { return };
    let figures = PlanFigures::of(plan, &changed.before, None, None);
    let left_out = omitted_summary(plan, &changed.before);
    let effect = describe_effect(changed.before.est_total, &figures, left_out.as_deref(), false);
    model.status.say(Severity::Notice, format!("{} {effect}", changed.notice), model.now);
}
