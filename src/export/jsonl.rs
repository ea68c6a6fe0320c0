//! Writes JSON lines: one message per line in the format that imports read, with the fields needed for an exact round
//! trip, and then one line per branch with its head.
//! Not for: masking, which the caller does first.

use crate::domain::conversation::record::TAG;
use crate::domain::conversation::{End, Part, Record, Role, Transcript};
use serde_json::{Map, Value, json};

/// Writes all records in order, and then a line for each branch, which other readers skip.
pub(super) fn write(transcript: &Transcript) -> String {
    let mut text = String::new();
    for line in messages(transcript).chain(branches(transcript)) {
        text.push_str(&Value::Object(line).to_string());
        text.push('\n');
    }
    text
}

/// Returns the line of each message.
pub(super) fn messages(transcript: &Transcript) -> impl Iterator<Item = Map<String, Value>> {
    transcript.records.iter().enumerate().map(|(index, record)| {
        let mut line = line(record);
        line.insert("session".into(), transcript.source.as_str().into());
        if index == 0 {
            line.insert("source".into(), transcript.source.as_str().into());
            line.insert("title".into(), transcript.title.as_str().into());
        }
        set(&mut line, "current", (transcript.current.as_ref() == Some(&record.id)).then_some(true));
        line
    })
}

/// Returns the line of each branch.
pub(super) fn branches(transcript: &Transcript) -> impl Iterator<Item = Map<String, Value>> {
    transcript.branches.iter().map(|branch| {
        let mut line = Map::new();
        line.insert("branch".into(), branch.name.as_str().into());
        line.insert("head".into(), branch.head.as_deref().into());
        line.insert("session".into(), transcript.source.as_str().into());
        set(&mut line, "archived", branch.archived.then_some(true));
        set(&mut line, "current", branch.current.then_some(true));
        line
    })
}

fn line(record: &Record) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("id".into(), record.id.as_str().into());
    line.insert("parent".into(), record.parent.as_deref().into());
    line.insert("role".into(), record.role.name().into());
    set(&mut line, "name", record.name.as_deref());
    write_chat_fields(record, &mut line);
    set(&mut line, "parts", (!is_plain(record)).then(|| json!(record.content.parts)));
    set(&mut line, "created_at", record.at.map(time));
    set(&mut line, "lane", Some(record.lane.as_str()).filter(|lane| !lane.is_empty()));
    set(&mut line, "status", (record.end != End::Complete).then(|| record.end.name()));
    set(&mut line, "model", record.model.as_deref());
    set(&mut line, "hidden", record.hidden.then_some(true));
    keep_extra(record, &mut line);
    line
}

/// Writes a field, if there is a value.
fn set(line: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        line.insert(name.into(), value.into());
    }
}

/// Writes the field `extra`, including the message's label and whether it is a favorite. If `extra` is not an object,
/// both get a separate field.
fn keep_extra(record: &Record, line: &mut Map<String, Value>) {
    let mut tag = Map::new();
    set(&mut tag, "label", Some(record.label.as_str()).filter(|label| !label.is_empty()));
    set(&mut tag, "favourite", record.favorite.then_some(true));
    let mut extra = record.content.extra.clone();
    if !tag.is_empty() {
        match extra.get_or_insert_with(|| json!({})) {
            Value::Object(fields) => drop(fields.insert(TAG.into(), tag.into())),
            _ => drop(line.insert(TAG.into(), tag.into())),
        }
    }
    set(line, "extra", extra);
}

/// Writes the fields that every reader of chat messages knows.
fn write_chat_fields(record: &Record, line: &mut Map<String, Value>) {
    let parts = &record.content.parts;
    let texts: Vec<&str> = record.content.texts().collect();
    line.insert("content".into(), if texts.is_empty() { Value::Null } else { texts.join("\n").into() });
    let thoughts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning { text } => Some(text.as_str()),
            Part::Text { .. } | Part::Reply { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
        })
        .collect();
    set(line, "reasoning", (!thoughts.is_empty()).then(|| thoughts.join("\n")));
    let calls: Vec<Value> = record
        .content
        .calls()
        .map(|(id, name, args)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}}))
        .collect();
    set(line, "tool_calls", Some(calls).filter(|calls| !calls.is_empty()));
    let call = parts.iter().find_map(|part| match part {
        Part::Reply { call, .. } => Some(call.as_str()),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
    });
    set(line, "tool_call_id", call);
}

/// Whether the plain fields are sufficient: `[reasoning] [text] [calls …]`, or a tool's single reply.
fn is_plain(record: &Record) -> bool {
    let parts = record.content.parts.as_slice();
    if record.role == Role::Tool {
        return match parts {
            [] => true,
            [Part::Reply { name, .. }] => name == record.name.as_deref().unwrap_or_default(),
            _ => false,
        };
    }
    let rest = match parts {
        [Part::Reasoning { text }, rest @ ..] if !text.is_empty() => rest,
        all => all,
    };
    let calls = match rest {
        [Part::Text { .. }] => &[],
        [Part::Text { text }, calls @ ..] if !text.is_empty() => calls,
        calls => calls,
    };
    calls.iter().all(|part| matches!(part, Part::Call { args, .. } if is_whole(args)))
}

fn is_whole(args: &str) -> bool {
    args.is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(args).is_ok()
}

/// Formats a time as RFC 3339, or as milliseconds since 1970 if the calendar does not cover it.
fn time(at: i64) -> Value {
    jiff::Timestamp::from_millisecond(at).map_or_else(|_| at.into(), |stamp| stamp.to_string().into())
}
