//! Handles an opened session, a new fork, and a switch to another branch.
//! Not for: events that change it (`engine`).

use super::effects::{send, show_answer};
use crate::domain::base::Failure;
use crate::domain::conversation::{Branch, resolve};
use crate::engine::api::{Answer, BranchAnswer, Draft, ProgramRequest, SessionAnswer, SessionView};
use crate::tui::chat::update::{ask, branches, printed, questions};
use crate::tui::model::pending::{ProgramPending, SessionPending};
use crate::tui::model::session::Session;
use crate::tui::screens::picker::model::Picker;
use crate::tui::screens::search;
use crate::tui::update::prelude::*;

/// Handles the answers to requests about the session and its branches.
pub(super) fn answered(
    model: &mut Model,
    pending: SessionPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (SessionPending::Open, Ok(Answer::Session(SessionAnswer::Opened(view)))) => opened(model, &view, out),
        (SessionPending::New, Ok(Answer::Session(SessionAnswer::Opened(view)))) => {
            let (before, key) = (model.session.is_some(), model.keys.key_of(Action::Sessions));
            opened(model, &view, out);
            if let (true, Some(key)) = (before, key) {
                model.status.say(Severity::Notice, format!("New session. {key} opens the one before."), model.now);
            }
        }
        (SessionPending::Fork(draft), Ok(Answer::Branch(BranchAnswer::Branch(branch)))) => {
            forked(model, *branch, draft, out);
        }
        (SessionPending::Switch, Ok(Answer::Branch(BranchAnswer::Branch(branch)))) => {
            if let Some(session) = &mut model.session {
                session.put_branch(*branch);
                model.refresh();
            }
        }
        (SessionPending::Delete { name, line }, Ok(Answer::Session(SessionAnswer::Sessions(cards)))) => {
            match resolve::session(&cards, &name) {
                Ok(card) => questions::deletion(model, &resolve::deletion_question(card), &line),
                Err(failure) => printed::refuse(model, &failure.to_string()),
            }
        }
        (
            SessionPending::Open
            | SessionPending::New
            | SessionPending::Fork(_)
            | SessionPending::Switch
            | SessionPending::Delete { .. },
            result,
        ) => show_answer(model, result),
    }
}

/// Switches to a new fork, selects the message that it was made for, and sends its draft.
fn forked(model: &mut Model, branch: Branch, draft: Option<Draft>, out: &mut Vec<Cmd>) {
    let id = branch.id;
    let parent = branch.parent.and_then(|parent| model.session.as_ref()?.find(parent));
    let back = parent.map_or_else(String::new, |parent| format!(", also back to {}", parent.name));
    let text = format!(
        "Now on the new branch {}. {} switches branches{back}.",
        branch.name,
        model.key_anywhere(Action::Branches)
    );
    branches::switch_to(model, branch, true);
    model.status.report(FORKED, text, model.now);
    let node = model.jumps.land_on.take();
    let slot = node.and_then(|id| model.session.as_ref().and_then(|session| session.tree.slot(id)));
    if let (Some(node), true) = (node, slot.is_some_and(|slot| model.conversation.path.contains(&slot))) {
        search::update::select_message(model, node);
    }
    if let Some(draft) = draft {
        ask::ask(model, id, draft, None, out);
    }
}

/// Topic of the notice about a new branch.
const FORKED: &str = "forked";

/// Shows a session that was opened.
pub(crate) fn opened(model: &mut Model, view: &SessionView, out: &mut Vec<Cmd>) {
    let before = model.session.as_ref().map(|session| session.current);
    let shown = model.session.as_ref().map(|session| session.card.id);
    let mut session = Session::new(view.card.clone(), view.nodes.clone(), view.branches.clone(), view.current);
    view.runs.iter().cloned().for_each(|card| session.put_run(card));
    view.traces.iter().cloned().for_each(|trace| session.put_trace(trace));
    session.workspace = view.workspace.clone();
    session.put_tags(view.tags.clone());
    session.races = view.races.iter().map(|record| (record.branch, record.clone())).collect();
    if let Some(old) = model.session.as_mut().filter(|old| old.card.id == session.card.id) {
        session.settings = std::mem::take(&mut old.settings);
        session.unread = std::mem::take(&mut old.unread);
        session.unread.remove(&view.current);
    }
    view.drafts.iter().for_each(|(branch, text)| model.composer.restore(*branch, text));
    let here = view.cleared.iter().filter(|(branch, ..)| *branch == view.current);
    model.composer.cleared_before = here.map(|(_, at, text)| (*at, text.clone())).collect();
    model.composer.swap(before, view.current);
    model.session = Some(session);
    model.panel.cursor = 0;
    model.panel.forget();
    model.layers.close::<Picker>(|_| true);
    model.focus = Focus::Composer;
    model.plan.shown = None;
    model.plan.schedule_now(model.now);
    model.refresh();
    model.conversation.follow();
    if !model.facts.demo && shown != Some(view.card.id) {
        questions::report_imported_instructions(model);
    }
    for sentence in &view.recovered {
        model.status.say(Severity::Warning, sentence.clone(), model.now);
    }
    if model.engine.findings.is_empty() && view.nodes.is_empty() && !model.facts.first_start {
        send(model, ProgramRequest::Doctor, ProgramPending::Doctor, out);
    }
}
