//! The list of calls, what differs between two of them, and an item over the calls of the branch.
//! Not for: moving about in them (`screens::picker::update`).

use super::model::{Calls, DiffView, Tale};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::RunId;
use crate::domain::call::run::RunCard;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::diff::{ItemHistory, PlanDiff};
use crate::engine::api::{Answer, CallRequest, Item, PlanRequest, Request, Which};
use crate::tui::chat::update::acts;
use crate::tui::model::layer::Layer;
use crate::tui::model::status::Weight;
use crate::tui::model::{Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::update::send;

/// Calls that are looked at for the few lines in the overlay.
pub(crate) const FEW: u32 = 24;

/// Answers about calls and branches; gives back what is about something else.
pub(crate) fn answer(
    model: &mut Model,
    ticket: u64,
    what_for: Pending,
    result: Result<Answer, Failure>,
) -> Option<(Pending, Result<Answer, Failure>)> {
    match (what_for, result) {
        (Pending::Calls, Ok(Answer::Runs(cards))) => came(model, &cards),
        (Pending::Ledger, Ok(Answer::Ledger(found))) => screens::usage::update::came(model, ticket, found),
        (Pending::Ledger, Err(failure)) => screens::usage::update::failed(model, ticket, &failure),
        (Pending::Diff, Ok(Answer::Diff(diff))) => differs(model, ticket, diff),
        (Pending::Diff, Err(failure)) => undiffered(model, ticket, &failure),
        (Pending::Compare, Ok(Answer::Compared(compared))) => screens::compare::update::came(model, ticket, compared),
        (Pending::Compare, Err(failure)) => screens::compare::update::failed(model, ticket, &failure),
        (Pending::History, Ok(Answer::History(history))) => told(model, history),
        (Pending::Lately(atom), Ok(Answer::History(history))) => lately(model, atom, Some(&history)),
        (Pending::Lately(_), Err(failure)) if failure.kind == FailureKind::Stale => {}
        (Pending::Lately(atom), Err(_)) => lately(model, atom, None),
        (Pending::Steps(_), Err(_)) => {}
        other => return Some(other),
    }
    None
}

/// How an item went in the newest calls, in the detail pane; nothing where it cannot be told.
fn lately(model: &mut Model, atom: Atom, history: Option<&ItemHistory>) {
    for layer in &mut model.layers {
        if let Layer::Overlay(overlay) = layer {
            overlay.told.insert(atom.key());
            overlay.lately.extend(history.map(|history| (atom.key(), history.clone())));
        }
    }
}

/// Opens the list of calls; the same key closes it.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    let before = model.layers.len();
    model.layers.retain(|layer| !matches!(layer, Layer::Calls(_)));
    if model.layers.len() == before {
        send(model, Request::Call(CallRequest::List), Pending::Calls, out);
        model.layers.push(Layer::Calls(Box::default()));
    }
}

/// Opens the list with a call selected.
pub(crate) fn open_at(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    model.layers.retain(|layer| !matches!(layer, Layer::Calls(_)));
    send(model, Request::Call(CallRequest::List), Pending::Calls, out);
    model.layers.push(Layer::Calls(Box::new(Calls { wanted: Some(run), ..Calls::new() })));
}

/// The calls came.
fn came(model: &mut Model, cards: &[RunCard]) {
    for layer in &mut model.layers {
        if let Layer::Calls(calls) = layer {
            calls.fill(cards.to_vec());
        }
    }
}

/// A call began or changed.
pub(crate) fn changed(model: &mut Model, card: &RunCard, out: &mut Vec<Cmd>) {
    screens::usage::update::changed(model, out);
    for layer in &mut model.layers {
        if let Layer::Calls(calls) = layer {
            calls.put(card);
        }
    }
}

pub(crate) fn choose(model: &mut Model) {
    if let Some(Layer::Calls(calls)) = model.layers.last_mut() {
        calls.choose();
    }
}

/// Enter on a call: against the one that was taken, else against the one before it on its branch.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    match model.layers.last() {
        Some(Layer::Calls(calls)) => {
            let Some(selected) = calls.selected().map(|card| card.id) else { return };
            let other = calls.chosen.filter(|chosen| *chosen != selected);
            let before = other.map(|id| Which::Named(id.to_string()));
            differ(
                model,
                Request::Call(CallRequest::DiffPlans { before, after: Which::Named(selected.to_string()) }),
                out,
            );
        }
        Some(Layer::Diff(_)) => history(model, out),
        _ => {}
    }
}

/// The next call against the last one of the branch.
pub(crate) fn against_last(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let request =
        Request::Call(CallRequest::DiffPlans { before: Some(Which::Last(branch)), after: Which::Next(branch) });
    differ(model, request, out);
}

fn differ(model: &mut Model, request: Request, out: &mut Vec<Cmd>) {
    let ticket = send(model, request, Pending::Diff, out);
    model.layers.push(Layer::Diff(Box::new(DiffView { ticket, ..DiffView::default() })));
}

/// What differs came.
fn differs(model: &mut Model, ticket: u64, diff: Box<PlanDiff>) {
    for layer in &mut model.layers {
        if let Layer::Diff(view) = layer
            && view.ticket == ticket
        {
            return view.show(diff);
        }
    }
}

/// It could not be told: the empty screen goes again.
fn undiffered(model: &mut Model, ticket: u64, failure: &Failure) {
    model.layers.retain(|layer| !matches!(layer, Layer::Diff(view) if view.ticket == ticket));
    crate::tui::update::trouble(model, failure);
}

/// An item over all calls of the branch.
pub(crate) fn history(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let item = match model.layers.last() {
        Some(Layer::Diff(view)) => view.selected().map(|delta| Item::Atom(delta.atom)),
        _ => acts::selected_item(model, true),
    };
    match item {
        Some(Item::Atom(Atom::Range { .. })) | None => {
            let text = "Select one item: it is told in which calls it went, how and why.";
            model.status.say(Weight::Notice, text, model.now);
        }
        Some(item) => {
            send(model, Request::Plan(PlanRequest::Why { branch, item, most: None }), Pending::History, out);
        }
    }
}

/// An item's history, to be read.
fn told(model: &mut Model, history: Box<ItemHistory>) {
    model.layers.push(Layer::History(Box::new(Tale { history, scroll: 0, seen: (0, 0) })));
}
