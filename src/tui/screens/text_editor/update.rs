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
    if !raw_request::update::leave_editor(model) && !asks_to_save(model) {
        model.layers.pop();
    }
}

/// Asks whether to save a changed text. Returns false if it is unchanged.
fn asks_to_save(model: &mut Model) -> bool {
    if !model.layers.top::<Editor>().is_some_and(Editor::changed) {
        return false;
    }
    let choices = vec![
        ('n', "no, keep editing".to_owned(), Act::Close),
        ('s', "save it".to_owned(), Act::Run(Action::Save)),
        ('y', "yes, discard the changes".to_owned(), Act::Forget),
    ];
    let words = vec!["The text has unsaved changes.".to_owned()];
    model.layers.push(Question::new("Leave without saving?", words, choices));
    true
}

pub(crate) fn save(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(editor) = model.layers.top::<Editor>() else { return };
    if matches!(editor.what, Edited::Request { .. }) {
        return raw_request::update::saved(model, out);
    }
    let (what, text) = (editor.what.clone(), editor.text());
    let versions = model.layers.below::<EditorScreen>().is_some();
    if let (&Edited::State(branch), false) = (&what, versions) {
        model.layers.pop();
        send(model, BranchRequest::EditState { branch, text }, Pending::Act, out);
    } else if let Edited::Draft { branch, number } = what {
        model.layers.pop();
        summaries::update::save(model, branch, number, text, out);
    } else {
        editor::update::save(model, what, text, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::BranchId;

    /// A text from the person's own editor replaces the text area and with it the area's undo history.
    #[test]
    fn a_replaced_text_is_not_discarded_without_a_question() {
        let mut model = Model::default();
        let what = Edited::State(BranchId(uuid::Uuid::nil()));
        model.layers.push(Editor::new("State block", "goal: ship", what));
        crate::tui::chat::update::composing::edited(&mut model, Ok("goal: test\n".to_owned()));
        leave(&mut model);
        assert!(model.layers.on::<Question>());
        model.layers.pop();
        crate::tui::chat::update::composing::edited(&mut model, Ok("goal: ship\n".to_owned()));
        leave(&mut model);
        assert!(model.layers.is_empty());
    }
}
