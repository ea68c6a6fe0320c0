//! Saves drafts across restarts, recalls earlier messages of the session, and opens the person's own editor.
//! Not for: sending the message (`ask`), or typing (`typing`).

use super::completing;
use crate::domain::base::{BranchId, Failure, Safe};
use crate::domain::conversation::{Node, Role};
use crate::engine::api::{Answer, BranchRequest, SessionAnswer, SessionRequest, ToolAnswer};
use crate::tui::chat::model::composer;
use crate::tui::chat::model::pending::ComposerPending;
use crate::tui::chat::model::queue::{DraftSaveTime, joined};
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// How long after a change a draft is saved, in milliseconds.
const SAVE_DELAY_MS: u64 = 250;
/// How many earlier messages are loaded.
const MAX_EARLIER: usize = 50;
/// A draft with more bytes than this is not saved across restarts.
const MAX_SAVED_BYTES: usize = 4 << 20;

/// Handles the answers to the requests of the composer.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: ComposerPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    use ComposerPending as P;
    match (pending, result) {
        (P::Attach { name, place }, Ok(Answer::Tool(ToolAnswer::Attached { text, masked }))) => {
            completing::attached(model, &name, &place, text, masked);
        }
        (P::Attach { name, .. }, Ok(Answer::Tool(ToolAnswer::Source(found)))) => {
            completing::attached(model, &name, &found.named.place(), Arc::from(found.text), found.masked);
        }
        (P::Skill(name), Ok(Answer::Tool(ToolAnswer::Attached { text, masked }))) => {
            model.composer.put_name(0, &format!("@{name}"));
            completing::attached(model, &name, &name, text, masked);
        }
        (P::Attach { .. }, Err(failure)) => completing::not_attached(model, &failure),
        (P::Check(name), Ok(Answer::Tool(ToolAnswer::Files(list)))) => completing::attach_file(model, name, &list, out),
        (P::Check(name), Ok(Answer::Tool(ToolAnswer::Symbols(list)))) => {
            completing::attach_symbol(model, name, list, out);
        }
        (P::Complete, Ok(Answer::Tool(ToolAnswer::Files(list)))) => completing::arrived(model, ticket, list),
        (P::Complete, Ok(Answer::Tool(ToolAnswer::Symbols(list)))) => completing::store_symbols(model, ticket, list),
        (P::Save, Ok(_)) | (P::Check(_), Err(_)) => {}
        (P::Save, Err(failure)) => save_failed(model, &failure),
        (P::History(id), Ok(Answer::Session(SessionAnswer::Bodies(nodes)))) => {
            if model.session.as_ref().is_some_and(|session| session.card.id == id) {
                earlier(model, &nodes);
            }
        }
        (P::Attach { .. } | P::Skill(_) | P::Check(_) | P::Complete | P::History(_), result) => {
            show_answer(model, result);
        }
    }
}

/// Saves the draft some time after it changed, and immediately when the person leaves the branch or the program.
pub(crate) fn save_when_due(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.facts.demo {
        return;
    }
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(left) = model.draft_save.branch.filter(|left| *left != branch) {
        let text = unsent(model, left, &model.composer.unsent_on(left));
        if !model.composer.is_saved(left, &text) {
            save_draft(model, left, text, out);
        }
        model.draft_save = DraftSaveTime::default();
    }
    model.draft_save.branch = Some(branch);
    for text in model.composer.take_cleared().into_iter().filter(|text| text.len() <= MAX_SAVED_BYTES) {
        send(model, BranchRequest::KeepCleared { branch, text }, ComposerPending::Save, out);
    }
    let written = model.composer.unsent();
    let text = unsent(model, branch, &written);
    if model.composer.is_saved(branch, &text) {
        model.draft_save.due = None;
        return;
    }
    let due = *model.draft_save.due.get_or_insert(model.now + SAVE_DELAY_MS);
    if model.now >= due || model.quit {
        save_draft(model, branch, text, out);
    }
}

/// Handles a failure to save: schedules another attempt.
fn save_failed(model: &mut Model, failure: &Failure) {
    model.composer.mark_unsaved();
    model.draft_save.due = Some(model.now + SAVE_DELAY_MS);
    if !model.engine.unwritable {
        model.status.say(Severity::Warning, failure.to_string(), model.now);
    }
}

/// The unsent text of a branch: its queued messages and its draft.
pub(crate) fn unsent(model: &Model, branch: BranchId, written: &Arc<str>) -> Arc<str> {
    let queued = model.queue.of(branch).iter().map(|queued| model.composer.as_saved(&queued.draft.text));
    joined(&queued.reduce(|all, next| joined(&all, &next)).unwrap_or_default(), written)
}

fn save_draft(model: &mut Model, branch: BranchId, text: Arc<str>, out: &mut Vec<Cmd>) {
    model.draft_save.due = None;
    let stored = if text.len() > MAX_SAVED_BYTES { Arc::from("") } else { text.clone() };
    model.composer.mark_saved(branch, text);
    send(model, BranchRequest::KeepDraft { branch, text: stored }, ComposerPending::Save, out);
}

/// Requests earlier messages of the path, once per session. Returns false if there is nothing to wait for.
pub(crate) fn ask_for_earlier(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(session) = &model.session else { return false };
    if model.composer.seeded == Some(session.card.id) {
        return false;
    }
    let asked = model.conversation.path.iter().rev().map(|slot| session.tree.head(*slot));
    let asked = asked.filter(|head| head.role == Role::User && !head.hidden);
    let nodes: Vec<_> = asked.take(MAX_EARLIER).map(|head| head.id).collect();
    let id = session.card.id;
    model.composer.seeded = Some(id);
    if nodes.is_empty() {
        model.composer.seed(std::iter::empty());
        return false;
    }
    model.composer.awaits_history = true;
    send(model, SessionRequest::Bodies { nodes }, ComposerPending::History(id), out);
    true
}

/// Adds the earlier messages to the history and recalls the newest one, unless something was typed meanwhile.
fn earlier(model: &mut Model, nodes: &[Arc<Node>]) {
    let waits = std::mem::take(&mut model.composer.awaits_history);
    model.composer.seed(nodes.iter().map(|node| (node.head.at, Arc::from(node.content.plain_text()))));
    if waits && model.focus == Focus::Composer && model.layers.is_empty() && model.composer.recall(true) {
        model.plan.touch(model.now);
    }
}

/// Opens the message, or the text in the text editor, in the person's own editor.
pub(crate) fn to_editor(model: &mut Model, out: &mut Vec<Cmd>) {
    let text = match model.layers.top::<Editor>() {
        Some(editor) if matches!(editor.what, Edited::Request { .. }) => Safe::reveal(&editor.text()).into(),
        Some(editor) => editor.text().into(),
        None if model.layers.is_empty() => model.composer.text(),
        None => return,
    };
    out.push(Cmd::Compose(text));
}

/// Handles the text returned by the person's own editor.
pub(crate) fn edited(model: &mut Model, result: Result<String, String>) {
    let text = match result {
        Ok(text) => text,
        Err(why) => return model.status.say(Severity::Warning, why, model.now),
    };
    if let Some(editor) = model.layers.top_mut::<Editor>() {
        let request = matches!(editor.what, Edited::Request { .. });
        let text = if request { text.as_str() } else { text.trim_end_matches(['\r', '\n']) };
        editor.area = composer::area(editor.what.lines(text));
    } else if model.layers.is_empty() {
        model.focus = Focus::Composer;
        let kind = model.composer.kind();
        model.composer.replace(text.trim_end_matches('\n'), kind);
        model.plan.touch(model.now);
    }
}
