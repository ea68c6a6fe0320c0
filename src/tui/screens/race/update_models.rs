//! Choosing the models of a race from the list of models.
//! Not for: races of other settings, which are typed after `/race` (`update`).

use super::model::RaceQuestion;
use super::update;
use crate::domain::call::Limits;
use crate::domain::conversation::Overrides;
use crate::engine::api::DraftKind;
use crate::tui::screens::picker;
use crate::tui::screens::picker::model::{Choice, Kind, Picker};
use crate::tui::update::effects::run_next;
use crate::tui::update::prelude::*;

/// Starts a race of the message in the composer: opens the list of models. Without a message, begins the command.
pub(crate) fn start(model: &mut Model, out: &mut Vec<Cmd>) {
    model.layers.clear();
    model.focus = Focus::Composer;
    if model.composer.kind() != DraftKind::Message {
        let text = format!("A race sends a new message; {} ends the edit.", model.keys.key(Action::Leave));
        return model.status.say(Severity::Notice, text, model.now);
    }
    let is_race = model.composer.first_line().starts_with("/race ");
    if model.composer.commanding() && is_race {
        return run_next(model, Action::Send);
    }
    let text = model.composer.next_draft().text;
    if text.trim().is_empty() {
        model.composer.begin_command("/race ");
        let key = model.keys.key_in(Action::Send, KeyPlace::Composer);
        let text = format!("Race: type the question; {key} lists the models to ask.");
        return model.status.report("race", text, model.now);
    }
    open(model, RaceQuestion { text, limits: Limits::default() }, out);
}

/// Opens the list of models with the branch's own model chosen. The composer keeps its text until the race starts.
pub(crate) fn open(model: &mut Model, question: RaceQuestion, out: &mut Vec<Cmd>) {
    picker::update::models(model, out);
    if let Some(picker) = model.layers.top_mut::<Picker>() {
        (picker.kind, picker.race) = (Kind::RaceModels, Some(question));
    }
}

/// Handles Enter in the list: sends the question to the chosen models, each on a branch of its own.
pub(crate) fn send(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    let Some(question) = picker.race.clone() else { return };
    let chosen = picker.chosen.iter().filter_map(|at| {
        let Choice::Model { profile, model } = &picker.entries.get(*at)?.choice else { return None };
        Some((profile.clone(), model.clone()))
    });
    let own = model.session.as_ref().and_then(|session| session.settings()).map(|settings| settings.profile.clone());
    let variant = |(profile, model)| {
        let profile = Some(profile).filter(|profile| own.as_ref() != Some(profile));
        Overrides { profile, model: Some(model), ..Overrides::default() }
    };
    let variants: Vec<Overrides> = chosen.map(variant).collect();
    if variants.len() < 2 {
        let text = "A race needs two or more models; Space chooses the model under the cursor.";
        return model.status.say(Severity::Notice, text, model.now);
    }
    model.layers.pop();
    let typed = model.composer.text();
    model.composer.sent(&typed);
    model.plan.touch(model.now);
    update::race(model, variants, question, typed, out);
}
