//! Updates of the list of memories, and the dismissal of memories.
//! Not for: moving in the list (`tui::update::travel`) or setting pins (`chat::update::acts`).

use super::model::MemoriesPending;
use crate::domain::base::Failure;
use crate::domain::base::ids::MemoryId;
use crate::domain::conversation::{Memory, MemoryKind, MemoryStatus, Scope};
use crate::engine::api::{Answer, MemoryAct, MemoryAnswer, MemoryRequest, MemoryScope, Request};
use crate::tui::screens;
use crate::tui::screens::picker::model::{Choice, Entry, Kind, Picker};
use crate::tui::screens::prompt::model::{Prompt, Purpose};
use crate::tui::update::effects::show_answer;
use crate::tui::update::prelude::*;

/// Handles the answers to the requests of the list.
pub(crate) fn answered(
    model: &mut Model,
    ticket: u64,
    pending: MemoriesPending,
    result: Result<Answer, Failure>,
    out: &mut Vec<Cmd>,
) {
    match (pending, result) {
        (MemoriesPending::List, Ok(Answer::Memory(MemoryAnswer::Memories(all)))) => arrived(model, ticket, &all),
        (MemoriesPending::List, Err(failure)) => screens::picker::update::failed(model, ticket, &failure),
        (MemoriesPending::Change, Ok(answer)) => changed(model, &answer, out),
        (MemoriesPending::List | MemoriesPending::Change, result) => show_answer(model, result),
    }
}

/// Opens the list of memories.
pub(crate) fn open(model: &mut Model, out: &mut Vec<Cmd>) {
    model.layers.push(Picker::new(Kind::Memories));
    ask(model, out);
}

/// Requests the memories if the list is open.
fn ask(model: &mut Model, out: &mut Vec<Cmd>) {
    if !model.layers.all::<Picker>().any(|picker| picker.kind == Kind::Memories) {
        return;
    }
    let session = model.session.as_ref().map(|session| session.card.id.to_string());
    let ticket = send(model, MemoryRequest::List { session, words: None, scope: None }, MemoriesPending::List, out);
    for picker in model.layers.all_mut::<Picker>() {
        if picker.kind == Kind::Memories {
            (picker.loading, picker.ticket) = (true, ticket);
        }
    }
}

/// Fills the list: suggested memories first, then confirmed and dismissed ones, each newest first.
fn arrived(model: &mut Model, ticket: u64, all: &[Memory]) {
    let rank = |memory: &Memory| match memory.status {
        MemoryStatus::Suggested => 0,
        MemoryStatus::Confirmed => 1,
        MemoryStatus::Dismissed => 2,
    };
    let mut sorted: Vec<&Memory> = all.iter().collect();
    sorted.sort_by_key(|memory| (rank(memory), std::cmp::Reverse(memory.created_at)));
    let entry = |memory: &Memory| Entry {
        label: memory.text.clone(),
        detail: format!(
            "{}, {} · {}",
            memory.kind.name(),
            if memory.scope == Scope::All { "all sessions" } else { "this session" },
            memory.status.name()
        ),
        choice: Choice::Memory(memory.id),
    };
    let mut entries: Vec<Entry> = sorted.into_iter().map(entry).collect();
    if entries.is_empty() {
        entries.push(Entry {
            label: "No memories yet; /remember TEXT or a suggestion of the model adds a memory.".into(),
            detail: String::new(),
            choice: Choice::Explain("/remember TEXT adds a memory.".into()),
        });
    }
    if let Some(picker) = screens::picker::update::waiting_for(model, ticket) {
        picker.fill(entries);
    }
}

/// Requests a change of a memory.
pub(crate) fn act(model: &mut Model, id: MemoryId, act: MemoryAct, out: &mut Vec<Cmd>) {
    send(model, MemoryRequest::Change { id: id.to_string(), act }, MemoriesPending::Change, out);
}

/// Reports a change and loads the list again.
fn changed(model: &mut Model, answer: &Answer, out: &mut Vec<Cmd>) {
    let text = if let Answer::Done(text) = answer { text } else { "Remembered. u undoes it." };
    model.status.say(Severity::Notice, text, model.now);
    ask(model, out);
}

/// Adds a memory. A kind before a colon sets its kind; without one it is a fact.
pub(crate) fn remember(model: &mut Model, text: &str, out: &mut Vec<Cmd>) {
    let named = text.split_once(':').and_then(|(kind, rest)| Some((MemoryKind::from_name(kind)?, rest.trim())));
    let (kind, text) = named.unwrap_or((MemoryKind::Fact, text.trim()));
    add(model, kind, text.to_owned(), None, out);
}

/// Adds a memory. Without a scope, a preference applies to all sessions and any other kind to this session.
pub(crate) fn add(model: &mut Model, kind: MemoryKind, text: String, scope: Option<MemoryScope>, out: &mut Vec<Cmd>) {
    let request = MemoryRequest::Remember { kind, text, scope: scope.unwrap_or(MemoryScope::usual(kind)) };
    send(model, Request::Memory(request), MemoriesPending::Change, out);
}

/// The text and id of the memory under the cursor.
fn selected(model: &Model) -> Option<(String, MemoryId)> {
    let entry = model.layers.top::<Picker>()?.selected()?;
    if let Choice::Memory(id) = entry.choice { Some((entry.label.clone(), id)) } else { None }
}

/// Asks for the text of a new memory.
pub(crate) fn add_prompt(model: &mut Model) {
    let title = "Remember (start with fact:, preference:, outcome:, or event: to set the kind)";
    model.layers.push(Prompt::new(title, "", Purpose::Remember));
}

/// Asks for another text of the memory under the cursor.
pub(crate) fn edit_prompt(model: &mut Model) {
    if let Some((text, id)) = selected(model) {
        model.layers.push(Prompt::new("Edit the memory", text, Purpose::EditMemory(id)));
    }
}

/// Deletes the memory under the cursor.
pub(crate) fn delete(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some((_, id)) = selected(model) {
        act(model, id, MemoryAct::Delete, out);
    }
}

/// Dismisses the memory under the cursor.
pub(crate) fn dismiss(model: &mut Model, out: &mut Vec<Cmd>) {
    if let Some((_, id)) = selected(model) {
        act(model, id, MemoryAct::Dismiss, out);
    }
}
