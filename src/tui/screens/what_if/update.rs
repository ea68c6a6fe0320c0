//! Updates of the what-if screen: planning the variants and applying one.
//! Not for: moving the cursor (`tui::update::travel`).

use super::model::WhatIfScreen;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::planning::{WhatIf, variant};
use crate::engine::api::{Answer, PlanAnswer, PlanRequest, ProgramAnswer, ProgramRequest};
use crate::tui::chat::update::branches;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Opens the screen, or closes it if it is open.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<WhatIfScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let draft = model.composer.next_draft();
    model.layers.push(WhatIfScreen::new(branch, draft));
    request_variants(model, out);
    let profile = model.session.as_ref().and_then(|session| session.settings()).map(|known| known.profile.clone());
    let request = ProgramRequest::Models { profile, unready: false };
    send(model, request, Pending::WhatIfModels(branch), out);
}

/// Handles the list of the profile's models. The variants are requested again if a model has no line yet. A server that
/// cannot list its models adds no line.
pub(crate) fn listed(model: &mut Model, branch: BranchId, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    let by_profile = match result {
        Ok(Answer::Program(ProgramAnswer::Models(by_profile))) => by_profile,
        Ok(_) => return,
        Err(failure) => return show_failure(model, &failure),
    };
    let current = model.session.as_ref().and_then(|session| session.settings()).map(|known| known.model.name.clone());
    let names: Vec<String> =
        by_profile.into_iter().filter_map(|(_, found)| found.ok()).flatten().map(|m| m.name).collect();
    for screen in model.layers.all_mut::<WhatIfScreen>().filter(|screen| screen.branch == branch) {
        screen.listed = names.iter().filter(|name| current.as_ref() != Some(name)).cloned().collect();
    }
    request_missing_models(model, out);
}

/// Requests the variants again, once, if they are planned and lack a listed model.
fn request_missing_models(model: &mut Model, out: &mut Vec<Cmd>) {
    let missing = model.layers.top_mut::<WhatIfScreen>().map(WhatIfScreen::take_models_without_line);
    if missing.is_some_and(|names| !names.is_empty()) {
        request_variants(model, out);
    }
}

/// Requests the variants for the open screen.
fn request_variants(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<WhatIfScreen>() else { return };
    let (branch, draft) = (screen.branch, screen.draft.clone());
    model.requests.pending.retain(|_, what_for| !matches!(what_for, Pending::WhatIf(_)));
    send(model, PlanRequest::WhatIf { branch, draft, variants: Vec::new() }, Pending::WhatIf(branch), out);
}

/// Handles the planned variants.
pub(crate) fn answered(model: &mut Model, branch: BranchId, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    match result {
        Ok(Answer::Plan(PlanAnswer::WhatIf(found))) => {
            arrived(model, &found);
            request_missing_models(model, out);
        }
        Ok(answer) => show_answer(model, Ok(answer)),
        Err(failure) => failed(model, branch, &failure, out),
    }
}

fn arrived(model: &mut Model, found: &Arc<WhatIf>) {
    for screen in model.layers.all_mut::<WhatIfScreen>() {
        if screen.branch == found.branch {
            screen.fill(found.clone());
        }
    }
}

/// Closes the screen and reports the failure. If only the branch changed meanwhile, requests the variants again.
fn failed(model: &mut Model, branch: BranchId, failure: &Failure, out: &mut Vec<Cmd>) {
    let open = |screen: &WhatIfScreen| screen.branch == branch;
    if failure.kind == FailureKind::Stale && model.layers.top().is_some_and(open) {
        return request_variants(model, out);
    }
    if model.layers.close(open) {
        show_failure(model, failure);
    }
}

/// Applies the selected settings to the branch (undoable).
pub(crate) fn take(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<WhatIfScreen>() else { return };
    if screen.is_empty() {
        return;
    }
    let Some(chosen) = screen.selected_overrides().cloned() else {
        model.layers.pop();
        return model.status.say(Severity::Notice, "Nothing was changed.", model.now);
    };
    if model.is_current(screen.branch) {
        model.layers.pop();
        branches::choose(model, |overrides| *overrides = variant::merge(overrides, &chosen), out);
    }
}
