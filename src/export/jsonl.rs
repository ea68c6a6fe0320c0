//! Writes JSON lines: one message per line in the format that imports read, with the fields needed for an exact round
//! trip, and then one line per branch with its head.
//! Not for: masking, which the caller does first.

use crate::domain::conversation::message::{End, Part, Role};
use crate::domain::conversation::record::{Record, TAG, Transcript};
use serde_json::{Map, Value, json};

/// Writes all records in order, and then a line for each branch, which other readers skip.
pub(super) fn write(transcript: &Transcript) -> String {
    let mut text = String::new();
    for (index, record) in transcript.records.iter().enumerate() {
        let mut line = line(record);
        line.insert("session".into(), transcript.source.as_str().into());
        if index == 0 {
            line.insert("source".into(), transcript.source.as_str().into());
            line.insert("title".into(), transcript.title.as_str().into());
        }
        if transcript.current.as_ref() == Some(&record.id) {
            line.insert("current".into(), true.into());
        }
        text.push_str(&Value::Object(line).to_string());
        text.push('\n');
    }
    for branch in &transcript.branches {
        let mut line = Map::new();
        line.insert("branch".into(), branch.name.as_str().into());
        line.insert("head".into(), branch.head.as_deref().into());
        line.insert("session".into(), transcript.source.as_str().into());
        for (name, _) in [("archived", branch.archived), ("current", branch.current)].iter().filter(|(_, set)| *set) {
            line.insert((*name).into(), true.into());
        }
        text.push_str(&Value::Object(line).to_string());
        text.push('\n');
    }
    text
}

fn line(record: &Record) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("id".into(), record.id.as_str().into());
    line.insert("parent".into(), record.parent.as_deref().into());
    line.insert("role".into(), record.role.name().into());
    if let Some(name) = &record.name {
        line.insert("name".into(), name.as_str().into());
    }
    write_chat_fields(record, &mut line);
    if !is_plain(record) {
        line.insert("parts".into(), json!(record.content.parts));
    }
    if let Some(at) = record.at {
        line.insert("created_at".into(), time(at));
    }
    if !record.lane.is_empty() {
        line.insert("lane".into(), record.lane.as_str().into());
    }
    if record.end != End::Complete {
        line.insert("status".into(), record.end.name().into());
    }
    if let Some(model) = &record.model {
        line.insert("model".into(), model.as_str().into());
    }
    if record.hidden {
        line.insert("hidden".into(), true.into());
    }
    keep_extra(record, &mut line);
    line
}

/// Writes the field `extra`, including the message's label and star. If `extra` is not an object, the label and the
/// star get a separate field.
fn keep_extra(record: &Record, line: &mut Map<String, Value>) {
    let mut tag = Map::new();
    if !record.label.is_empty() {
        tag.insert("label".into(), record.label.as_str().into());
    }
    if record.favourite {
        tag.insert("favourite".into(), true.into());
    }
    let mut extra = record.content.extra.clone();
    if !tag.is_empty() {
        match extra.get_or_insert_with(|| json!({})) {
            Value::Object(fields) => drop(fields.insert(TAG.into(), tag.into())),
            _ => drop(line.insert(TAG.into(), tag.into())),
        }
    }
    if let Some(extra) = extra {
        line.insert("extra".into(), extra);
    }
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
    if !thoughts.is_empty() {
        line.insert("reasoning".into(), thoughts.join("\n").into());
    }
    let calls: Vec<Value> = record
        .content
        .calls()
        .map(|(id, name, args)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}}))
        .collect();
    if !calls.is_empty() {
        line.insert("tool_calls".into(), calls.into());
    }
    if let Some(call) = parts.iter().find_map(|part| match part {
        Part::Reply { call, .. } => Some(call),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
    }) {
        line.insert("tool_call_id".into(), call.as_str().into());
    }
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
