//! Keys of the composer's text area.
//! Not for: which key means which action (`config::keys`).

use super::composing;
use crate::tui::chat::model::slash;
use crate::tui::model::keys::Chord;
use crate::tui::update::prelude::*;
use tui_textarea::TextArea;

/// Changes the text if the composer has the focus.
pub(crate) fn edit<T>(model: &mut Model, change: impl FnOnce(&mut TextArea<'static>) -> T) {
    if model.focus == Focus::Composer && model.layers.is_empty() {
        change(model.composer.edit());
        model.plan.touch(model.now);
    }
}

/// Moves up or down in the message; at its edges, moves among completions or recalls sent messages.
pub(crate) fn recall(model: &mut Model, up: bool, chord: Option<Chord>, out: &mut Vec<Cmd>) {
    if model.composer.listing() {
        let count = slash::choices(model.composer.first_line(), &model.input.recent_commands).len();
        let first = slash::continued(model.composer.first_line(), &model.input.recent_commands);
        let at = model.composer.choice.or(first);
        let next = if up { at.map(|at| at.saturating_sub(1)) } else { Some(at.map_or(0, |at| at + 1)) };
        model.composer.choice = next.map(|at| at.min(count.saturating_sub(1)));
        return;
    }
    let walks = chord.is_none() || model.composer.recalling() || model.composer.is_empty();
    if !walks && (model.composer.move_row(up) || model.composer.move_to_edge(up)) {
        return;
    }
    if !(up && composing::ask_for_earlier(model, out)) && model.composer.recall(up) {
        model.plan.touch(model.now);
    }
}
