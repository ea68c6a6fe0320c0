//! Updates of the exact request: opening it, editing it for one call, and sending the edited bytes.
//! Not for: the format of the body (`domain::call::request`), or counting and sending it (the engine).

use super::model::{EditCounts, EditedRequest, RawRequestPending, RawRequestScreen};
use crate::domain::base::{BranchId, Failure, Hash, Safe};
use crate::domain::call::request;
use crate::domain::call::{BodyFault, RunCard};
use crate::engine::api::{Answer, BodyCount, Draft, Exact, PlanAnswer, PlanRequest, RawRequest};
use crate::tui::chat::update::ask;
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Handles the answers to the requests of this screen.
pub(crate) fn answered(model: &mut Model, pending: RawRequestPending, result: Result<Answer, Failure>) {
    use RawRequestPending as P;
    match (pending, result) {
        (P::Body { branch, draft, edit }, Ok(Answer::Plan(PlanAnswer::Raw(found)))) => {
            arrived(model, branch, draft, edit, *found);
        }
        (P::Count(digest), Ok(Answer::Plan(PlanAnswer::Weighed(found)))) => counted(model, digest, &found),
        (P::Send { branch, draft, digest }, result) => sent(model, branch, draft, digest, result),
        (P::Body { .. } | P::Count(_), result) => show_answer(model, result),
    }
}

/// Opens the exact request, or closes it if it is on top.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.on::<RawRequestScreen>() {
        return leave(model);
    }
    show(model, None, out);
}

fn show(model: &mut Model, edit: Option<bool>, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    let draft = model.composer.next_draft();
    send(model, PlanRequest::Exact { branch, act: Exact::Show }, RawRequestPending::Body { branch, draft, edit }, out);
}

/// Ends the search or closes the screen. An edited request is kept, so that no text is lost.
pub(crate) fn leave(model: &mut Model) {
    let Some(raw) = model.layers.top_mut::<RawRequestScreen>() else { return };
    if raw.searching || !raw.search.is_empty() {
        raw.searching = false;
        raw.search.clear();
        return raw.search_body();
    }
    if let Some(raw) = model.layers.take_top::<RawRequestScreen>()
        && raw.edit.is_some()
    {
        let key = model.keys.key(Action::EditRequest);
        let text = format!("Your edited request was not sent; {key} opens it again.");
        model.status.say(Severity::Notice, text, model.now);
        model.request.unsent = Some(Box::new(raw));
    }
}

/// Handles the body: shows it, or opens it for editing.
fn arrived(model: &mut Model, branch: BranchId, draft: Draft, edit: Option<bool>, found: RawRequest) {
    if let Some(json) = edit {
        if let Some(unsent) = model.request.unsent.take_if(|unsent| unsent.branch == branch) {
            let same = unsent.edit.as_ref().is_some_and(|hand| hand.base == found.body);
            let text = if same {
                "Your edited request, restored."
            } else {
                "Your edited request, restored; the plan has changed since."
            };
            model.status.say(Severity::Notice, text, model.now);
            return model.layers.push(*unsent);
        }
        return editor(model, branch, draft, &found.body, &found.body, json);
    }
    model.layers.push(RawRequestScreen::new(branch, draft, found));
}

/// Shows the bytes of a call, with a notice if other bytes were sent.
pub(crate) fn show_sent(model: &mut Model, run: &RunCard, found: RawRequest) {
    let same = found.digest == run.request_digest;
    let raw = RawRequestScreen { sent: Some(same), ..RawRequestScreen::new(run.branch, Draft::default(), found) };
    model.layers.push(raw);
    if !same {
        let text = "These are not the bytes that were sent: a message of the call has since been changed or deleted.";
        model.status.say(Severity::Notice, text, model.now);
    }
}

/// Shows a notice that the bytes of a call cannot be changed or sent. Returns false for the next request.
fn refuse_sent(model: &mut Model) -> bool {
    let sent = model.layers.top::<RawRequestScreen>().is_some_and(|raw| raw.sent.is_some());
    if sent {
        let key = model.keys.key(Action::NextRequest);
        let text = format!("This request was sent; only the next request can be edited: press {key} in the composer.");
        model.status.say(Severity::Notice, text, model.now);
    }
    sent
}

/// Opens the request for editing: its messages as texts, or its JSON.
pub(crate) fn edit(model: &mut Model, json: bool, out: &mut Vec<Cmd>) {
    if refuse_sent(model) {
        return;
    }
    let Some(raw) = model.layers.top::<RawRequestScreen>() else { return show(model, Some(json), out) };
    let (branch, draft, body) = (raw.branch, raw.draft.clone(), raw.body.clone());
    let base = raw.edit.as_ref().map_or_else(|| body.clone(), |hand| hand.base.clone());
    editor(model, branch, draft, &base, &body, json);
}

/// Opens the text editor for a body. Invisible characters are shown as marks and restored on saving.
fn editor(model: &mut Model, branch: BranchId, draft: Draft, base: &Arc<str>, body: &Arc<str>, json: bool) {
    let text = if json { body.to_string() } else { request::texts(body) };
    let title = if json {
        "The exact request as JSON, edited for one call"
    } else {
        "Edited for one call: === N ROLE starts a message, === ROLE a new one"
    };
    if let Some(kept) = model.request.unwritten.take_if(|kept| {
        matches!(&kept.what, Edited::Request { branch: b, of, json: j, .. } if (*b, of, *j) == (branch, body, json))
    }) {
        model.status.say(Severity::Notice, "Your text, restored.", model.now);
        return model.layers.push(*kept);
    }
    let what = Edited::Request { branch, draft, base: base.clone(), of: body.clone(), json };
    model.layers.push(Editor::new(title, &text, what));
}

/// Closes the editor of a request and keeps a changed text. Returns false if another editor is on top.
pub(crate) fn leave_editor(model: &mut Model) -> bool {
    let Some(editor) = model.layers.top::<Editor>() else { return false };
    let Edited::Request { json, .. } = editor.what else { return false };
    if let Some(editor) = model.layers.take_top::<Editor>().filter(Editor::changed) {
        let action = if json { Action::EditJson } else { Action::EditRequest };
        let key = model.keys.key(action);
        let text = format!("Your text is kept; {key} opens it again. Nothing was sent.");
        model.status.say(Severity::Notice, text, model.now);
        model.request.unwritten = Some(Box::new(editor));
    }
    true
}

/// Handles saving: shows and counts the edited body. If it is not a valid request, the editor stays open with the
/// cursor at the error.
pub(crate) fn saved(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(editor) = model.layers.top_mut::<Editor>() else { return };
    let Edited::Request { branch, draft, base, of, json } = editor.what.clone() else { return };
    let text = Safe::reveal(&editor.text());
    let made = if json { Ok(text) } else { request::with_texts(&of, &text) };
    let made = made.and_then(|body| request::check(&body).map(|()| body));
    match made {
        Ok(body) => {
            model.layers.pop();
            model.layers.close::<RawRequestScreen>(|_| true);
            review(model, branch, draft, &base, body.into(), out);
        }
        Err(BodyFault { line, column, what }) => {
            editor.go_to(line, column);
            let text = format!("Line {line}, column {column}: {what}. Nothing was sent; your text is kept.");
            model.status.say(Severity::Warning, text, model.now);
        }
    }
}

fn review(model: &mut Model, branch: BranchId, draft: Draft, base: &Arc<str>, body: Arc<str>, out: &mut Vec<Cmd>) {
    let digest = Hash::of(body.as_bytes());
    let act = Exact::Weigh { draft: draft.clone(), body: body.clone() };
    let request = RawRequest { body, digest, parts: Vec::new(), tokens: 0, budget: 0 };
    let mut raw = RawRequestScreen::new(branch, draft, request);
    raw.edit = Some(EditedRequest { base: base.clone(), counted: None, sending: false });
    model.layers.push(raw);
    send(model, PlanRequest::Exact { branch, act }, RawRequestPending::Count(digest), out);
}

/// Sends the edited request, exactly as shown.
pub(crate) fn send_edited(model: &mut Model, out: &mut Vec<Cmd>) {
    if refuse_sent(model) {
        return;
    }
    let Some(raw) = model.layers.top_mut::<RawRequestScreen>() else { return };
    let (branch, draft, body, digest) = (raw.branch, raw.draft.clone(), raw.body.clone(), raw.digest);
    match &mut raw.edit {
        None => {
            let key = model.keys.key_in(Action::Send, KeyPlace::Composer);
            let text = format!("This is the planned request; {key} in the composer sends it.");
            model.status.say(Severity::Notice, text, model.now);
        }
        Some(hand) if hand.sending => {}
        Some(hand) => {
            hand.sending = true;
            model.conversation.failed.remove(&branch);
            let act = Exact::Send { draft: draft.clone(), body };
            send(model, PlanRequest::Exact { branch, act }, RawRequestPending::Send { branch, draft, digest }, out);
        }
    }
}

fn edited_on_screen(model: &mut Model, digest: Hash) -> Option<&mut EditedRequest> {
    let mut edited = model.layers.all_mut::<RawRequestScreen>().filter(|raw| raw.digest == digest);
    edited.find_map(|raw| raw.edit.as_mut())
}

/// Stores the token count of an edited request.
fn counted(model: &mut Model, digest: Hash, found: &BodyCount) {
    if let Some(hand) = edited_on_screen(model, digest) {
        let BodyCount { tokens, budget, room, changed, .. } = *found;
        hand.counted = Some(EditCounts { tokens, budget, room, changed });
    }
}

/// Handles the outcome of sending the edited request.
fn sent(model: &mut Model, branch: BranchId, draft: Draft, digest: Hash, result: Result<Answer, Failure>) {
    match result {
        Ok(answer) => {
            model.layers.clear();
            (model.request.unsent, model.request.unwritten) = (None, None);
            model.conversation.follow();
            ask::asked(model, branch, draft, Ok(answer));
        }
        Err(failure) => {
            if let Some(hand) = edited_on_screen(model, digest) {
                hand.sending = false;
            }
            show_failure(model, &failure);
        }
    }
}
