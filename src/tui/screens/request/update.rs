//! The overlay's list: selecting rows to act on together, sorting and grouping, closing it step by step; and the
//! preview of the current action, requested when the selection rests.
//! Not for: the actions themselves (`acts`), or opening the overlay (`open`).

use super::model::{Content, RequestScreen, turns_of_range};
use super::model_pending::RequestPending;
use super::model_preview::ActOutcome;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::call::item_use::UnusedItem;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::diff::ItemHistory;
use crate::domain::planning::plan::RowKind;
use crate::engine::api::{Act, Answer, BranchRequest, CallRequest, ItemName, PlanRequest, Request, TransitionReport};
use crate::tui::model::Model;
use crate::tui::model::keys::Action;
use crate::tui::model::pending::Pending;
use crate::tui::model::session::Session;
use crate::tui::model::status::Severity;
use crate::tui::msg::Cmd;
use crate::tui::screens::reader::model::Reader;
use crate::tui::screens::request::model_filter::ListArrangement;
use crate::tui::update::effects::{send, show_answer};
use std::sync::Arc;

/// How long the cursor must rest before a preview is requested, in milliseconds.
const REST: u64 = 150;
/// How many of the newest calls the history in the detail pane covers.
const FEW: u32 = 24;

/// Handles the answers to the requests of this screen.
pub(crate) fn answered(model: &mut Model, ticket: u64, pending: RequestPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (RequestPending::Preview, result) => previewed(model, ticket, result),
        (RequestPending::Text(atom), Ok(Answer::Text(text))) => put_text(model, atom, &text),
        (RequestPending::Text(atom), Err(failure)) => put_text(model, atom, &failure.to_string()),
        (RequestPending::Steps(atom), Ok(Answer::Steps(steps))) => put_steps(model, atom, &steps),
        (RequestPending::History(atom), Ok(Answer::History(history))) => put_history(model, atom, Some(&history)),
        // A newer question took its place.
        (RequestPending::History(_), Err(failure)) if failure.kind == FailureKind::Stale => {}
        (RequestPending::History(atom), Err(_)) => put_history(model, atom, None),
        (RequestPending::Unused, Ok(Answer::Ledger(found))) => put_unused(model, &found.uses.unused),
        (RequestPending::Unused, _) => put_unused(model, &[]),
        (RequestPending::Steps(_), Err(_)) => {}
        (RequestPending::Text(_) | RequestPending::Steps(_) | RequestPending::History(_), result) => {
            show_answer(model, result);
        }
    }
}

/// Shows the text of a row, or why there is none, in the detail pane.
fn put_text(model: &mut Model, atom: Atom, text: &str) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.texts.insert(atom.key(), Arc::from(text));
    }
}

/// Shows what happened to an item in the detail pane.
fn put_steps(model: &mut Model, atom: Atom, steps: &[TransitionReport]) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.steps.insert(atom.key(), steps.iter().map(TransitionReport::sentence).collect());
    }
}

/// Shows the newest calls of an item in the detail pane; nothing if they are unknown.
fn put_history(model: &mut Model, atom: Atom, history: Option<&ItemHistory>) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.told.insert(atom.key());
        overlay.lately.extend(history.map(|history| (atom.key(), history.clone())));
    }
}

fn on_top(model: &mut Model) -> Option<&mut RequestScreen> {
    model.layers.top_mut()
}

/// The list of the next request; a notice if it is not open.
fn listed(model: &mut Model) -> Option<&mut RequestScreen> {
    if on_top(model).is_none() {
        let key = model.keys.key_of(Action::Context).unwrap_or_default();
        model.status.say(Severity::Notice, format!("This works in the list; {key} opens it."), model.now);
    }
    on_top(model)
}

/// Selects the current row for an action on several items, or deselects it.
pub(crate) fn take_row(model: &mut Model) {
    if let Some(Err(why)) = listed(model).map(RequestScreen::take) {
        model.status.say(Severity::Notice, why, model.now);
    }
}

/// Selects all rows that allow actions, or deselects them.
pub(crate) fn take_all(model: &mut Model) {
    if let Some(overlay) = listed(model) {
        overlay.take_all();
    }
}

/// Shows the details of the selected item and of the plan, or hides them.
pub(crate) fn details(model: &mut Model) {
    if let Some(overlay) = listed(model) {
        overlay.details = !overlay.details;
        overlay.detail_scroll = 0;
    }
}

/// Switches to the next order of the list.
pub(crate) fn order(model: &mut Model) {
    arrange(model, |arranged| arranged.order = arranged.order.next());
}

/// Switches to the next grouping of the list.
pub(crate) fn group(model: &mut Model) {
    arrange(model, |arranged| arranged.group = arranged.group.next());
}

fn arrange(model: &mut Model, change: impl FnOnce(&mut ListArrangement)) {
    let Some(overlay) = listed(model) else { return };
    let mut arranged = overlay.arranged;
    change(&mut arranged);
    overlay.arrange(arranged);
    model.request.arranged = arranged;
    let words = arranged.words().unwrap_or_else(|| "by section, in plan order".to_owned());
    model.status.report("arranged", format!("The list is {words}."), model.now);
}

/// The selected items; `None` if nothing is selected.
pub(crate) fn taken(model: &Model) -> Option<Vec<ItemName>> {
    let overlay = model.layers.top::<RequestScreen>().filter(|overlay| !overlay.taken.is_empty())?;
    Some(overlay.taken().into_iter().map(ItemName::Atom).collect())
}

/// Esc: first clears the selection, then the filter; returns whether there was either.
pub(crate) fn leave(overlay: &mut RequestScreen) -> bool {
    if !overlay.filtering && overlay.deselect_all() {
        return true;
    }
    if overlay.filtering || !overlay.filter.is_empty() {
        overlay.filtering = false;
        overlay.filter.clear();
        overlay.list();
        overlay.land(1);
        return true;
    }
    false
}

/// Opens the request overlay; the same key closes it.
pub(crate) fn open(model: &mut Model) {
    if model.layers.close::<RequestScreen>(|_| true) {
        return;
    }
    let mut overlay = RequestScreen { arranged: model.request.arranged, ..RequestScreen::default() };
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        if let Some(plan) = model.plan.plan(branch) {
            overlay.show(Content::Plan(plan.clone()));
        } else if let Some(blocked) = model.plan.blocked(branch) {
            overlay.show(Content::Blocked(blocked.clone()));
        } else {
            model.plan.hurry(model.now);
        }
    }
    model.layers.push(overlay);
}

/// Enter on a line without sublines: shows its full text, or a tool in the list of tools.
fn read(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(overlay) = on_top(model) else { return };
    if let Some(tool) = overlay.selected_tool() {
        let name = tool.name.clone();
        return crate::tui::screens::tools::update::show(model, name, out);
    }
    let Some(atom) = overlay.selected_atom() else { return };
    let title = match (overlay.selected_past(), overlay.selected()) {
        (Some(turn), _) => turn.title.clone(),
        (None, Some((row, Some(item)))) => row.items.get(item).map(|item| item.title.clone()).unwrap_or_default(),
        (None, Some((row, None))) => row.title.clone(),
        (None, None) => return,
    };
    if let Some(text) = overlay.texts.get(&atom.key()).cloned().filter(|text| !text.is_empty()) {
        model.layers.push(Reader::new(title, text, true));
    }
}

/// Requests the full text of the current row, once per plan.
pub(crate) fn row_text(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let Some(overlay) = model.layers.top::<RequestScreen>() else { return };
    let Some(atom) = overlay.selected_atom() else { return };
    if matches!(atom, Atom::Range { .. }) {
        return;
    }
    let waits = |what_for: Pending| model.requests.any(|p| *p == what_for);
    let untold = !overlay.told.contains(&atom.key()) && !waits(Pending::Request(RequestPending::History(atom)));
    if !overlay.texts.contains_key(&atom.key()) && !waits(Pending::Request(RequestPending::Text(atom))) {
        send(
            model,
            Request::Plan(PlanRequest::RowText { branch, atom }),
            Pending::Request(RequestPending::Text(atom)),
            out,
        );
        send(
            model,
            Request::Branch(BranchRequest::Steps { branch, atom: Some(atom) }),
            Pending::Request(RequestPending::Steps(atom)),
            out,
        );
    }
    // Canceled when the next row is requested, and requested again once this row is selected again.
    if untold {
        let item = ItemName::Atom(atom);
        send(
            model,
            Request::Plan(PlanRequest::Why { branch, item, most: Some(FEW) }),
            Pending::Request(RequestPending::History(atom)),
            out,
        );
    }
}

/// Requests the unused rows once, if item use is known.
pub(crate) fn ask_unused(model: &mut Model, out: &mut Vec<Cmd>) {
    let known = model.session.as_ref().is_some_and(Session::knows_uses);
    let asked =
        model.layers.top::<RequestScreen>().is_none_or(|overlay| overlay.unused.is_some() || overlay.content.is_none());
    let waits = model.requests.any(|pending| *pending == Pending::Request(RequestPending::Unused));
    if let (true, Some(branch)) = (known && !asked && !waits, model.branch().map(|branch| branch.id)) {
        send(
            model,
            Request::Call(CallRequest::Ledger { branch, whole: false }),
            Pending::Request(RequestPending::Unused),
            out,
        );
    }
}

/// Sets the unused rows; `None` if they are unknown.
fn put_unused(model: &mut Model, found: &[UnusedItem]) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.show_unused(found.to_vec());
    }
}

/// Enter on a line: expands or folds it, or shows its full text.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    let session = model.session.as_ref();
    if model.layers.top_mut::<RequestScreen>().is_some_and(|overlay| !unfold(overlay, session)) {
        read(model, out);
    }
}

/// Expands or folds the current row of the overlay: a turn into its messages, a range into its turns. False if the line
/// has no sublines.
fn unfold(overlay: &mut RequestScreen, session: Option<&Session>) -> bool {
    if overlay.on_tools() {
        overlay.unfold_tools();
        return true;
    }
    let Some((row, None)) = overlay.selected() else { return false };
    let range = row.kind == RowKind::Range;
    if overlay.selected_past().is_some() || !(range || row.items.len() > 1) {
        return false;
    }
    let key = row.atom.key();
    let turns = session.filter(|_| range).map(|session| turns_of_range(&session.tree, row));
    overlay.past.extend(turns.map(|turns| (key, turns)));
    if !overlay.opened.remove(&key) {
        overlay.opened.insert(key);
    }
    overlay.list();
    true
}

/// Requests a preview of the current action, once the cursor rests.
pub(crate) fn look_ahead(model: &mut Model, out: &mut Vec<Cmd>) {
    let now = model.now;
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let true_yet = model.plan.current();
    let draft = model.plan.shown.as_ref().map(|shown| shown.draft.clone());
    let Some(overlay) = on_top(model) else { return };
    let stamp = overlay.stamp();
    if stamp != overlay.ahead.stamp {
        let wish = overlay.wish();
        let due = wish.is_some().then_some(now + REST);
        overlay.ahead = ActOutcome { stamp, due, ticket: None, wish, found: None };
    }
    let due = overlay.ahead.due.is_some_and(|due| due <= now);
    let (Some(draft), true) = (draft, due && true_yet) else { return };
    overlay.ahead.due = None;
    let Some(wish) = overlay.ahead.wish.clone() else { return };
    let items = wish.atoms.into_iter().map(ItemName::Atom).collect();
    let act = Act::Set { kind: wish.kind, toggle: wish.toggle };
    let request = Request::Plan(PlanRequest::Preview { branch, draft: draft.clone(), items, act });
    let ticket = send(model, request, Pending::Request(RequestPending::Preview), out);
    if let Some(overlay) = on_top(model) {
        overlay.ahead.ticket = Some(ticket);
    }
}

/// Shows the preview, or why it is not available.
fn previewed(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        let ahead = &mut overlay.ahead;
        if ahead.ticket != Some(ticket) {
            continue;
        }
        ahead.ticket = None;
        match result {
            Ok(Answer::Preview(found)) => ahead.found = Some(Ok(found)),
            Ok(_) => {}
            // A newer plan is on its way.
            Err(failure) if failure.kind == FailureKind::Stale => ahead.due = Some(model.now + 2 * REST),
            Err(failure) => ahead.found = Some(Err(failure.to_string())),
        }
        return;
    }
}
