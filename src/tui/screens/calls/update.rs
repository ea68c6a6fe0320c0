//! The call history, the differences between two calls, and the history of an item over the branch's calls.
//! Not for: moving the cursor (`update::travel`).

use super::model::{Calls, CallsPending, DiffView, HistoryScreen};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::RunId;
use crate::domain::call::run::RunCard;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::diff::PlanDiff;
use crate::engine::api::{Answer, CallRequest, CallSelector, ItemName, PlanRequest, Request};
use crate::tui::chat::update::{acts, printed};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::pending::Pending;
use crate::tui::model::status::Severity;
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::update::effects::{send, show_answer, trouble};

/// Handles the answers to the requests of these screens.
pub(crate) fn answered(model: &mut Model, ticket: u64, pending: CallsPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (CallsPending::List, Ok(Answer::Runs(cards))) => {
            model.layers.all_mut::<Calls>().for_each(|calls| calls.fill(cards.clone()));
        }
        (CallsPending::Diff, Ok(Answer::Diff(diff))) => differs(model, ticket, diff),
        (CallsPending::Diff, Err(failure)) => {
            model.layers.close::<DiffView>(|view| view.ticket == ticket);
            trouble(model, &failure);
        }
        (CallsPending::History, Ok(Answer::History(history))) => {
            model.layers.push(HistoryScreen { history, scroll: 0, seen: (0, 0) });
        }
        (CallsPending::List | CallsPending::Diff | CallsPending::History, result) => show_answer(model, result),
    }
}

/// Opens the list of calls; the same key closes it.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if !model.layers.close::<Calls>(|_| true) {
        send(model, Request::Call(CallRequest::List), Pending::Calls(CallsPending::List), out);
        model.layers.push(Calls::default());
    }
}

/// Opens the list with a call selected.
pub(crate) fn open_at(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    model.layers.close::<Calls>(|_| true);
    send(model, Request::Call(CallRequest::List), Pending::Calls(CallsPending::List), out);
    model.layers.push(Calls { wanted: Some(run), ..Calls::new() });
}

/// A call started or changed.
pub(crate) fn changed(model: &mut Model, card: &RunCard, out: &mut Vec<Cmd>) {
    screens::usage::update::changed(model, out);
    for calls in model.layers.all_mut::<Calls>() {
        calls.put(card);
    }
}

/// Enter on a call: compares it with the call selected for comparison, else with the previous call on its branch.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(calls) = model.layers.top::<Calls>() else { return };
    let Some(selected) = calls.selected().map(|card| card.id) else { return };
    let other = calls.chosen.filter(|chosen| *chosen != selected);
    let before = other.map(|id| CallSelector::Named(id.to_string()));
    let after = CallSelector::Named(selected.to_string());
    differ(model, Request::Call(CallRequest::DiffPlans { before, after }), out);
}

/// Opens the plan of the selected message's call. False if no past message is selected.
pub(crate) fn of_message(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    if model.focus != Focus::Conversation || !model.layers.is_empty() {
        return false;
    }
    let Some(session) = &model.session else { return false };
    let Some(head) = model.conversation.selected().map(|slot| session.tree.head(slot)) else { return false };
    let call = || session.run_of_answer(head.id).or_else(|| session.run_of_user(head.id)).map(|run| run.id);
    let run = session.trace_of(head.id).map(|trace| trace.run).or_else(call);
    run.map(|run| printed::line(model, &format!("/plans show {run}"), out)).is_some()
}

/// Opens the plan of the selected call: its rows, each with its use by the answer.
pub(crate) fn plan(model: &mut Model, out: &mut Vec<Cmd>) {
    let selected = model.layers.top::<Calls>().and_then(Calls::selected).map(|card| card.id);
    if let Some(id) = selected {
        printed::line(model, &format!("/plans show {id}"), out);
    }
}

/// Compares the next request with the last call of the branch.
pub(crate) fn against_last(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let request = Request::Call(CallRequest::DiffPlans {
        before: Some(CallSelector::Last(branch)),
        after: CallSelector::Next(branch),
    });
    differ(model, request, out);
}

fn differ(model: &mut Model, request: Request, out: &mut Vec<Cmd>) {
    let ticket = send(model, request, Pending::Calls(CallsPending::Diff), out);
    model.layers.push(DiffView { ticket, ..DiffView::default() });
}

/// Shows the differences on the screen that waits for them.
fn differs(model: &mut Model, ticket: u64, diff: Box<PlanDiff>) {
    for view in model.layers.all_mut::<DiffView>() {
        if view.ticket == ticket {
            return view.show(diff);
        }
    }
}

/// The history of an item over all calls of the branch.
pub(crate) fn history(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let item = match model.layers.top::<DiffView>() {
        Some(view) => view.selected().map(|delta| ItemName::Atom(delta.atom)),
        None => acts::selected_item(model, true),
    };
    match item {
        Some(ItemName::Atom(Atom::Range { .. })) | None => {
            let text = "Select one item to see its history: which calls it was sent in, how, and why.";
            model.status.say(Severity::Notice, text, model.now);
        }
        Some(item) => {
            send(
                model,
                Request::Plan(PlanRequest::Why { branch, item, most: None }),
                Pending::Calls(CallsPending::History),
                out,
            );
        }
    }
}
