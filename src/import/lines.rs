//! Gathers what a file holds, one JSON value at a time, into sessions.
//! Not for: cutting a file into values (the room's entry) or what single messages say (`message`).

use super::arrange::{Arranged, arrange};
use super::chatgpt;
use super::json::{self, Object};
use super::message::{self, Draft};
use super::notes::Notes;
use crate::domain::hash::Fields;
use crate::domain::message::{NodeHead, Role};
use crate::domain::record::{Reading, Record, Transcript};
use serde_json::Value;
use std::collections::HashMap;

const LINES: &str = "jsonl";
const MESSAGES: &str = "openai";

/// One session's messages as they come.
#[derive(Default)]
struct Pile {
    session: Option<String>,
    source: Option<String>,
    title: Option<String>,
    drafts: Vec<Draft>,
}

/// Everything read so far.
pub(super) struct Gathering {
    /// What was skipped.
    pub(super) notes: Notes,
    stem: String,
    format: Option<&'static str>,
    piles: Vec<Pile>,
    by_session: HashMap<Option<String>, usize>,
    done: Vec<Transcript>,
    stranger: Option<String>,
}

impl Gathering {
    /// For a file of this name.
    pub(super) fn new(file_name: &str, notes: Notes) -> Self {
        let base = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = base.rsplit_once('.').map_or(base, |(stem, _)| if stem.is_empty() { base } else { stem });
        Self {
            notes,
            stem: if stem == "-" { String::new() } else { stem.to_owned() },
            format: None,
            piles: Vec::new(),
            by_session: HashMap::new(),
            done: Vec::new(),
            stranger: None,
        }
    }

    /// Takes one value: a message, a conversation of messages, or a ChatGPT conversation.
    pub(super) fn take(&mut self, value: Value, place: &str, number: u64, unit: &'static str) {
        let Value::Object(mut object) = value else {
            self.notes.skip(place, format!("it is {}, not an object", json::kind(&value)));
            return;
        };
        if object.get("mapping").is_some_and(Value::is_object) {
            self.format.get_or_insert(chatgpt::FORMAT);
            let found = chatgpt::read(object, place, &self.stem, &mut self.notes);
            self.done.extend(found);
        } else if let Some(Value::Array(_)) = object.get("messages") {
            self.format.get_or_insert(MESSAGES);
            let Some(Value::Array(messages)) = object.shift_remove("messages") else { return };
            self.conversation(&mut object, messages, place);
        } else if object.contains_key("role") || object.contains_key("content") || object.contains_key("parent") {
            // A bare array of messages and lines without ids are the same to us; only the name differs.
            self.format.get_or_insert(if unit == "line" { LINES } else { MESSAGES });
            self.message(object, number, unit);
        } else {
            let why = stranger(&object);
            self.notes.skip(place, why.clone());
            self.stranger.get_or_insert(why);
        }
    }

    fn message(&mut self, mut object: Object, number: u64, unit: &'static str) {
        let session = json::id(&mut object, "session");
        let (source, title) = (json::text(&mut object, "source"), json::text(&mut object, "title"));
        let at = *self.by_session.entry(session.clone()).or_insert_with(|| {
            self.piles.push(Pile { session, ..Pile::default() });
            self.piles.len() - 1
        });
        let pile = &mut self.piles[at];
        pile.source = pile.source.take().or(source);
        pile.title = pile.title.take().or(title);
        pile.add(object, number, unit, "", &mut self.notes);
    }

    fn conversation(&mut self, object: &mut Object, messages: Vec<Value>, place: &str) {
        let session = json::id(object, "id").or_else(|| json::id(object, "conversation_id"));
        let title = json::text(object, "title").or_else(|| json::text(object, "name"));
        let mut pile = Pile { session, source: None, title, drafts: Vec::new() };
        let prefix = format!("{place}, ");
        for (index, value) in messages.into_iter().enumerate() {
            match value {
                Value::Object(object) => pile.add(object, index as u64 + 1, "message", &prefix, &mut self.notes),
                other => self.notes.skip(
                    format!("{prefix}message {}", index + 1),
                    format!("it is {}, not an object", json::kind(&other)),
                ),
            }
        }
        let found = pile.finish(MESSAGES, &self.stem, &prefix, &mut self.notes);
        self.done.extend(found);
    }

    /// The reading, or why there is nothing to read.
    pub(super) fn finish(mut self) -> Result<Reading, String> {
        let format = self.format.unwrap_or(LINES);
        for pile in std::mem::take(&mut self.piles) {
            let found = pile.finish(format, &self.stem, "", &mut self.notes);
            self.done.extend(found);
        }
        if self.done.is_empty() {
            let first = self.notes.first().map(|note| format!("{}: {}", note.place, note.why));
            return Err(self.stranger.or(first).unwrap_or_else(|| "no message was found".into()));
        }
        let skipped = self.notes.finish();
        Ok(Reading { format: format.to_owned(), transcripts: self.done, skipped })
    }
}

impl Pile {
    fn add(&mut self, object: Object, number: u64, unit: &'static str, prefix: &str, notes: &mut Notes) {
        match message::read(object, number, unit) {
            Ok(draft) => self.drafts.push(draft),
            Err((why, ghost)) => {
                notes.skip(ghost.place(prefix), why);
                self.drafts.push(*ghost);
            }
        }
    }

    fn finish(self, format: &str, stem: &str, prefix: &str, notes: &mut Notes) -> Option<Transcript> {
        let Arranged { records, current } = arrange(self.drafts, prefix, notes);
        if records.iter().all(|record| record.content.parts.is_empty() && record.hidden) && self.source.is_none() {
            return None;
        }
        // Our own export says where it stands; another file stands at its end.
        let current =
            if self.source.is_some() { current } else { current.or_else(|| records.last().map(|r| r.id.clone())) };
        let source = self.source.unwrap_or_else(|| {
            let id = self.session.clone().unwrap_or_else(|| beginning(&records));
            format!("{format}:{id}")
        });
        let title = self.title.or(self.session).unwrap_or_else(|| named(stem, &records));
        Some(Transcript { source, title, records, current })
    }
}

/// Identifies a conversation without an id by how it begins, up to the first answer: a grown file still begins so, and
/// two that were only asked the same do not.
fn beginning(records: &[Record]) -> String {
    let mut fields = Fields::new("beginning");
    let mut asked = false;
    for record in records {
        fields = fields.text(&record.id).text(record.role.name()).hash(record.content.hash());
        asked |= record.role == Role::User;
        if asked && record.role == Role::Assistant {
            break;
        }
    }
    fields.finish().to_string()[..20].to_owned()
}

fn named(stem: &str, records: &[Record]) -> String {
    if !stem.is_empty() {
        return stem.to_owned();
    }
    let first = records.iter().find(|record| record.role == Role::User);
    first.map_or_else(|| "Imported".into(), |record| NodeHead::preview_of(&record.content.words()))
}

fn stranger(object: &Object) -> String {
    if object.contains_key("chat_messages") {
        return "it looks like a Claude export, which is not read yet".into();
    }
    if object.contains_key("sessionId") || object.contains_key("parentUuid") {
        return "it looks like a session log of a coding agent, which is not read yet".into();
    }
    let keys: Vec<String> = object.keys().take(5).map(|key| key.chars().take(30).collect()).collect();
    format!("an object with the fields {keys:?} is neither a message nor a conversation")
}
