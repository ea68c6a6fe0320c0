//! Updates of the request overlay: selecting several lines, arranging and filtering the list, and requesting the texts,
//! the history, and the preview for the line under the cursor.
//! Not for: setting marks (`chat::update::acts`).

use super::model::{Content, RequestPending, RequestScreen};
use super::model_filter::ListArrangement;
use super::model_preview::ActionPreview;
use super::model_range::turns_of_range;
use super::update_sent;
use crate::domain::base::plain_text;
use crate::domain::base::{Failure, FailureKind, RunId};
use crate::domain::call::UnusedItem;
use crate::domain::conversation::Atom;
use crate::domain::planning::{ItemHistory, RowKind, Verdict};
use crate::engine::api::{
    Act, Answer, BranchAnswer, BranchRequest, CallAnswer, CallRequest, ItemName, PlanAnswer, PlanRequest,
    TransitionReport,
};
use crate::tui::chat::update::state;
use crate::tui::model::row_titles::{item_title, row_title};
use crate::tui::model::session::Session;
use crate::tui::screens::reader::model::Reader;
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// How long the cursor must rest before a preview is requested, in milliseconds.
const PREVIEW_DELAY_MS: u64 = 150;
/// How many of the newest calls the history in the detail pane covers.
const HISTORY_CALLS: u32 = 24;

/// Handles the answers to the requests of this screen.
pub(crate) fn answered(model: &mut Model, ticket: u64, pending: RequestPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (RequestPending::Preview, result) => previewed(model, ticket, result),
        (RequestPending::Text(run, atom), Ok(Answer::Text(text))) => put_text(model, run, atom, &text),
        (RequestPending::Text(run, atom), Err(failure)) => put_text(model, run, atom, &failure.to_string()),
        (RequestPending::Steps(atom), Ok(Answer::Branch(BranchAnswer::Steps(steps)))) => put_steps(model, atom, &steps),
        (RequestPending::History(atom), Ok(Answer::Plan(PlanAnswer::History(history)))) => {
            put_history(model, atom, Some(&history));
        }
        // A newer request replaced this one.
        (RequestPending::History(_), Err(failure)) if failure.kind == FailureKind::Stale => {}
        (RequestPending::History(atom), Err(_)) => put_history(model, atom, None),
        (RequestPending::Unused, Ok(Answer::Call(CallAnswer::Ledger(found)))) => set_unused(model, &found.uses.unused),
        (RequestPending::Unused, _) => set_unused(model, &[]),
        (RequestPending::Sent, result) => update_sent::arrived(model, ticket, result),
        (RequestPending::Bytes, result) => update_sent::bytes_arrived(model, result),
        (RequestPending::Steps(_), _) => {}
        (RequestPending::Text(..) | RequestPending::History(_), result) => show_answer(model, result),
    }
}

/// Shows the text of an item of the next request or of a call, or why it could not be loaded, in the detail pane.
fn put_text(model: &mut Model, run: Option<RunId>, atom: Atom, text: &str) {
    let shows = |overlay: &&mut RequestScreen| overlay.run() == run && overlay.sent().is_some() == run.is_some();
    for overlay in model.layers.all_mut::<RequestScreen>().filter(shows) {
        overlay.texts.insert(atom.key(), Arc::from(text));
    }
}

/// Shows the state changes of an item in the detail pane.
fn put_steps(model: &mut Model, atom: Atom, steps: &[TransitionReport]) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.steps.insert(atom.key(), steps.iter().map(TransitionReport::sentence).collect());
    }
}

/// Shows how the newest calls sent an item in the detail pane; nothing if that is not known.
fn put_history(model: &mut Model, atom: Atom, history: Option<&ItemHistory>) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        overlay.history_answered.insert(atom.key());
        overlay.recent_history.extend(history.map(|history| (atom.key(), history.clone())));
    }
}

fn top_screen(model: &mut Model) -> Option<&mut RequestScreen> {
    model.layers.top_mut()
}

/// The overlay if it is the top screen; otherwise None, and a notice says which key opens it.
fn open_overlay(model: &mut Model) -> Option<&mut RequestScreen> {
    if top_screen(model).is_none() {
        let key = model.keys.key(Action::NextRequest);
        model.status.say(Severity::Notice, format!("This works in the list; {key} opens it."), model.now);
    }
    top_screen(model)
}

/// Adds the item under the cursor to the selection or removes it.
pub(crate) fn toggle_row(model: &mut Model) {
    if let Some(Err(why)) = open_overlay(model).map(RequestScreen::toggle_selected) {
        model.status.say(Severity::Notice, why, model.now);
    }
}

/// Dismisses the suggested pin under the cursor of the list or of the panel.
pub(crate) fn dismiss(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let selected = model.layers.top().and_then(RequestScreen::selected).map(|(row, _)| row).or(model.panel_row());
    match selected.filter(|row| row.verdict == Verdict::Suggested).map(|row| row.atom) {
        Some(atom) => {
            send(model, BranchRequest::Dismiss { branch, item: ItemName::Atom(atom) }, Pending::Act, out);
        }
        None => model.status.say(Severity::Notice, "Only suggested pins can be dismissed here.", model.now),
    }
}

/// Selects all lines that can be marked, or deselects them.
pub(crate) fn toggle_all(model: &mut Model) {
    if let Some(overlay) = open_overlay(model) {
        overlay.toggle_all();
    }
}

/// Switches to the next order of the list.
pub(crate) fn order(model: &mut Model) {
    arrange(model, |arrangement| arrangement.order = arrangement.order.next());
}

/// Switches to the next grouping of the list.
pub(crate) fn group(model: &mut Model) {
    arrange(model, |arrangement| arrangement.group = arrangement.group.next());
}

fn arrange(model: &mut Model, change: impl FnOnce(&mut ListArrangement)) {
    let Some(overlay) = open_overlay(model) else { return };
    let mut arrangement = overlay.arrangement;
    change(&mut arrangement);
    overlay.arrange(arrangement);
    model.request.arrangement = arrangement;
    let words = arrangement.description().unwrap_or_else(|| "by section, in plan order".to_owned());
    model.status.report("arranged", format!("List: {words}."), model.now);
}

/// The selected items; None if the overlay is not the top screen or nothing is selected.
pub(crate) fn selected_items(model: &Model) -> Option<Vec<ItemName>> {
    let overlay = model.layers.top::<RequestScreen>().filter(|overlay| !overlay.selection.is_empty())?;
    Some(overlay.selected_atoms().into_iter().map(ItemName::Atom).collect())
}

/// Handles Esc: clears the selection, or else the filter; the cursor stays on its row. Returns false if there was
/// neither.
pub(crate) fn leave(overlay: &mut RequestScreen) -> bool {
    if !overlay.filtering && overlay.clear_selection() {
        return true;
    }
    if overlay.filtering || !overlay.filter.is_empty() {
        let atom = overlay.selected_atom();
        overlay.filtering = false;
        overlay.filter.clear();
        overlay.rebuild();
        overlay.select_atom(atom);
        return true;
    }
    false
}

/// Opens the overlay, or closes it if it is open. From the focused panel, it opens on the panel's item.
pub(crate) fn open(model: &mut Model) {
    if model.layers.close::<RequestScreen>(|overlay| overlay.sent().is_none()) {
        return;
    }
    let mut overlay = RequestScreen { arrangement: model.request.arrangement, ..RequestScreen::default() };
    let selected = model.panel_row().map(|row| row.atom);
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        match model.plan.shown.as_ref().filter(|shown| shown.branch == branch) {
            Some(shown) => {
                overlay.show_planned(&shown.solved);
                overlay.select_atom(selected);
            }
            None => model.plan.schedule_now(model.now),
        }
    }
    model.layers.push(overlay);
}

/// Handles Enter on a line without contents: shows its full text, or the tool in the list of tools.
fn open_text(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(overlay) = top_screen(model) else { return };
    if let Some(tool) = overlay.selected_tool() {
        let name = tool.name.clone();
        return crate::tui::screens::tools::update::show(model, name, out);
    }
    let Some(atom) = overlay.selected_atom() else { return };
    let title = match (overlay.selected_range_turn(), overlay.selected()) {
        (Some(turn), _) => plain_text::line(&turn.title),
        (None, Some((row, Some(item)))) => row.items.get(item).map(item_title).unwrap_or_default(),
        (None, Some((row, None))) => row_title(row),
        (None, None) => return,
    };
    if let Some(text) = overlay.texts.get(&atom.key()).filter(|text| !text.is_empty()) {
        let reader = Reader::new(title, text.clone(), true);
        model.layers.push(reader);
    }
}

/// Requests the text, the state changes, and the history of the item under the cursor, unless they are known or
/// requested.
pub(crate) fn request_contents(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let Some(overlay) = model.layers.top::<RequestScreen>() else { return };
    let Some(atom) = overlay.selected_atom() else { return };
    // The engine has the texts of the rows of a solved plan only.
    if matches!(atom, Atom::Range { .. }) || matches!(overlay.content, Some(Content::Blocked(_))) {
        return;
    }
    let requested = |what_for: Pending| model.requests.any(|p| *p == what_for);
    let needs_history =
        !overlay.history_answered.contains(&atom.key()) && !requested(Pending::Request(RequestPending::History(atom)));
    let run = overlay.run();
    let text = RequestPending::Text(run, atom);
    if !overlay.texts.contains_key(&atom.key()) && !requested(Pending::Request(text)) {
        if let Some(run) = run {
            send(model, CallRequest::SentText { run, atom }, text, out);
        } else {
            send(model, PlanRequest::RowText { branch, atom }, text, out);
            send(model, BranchRequest::Steps { branch, atom: Some(atom) }, RequestPending::Steps(atom), out);
        }
    }
    // The engine drops this request when the next one arrives, so it is repeated when the cursor returns to this row.
    if needs_history {
        let item = ItemName::Atom(atom);
        send(model, PlanRequest::Why { branch, item, most: Some(HISTORY_CALLS) }, RequestPending::History(atom), out);
    }
}

/// Requests once which rows no answer used, if the session has any record of uses.
pub(crate) fn request_unused(model: &mut Model, out: &mut Vec<Cmd>) {
    let known = model.session.as_ref().is_some_and(Session::knows_uses);
    let has =
        |overlay: &RequestScreen| overlay.unused.is_some() || overlay.content.is_none() || overlay.sent().is_some();
    let asked = model.layers.top::<RequestScreen>().is_none_or(has);
    let requested = model.requests.any(|pending| *pending == Pending::Request(RequestPending::Unused));
    if let (true, Some(branch)) = (known && !asked && !requested, model.branch().map(|branch| branch.id)) {
        send(model, CallRequest::Ledger { branch, whole: false }, RequestPending::Unused, out);
    }
}

/// Stores which rows no answer used; empty if that is not known.
fn set_unused(model: &mut Model, found: &[UnusedItem]) {
    for overlay in model.layers.all_mut::<RequestScreen>().filter(|overlay| overlay.sent().is_none()) {
        overlay.show_unused(found.to_vec());
    }
}

/// Handles Enter on a line: expands or collapses it, or shows its full text. On the line for the request for a state
/// block, opens the state block, or says why writing one changes nothing.
pub(crate) fn enter(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(outcome) = model.layers.top().and_then(RequestScreen::unasked_state) {
        return match outcome.remedies().0 {
            Some(_) => state::edit(model),
            None => model.status.say(Severity::Notice, outcome.sentence(), model.now),
        };
    }
    let session = model.session.as_ref();
    if model.layers.top_mut::<RequestScreen>().is_some_and(|overlay| !unfold(overlay, session)) {
        open_text(model, out);
    }
}

/// Expands or collapses the row under the cursor: a turn into its messages, a range into its turns. Returns false if
/// the line contains nothing.
fn unfold(overlay: &mut RequestScreen, session: Option<&Session>) -> bool {
    if overlay.on_tools() {
        overlay.unfold_tools();
        return true;
    }
    let Some((row, None)) = overlay.selected() else { return false };
    let range = row.kind == RowKind::Range;
    if overlay.selected_range_turn().is_some() || !(range || row.items.len() > 1) {
        return false;
    }
    let key = row.atom.key();
    let turns = session.filter(|_| range).map(|session| turns_of_range(&session.tree, row));
    overlay.range_turns.extend(turns.map(|turns| (key, turns)));
    if !overlay.opened.remove(&key) {
        overlay.opened.insert(key);
    }
    overlay.rebuild();
    true
}

/// Requests a preview of the action on the selected items once the cursor has rested.
pub(crate) fn request_preview(model: &mut Model, out: &mut Vec<Cmd>) {
    let now = model.now;
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let is_current = model.plan.current();
    let draft = model.plan.shown.as_ref().map(|shown| shown.draft.clone());
    let Some(overlay) = top_screen(model) else { return };
    let preview_key = overlay.preview_key();
    if preview_key != overlay.preview.key {
        let action = overlay.action_to_preview();
        let due = action.is_some().then_some(now + PREVIEW_DELAY_MS);
        overlay.preview = ActionPreview { key: preview_key, due, ticket: None, action, outcome: None };
    }
    let due = overlay.preview.due.is_some_and(|due| due <= now);
    let (Some(draft), true) = (draft, due && is_current) else { return };
    overlay.preview.due = None;
    let Some(previewed) = overlay.preview.action.clone() else { return };
    let items = previewed.atoms.into_iter().map(ItemName::Atom).collect();
    let act = Act::Set { kind: previewed.kind, toggle: previewed.toggle };
    let request = PlanRequest::Preview { branch, draft, items, act };
    let ticket = send(model, request, RequestPending::Preview, out);
    if let Some(overlay) = top_screen(model) {
        overlay.preview.ticket = Some(ticket);
    }
}

/// Stores the outcome of a preview, or why there is none.
fn previewed(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    for overlay in model.layers.all_mut::<RequestScreen>() {
        let preview = &mut overlay.preview;
        if preview.ticket != Some(ticket) {
            continue;
        }
        preview.ticket = None;
        match result {
            Ok(Answer::Plan(PlanAnswer::Preview(found))) => preview.outcome = Some(Ok(found)),
            Ok(_) => {}
            // A newer plan is being solved.
            Err(failure) if failure.kind == FailureKind::Stale => preview.due = Some(model.now + 2 * PREVIEW_DELAY_MS),
            Err(failure) => preview.outcome = Some(Err(failure.to_string())),
        }
        return;
    }
}
