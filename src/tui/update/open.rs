//! Handles Enter in the topmost screen or else in the panes of the chat.
//! Not for: what a screen does on Enter (`screens`).

use crate::tui::chat::update::{acts, branches};
use crate::tui::screens;
use crate::tui::screens::reader::model::Reader;
use crate::tui::update::prelude::*;

/// Handles Enter.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some(screen) = model.layers.last_mut() {
        screen.open().finish(model, out);
        return;
    }
    match model.focus {
        Focus::Branches => {
            if let Some(id) = model.panel.selected() {
                model.remember_place();
                branches::switch(model, id, out);
            } else {
                acts::fork(model, out);
            }
        }
        Focus::Tools => screens::traces::update::open(model),
        Focus::Context => screens::request::update::open(model),
        Focus::Conversation => fold(model),
        Focus::Composer => {}
    }
}

/// Unfolds the selected message, or folds it.
pub(super) fn fold(model: &mut Model) {
    let Some(session) = &model.session else { return };
    let Some(slot) = model.conversation.selected() else { return };
    let id = session.tree.head(slot).id;
    if !model.conversation.opened.remove(&id) {
        model.conversation.opened.insert(id);
    }
    model.conversation.reveal = true;
}

/// Opens the text of the last folded paste.
pub(super) fn expand_paste(model: &mut Model) {
    let composer = &model.composer;
    let last = composer.pastes().chain(composer.files()).last().map(|(chip, text)| (chip.to_owned(), text.clone()));
    match last {
        Some((chip, text)) => model.layers.push(Reader::new(chip, text, true)),
        None => model.status.say(Severity::Notice, "The message has no folded paste or file.", model.now),
    }
}
