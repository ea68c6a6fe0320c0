//! Updates of the usage charts: loading the figures, and opening the selected call.
//! Not for: moving the selection (`tui::update::travel`).

use super::model::UsageScreen;
use crate::domain::base::{BranchId, Failure};
use crate::engine::api::{Answer, CallAnswer, CallRequest};
use crate::tui::chat::update::printed;
use crate::tui::screens;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Opens the charts, or closes them if they are open.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.close::<UsageScreen>(|_| true) {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = ask(model, branch, false, out);
    model.layers.push(UsageScreen::new(branch, false, ticket));
}

fn ask(model: &mut Model, branch: BranchId, whole: bool, out: &mut Vec<Cmd>) -> u64 {
    send(model, CallRequest::Ledger { branch, whole }, Pending::Usage, out)
}

/// Toggles between the calls of the branch and of the whole session.
pub(crate) fn whole(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<UsageScreen>() else { return };
    let (branch, whole) = (screen.branch, !screen.whole);
    let ticket = ask(model, branch, whole, out);
    if let Some(screen) = model.layers.top_mut::<UsageScreen>() {
        (screen.whole, screen.ticket) = (whole, ticket);
    }
}

/// Prints all figures as text, including the use of items by source and by policy.
pub(crate) fn text(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<UsageScreen>() else { return };
    let line = if screen.whole { "/stats --whole-session" } else { "/stats" };
    printed::line(model, line, out);
}

/// Handles the figures.
pub(crate) fn answered(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Call(CallAnswer::Ledger(ledger))) => {
            if let Some(screen) = model.layers.all_mut::<UsageScreen>().find(|screen| screen.ticket == ticket) {
                screen.show(ledger);
            }
        }
        Ok(answer) => show_answer(model, Ok(answer)),
        Err(failure) => {
            model.layers.close::<UsageScreen>(|screen| screen.ticket == ticket);
            show_failure(model, &failure);
        }
    }
}

/// Loads the figures again after a call began or ended.
pub(crate) fn changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let open = model.layers.all::<UsageScreen>().next().map(|screen| (screen.branch, screen.whole));
    let Some((branch, whole)) = open else { return };
    let fresh = ask(model, branch, whole, out);
    for screen in model.layers.all_mut::<UsageScreen>() {
        screen.ticket = fresh;
    }
}

/// Handles Enter: opens the selected call in the call history.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(run) = model.layers.top().and_then(UsageScreen::run) {
        screens::calls::update::open_at(model, run, out);
    }
}
