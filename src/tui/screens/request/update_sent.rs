//! Updates of the overlay while it shows the request of a call: opening it for a message or a call, stepping through
//! the calls, comparing, replaying, and refusing to mark.
//! Not for: the list itself (`update`), or the next request.

use super::model::{RequestPending, RequestScreen};
use crate::domain::base::{Failure, RunId};
use crate::domain::call::RunCard;
use crate::domain::conversation::Role;
use crate::engine::api::{Answer, CallAnswer, CallRequest, CallSelector};
use crate::tui::chat::update::acts;
use crate::tui::model::session::Session;
use crate::tui::screens::{calls, race, raw_request, search};
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;

/// Whether the topmost screen is the request of a call.
fn is_sent(model: &Model) -> bool {
    model.layers.top::<RequestScreen>().is_some_and(|overlay| overlay.sent().is_some())
}

/// Refuses an action that changes the next request if the request of a call is shown, with a notice. Returns false for
/// any other.
pub(crate) fn refuses(model: &mut Model, action: Action) -> bool {
    use Action as A;
    let refused = is_sent(model)
        && (matches!(action, A::Pin | A::Lease | A::Exclude | A::ExcludeOnce | A::IncludeOnce | A::Dismiss | A::Reply)
            || matches!(action, A::TakeRow | A::TakeAll | A::SearchAnyway | A::BudgetUp | A::BudgetDown)
            || matches!(action, A::EditRequest | A::EditJson));
    if refused {
        let key = model.keys.key(A::NextRequest);
        notice(model, format!("This request was sent; marks act on the next request: {key} from the composer."));
    }
    refused
}

fn notice(model: &mut Model, text: impl Into<String>) {
    model.status.say(Severity::Notice, text, model.now);
}

/// Opens the request of the call that the selected message belongs to; if no call does, the next request, with a
/// notice. Closes the request of a call if it is shown. Returns false if there is neither.
pub(crate) fn of_message(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    if is_sent(model) {
        return model.layers.pop();
    }
    if model.focus != Focus::Conversation || !model.layers.is_empty() {
        return false;
    }
    let Some(session) = &model.session else { return false };
    let Some(slot) = model.conversation.selected() else { return false };
    if let Some(run) = call_of(session, &model.conversation.path, model.conversation.cursor) {
        open(model, Some(run), out);
        return true;
    }
    let imported = session.tree.head(slot).imported;
    super::update::open(model);
    let why = if imported { "This message was imported" } else { "No call is stored for this message" };
    notice(model, format!("{why}; this is the next request."));
    true
}

/// The call that returned the message at a position of the path, or that executed its tools; for a user message, the
/// first call that sent it for the answer on the path.
fn call_of(session: &Session, path: &[u32], at: usize) -> Option<RunId> {
    let head = session.tree.head(*path.get(at)?);
    let answers = |slot: &u32| session.run_of_answer(session.tree.head(*slot).id).map(|card| card.id);
    if head.role != Role::User {
        return session.trace_of(head.id).map(|trace| trace.run).or_else(|| answers(&path[at]));
    }
    let next = path.get(at + 1).filter(|slot| session.tree.head(**slot).role == Role::Assistant);
    next.and_then(answers).or_else(|| session.run_of_user(head.id).map(|card| card.id))
}

/// Opens the request of a call, or of the newest call of the branch.
pub(crate) fn open(model: &mut Model, run: Option<RunId>, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = send(model, CallRequest::SentRequest { branch, run }, RequestPending::Sent, out);
    let arrangement = model.request.arrangement;
    model.layers.push(RequestScreen { arrangement, ..RequestScreen::of_call(ticket) });
}

/// Requests another call for the overlay on top, which shows the current one until the answer arrives.
fn request(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = send(model, CallRequest::SentRequest { branch, run: Some(run) }, RequestPending::Sent, out);
    if let Some(sent) = model.layers.top_mut::<RequestScreen>().and_then(RequestScreen::sent_mut) {
        sent.ticket = ticket;
    }
}

/// Goes to the call after the one that is shown; the next request comes after the newest call.
pub(crate) fn next_call(model: &mut Model, out: &mut Vec<Cmd>) {
    if !is_sent(model) {
        return notice(model, "This is the next request; no call follows it.");
    }
    let Some(found) = model.layers.top().and_then(RequestScreen::call) else { return };
    let Some(run) = found.after else {
        let key = model.keys.key(Action::NextRequest);
        return notice(model, format!("This is the newest call; {key} from the composer shows the next request."));
    };
    request(model, run, out);
}

/// Goes to the call before the one that is shown.
pub(crate) fn previous_call(model: &mut Model, out: &mut Vec<Cmd>) {
    if !is_sent(model) {
        return open(model, None, out);
    }
    let Some(found) = model.layers.top().and_then(RequestScreen::call) else { return };
    match found.before {
        Some(run) => request(model, run, out),
        None => notice(model, "This is the first call."),
    }
}

/// The call on top, once the engine has answered.
fn shown(model: &Model) -> Option<&RunCard> {
    model.layers.top().and_then(RequestScreen::call).map(|found| &found.card)
}

/// Compares the call with the next request.
pub(crate) fn compare(model: &mut Model, out: &mut Vec<Cmd>) {
    if let (Some(branch), Some(run)) = (model.branch().map(|branch| branch.id), shown(model).map(|card| card.id)) {
        let before = Some(CallSelector::Named(run.to_string()));
        calls::update::open_diff(model, before, CallSelector::Next(branch), out);
    }
}

/// Asks how to replay the call.
pub(crate) fn replay(model: &mut Model) {
    if !is_sent(model) {
        return notice(model, "The next request was not sent yet; only a call can be replayed.");
    }
    if let Some((run, name)) = shown(model).map(|card| (card.id, card.model.clone())) {
        race::update::ask_about(model, run, &name);
    }
}

/// Requests the exact bytes of the call.
pub(crate) fn bytes(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(run) = shown(model).map(|card| card.id.to_string()) {
        send(model, CallRequest::ReplayDryRun { run, without: None }, RequestPending::Bytes, out);
    }
}

/// Shows the bytes of a call in the same way as the bytes of the next request.
pub(super) fn bytes_arrived(model: &mut Model, result: Result<Answer, Failure>) {
    match result {
        Ok(Answer::Call(CallAnswer::Replayed { run, request })) => {
            raw_request::update::show_sent(model, &run, *request);
        }
        other => show_answer(model, other),
    }
}

/// Goes to the message of the selected row in the conversation.
pub(crate) fn to_message(model: &mut Model, out: &mut Vec<Cmd>) {
    match acts::selected_node(model) {
        Some(node) => search::update::go(model, node, out),
        None => notice(model, "This row is not a message of the conversation."),
    }
}

/// Shows a call that was requested, or why it cannot be shown.
pub(super) fn arrived(model: &mut Model, ticket: u64, result: Result<Answer, Failure>) {
    let waits = |overlay: &&mut RequestScreen| overlay.sent().is_some_and(|sent| sent.ticket == ticket);
    let Some(overlay) = model.layers.all_mut::<RequestScreen>().find(waits) else { return };
    match result {
        Ok(Answer::Call(CallAnswer::SentRequest(found))) => overlay.show_sent(*found),
        Ok(_) => {}
        Err(failure) => match overlay.sent_mut().filter(|sent| sent.found.is_none()) {
            Some(sent) => sent.failure = Some(failure.to_string()),
            None => show_failure(model, &failure),
        },
    }
}

/// Handles a call that began or changed: an overlay that shows it requests it again.
pub(crate) fn changed(model: &mut Model, card: &RunCard, out: &mut Vec<Cmd>) {
    if model.layers.all().any(|overlay: &RequestScreen| overlay.run() == Some(card.id)) {
        ask_again(model, card.id, out);
    }
}

/// Handles permanently deleted messages: texts that may contain their texts are dropped and loaded again.
pub(crate) fn removed(model: &mut Model, out: &mut Vec<Cmd>) {
    let mut runs = Vec::new();
    for overlay in model.layers.all_mut::<RequestScreen>() {
        if let Some(run) = overlay.run() {
            overlay.texts.clear();
            runs.push(run);
        }
    }
    for run in runs {
        ask_again(model, run, out);
    }
}

fn ask_again(model: &mut Model, run: RunId, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let ticket = send(model, CallRequest::SentRequest { branch, run: Some(run) }, RequestPending::Sent, out);
    let shows = |overlay: &&mut RequestScreen| overlay.run() == Some(run);
    for sent in model.layers.all_mut().filter(shows).filter_map(RequestScreen::sent_mut) {
        sent.ticket = ticket;
    }
}
