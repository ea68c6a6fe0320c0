//! Updates of the lists of sessions, models, and actions, and the effect of choosing an entry.
//! Not for: loading the entries of other lists (the `update` of their screens).

use super::model::{Choice, Columns, Entry, Kind, Picker, PickerPending};
use super::update_lanes;
use crate::domain::base::time;
use crate::domain::base::{Failure, SessionId};
use crate::domain::call::ModelInfo;
use crate::domain::call::tokens::{counted, short};
use crate::domain::conversation::SessionCard;
use crate::engine::api::{
    Answer, MemoryAct, ProgramAnswer, ProgramRequest, SessionAnswer, SessionRequest, SummaryAnswer,
};
use crate::tui::chat::model::slash::CommandRow;
use crate::tui::chat::update::{branches, copying};
use crate::tui::model::pending::SessionPending;
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::screens::question::model::{Act, Question};
use crate::tui::screens::{compare, memories, race, search};
use crate::tui::update::effects::{run_next, show_answer, show_failure};
use crate::tui::update::prelude::*;
use crate::tui::update::settings;

/// Handles the answers to the requests of the lists.
pub(crate) fn answered(model: &mut Model, ticket: u64, pending: PickerPending, result: Result<Answer, Failure>) {
    match (pending, result) {
        (PickerPending::Sessions, Ok(Answer::Session(SessionAnswer::Sessions(cards)))) => {
            fill_sessions(model, ticket, &cards);
        }
        (PickerPending::Models, Ok(Answer::Program(ProgramAnswer::Models(by_profile)))) => {
            settings::learn_models(model, &by_profile);
            fill_models(model, ticket, by_profile);
        }
        (PickerPending::Lanes, Ok(Answer::Summary(SummaryAnswer::Summaries(cards)))) => {
            update_lanes::fill(model, ticket, &cards);
        }
        (_, Err(failure)) => failed(model, ticket, &failure),
        (_, result) => show_answer(model, result),
    }
}

/// Opens the list of sessions, filtered by `words`.
pub(crate) fn sessions(model: &mut Model, words: String, out: &mut Vec<Cmd>) {
    let mut picker = Picker::new(Kind::Sessions);
    picker.filter = words.into();
    model.layers.push(picker);
    filter_changed(model, out);
}

/// Opens the list of models.
pub(crate) fn models(model: &mut Model, out: &mut Vec<Cmd>) {
    let ticket = send(model, ProgramRequest::Models { profile: None, unready: true }, PickerPending::Models, out);
    let mut picker = Picker::new(Kind::Models);
    picker.loading = true;
    picker.ticket = ticket;
    model.layers.push(picker);
}

/// Opens the list of all actions.
pub(crate) fn palette(model: &mut Model) {
    let picker = Picker::palette(&model.keys, &model.input.recent_actions, model.places());
    model.layers.push(picker);
}

/// How many recent actions are listed first.
const RECENT_ACTIONS: usize = 5;

fn remember(model: &mut Model, action: Action) {
    model.input.recent_actions.retain(|other| *other != action);
    model.input.recent_actions.insert(0, action);
    model.input.recent_actions.truncate(RECENT_ACTIONS);
}

/// Handles a changed filter: the store searches the sessions.
pub(crate) fn filter_changed(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    if picker.kind != Kind::Sessions {
        return;
    }
    let words = picker.filter.trim().to_owned();
    let request = if words.is_empty() { SessionRequest::List } else { SessionRequest::Search { words } };
    let ticket = send(model, request, PickerPending::Sessions, out);
    if let Some(picker) = model.layers.top_mut::<Picker>() {
        picker.loading = true;
        picker.ticket = ticket;
    }
}

/// The open list whose newest request has this ticket.
pub(crate) fn waiting_for(model: &mut Model, ticket: u64) -> Option<&mut Picker> {
    model.layers.all_mut::<Picker>().find(|picker| picker.ticket == ticket)
}

/// Reports why a list could not be loaded.
pub(crate) fn failed(model: &mut Model, ticket: u64, failure: &Failure) {
    if let Some(picker) = waiting_for(model, ticket) {
        picker.loading = false;
    }
    show_failure(model, failure);
}

fn session_entry(card: &SessionCard, offset: i32) -> Entry {
    let messages = counted(card.messages, "message");
    let branches = if card.branches == 1 { "branch" } else { "branches" };
    let (date, clock) = (time::date(card.updated_at, offset), time::clock(card.updated_at, offset));
    Entry {
        label: card.title.clone(),
        detail: format!("{date} {clock} · {messages} · {} {branches}", card.branches),
        choice: Choice::Session(card.id),
    }
}

fn fill_sessions(model: &mut Model, ticket: u64, cards: &[SessionCard]) {
    let entries = cards.iter().map(|card| session_entry(card, model.facts.offset)).collect();
    if let Some(picker) = waiting_for(model, ticket) {
        picker.fill(entries);
    }
}

fn fill_models(model: &mut Model, ticket: u64, by_profile: Vec<(String, Result<Vec<ModelInfo>, Failure>)>) {
    let settings = model.session.as_ref().and_then(|session| session.settings());
    let current = settings.map(|settings| (settings.profile.clone(), settings.model.clone()));
    let (mut models, mut failed) = (Vec::new(), Vec::new());
    let key = model.keys.key_in(Action::Open, KeyPlace::Picker);
    for (profile, result) in by_profile {
        match result {
            Ok(found) if found.is_empty() => failed.push(lists_no_model(&profile)),
            Ok(found) => models.extend(found.into_iter().map(|info| (profile.clone(), info))),
            Err(failure) => failed.push(unavailable(&profile, &failure, &key)),
        }
    }
    let is_current = |profile: &String, info: &ModelInfo| {
        current.as_ref().is_some_and(|(of, known)| of == profile && known.name == info.name)
    };
    // The branch's model, even if its server does not list it or cannot be reached.
    if let Some(known) = current.clone().filter(|_| !models.iter().any(|(profile, info)| is_current(profile, info))) {
        models.insert(0, known);
    }
    let cursor = models.iter().position(|(profile, info)| is_current(profile, info)).unwrap_or(0);
    let entry = |(profile, info): &(String, ModelInfo)| model_entry(profile, info, is_current(profile, info));
    let mut entries: Vec<Entry> = models.iter().map(entry).collect();
    let mut columns: Vec<Columns> = models.iter().map(|(profile, info)| model_columns(profile, info)).collect();
    columns.extend(failed.iter().map(|_| Columns::default()));
    let Some(picker) = waiting_for(model, ticket) else { return };
    picker.headings.clear();
    if !failed.is_empty() {
        picker.headings.push((entries.len(), "Not available"));
    }
    entries.extend(failed);
    picker.columns = columns;
    picker.fill(entries);
    if picker.filter.is_empty() {
        picker.cursor = cursor;
    }
    if picker.kind == Kind::RaceModels {
        picker.chosen.extend(current.map(|_| cursor));
    }
}

/// An entry for a profile whose server lists no model; Enter shows the next step.
fn lists_no_model(profile: &str) -> Entry {
    let words = format!("{profile}: the server lists no models. Load a model there, or type /model NAME.");
    Entry {
        label: format!("  {profile}: the server lists no models"),
        detail: String::new(),
        choice: Choice::Explain(words),
    }
}

/// An entry for a profile whose models could not be listed: a missing key names its variable; `key` shows the whole
/// reason and the next step.
fn unavailable(profile: &str, failure: &Failure, key: &str) -> Entry {
    let what = failure.what.trim_end_matches('.');
    let what = what.strip_prefix(&format!("Profile {profile} has ")).unwrap_or(what);
    let why = what.split(": ").next().unwrap_or_default();
    let words = format!("{profile}: {what}. {}", failure.todo);
    let variable = failure.todo.split_once(" in the environment").map(|(variable, _)| variable.to_owned());
    let detail = variable.unwrap_or_else(|| format!("{key} explains"));
    Entry { label: format!("  {profile}: {why}"), detail, choice: Choice::Explain(words) }
}

fn model_entry(profile: &str, info: &ModelInfo, current: bool) -> Entry {
    let sign = if current { "● " } else { "  " };
    let choice = Choice::Model { profile: profile.to_owned(), model: info.name.clone() };
    Entry { label: format!("{sign}{}", info.name), detail: profile.to_owned(), choice }
}

/// The columns of a model: `1.05M`, `$0.40`, `$1.60`, `33k`, and the profile.
fn model_columns(profile: &str, info: &ModelInfo) -> Columns {
    let answer = info.max_output.map_or(String::new(), |most| short(u64::from(most)));
    let [input, output] = match &info.price {
        None => ["unknown".to_owned(), "unknown".to_owned()],
        Some(price) if price.input <= 0.0 && price.output <= 0.0 => ["free".to_owned(), "free".to_owned()],
        Some(price) => [price.input, price.output].map(|price| format!("${}", dollars(price))),
    };
    [short(u64::from(info.context_window)), input, output, answer, info.supports.to_text(), profile.to_owned()]
}

/// A price with two decimals, or more if it has more: `0.40`, `0.075`.
fn dollars(price: f64) -> String {
    let (exact, cents) = (price.to_string(), format!("{price:.2}"));
    let decimals = exact.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if decimals > 2 { exact } else { cents }
}

/// Handles Enter in a list.
pub(crate) fn choose(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(picker) = model.layers.top::<Picker>() else { return };
    let Some(choice) = picker.selected().map(|entry| entry.choice.clone()) else { return };
    if picker.kind == Kind::RaceModels && !matches!(choice, Choice::Explain(_)) {
        return race::update_models::send(model, out);
    }
    match choice {
        Choice::Explain(words) => model.status.say(Severity::Notice, words, model.now),
        Choice::Rule(..) => {}
        Choice::Copy(text) => {
            model.layers.pop();
            out.push(Cmd::Copy(text.to_string()));
        }
        Choice::CopyTurn(node) => {
            model.layers.pop();
            copying::turn(model, node, out);
        }
        Choice::Lane(text) => update_lanes::choose(model, &text, out),
        Choice::CompareWith(branch) => compare::update::open(model, branch, out),
        Choice::CopyBranch => {
            model.layers.pop();
            copying::branch(model, out);
        }
        Choice::Memory(id) => memories::update::act(model, id, MemoryAct::Confirm(None), out),
        Choice::Message(node) => search::update::go(model, node, out),
        Choice::Theme(name) => {
            model.layers.pop();
            settings::keep_theme(model, &name, out);
        }
        Choice::Action(action) => {
            model.layers.pop();
            remember(model, action);
            run_next(model, action);
        }
        Choice::Command(row) => {
            model.layers.pop();
            command(model, row);
        }
        Choice::Session(id) => {
            let request = SessionRequest::Open { session: Some(id.to_string()), branch: None, create: false };
            send(model, request, SessionPending::Open, out);
        }
        Choice::Without(run, atom) => {
            model.layers.pop();
            race::update::replay(model, run, None, Some(atom), out);
        }
        Choice::Model { profile, model: name } => {
            let again = if let Kind::ReplayModels(run) = picker.kind { Some(run) } else { None };
            model.layers.pop();
            if let Some(run) = again {
                return race::update::replay(model, run, Some((profile, name)), None, out);
            }
            let choice = (Some(profile), Some(name));
            branches::choose(model, |overrides| (overrides.profile, overrides.model) = choice.clone(), out);
        }
    }
}

/// Runs a command, or writes its name into the composer if it takes arguments. The composer's text stays, or goes into
/// the history.
fn command(model: &mut Model, row: &CommandRow) {
    let line = format!("/{}", row.name);
    if row.words.is_empty() {
        return model.input.next_commands.push_back(line);
    }
    model.focus = Focus::Composer;
    if model.composer.begin_command(&format!("{line} ")) {
        let key = model.keys.key_of(Action::HistoryUp).unwrap_or_default();
        model.status.say(Severity::Notice, format!("{key} restores your message."), model.now);
    }
}

/// Asks for the title of a new session.
pub(crate) fn new_session(model: &mut Model) {
    model.layers.push(Prompt::new("Title of the new session (optional)", "", Purpose::NewSession));
}

/// The title and id of the session under the cursor.
fn selected_session(model: &Model) -> Option<(String, SessionId)> {
    let entry = model.layers.top::<Picker>()?.selected()?;
    if let Choice::Session(id) = entry.choice { Some((entry.label.clone(), id)) } else { None }
}

/// Asks for a new title of the session under the cursor.
pub(crate) fn rename_session(model: &mut Model) {
    let Some((text, id)) = selected_session(model) else { return };
    model.layers.push(Prompt::new("Rename the session", text, Purpose::RenameSession(Some(id))));
}

/// Asks whether to delete the session under the cursor.
pub(crate) fn ask_to_delete(model: &mut Model) {
    let Some((label, id)) = selected_session(model) else { return };
    let about = "Deletes all its messages and branches permanently. You can't undo this.".to_owned();
    let choices = vec![
        ('n', "no, keep it".to_owned(), Act::Close),
        ('y', "yes, delete it permanently".to_owned(), Act::DeleteSession(id)),
    ];
    model.layers.push(Question::new("Delete this session?", vec![label, about], choices));
}

#[cfg(test)]
mod tests {
    use super::dollars;

    #[test]
    fn prices_have_at_least_cents() {
        assert_eq!([0.4, 1.6, 15.0, 0.075].map(dollars), ["0.40", "1.60", "15.00", "0.075"]);
    }
}
