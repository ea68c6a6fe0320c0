//! Keys: to an action by the key table, or into whatever text is being typed.
//! Not for: which action does what (`actions`).

use super::{actions, comfort, send};
use crate::engine::api::{Request, TurnRequest};
use crate::tui::chat::update::{completing, queueing, quit};
use crate::tui::model::status::Severity;
use crate::tui::model::{Action, Chord, Focus, Key, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens;
use crate::tui::screens::screen::Screen;
use tui_textarea::{CursorMove, Input, Key as AreaKey, TextArea};

/// Two presses within this time belong together, in milliseconds.
const TWICE: u64 = 1_500;

pub(super) fn key(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    model.sync_screens();
    let typing = takes_text(model);
    let begins = model.leading.0.is_empty();
    if !(begins && typing && chord.typed().is_some()) && comfort::lead(model, chord, out) {
        return;
    }
    let help = model.layers.is_empty() && model.composer.is_empty() && chord == Chord::plain(Key::Char('?'));
    if typing && chord.typed().is_some() && !(help && model.focus == Focus::Composer) {
        type_in(model, chord, out);
        return;
    }
    match model.keys.find(chord, &model.places()) {
        Some(run) => actions::run(model, run, Some(chord), out),
        None if help && model.focus == Focus::Composer => actions::run(model, Action::Help, None, out),
        None => type_in(model, chord, out),
    }
}

fn takes_text(model: &Model) -> bool {
    model.layers.last().map_or(model.focus == Focus::Composer, Screen::types)
}

pub(super) fn paste(model: &mut Model, text: &str, out: &mut Vec<Cmd>) {
    model.leading.0.clear();
    if let Some(screen) = model.layers.last_mut() {
        screen.paste(text).finish(model, out);
        return;
    }
    model.focus = Focus::Composer;
    model.composer.paste(text);
    model.plan.touch(model.now);
}

fn type_in(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    if let Some(screen) = model.layers.last_mut() {
        screen.type_in(chord).finish(model, out);
    } else if model.focus == Focus::Composer {
        model.composer.edit().input(input(chord));
        model.plan.touch(model.now);
    }
}

/// A key as the text area takes it.
pub(crate) fn input(chord: Chord) -> Input {
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

/// What a text area does beside typing.
pub(super) fn edit<T>(model: &mut Model, change: impl FnOnce(&mut TextArea<'static>) -> T) {
    if model.focus == Focus::Composer && model.layers.is_empty() {
        change(model.composer.edit());
        model.plan.touch(model.now);
    }
}

/// Moves up or down in the message; at its edge, among completions or the messages sent before.
pub(super) fn recall(model: &mut Model, up: bool, chord: Option<Chord>) {
    if model.composer.listing() {
        let count = crate::tui::chat::model::slash::completions(model.composer.first_line()).len();
        let at = model.composer.choice;
        model.composer.choice = if up { at.saturating_sub(1) } else { (at + 1).min(count.saturating_sub(1)) };
    } else if model.composer.recalling() && model.composer.recall(if up { -1 } else { 1 }) {
        model.plan.touch(model.now);
    } else if chord.is_some() {
        model.composer.move_cursor(if up { CursorMove::Up } else { CursorMove::Down });
    }
}

/// Moves the focus round the panes.
pub(super) fn pane(model: &mut Model, step: i64) {
    if !model.layers.is_empty() {
        return;
    }
    let ring: Vec<Focus> =
        Focus::RING.into_iter().filter(|pane| *pane == model.focus || !model.hidden(*pane)).collect();
    let here = ring.iter().position(|focus| *focus == model.focus).unwrap_or(0);
    let next = if step > 0 { here + 1 } else { here + ring.len() - 1 };
    model.focus = ring[next % ring.len()];
    if model.focus == Focus::Conversation {
        model.conversation.reveal = true;
    }
}

/// Esc: leaves what is open, then stops the answer. It never opens a screen and never clears what is typed.
pub(crate) fn leave(model: &mut Model, out: &mut Vec<Cmd>) {
    if model.layers.pop() {
        return;
    }
    if model.focus != Focus::Composer {
        model.focus = Focus::Composer;
        model.conversation.follow();
        return;
    }
    let ended = model.tour.as_ref().is_some_and(screens::tour::model::Tour::ended);
    if completing::close(model) || (ended && screens::tour::update::leave(model, out)) {
        return;
    }
    if model.composer.close_list() {
        return;
    }
    if take_back(model, out) || queueing::take_back(model) {
        return;
    }
    if model.composer.end_edit() {
        model.plan.touch(model.now);
        return;
    }
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        if model.live.contains_key(&branch) {
            interrupt(model, out);
            return;
        }
        if crate::tui::screens::summaries::update_modules::stop(model, out) {
            return;
        }
        if model.status.dismiss() || model.conversation.failed.remove(&branch).is_some() {
            return;
        }
    }
    screens::tour::update::leave(model, out);
}

/// Takes back a call that waits for its plan. Its answer says so.
fn take_back(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    let asks = |pending: &Pending| matches!(pending, Pending::Ask { branch: on, .. } if *on == branch);
    let waits = !model.live.contains_key(&branch) && model.pending.values().any(asks);
    if waits {
        send(model, Request::Turn(TurnRequest::Cancel { branch }), Pending::Act, out);
    }
    waits
}

pub(crate) fn interrupt(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(live) = model.live.get_mut(&branch) {
        live.stopping = true;
        send(model, Request::Turn(TurnRequest::Cancel { branch }), Pending::Act, out);
    }
}

pub(crate) fn clear(model: &mut Model) {
    if model.layers.pop() {
        return;
    }
    if !model.composer.is_empty() {
        if !model.composer.end_edit() {
            model.composer.put_by();
            model.composer.clear();
        }
        model.plan.touch(model.now);
        return;
    }
    if model.clear_at.is_some_and(|at| model.now.saturating_sub(at) <= TWICE) {
        return quit::quit(model);
    }
    model.clear_at = Some(model.now);
    let key = model.keys.key_of(Action::Clear).unwrap_or_default();
    model.status.say(
        Severity::Notice,
        format!("Press {key} again to {}.", if model.tour.is_some() { "leave the tour" } else { "quit" }),
        model.now,
    );
}
