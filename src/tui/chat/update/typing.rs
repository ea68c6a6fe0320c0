//! Keys of the text area in the composer.
//! Not for: which key means which action (`config::keys`).

use crate::tui::chat::model::slash;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Chord, Key};
use tui_textarea::{CursorMove, Input, Key as AreaKey, TextArea};

/// Converts a key to an input of the text area.
pub(crate) fn text_input(chord: Chord) -> Input {
    let key = match chord.key {
        Key::Char(c) => AreaKey::Char(c),
        Key::F(n) => AreaKey::F(n),
        Key::Enter => AreaKey::Enter,
        Key::Tab => AreaKey::Tab,
        Key::BackTab => AreaKey::Null,
        Key::Esc => AreaKey::Esc,
        Key::Backspace => AreaKey::Backspace,
        Key::Delete => AreaKey::Delete,
        Key::Up => AreaKey::Up,
        Key::Down => AreaKey::Down,
        Key::Left => AreaKey::Left,
        Key::Right => AreaKey::Right,
        Key::Home => AreaKey::Home,
        Key::End => AreaKey::End,
        Key::PageUp => AreaKey::PageUp,
        Key::PageDown => AreaKey::PageDown,
    };
    Input { key, ctrl: chord.ctrl, alt: chord.alt, shift: chord.shift }
}

/// Edits the message, where the composer has the focus.
pub(crate) fn edit<T>(model: &mut Model, change: impl FnOnce(&mut TextArea<'static>) -> T) {
    if model.focus == Focus::Composer && model.layers.is_empty() {
        change(model.composer.edit());
        model.plan.touch(model.now);
    }
}

/// Moves up or down in the message; at its edge, among completions or the messages sent before.
pub(crate) fn recall(model: &mut Model, up: bool, chord: Option<Chord>) {
    if model.composer.listing() {
        let count = slash::completions(model.composer.first_line()).len();
        let at = model.composer.choice;
        model.composer.choice = if up { at.saturating_sub(1) } else { (at + 1).min(count.saturating_sub(1)) };
    } else if model.composer.recalling() && model.composer.recall(if up { -1 } else { 1 }) {
        model.plan.touch(model.now);
    } else if chord.is_some() {
        model.composer.move_cursor(if up { CursorMove::Up } else { CursorMove::Down });
    }
}
