//! Updates of the call history, of the comparison of two calls, and of an item's history over the calls of a branch.
//! Not for: moving the cursor (`tui::update::travel`).

use super::model::{Calls, CallsPending, DiffView, HistoryScreen};
use crate::domain::base::{Failure, RunId};
use crate::domain::call::RunCard;
use crate::domain::conversation::Atom;
use crate::engine::api::{Answer, CallAnswer, CallRequest, CallSelector, ItemName, PlanAnswer, PlanRequest};
use crate::tui::chat::update::acts;
use crate::tui::model::list::Scroll;
use crate::tui::screens;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Handles the answers to the requests of these screens.
pub(crate) fn answered(model: &mut Model, ticket: u64, pending: CallsPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (CallsPending::List, Ok(Answer::Call(CallAnswer::Runs(cards)))) => {
            model.layers.all_mut::<Calls>().for_each(|calls| calls.fill(cards.clone()));
        }
        (CallsPending::List, Err(failure)) => {
            model.layers.close::<Calls>(|calls| calls.loading);
            show_failure(model, &failure);
        }
        (CallsPending::Diff, Ok(Answer::Call(CallAnswer::Diff(diff)))) => {
            if let Some(view) = model.layers.all_mut::<DiffView>().find(|view| view.ticket == ticket) {
                view.show(diff);
            }
        }
        (CallsPending::Diff, Err(failure)) => {
            model.layers.close::<DiffView>(|view| view.ticket == ticket);
            show_failure(model, &failure);
        }
        (CallsPending::History, Ok(Answer::Plan(PlanAnswer::History(history)))) => {
            model.layers.push(HistoryScreen { history, scroll: Scroll::default() });
        }
        (CallsPending::List | CallsPending::Diff | CallsPending::History, result) => show_answer(model, result),
    }
}

/// Opens the call history, or closes it if it is open.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if !model.layers.close::<Calls>(|_| true) {
        send(model, CallRequest::List, CallsPending::List, out);
        model.layers.push(Calls::default());
    }
}

/// Opens the call history with the cursor on a call.
pub(crate) fn open_at(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    model.layers.close::<Calls>(|_| true);
    send(model, CallRequest::List, CallsPending::List, out);
    model.layers.push(Calls { wanted: Some(run), ..Calls::default() });
}

/// Handles a call that began or changed.
pub(crate) fn changed(model: &mut Model, card: &RunCard, out: &mut Vec<Cmd>) {
    screens::usage::update::changed(model, out);
    screens::request::update_sent::changed(model, card, out);
    for calls in model.layers.all_mut::<Calls>() {
        calls.upsert(card);
    }
}

/// Handles Enter on a call: compares the marked calls, or else the call with the previous call of its branch.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(calls) = model.layers.top::<Calls>() else { return };
    let Some(selected) = calls.selected().map(|card| card.id) else { return };
    let (before, after) = calls.compared().map_or((None, selected), |(before, after)| (Some(before), after));
    let named = |id: RunId| CallSelector::Named(id.to_string());
    open_diff(model, before.map(named), named(after), out);
}

/// Opens the request of the selected call.
pub(crate) fn plan(model: &mut Model, out: &mut Vec<Cmd>) {
    let selected = model.layers.top::<Calls>().and_then(Calls::selected).map(|card| card.id);
    if selected.is_some() {
        screens::request::update_sent::open(model, selected, out);
    }
}

/// Opens the request of the later of the compared calls, or the next request.
pub(crate) fn later_request(model: &mut Model, out: &mut Vec<Cmd>) {
    let diff = model.layers.top::<DiffView>().and_then(|view| view.diff.as_ref());
    match diff.map(|diff| diff.after.run) {
        Some(Some(run)) => screens::request::update_sent::open(model, Some(run), out),
        Some(None) => screens::request::update::open(model),
        None => {}
    }
}

/// Says how to open an item's history.
pub(crate) fn explain_history(model: &mut Model) {
    let (compare, request) =
        (model.keys.key_in(Action::Open, KeyPlace::Panel), model.keys.key_in(Action::Details, KeyPlace::Calls));
    let text = format!("Select an item first: in a comparison ({compare}), or in the call's request ({request}).");
    model.status.say(Severity::Notice, text, model.now);
}

/// Compares the next call with the last call of the branch.
pub(crate) fn against_last(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    open_diff(model, Some(CallSelector::Last(branch)), CallSelector::Next(branch), out);
}

/// Opens the differences between two calls.
pub(crate) fn open_diff(model: &mut Model, before: Option<CallSelector>, after: CallSelector, out: &mut Vec<Cmd>) {
    let ticket = send(model, CallRequest::DiffPlans { before, after }, CallsPending::Diff, out);
    model.layers.push(DiffView { ticket, ..DiffView::default() });
}

/// Opens the history of the selected item over all calls of the branch.
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
            send(model, PlanRequest::Why { branch, item, most: None }, CallsPending::History, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_cannot_be_loaded_is_closed() {
        let mut model = Model::default();
        model.layers.push(Calls::default());
        answered(&mut model, 1, CallsPending::List, Err(Failure::user("The store cannot be read.")));
        assert!(model.layers.is_empty() && model.status.shown().is_some());
    }
}
