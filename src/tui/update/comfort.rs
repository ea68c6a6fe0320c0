//! Keys one after the other, themes, reading the configuration again, telling of a long run's end.
//! Not for: how the screen is arranged (`panes`).

use super::{actions, send};
use crate::domain::base::ids::BranchId;
use crate::engine::api::{ProgramRequest, Request};
use crate::tui::model::status::Severity;
use crate::tui::model::{Action, Chord, Key, Model, Pending, Step, title};
use crate::tui::msg::{Cmd, Fresh};
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};

/// Takes a key that leads, or follows one. False when it is no matter of several keys.
pub(super) fn lead(model: &mut Model, chord: Chord, out: &mut Vec<Cmd>) -> bool {
    let first = model.leading.0.is_empty();
    if !first && chord == Chord::plain(Key::Esc) {
        model.leading.0.clear();
        return true;
    }
    let mut typed = model.leading.0.clone();
    typed.push(chord);
    match model.keys.step(&typed, &model.places()) {
        Step::More => model.leading = (typed, if first { model.now } else { model.leading.1 }),
        Step::Run(_) | Step::Nothing if first => return false,
        Step::Run(action) => {
            model.leading.0.clear();
            actions::run(model, action, None, out);
        }
        Step::Nothing => {
            model.leading.0.clear();
            let words: Vec<String> = typed.iter().map(ToString::to_string).collect();
            let help = model.keys.key_of(Action::Help).unwrap_or_default();
            let text = format!("{} does nothing; {help} shows all keys.", words.join(" "));
            model.status.report("leader", text, model.now);
        }
    }
    true
}

/// Lets the mouse click and scroll here, or leaves it to the terminal.
pub(super) fn toggle_mouse(model: &mut Model, out: &mut Vec<Cmd>) {
    model.facts.mouse = !model.facts.mouse;
    out.push(Cmd::Mouse(model.facts.mouse));
    let key = model.keys.key_of(Action::ToggleMouse).unwrap_or_default();
    let text = if model.facts.mouse {
        format!("Mouse on: click, scroll, drag borders; {key} returns the mouse to the terminal.")
    } else {
        "Mouse off: the terminal selects text again.".to_owned()
    };
    model.status.report("mouse", text, model.now);
}

/// The list of themes; what is selected is shown.
pub(crate) fn themes(model: &mut Model) {
    let wide = model.themes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let entry = |(name, about): &(String, String)| Entry {
        label: format!("{name:<wide$}  {about}"),
        detail: String::new(),
        choice: Choice::Theme(name.clone()),
    };
    let mut picker = Picker::new(Kind::Themes);
    picker.fill(model.themes.iter().map(entry).collect());
    picker.cursor = model.themes.iter().position(|(name, _)| *name == model.theme).unwrap_or(0);
    model.layers.push(picker);
}

/// Keeps a theme for good.
pub(crate) fn keep_theme(model: &mut Model, name: &str, out: &mut Vec<Cmd>) {
    if !model.themes.iter().any(|(known, _)| known == name) {
        let known: Vec<&str> = model.themes.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("There is no theme {name:?}. Themes: {}.", known.join(", "));
        return model.status.say(Severity::Trouble, text, model.now);
    }
    let before = std::mem::replace(&mut model.theme, name.to_owned());
    if model.facts.demo {
        return model.status.report("theme", "The theme lasts until the demo ends; nothing is saved.", model.now);
    }
    if before != name {
        out.push(Cmd::KeepTheme(name.to_owned()));
    }
}

/// A choice was written.
pub(super) fn written(model: &mut Model, result: Result<String, String>) {
    match result {
        Ok(text) => model.status.report("theme", text, model.now),
        Err(text) => model.status.say(Severity::Trouble, text, model.now),
    }
}

/// The configuration was read again.
pub(super) fn reloaded(model: &mut Model, result: Result<Box<Fresh>, String>, out: &mut Vec<Cmd>) {
    let fresh = match result {
        Ok(fresh) => *fresh,
        Err(why) => {
            let text = format!("{why} The previous settings are still in use.");
            return model.status.say(Severity::Trouble, text, model.now);
        }
    };
    model.leading.0.clear();
    model.keys = fresh.keys;
    model.themes = fresh.themes;
    model.facts.policies = fresh.policies;
    model.theme.clone_from(&fresh.screen.theme);
    if model.screen.mouse != fresh.screen.mouse {
        model.facts.mouse = fresh.screen.mouse;
        out.push(Cmd::Mouse(fresh.screen.mouse));
    }
    if model.screen.ascii != fresh.screen.ascii {
        out.push(Cmd::Redraw);
    }
    model.screen = fresh.screen;
    for problem in model.keys.problems().iter().cloned().chain(fresh.notes).collect::<Vec<_>>() {
        model.status.say(Severity::Trouble, problem, model.now);
    }
    send(model, Request::Program(ProgramRequest::Reload), Pending::Reload(fresh.asked), out);
}

/// A turn has ended: a person who looks elsewhere is told of a long one.
pub(super) fn ended(model: &Model, branch: BranchId, failed: bool, out: &mut Vec<Cmd>) {
    let Some(live) = model.live.get(&branch).filter(|_| model.away) else { return };
    if live.seconds(model.now) < u64::from(model.screen.notify_after) {
        return;
    }
    let named = model.session.as_ref().and_then(|session| session.find(branch));
    let name = title::name(named.map_or("", |branch| branch.name.as_str()));
    let what = if failed { "The call failed" } else { "The answer is complete" };
    out.push(Cmd::Notify(format!("{what} on {name}, after {} s", live.seconds(model.now))));
}

/// Puts the message behind `/race`, or only the word where there is none.
pub(super) fn start_race(model: &mut Model) {
    model.layers.clear();
    model.focus = crate::tui::model::Focus::Composer;
    if model.composer.first_line().starts_with("/race ") {
        return;
    }
    let text = model.composer.draft().text;
    if text.contains('\n') {
        let text = "A race takes a question of one line; your message is unchanged.";
        return model.status.say(Severity::Notice, text, model.now);
    }
    let line = format!("/race mode:off mode:heavy {text}");
    model.composer.set(&line, crate::tui::chat::model::composer::DraftKind::Message);
    let text =
        "Race: settings such as mode:off or model:NAME, one for each branch, then the question; Enter starts it.";
    model.status.report("race", text, model.now);
}
