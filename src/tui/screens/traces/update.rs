//! Updates of the tool calls screen, and reruns of tool calls.
//! Not for: the listed calls (`model`), marks on results (`chat::update::acts`), or approvals
//! (`screens::approval::update`).

use super::model::{Texts, TracePending, Traces};
use crate::domain::base::{Failure, Hash};
use crate::domain::tool::consent::BESIDE;
use crate::domain::tool::resolution;
use crate::domain::tool::{Rerun, RerunState, ToolTrace};
use crate::engine::api::{Answer, ToolAnswer, ToolRequest, TraceAct, TraceWhole};
use crate::tui::screens;
use crate::tui::screens::approval::model::ApprovalScreen;
use crate::tui::update::effects::{show_answer, show_failure};
use crate::tui::update::prelude::*;
use std::sync::Arc;

/// Opens the screen, with the panel's selected call if the panel has the focus. Closes the screen if it is open.
pub(crate) fn open(model: &mut Model) {
    if model.layers.close::<Traces>(|_| true) {
        return;
    }
    let panel = model.focus == Focus::Tools && model.layers.is_empty();
    let selected = if panel { model.tool_calls().get(model.tools.selected).copied() } else { None };
    let screen = Traces::on(selected);
    model.layers.push(screen);
    model.sync_screens();
}

/// The selected call, on the screen or in the panel.
pub(crate) fn selected(model: &Model) -> Option<&ToolTrace> {
    let session = model.session.as_ref()?;
    match model.layers.top::<Traces>() {
        Some(screen) => screen.selected(session),
        None if model.layers.is_empty() && model.focus == Focus::Tools => {
            model.tool_calls().get(model.tools.selected).copied()
        }
        None => None,
    }
}

/// Toggles between groups of failures and the list of all calls.
pub(crate) fn group_failures(model: &mut Model) {
    if let Some(screen) = model.layers.top_mut::<Traces>() {
        (screen.grouped, screen.opened) = (!screen.grouped, false);
    } else {
        open(model);
        if let Some(screen) = model.layers.top_mut::<Traces>() {
            screen.grouped = true;
        }
    }
    model.sync_screens();
}

/// Copies the arguments of the selected call.
pub(crate) fn copy_arguments(model: &mut Model, out: &mut Vec<Cmd>) {
    match selected(model).map(|trace| trace.args.clone()) {
        Some(args) => out.push(Cmd::Copy(args)),
        None => nothing(model),
    }
}

/// Goes to the message that contains the selected call's result.
pub(crate) fn to_message(model: &mut Model, out: &mut Vec<Cmd>) {
    match selected(model).map(|trace| trace.node) {
        Some(Some(node)) => screens::search::update::go(model, node, out),
        Some(None) => model.status.say(Severity::Notice, "No message contains this result.", model.now),
        None => nothing(model),
    }
}

fn nothing(model: &mut Model) {
    model.status.say(Severity::Notice, "Select a tool call first.", model.now);
}

/// Goes from a failure to its fix, or from a fix to the newest failure that it fixed.
pub(crate) fn follow_link(model: &mut Model) {
    let Some(screen) = model.layers.top_mut::<Traces>() else {
        open(model);
        return;
    };
    let Some(place) = screen.place() else { return };
    let to = screen.fix(place).map(|link| link.fixed).or_else(|| screen.fixes(place).next().map(|link| link.failed));
    let text = match to {
        None => "No linked call: a link joins a failed call to the later one that fixed it.",
        Some(to) if screen.select(to) => return,
        Some(_) => "The linked call is hidden by the filter or the grouping.",
    };
    model.status.say(Severity::Notice, text, model.now);
}

/// Reruns the selected call.
pub(crate) fn rerun(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    match selected(model).map(|trace| (trace.id(), trace.status.is_some())) {
        Some((id, true)) => {
            if model.layers.is_empty() {
                open(model);
            }
            send(model, ToolRequest::Traces(TraceAct::Again { branch, id }), Pending::Act, out);
        }
        Some(_) => model.status.say(Severity::Notice, "It is still running.", model.now),
        None => nothing(model),
    }
}

/// Handles the progress of a rerun.
pub(crate) fn rerun_changed(model: &mut Model, view: Rerun) {
    model.layers.close::<ApprovalScreen>(|ask| ask.pending.index == BESIDE);
    let name = view.trace.title().into_owned();
    match &view.state {
        // The approval opens only over this screen; over any other screen, a typed letter could be mistaken for a
        // decision.
        RerunState::Asks(asking) if model.layers.on::<Traces>() => {
            let ask =
                ApprovalScreen { appeared_at: Some(model.now), ..ApprovalScreen::new(view.branch, asking.clone()) };
            model.layers.push(ask);
        }
        RerunState::Asks(_) => {
            let key = model.keys.key(Action::AnswerTool);
            let text = format!("{name} needs approval before it runs again: {key} shows it.");
            model.status.say(Severity::Notice, text, model.now);
        }
        RerunState::Runs => {}
        RerunState::Ended => {
            let key = model.keys.key(Action::AddResult);
            let how = resolution::state(&view.trace);
            let text = format!("{name} ran again: {how}. {key} inserts the result into your message.");
            model.status.say(Severity::Notice, text, model.now);
        }
    }
    model.tools.rerun = Some(Box::new(view));
}

/// Inserts the result of the rerun into the message that is being written.
pub(crate) fn insert_result(model: &mut Model) {
    let ended = model.tools.rerun.as_ref().filter(|again| again.state == RerunState::Ended);
    let result = ended.and_then(|again| Some((&again.trace, again.change.as_ref()?.after.clone()?)));
    let Some((trace, text)) = result else {
        let text = "No rerun has finished yet.";
        return model.status.say(Severity::Notice, text, model.now);
    };
    let fence = crate::domain::conversation::attachment::fence(&text);
    let what = format!("{} {}", trace.title(), resolution::argument(&trace.args));
    let words = format!("I reran {what}:\n{fence}\n{}\n{fence}\n", text.trim_end());
    model.layers.clear();
    model.focus = Focus::Composer;
    model.composer.paste(&words);
    model.plan.touch(model.now);
    model.status.say(Severity::Notice, "The result is in your message and is sent with it.", model.now);
}

/// Requests the stored texts of the selected call, once.
pub(crate) fn request_texts(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(screen) = model.layers.top::<Traces>() else { return };
    let Some(trace) = selected(model).filter(|trace| trace.status.is_some()) else { return };
    let more = &trace.more;
    if more.kept.is_none() && more.files.is_empty() && trace.node.is_some() {
        return;
    }
    let id = trace.id();
    let asked = model.requests.any(|pending| *pending == Pending::Trace(TracePending::Show(id.clone())));
    if !asked && !screen.texts.contains_key(&id) {
        send(model, ToolRequest::Traces(TraceAct::Show { id: id.clone() }), TracePending::Show(id), out);
    }
}

/// Handles the stored texts of a call.
pub(crate) fn answered(model: &mut Model, pending: TracePending, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    match (pending, result) {
        (TracePending::Show(id), Ok(Answer::Tool(ToolAnswer::Trace(whole)))) => arrived(model, &id, *whole, false, out),
        (TracePending::Copy(id), Ok(Answer::Tool(ToolAnswer::Trace(whole)))) => arrived(model, &id, *whole, true, out),
        (TracePending::Show(id), Err(failure)) => {
            // Without an entry, the texts would be requested again after every message.
            keep_texts(model, &id, &Texts::default());
            show_failure(model, &failure);
        }
        (TracePending::Show(_) | TracePending::Copy(_), result) => show_answer(model, result),
    }
}

fn arrived(model: &mut Model, id: &str, whole: TraceWhole, copy: bool, out: &mut Vec<Cmd>) {
    let TraceWhole { result, full, files, .. } = whole;
    if copy {
        out.extend(full.as_ref().or(result.as_ref()).map(|text| Cmd::Copy(text.to_string())));
    }
    let hashed = |text: Option<Arc<str>>| text.map(|text| (Hash::of(text.as_bytes()), text));
    keep_texts(model, id, &Texts { result: hashed(result), full: hashed(full), files });
}

fn keep_texts(model: &mut Model, id: &str, texts: &Texts) {
    for screen in model.layers.all_mut::<Traces>() {
        screen.texts.insert(id.to_owned(), texts.clone());
    }
}

/// Copies the stored result of the selected call.
pub(crate) fn copy(model: &mut Model, out: &mut Vec<Cmd>) {
    match selected(model).map(ToolTrace::id) {
        Some(id) => {
            let request = ToolRequest::Traces(TraceAct::Show { id: id.clone() });
            send(model, request, TracePending::Copy(id), out);
        }
        None => nothing(model),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_cannot_be_loaded_are_not_requested_again() {
        let mut model = Model::default();
        model.layers.push(Traces::default());
        let failed = Err(Failure::user("This session has no tool call."));
        answered(&mut model, TracePending::Show("0123456789".to_owned()), failed, &mut Vec::new());
        assert!(model.layers.top::<Traces>().is_some_and(|screen| screen.texts.contains_key("0123456789")));
        assert!(model.status.shown().is_some());
    }
}
