//! Saving an edited text, and leaving the text editor without losing changes.
//! Not for: the effect of a saved request (`raw_request`) or of a saved item with versions (`editor`).

use super::model::{Edited, Editor};
use crate::engine::api::BranchRequest;
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::{editor, raw_request, summaries};
use crate::tui::update::prelude::*;
use editor::model::EditorScreen;

/// Closes the editor, or asks first.
pub(crate) fn leave(model: &mut Model) {
    if !raw_request::update::leave_editor(model) && !editor::update::asks_to_discard(model) && !asks_to_save(model) {
        model.layers.pop();
    }
}

/// Asks what to do with a changed text. Returns false if it is unchanged.
fn asks_to_save(model: &mut Model) -> bool {
    let Some(editor) = model.layers.top::<Editor>() else { return false };
    if !editor.area.clone().undo() {
        return false;
    }
    model.layers.push(Question {
        title: "Leave without saving?".to_owned(),
        words: vec!["The text has unsaved changes.".to_owned()],
        choices: vec![
            ('n', "no, keep editing".to_owned(), Act::Close),
            ('s', "save it".to_owned(), Act::Run(Action::Save)),
            ('y', "yes, discard the changes".to_owned(), Act::Forget),
        ],
        cursor: 0,
    });
    true
}

pub(crate) fn save(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(editor) = model.layers.top::<Editor>() else { return };
    if matches!(editor.what, Edited::Request { .. }) {
        return raw_request::update::saved(model, out);
    }
    let (what, text) = (editor.what.clone(), editor.area.lines().join("\n"));
    let versions = model.layers.below::<EditorScreen>().is_some();
    match what {
        Edited::State(branch) if !versions => {
            model.layers.pop();
            send(model, BranchRequest::EditState { branch, text }, Pending::Act, out);
        }
        Edited::Draft { branch, number } => {
            model.layers.pop();
            summaries::update::save(model, branch, number, text, out);
        }
        what => editor::update::save(model, what, text, out),
    }
}
