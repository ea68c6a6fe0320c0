//! Reads one message object of pleach JSON lines or of OpenAI chat messages, which have the same format.
//! Not for: connecting messages (`tree_builder`).

use super::json::{self, Object};
use super::time;
use crate::domain::conversation::record::TAG;
use crate::domain::conversation::tag::clean;
use crate::domain::conversation::{Content, End, Part, Record, Role};
use serde_json::{Value, json};

/// A message's statement about its parent.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Parent {
    /// Nothing.
    Unstated,
    /// It has no parent.
    Root,
    /// It is the message with this id.
    Of(String),
}

/// A record that is not placed in its tree yet.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Draft {
    /// The message's number in the file, for sentences.
    pub(super) number: u64,
    /// The unit that the number counts, such as `line`.
    pub(super) unit: &'static str,
    pub(super) parent: Parent,
    /// Whether the message is unreadable. Then only its position matters, and only if it has children.
    pub(super) placeholder: bool,
    /// See [`PlacedRecord::is_blank`](crate::domain::conversation::record::PlacedRecord::is_blank).
    pub(super) is_blank: bool,
    /// Whether it is a tool result that does not name its call.
    pub(super) loose: bool,
    /// Whether it is the conversation's current message.
    pub(super) current: bool,
    /// Its weight in memory.
    pub(super) weight: u64,
    /// The record. Its `id` is empty if the file gives none, and its `parent` is not set yet.
    pub(super) record: Record,
}

impl Draft {
    /// Makes an empty, hidden message that keeps a position in the tree.
    pub(super) fn placeholder(id: String, parent: Parent, number: u64, unit: &'static str) -> Self {
        let record = Record {
            id,
            parent: None,
            role: Role::System,
            name: None,
            content: Content::default(),
            end: End::Complete,
            at: None,
            lane: String::new(),
            hidden: true,
            model: None,
            label: String::new(),
            favorite: false,
        };
        Self {
            number,
            unit,
            parent,
            placeholder: true,
            is_blank: false,
            loose: false,
            current: false,
            weight: 0,
            record,
        }
    }

    /// Describes the message's position in the file.
    pub(super) fn place(&self, prefix: &str) -> String {
        if self.number == 0 {
            return format!("{prefix}node {}", self.record.id);
        }
        format!("{prefix}{} {}", self.unit, self.number)
    }
}

/// Reads one message. If it is invalid, returns the reason and an empty message in its place.
pub(super) fn read(mut object: Object, number: u64, unit: &'static str) -> Result<Draft, (String, Box<Draft>)> {
    let id = json::id(&mut object, "id").unwrap_or_default();
    let parent = match object.get("parent") {
        None => Parent::Unstated,
        Some(Value::Null) => Parent::Root,
        Some(_) => match json::id(&mut object, "parent") {
            Some(id) if id.is_empty() => Parent::Root,
            Some(id) => Parent::Of(id),
            None => Parent::Unstated,
        },
    };
    json::drop_null(&mut object, "parent");
    let mut draft = Draft::placeholder(id, parent, number, unit);
    let role = match object.get("role") {
        Some(Value::String(name)) => read_role(name),
        Some(other) => Err(format!("its role is {}", json::kind(other))),
        None => Err("it has no role".to_owned()),
    };
    match role.and_then(|role| fill(&mut draft, role, &mut object)) {
        Ok(()) => {
            draft.placeholder = false;
            Ok(draft)
        }
        Err(why) => Err((why, Box::new(draft))),
    }
}

/// Returns the role with this name. The error states that there is none.
pub(super) fn read_role(name: &str) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| format!("unknown role {:?}", name.chars().take(40).collect::<String>()))
}

fn fill(draft: &mut Draft, role: Role, object: &mut Object) -> Result<(), String> {
    object.shift_remove("role");
    object.shift_remove("session");
    draft.current = json::truth(object, "current").unwrap_or(false);
    draft.loose = role == Role::Tool && !object.contains_key("tool_call_id");
    let name = json::text(object, "name");
    json::drop_null(object, "name");
    let mut kept = Vec::new();
    let parts = match exact_parts(object) {
        Some(parts) => {
            draft.loose = false;
            object.shift_remove("content");
            parts
        }
        None if role == Role::Tool => tool_parts(object, name.as_deref(), &draft.record.id, &mut kept)?,
        None => content_and_call_parts(object, &draft.record.id, &mut kept)?,
    };
    let at = ["created_at", "timestamp", "create_time"].into_iter().find_map(|key| {
        let at = object.get(key).and_then(time::millis)?;
        object.shift_remove(key);
        Some(at)
    });
    json::drop_null(object, "created_at");
    let end = object.get("status").and_then(Value::as_str).and_then(End::from_name);
    if end.is_some() {
        object.shift_remove("status");
    }
    let record = &mut draft.record;
    record.role = role;
    record.name = name;
    record.at = at;
    record.end = end.unwrap_or(End::Complete);
    record.lane = json::text(object, "lane").unwrap_or_default();
    json::drop_null(object, "lane");
    record.hidden = json::truth(object, "hidden").unwrap_or(false);
    record.model = json::text(object, "model");
    json::drop_null(object, "model");
    let beside = tag(object);
    let mut extra = extra(object, kept);
    let inside = match &mut extra {
        Some(Value::Object(fields)) => tag(fields),
        _ => None,
    };
    if inside.is_some() && extra.as_ref().and_then(Value::as_object).is_some_and(Object::is_empty) {
        extra = None;
    }
    (record.label, record.favorite) = inside.or(beside).unwrap_or_default();
    record.content = Content { parts, extra };
    Ok(())
}

/// Returns the exact parts, which this program exports if the plain fields are not sufficient.
fn exact_parts(object: &mut Object) -> Option<Vec<Part>> {
    let parts = serde_json::from_value(object.get("parts")?.clone()).ok()?;
    for key in ["parts", "reasoning", "tool_calls", "tool_call_id"] {
        object.shift_remove(key);
    }
    Some(parts)
}

/// Removes and returns the label, and whether the message is a favorite, in this program's export format.
fn tag(fields: &mut Object) -> Option<(String, bool)> {
    let known = |(key, value): (&String, &Value)| match key.as_str() {
        "label" => value.is_string(),
        "favourite" => value.is_boolean(),
        _ => false,
    };
    fields.get(TAG)?.as_object().filter(|tag| !tag.is_empty() && tag.iter().all(known))?;
    let tag = fields.shift_remove(TAG)?;
    let label = tag.get("label").and_then(Value::as_str).map(clean).unwrap_or_default();
    Some((label, tag.get("favourite").and_then(Value::as_bool).unwrap_or(false)))
}

fn extra(object: &mut Object, kept: Vec<Value>) -> Option<Value> {
    let ours = object.shift_remove("extra").filter(|value| !value.is_null());
    if !kept.is_empty() {
        object.insert("opaque".into(), Value::Array(kept));
    }
    let rest = std::mem::take(object);
    match (ours, rest.is_empty()) {
        (ours, true) => ours,
        (None, false) => Some(Value::Object(rest)),
        (Some(Value::Object(mut ours)), false) => {
            for (key, value) in rest {
                ours.entry(key).or_insert(value);
            }
            Some(Value::Object(ours))
        }
        (Some(other), false) => Some(json!({ "extra": other, "fields": rest })),
    }
}

fn content_and_call_parts(object: &mut Object, id: &str, kept: &mut Vec<Value>) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let thought = json::text(object, "reasoning").or_else(|| json::text(object, "reasoning_content"));
    if let Some(text) = thought.filter(|text| !text.is_empty()) {
        parts.push(Part::Reasoning { text });
    }
    let mut content_parts_read = content_parts(object, kept)?;
    if content_parts_read.is_empty()
        && let Some(text) = json::text(object, "refusal")
    {
        content_parts_read.push(Part::Text { text });
    }
    let calls = call_parts(object, id);
    if !calls.is_empty() {
        content_parts_read.retain(|part| !matches!(part, Part::Text { text } if text.is_empty()));
    }
    parts.extend(content_parts_read);
    parts.extend(calls);
    for key in ["reasoning", "reasoning_content", "refusal", "tool_calls", "function_call"] {
        json::drop_null(object, key);
    }
    Ok(parts)
}

fn tool_parts(object: &mut Object, name: Option<&str>, id: &str, kept: &mut Vec<Value>) -> Result<Vec<Part>, String> {
    let silent = object.get("content").is_none_or(Value::is_null);
    let call = json::id(object, "tool_call_id");
    if silent && call.is_none() {
        object.shift_remove("content");
        return Ok(call_parts(object, id));
    }
    let (mut body, mut parts) = (Vec::new(), Vec::new());
    for part in content_parts(object, kept)? {
        match part {
            Part::Text { text } => body.push(text),
            other => parts.push(other),
        }
    }
    let reply =
        Part::Reply { call: call.unwrap_or_default(), name: name.unwrap_or_default().into(), body: body.join("\n") };
    parts.insert(0, reply);
    parts.extend(call_parts(object, id));
    Ok(parts)
}

fn content_parts(object: &mut Object, kept: &mut Vec<Value>) -> Result<Vec<Part>, String> {
    match object.shift_remove("content") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Part::Text { text }]),
        Some(Value::Array(items)) => Ok(items.into_iter().map(|item| content_item(item, kept)).collect()),
        Some(other) => Err(format!("its content is {}", json::kind(&other))),
    }
}

fn content_item(item: Value, kept: &mut Vec<Value>) -> Part {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let text = match kind {
        "text" | "input_text" | "output_text" | "" => item.get("text").or(Some(&item)).and_then(Value::as_str),
        "refusal" => item.get("refusal").and_then(Value::as_str),
        _ => None,
    };
    match text {
        Some(text) => Part::Text { text: text.to_owned() },
        None => json::opaque(item, kept),
    }
}

/// Returns the calls with complete arguments. Incomplete ones do not become calls and stay in the object, for `extra`.
fn call_parts(object: &mut Object, id: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(Value::Array(calls)) = object.get("tool_calls") {
        let (good, bad): (Vec<_>, Vec<_>) = calls
            .iter()
            .enumerate()
            .map(|(place, call)| call_part(call, id, place).ok_or(call))
            .partition(Result::is_ok);
        let bad: Vec<Value> = bad.into_iter().filter_map(Result::err).cloned().collect();
        parts.extend(good.into_iter().flatten());
        if bad.is_empty() {
            object.shift_remove("tool_calls");
        } else {
            object.insert("tool_calls".into(), Value::Array(bad));
        }
    }
    let old = object.get("function_call").and_then(|call| call_part(&json!({ "function": call }), id, parts.len()));
    if let Some(part) = old {
        object.shift_remove("function_call");
        parts.push(part);
    }
    parts
}

fn call_part(call: &Value, id: &str, place: usize) -> Option<Part> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name")?.as_str()?.to_owned();
    let args = match function.get("arguments")? {
        Value::String(text) if text.is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            text.clone()
        }
        Value::Object(object) => Value::Object(object.clone()).to_string(),
        _ => return None,
    };
    let id = call.get("id").and_then(Value::as_str).map_or_else(|| format!("{id}-call-{}", place + 1), str::to_owned);
    Some(Part::Call { id, name, args })
}
