//! The state block of the current branch: editing it, rebuilding it, or adopting an imported one.
//! Not for: extracting it from an answer (the engine).

use super::questions;
use crate::domain::base::{Failure, FailureKind};
use crate::domain::summary::SummaryAuthor;
use crate::engine::api::{Answer, BranchRequest};
use crate::tui::model::status::WRITING_STATE;
use crate::tui::screens::question::model::Act;
use crate::tui::screens::text_editor::model::{Edited, Editor};
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;

/// Opens the state block to read and edit it.
pub(crate) fn edit(model: &mut Model) {
    let Some(branch) = model.branch() else { return };
    // Saving would be refused, and the typed text lost.
    if branch.head.is_none() {
        let text = Failure::no_message_for_state().to_string();
        model.status.say(Severity::Notice, text, model.now);
        return;
    }
    let text = branch.state.as_ref().map_or("", |state| state.text.as_str());
    let version = branch.state.as_ref().map_or_else(
        || "none yet: your text here is sent as the state block".to_owned(),
        |state| format!("version {}{}", state.version, if state.edited { ", edited by you" } else { "" }),
    );
    let editor = Editor::new(format!("State block ({version})"), text, Edited::State(branch.id));
    model.layers.push(editor);
}

/// Rebuilds the state block from an older answer, or has the model write it.
pub(crate) fn rebuild(model: &mut Model, by: SummaryAuthor, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if by == SummaryAuthor::Model {
        let text = "The model is writing the state block…";
        model.status.report(WRITING_STATE, text, model.now);
    }
    send(model, BranchRequest::RebuildState { branch, by }, Pending::State(by), out);
}

/// Shows the new state's notice. If no answer has a state block, asks whether the model should write one.
pub(crate) fn rebuilt(model: &mut Model, by: SummaryAuthor, result: Result<Answer, Failure>) {
    model.status.end(WRITING_STATE);
    match (by, result) {
        (SummaryAuthor::Extractive, Err(failure)) if failure.kind == FailureKind::User => {
            let how = "The model reads the newest messages of this branch, in one call.".to_owned();
            let call = Act::Command("/context rebuild --by-model".to_owned());
            let choices = [('n', "no", Act::Close), ('y', "yes, make the call", call)];
            questions::open(model, "Have the model write a state block?", vec![failure.what, how], choices);
        }
        (_, result) => show_answer(model, result),
    }
}

/// Adopts the state block that came with an import.
pub(crate) fn adopt(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        send(model, BranchRequest::AdoptState(branch), Pending::Act, out);
    }
}
