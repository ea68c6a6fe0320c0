//! Keys: each runs the action that the key table names, or goes into the text that is being typed.
//! Not for: the action of each key (`actions`).

use super::{actions, letters};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action, Chord, Key, Step};
use crate::tui::model::status::Severity;
use crate::tui::model::typed_line::text_input;
use crate::tui::msg::{Cmd, Input};
use crate::tui::screens::question::model::Question;
use crate::tui::screens::screen::Screen;

/// Handles a key, a paste, or the mouse.
pub(super) fn input(model: &mut Model, input: Input, out: &mut Vec<Cmd>) {
    match input {
        Input::Key(chord) => key(model, chord, out),
        Input::Paste(text) => paste(model, &text, out),
        Input::Mouse(mouse) => super::mouse::mouse(model, mouse, out),
    }
}

fn key(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    model.sync_screens();
    model.status.mark_seen();
    let typing = takes_text(model);
    let begins = model.input.sequence.is_empty();
    if !(begins && typing && chord.typed().is_some()) && lead(model, chord, out) {
        return;
    }
    let empty = model.layers.is_empty() && model.focus == Focus::Composer && model.composer.is_empty();
    let help = empty && chord == Chord::plain(Key::Char('?'));
    if typing && chord.typed().is_some() && !help {
        type_in(model, chord, out);
        return;
    }
    match model.keys.find(chord, model.places()) {
        Some(run) if letters::asks_first(model, run, chord) => {}
        Some(run) => actions::run(model, run, Some(chord), out),
        None if help => actions::run(model, Action::Help, None, out),
        None => type_in(model, chord, out),
    }
}

fn takes_text(model: &Model) -> bool {
    model.layers.last().map_or(model.focus == Focus::Composer, Screen::types)
}

fn paste(model: &mut Model, text: &str, out: &mut Vec<Cmd>) {
    model.input.sequence.clear();
    if model.layers.top::<Question>().is_some_and(Question::only_leaves_the_tour) {
        model.layers.pop();
    }
    if let Some(screen) = model.layers.last_mut() {
        if !screen.paste(text).finish(model, out) {
            let key = model.keys.key(Action::Leave);
            let text = format!("The pasted text was not inserted; {key} closes this first.");
            model.status.say(Severity::Notice, text, model.now);
        }
        return;
    }
    model.focus = Focus::Composer;
    model.composer.paste(text);
    model.plan.touch(model.now);
}

fn type_in(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) {
    if model.layers.top::<Question>().is_some_and(|question| question.lets_through(chord)) {
        model.layers.pop();
        model.focus = Focus::Composer;
    }
    if let Some(screen) = model.layers.last_mut() {
        screen.type_in(chord).finish(model, out);
    } else if model.focus == Focus::Composer {
        model.composer.edit().input(text_input(chord));
        model.plan.touch(model.now);
    }
}

/// Handles a key of a key sequence. False if it belongs to none.
fn lead(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) -> bool {
    let first = model.input.sequence.is_empty();
    if !first && chord == Chord::plain(Key::Esc) {
        model.input.sequence.clear();
        return true;
    }
    let mut typed = model.input.sequence.clone();
    typed.push(chord);
    match model.keys.step(&typed, model.places()) {
        Step::More => {
            model.input.sequence = typed;
            if first {
                model.input.since = model.now;
            }
        }
        Step::Run(_) | Step::Nothing if first => return false,
        Step::Run(action) => {
            model.input.sequence.clear();
            actions::run(model, action, None, out);
        }
        Step::Nothing => {
            model.input.sequence.clear();
            let keys: Vec<String> = typed.iter().map(ToString::to_string).collect();
            let help = model.keys.key_of(Action::Help).unwrap_or_default();
            let text = format!("{} does nothing; {help} shows all keys.", keys.join(" "));
            model.status.report("leader", text, model.now);
        }
    }
    true
}
