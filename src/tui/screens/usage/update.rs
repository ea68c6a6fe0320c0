//! The usage charts: requesting the figures, and going to a call.
//! Not for: moving the cursor (`update::travel`).

use super::model::UsageScreen;
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::BranchId;
use crate::engine::api::{Answer, CallRequest, Request};
use crate::tui::chat::update::printed;
use crate::tui::model::Model;
use crate::tui::model::pending::Pending;
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::update::effects::{send, show_answer, trouble};

/// Opens the charts; the same key closes them.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<UsageScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = ask(model, branch, false, out);
    model.layers.push(UsageScreen::new(branch, false, ticket));
}

fn ask(model: &mut Model, branch: BranchId, whole: bool, out: &mut Vec<Cmd>) -> u64 {
    send(model, Request::Call(CallRequest::Ledger { branch, whole }), Pending::Usage, out)
}

/// Switches between the calls of the whole session and of the branch.
pub(crate) fn whole(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(sheet) = model.layers.top::<UsageScreen>() else { return };
    let (branch, whole) = (sheet.branch, !sheet.whole);
    let ticket = ask(model, branch, whole, out);
    if let Some(sheet) = model.layers.top_mut::<UsageScreen>() {
        (sheet.whole, sheet.ticket) = (whole, ticket);
    }
}

/// All figures as text, including those of items by source and by policy.
pub(crate) fn text(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(sheet) = model.layers.top::<UsageScreen>() else { return };
    let line = if sheet.whole { "/stats --whole-session" } else { "/stats" };
    printed::line(model, line, out);
}

/// Shows the figures.
pub(crate) fn answered(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Ledger(ledger)) => {
            if let Some(sheet) = model.layers.all_mut::<UsageScreen>().find(|sheet| sheet.ticket == ticket) {
                sheet.show(ledger);
            }
        }
        Ok(answer) => show_answer(model, Ok(answer)),
        Err(failure) => {
            model.layers.close::<UsageScreen>(|sheet| sheet.ticket == ticket);
            trouble(model, &failure);
        }
    }
}

/// A call started or ended: requests the figures again.
pub(crate) fn changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let open = model.layers.all::<UsageScreen>().next().map(|sheet| (sheet.branch, sheet.whole));
    let Some((branch, whole)) = open else { return };
    let fresh = ask(model, branch, whole, out);
    for sheet in model.layers.all_mut::<UsageScreen>() {
        sheet.ticket = fresh;
    }
}

/// Enter: opens the selected call in the call history.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(sheet) = model.layers.top::<UsageScreen>() else { return };
    if let Some(run) = sheet.run() {
        screens::calls::update::open_at(model, run, out);
    }
}
