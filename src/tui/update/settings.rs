//! Settings of the screen: themes, the mouse, and the configuration when it is read again.
//! Not for: the arrangement of the panels (`panels`).

use super::effects::{send, show_answer, show_failure};
use crate::config::commands::setting::Setting;
use crate::domain::base::Failure;
use crate::domain::call::ModelInfo;
use crate::domain::call::provider::UNREACHED;
use crate::engine::api::{Answer, ProgramAnswer, ProgramRequest, ToolAnswer};
use crate::tui::chat::update::folder;
use crate::tui::model::pending::ProgramPending;
use crate::tui::msg::{ConfigMsg, FileCmd, ReloadedSettings};
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::update::prelude::*;

/// Handles a configuration that was read again or written.
pub(super) fn config(model: &mut Model, msg: ConfigMsg, out: &mut Vec<Cmd>) {
    match msg {
        ConfigMsg::Changed => out.push(Cmd::File(FileCmd::Reload(false))),
        ConfigMsg::Reloaded(result) => reloaded(model, result, out),
        ConfigMsg::Written(Ok(text)) => model.status.report("theme", text, model.now),
        ConfigMsg::Written(Err(text)) => model.status.say(Severity::Warning, text, model.now),
    }
}

/// Handles the answers to requests about the program.
pub(super) fn answered(model: &mut Model, pending: ProgramPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (ProgramPending::Reload(asked), Ok(Answer::Done(text))) => {
            if asked || !text.is_empty() {
                let text = if text.is_empty() { "Settings reloaded; nothing changed." } else { text.as_str() };
                model.status.report("reload", text, model.now);
            }
        }
        (ProgramPending::Doctor, Ok(Answer::Program(ProgramAnswer::Doctor(findings)))) => {
            model.engine.findings = findings;
        }
        (ProgramPending::FolderSettings, Ok(Answer::Tool(ToolAnswer::FolderSettings(card)))) => {
            folder::arrived(model, card.as_deref());
        }
        (
            pending @ (ProgramPending::Models | ProgramPending::TypedModel),
            Ok(Answer::Program(ProgramAnswer::Models(by_profile))),
        ) => {
            learn_models(model, &by_profile);
            // The start page says it itself.
            let is_page = model.session.as_ref().is_none_or(|session| session.tree.is_empty());
            let warns = pending == ProgramPending::TypedModel && !is_page;
            if let Some(text) = model.model_problem().filter(|_| warns) {
                model.status.say(Severity::Warning, text, model.now);
            }
        }
        // The page says nothing about profiles that cannot be asked; the report on servers does.
        (ProgramPending::Models | ProgramPending::TypedModel, Err(_)) => {}
        (
            ProgramPending::Reload(_)
            | ProgramPending::Doctor
            | ProgramPending::FolderSettings
            | ProgramPending::Models
            | ProgramPending::TypedModel,
            result,
        ) => show_answer(model, result),
    }
}

/// Records which models each profile's server lists, and which servers cannot be reached.
pub(crate) fn learn_models(model: &mut Model, by_profile: &[(String, Result<Vec<ModelInfo>, Failure>)]) {
    for (profile, models) in by_profile {
        model.engine.unreached.remove(profile);
        match models {
            Ok(all) => {
                let names = all.iter().map(|model| model.name.clone()).collect();
                model.engine.listed_models.insert(profile.clone(), names);
            }
            Err(failure) if failure.what.starts_with(UNREACHED) => {
                model.engine.unreached.insert(profile.clone(), failure.what.clone());
            }
            Err(_) => {}
        }
    }
}

/// Asks for the models of the current profile while the start page is shown, once for each profile.
pub(super) fn ask_for_models(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(session) = model.session.as_ref().filter(|session| session.tree.is_empty()) else { return };
    let Some(settings) = session.settings().filter(|settings| settings.ready.is_ok()) else { return };
    let profile = settings.profile.clone();
    if !model.engine.listed_models.contains_key(&profile) {
        model.engine.listed_models.insert(profile.clone(), Vec::new());
        send(model, ProgramRequest::Models { profile: Some(profile), unready: false }, ProgramPending::Models, out);
    }
}

/// Asks for the models of a profile after a model was typed, to warn about a name that its server does not list.
pub(crate) fn check_typed_model(model: &mut Model, setting: &Setting, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().filter(|_| matches!(setting, Setting::Model(Some(_)))) else { return };
    let settings = model.session.as_ref().and_then(|session| session.settings());
    let own = branch.overrides.profile.clone();
    let Some(profile) = own.or_else(|| settings.map(|settings| settings.profile.clone())) else { return };
    let request = ProgramRequest::Models { profile: Some(profile), unready: false };
    send(model, request, ProgramPending::TypedModel, out);
}

/// Turns the mouse on or off.
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

/// Opens the list of themes. The selected theme is shown while the list is open.
pub(crate) fn themes(model: &mut Model) {
    let wide = model.display.themes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let entry = |(name, about): &(String, String)| Entry {
        label: format!("{name:<wide$}  {about}"),
        detail: String::new(),
        choice: Choice::Theme(name.clone()),
    };
    let mut picker = Picker::new(Kind::Themes);
    picker.fill(model.display.themes.iter().map(entry).collect());
    picker.cursor = model.display.themes.iter().position(|(name, _)| *name == model.display.theme).unwrap_or(0);
    model.layers.push(picker);
}

/// Sets the named theme; without a name, opens the list of themes.
pub(crate) fn choose_theme(model: &mut Model, name: Option<&str>, out: &mut Vec<Cmd>) {
    match name {
        Some(name) => keep_theme(model, name, out),
        None => themes(model),
    }
}

/// Chooses a theme and writes it to the configuration.
pub(crate) fn keep_theme(model: &mut Model, name: &str, out: &mut Vec<Cmd>) {
    if !model.display.themes.iter().any(|(known, _)| known == name) {
        let failure = model.display.unknown_theme(name);
        return show_failure(model, &failure);
    }
    let before = std::mem::replace(&mut model.display.theme, name.to_owned());
    if model.facts.demo {
        return model.status.report("theme", "The theme lasts until the demo ends; nothing is saved.", model.now);
    }
    if before != name {
        out.push(Cmd::File(FileCmd::SaveTheme(name.to_owned())));
    }
}

/// Applies the configuration that was read again.
fn reloaded(model: &mut Model, result: Result<Box<ReloadedSettings>, String>, out: &mut Vec<Cmd>) {
    let fresh = match result {
        Ok(fresh) => *fresh,
        Err(why) => {
            let text = format!("{why} The previous settings are still in use.");
            return model.status.say(Severity::Warning, text, model.now);
        }
    };
    model.input.sequence.clear();
    model.keys = fresh.keys;
    model.name_keys_for_tmux();
    model.display.themes = fresh.themes;
    model.facts.policies = fresh.policies;
    model.display.theme.clone_from(&fresh.screen.theme);
    if model.display.settings.mouse != fresh.screen.mouse {
        model.facts.mouse = fresh.screen.mouse;
        out.push(Cmd::Mouse(fresh.screen.mouse));
    }
    if model.display.settings.ascii != fresh.screen.ascii {
        out.push(Cmd::Redraw);
    }
    model.display.settings = fresh.screen;
    for problem in model.keys.problems().iter().cloned().chain(fresh.notes).collect::<Vec<_>>() {
        model.status.say(Severity::Warning, problem, model.now);
    }
    send(model, ProgramRequest::Reload, ProgramPending::Reload(fresh.asked), out);
}
