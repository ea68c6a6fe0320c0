//! Updates for side questions: asking one, receiving its answer, discarding it, or keeping it as a branch.
//! Not for: messages on a branch (`chat::update::ask`).

use super::model::AsidePane;
use crate::domain::base::Failure;
use crate::engine::api::{Answer, AsideView, TurnRequest};
use crate::tui::chat::model::pending::ComposerPending;
use crate::tui::model::pending::SessionPending;
use crate::tui::update::effects::show_failure;
use crate::tui::update::prelude::*;

/// Handles `/aside TEXT`.
pub(crate) fn ask(model: &mut Model, words: &str, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if words.is_empty() {
        let text = "/aside needs a question: /aside What does that word mean?";
        return model.status.say(Severity::Warning, text, model.now);
    }
    leave(model, out);
    let ticket = send(model, TurnRequest::Aside { branch, text: words.into() }, Pending::Aside, out);
    model.layers.push(AsidePane::new(branch, words, ticket));
}

fn pane(model: &mut Model) -> Option<&mut AsidePane> {
    model.layers.all_mut().next_back()
}

/// Handles the engine's reply to the question: the run of its call, or why none was made.
pub(crate) fn answered(model: &mut Model, ticket: u64, result: Result<Answer, Failure>, out: &mut Vec<Cmd>) {
    let mine = pane(model).is_some_and(|pane| pane.ticket == ticket);
    match result {
        Ok(Answer::Asked { run }) if mine => {
            if let Some(pane) = pane(model) {
                pane.run = Some(run);
            }
        }
        // The pane was closed before the call was made.
        Ok(Answer::Asked { run }) => {
            send(model, TurnRequest::DropAside { run }, ComposerPending::Save, out);
        }
        Ok(_) => {}
        Err(failure) => {
            if mine {
                model.layers.close::<AsidePane>(|_| true);
            }
            show_failure(model, &failure);
        }
    }
}

/// Handles a new state of the answer.
pub(crate) fn arrived(model: &mut Model, view: AsideView) {
    let Some(pane) = pane(model) else { return };
    let fresh = pane.run.is_none() && pane.branch == view.branch && *pane.question == *view.question;
    if pane.run != Some(view.run) && !fresh {
        return;
    }
    pane.run = Some(view.run);
    pane.text = view.text;
    (pane.tokens, pane.cost, pane.card, pane.failure) = (view.tokens, view.cost_micro, view.card, view.failure);
}

/// Closes the pane and discards the answer; only the record of the call remains.
pub(crate) fn leave(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(pane) = model.layers.take_top::<AsidePane>() else { return };
    if let Some(run) = pane.run {
        send(model, TurnRequest::DropAside { run }, Pending::Act, out);
    }
}

/// Keeps the question and its answer as a branch.
pub(crate) fn keep(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(pane) = model.layers.top::<AsidePane>() else {
        return model.status.say(Severity::Notice, "Only a side question can be kept as a branch.", model.now);
    };
    if let (Some(run), Some(_)) = (pane.run, &pane.card) {
        send(model, TurnRequest::KeepAside { run }, SessionPending::Fork(None), out);
    } else {
        let text =
            format!("The answer is still arriving: wait for it, or close it with {}.", model.keys.key(Action::Leave));
        model.status.say(Severity::Warning, text, model.now);
    }
}
