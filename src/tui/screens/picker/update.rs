//! The lists that are filtered by typing: sessions, models, actions.
//! Not for: what acts do to the selected line (`acts`).

use super::model::{Choice, Entry, Kind, Picker};
use crate::domain::base::failure::Failure;
use crate::domain::base::time;
use crate::domain::call::model::ModelInfo;
use crate::domain::conversation::branch::SessionCard;
use crate::engine::api::{MemoryAct, ProgramRequest, Request, SessionRequest};
use crate::tui::chat::update::branches;
use crate::tui::model::{Action, Model, Pending};
use crate::tui::msg::Cmd;
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::update::{send, trouble};

/// Opens the list of sessions, or of those that hold these words.
pub(crate) fn sessions(model: &mut Model, words: String, out: &mut Vec<Cmd>) {
    let mut picker = Picker::new(Kind::Sessions);
    picker.filter = words;
    model.layers.push(picker);
    filter_changed(model, out);
}

/// Opens the list of models.
pub(crate) fn models(model: &mut Model, out: &mut Vec<Cmd>) {
    let ticket = send(model, Request::Program(ProgramRequest::Models { profile: None }), Pending::Models, out);
    let mut picker = Picker::new(Kind::Models);
    picker.loading = true;
    picker.ticket = ticket;
    model.layers.push(picker);
}

/// The words changed: sessions are searched by the store.
pub(crate) fn filter_changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    if picker.kind != Kind::Sessions {
        return;
    }
    let words = picker.filter.trim().to_owned();
    let request = if words.is_empty() {
        Request::Session(SessionRequest::List)
    } else {
        Request::Session(SessionRequest::Search { words })
    };
    let ticket = send(model, request, Pending::Sessions, out);
    if let Some(picker) = model.layers.top_mut::<Picker>() {
        picker.loading = true;
        picker.ticket = ticket;
    }
}

pub(crate) fn awaiting(model: &mut Model, ticket: u64) -> Option<&mut Picker> {
    model.layers.all_mut::<Picker>().find(|picker| picker.ticket == ticket)
}

/// They could not be had.
pub(crate) fn failed(model: &mut Model, ticket: u64, failure: &Failure) {
    if let Some(picker) = awaiting(model, ticket) {
        picker.loading = false;
    }
    trouble(model, failure);
}

fn session_entry(card: &SessionCard, offset: i32) -> Entry {
    let messages = if card.messages == 1 { "message" } else { "messages" };
    let branches = if card.branches == 1 { "branch" } else { "branches" };
    let (date, clock) = (time::date(card.updated_at, offset), time::clock(card.updated_at, offset));
    Entry {
        label: card.title.clone(),
        detail: format!("{date} {clock} · {} {messages} · {} {branches}", card.messages, card.branches),
        choice: Choice::Session(card.id),
    }
}

pub(crate) fn sessions_came(model: &mut Model, ticket: u64, cards: &[SessionCard]) {
    let entries = cards.iter().map(|card| session_entry(card, model.facts.offset)).collect();
    if let Some(picker) = awaiting(model, ticket) {
        picker.fill(entries);
    }
}

pub(crate) fn models_came(model: &mut Model, ticket: u64, by_profile: Vec<(String, Result<Vec<ModelInfo>, Failure>)>) {
    let (mut entries, mut failed) = (Vec::new(), Vec::new());
    for (profile, result) in by_profile {
        match result {
            Ok(models) => entries.extend(models.into_iter().map(|info| model_entry(&profile, info))),
            Err(failure) => failed.push(Entry {
                label: format!("{profile}: {}", failure.what),
                detail: failure.todo,
                choice: Choice::Nothing,
            }),
        }
    }
    // What can be taken comes first.
    entries.extend(failed);
    if let Some(picker) = awaiting(model, ticket) {
        picker.fill(entries);
    }
}

fn model_entry(profile: &str, info: ModelInfo) -> Entry {
    let price = info.price.map_or(String::new(), |p| format!(" · ${} in, ${} out a million", p.input, p.output));
    let detail = format!("{profile} · window {} ({}){price}", info.context_window, info.source);
    let choice = Choice::Model { profile: profile.to_owned(), model: info.name.clone() };
    Entry { label: info.name, detail, choice }
}

/// Enter in a list.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    let Some(choice) = picker.selected().map(|entry| entry.choice.clone()) else { return };
    match choice {
        Choice::Nothing | Choice::Rule(..) => {}
        Choice::Copy(text) => {
            model.layers.pop();
            out.push(Cmd::Copy(text.to_string()));
        }
        Choice::CopyTurn(node) => {
            model.layers.pop();
            crate::tui::chat::update::copying::turn(model, node, out);
        }
        Choice::CopyBranch => {
            model.layers.pop();
            crate::tui::chat::update::copying::branch(model, out);
        }
        Choice::Memory(id) => crate::tui::screens::memories::update::act(model, id, MemoryAct::Confirm(None), out),
        Choice::Message(node) => crate::tui::screens::search::update::go(model, node, out),
        Choice::Theme(name) => {
            model.layers.pop();
            crate::tui::update::comfort::keep_theme(model, &name, out);
        }
        Choice::Action(action) => {
            model.layers.pop();
            crate::tui::update::actions::run(model, action, None, out);
        }
        Choice::Session(id) => {
            let request =
                Request::Session(SessionRequest::Open { session: Some(id.to_string()), branch: None, create: false });
            send(model, request, Pending::Open, out);
        }
        Choice::Without(run, atom) => {
            model.layers.pop();
            crate::tui::screens::race::update::replay(model, run, None, Some(atom), out);
        }
        Choice::Model { profile, model: name } => {
            let again = if let Kind::ReplayModels(run) = picker.kind { Some(run) } else { None };
            model.layers.pop();
            if let Some(run) = again {
                return crate::tui::screens::race::update::replay(model, run, Some((profile, name)), None, out);
            }
            let Some(branch) = model.branch() else { return };
            let mut overrides = branch.overrides.clone();
            (overrides.profile, overrides.model) = (Some(profile), Some(name));
            branches::set_overrides(model, overrides, out);
        }
    }
}

/// New, rename and delete in the list of sessions.
pub(crate) fn manage(model: &mut Model, run: Action, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    if picker.kind == Kind::Memories {
        return crate::tui::screens::memories::update::manage(model, run, out);
    }
    if picker.kind == Kind::Rules && run == Action::Delete {
        return crate::tui::screens::approval::update::take_off(model, out);
    }
    if picker.kind != Kind::Sessions {
        return;
    }
    let selected = picker.selected().map(|entry| (entry.label.clone(), entry.choice.clone()));
    match (run, selected) {
        (Action::New, _) => {
            let (title, purpose) = ("Title of the new session (may stay empty)".to_owned(), Purpose::NewSession);
            model.layers.push(Prompt { title, text: String::new(), purpose });
        }
        (Action::Rename, Some((text, Choice::Session(id)))) => {
            let (title, purpose) = ("Rename the session".to_owned(), Purpose::RenameSession(Some(id)));
            model.layers.push(Prompt { title, text, purpose });
        }
        (Action::Delete, Some((label, Choice::Session(id)))) => {
            model.layers.push(Question {
                title: "Delete this session?".to_owned(),
                words: vec![label, "All its messages and branches go for good; this cannot be undone.".to_owned()],
                choices: vec![
                    ('n', "no, keep it".to_owned(), Act::Close),
                    ('y', "yes, delete it for good".to_owned(), Act::DeleteSession(id)),
                ],
                cursor: 0,
            });
        }
        _ => {}
    }
}
