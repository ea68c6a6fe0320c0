//! The next request under other settings: requesting the alternatives, and applying one.
//! Not for: moving the cursor (`update::travel`).

use super::model::WhatIfScreen;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::BranchId;
use crate::domain::planning::variant;
use crate::domain::planning::what_if::WhatIf;
use crate::engine::api::{Answer, PlanRequest, Request};
use crate::tui::chat::update::branches;
use crate::tui::model::Model;
use crate::tui::model::pending::Pending;
use crate::tui::model::status::Severity;
use crate::tui::msg::Cmd;
use crate::tui::update::effects::{send, show_answer, trouble};
use std::sync::Arc;

/// Opens the list, or closes it.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<WhatIfScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let draft = model.composer.next_draft();
    model.layers.push(WhatIfScreen::new(branch, draft));
    work_out(model, out);
}

/// Requests the result for the open list.
fn work_out(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(strip) = model.layers.top::<WhatIfScreen>() else { return };
    let (branch, draft) = (strip.branch, strip.draft.clone());
    model.requests.pending.retain(|_, what_for| !matches!(what_for, Pending::WhatIf(_)));
    send(model, Request::Plan(PlanRequest::WhatIf { branch, draft, arms: Vec::new() }), Pending::WhatIf(branch), out);
}

/// Handles the requests under other settings.
pub(crate) fn answered(model: &mut Model, branch: BranchId, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    match result {
        Ok(Answer::WhatIf(found)) => arrived(model, &found),
        Ok(answer) => show_answer(model, Ok(answer)),
        Err(failure) => failed(model, branch, &failure, out),
    }
}

fn arrived(model: &mut Model, found: &Arc<WhatIf>) {
    for strip in model.layers.all_mut::<WhatIfScreen>() {
        if strip.branch == found.branch {
            strip.found = Some(found.clone());
            strip.step(0);
        }
    }
}

/// Closes the list and reports why it is empty. If only the branch changed meanwhile, requests the result again.
fn failed(model: &mut Model, branch: BranchId, failure: &Failure, out: &mut Vec<Cmd>) {
    let open = |strip: &WhatIfScreen| strip.branch == branch;
    if failure.kind == FailureKind::Stale && model.layers.top().is_some_and(open) {
        return work_out(model, out);
    }
    if model.layers.close(open) {
        trouble(model, failure);
    }
}

/// Applies the selected alternative to the branch. Undo restores the previous settings.
pub(crate) fn take(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(strip) = model.layers.top::<WhatIfScreen>() else { return };
    if strip.is_empty() {
        return;
    }
    let Some(chosen) = strip.chosen().cloned() else {
        model.layers.pop();
        return model.status.say(Severity::Notice, "Nothing was changed.", model.now);
    };
    let here = model.branch().filter(|branch| branch.id == strip.branch);
    let Some(overrides) = here.map(|branch| variant::merge(&branch.overrides, &chosen)) else { return };
    model.layers.pop();
    branches::set_overrides(model, overrides, out);
}
