//! Helpers that remove known fields from a JSON object, so that the rest can be kept as `extra`.
//! Not for: the meaning of any format.

use crate::domain::base::hash::Hash;
use crate::domain::conversation::message::Part;
use serde_json::{Map, Value};

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// Removes and returns a string. Leaves values of other types.
pub(super) fn text(object: &mut Object, key: &str) -> Option<String> {
    match object.get(key) {
        Some(Value::String(_)) => match object.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Removes and returns a boolean. Leaves values of other types.
pub(super) fn truth(object: &mut Object, key: &str) -> Option<bool> {
    let found = object.get(key).and_then(Value::as_bool);
    if found.is_some() {
        object.shift_remove(key);
    }
    found
}

/// Removes and returns a string or a number as an id. Leaves values of other types.
pub(super) fn id(object: &mut Object, key: &str) -> Option<String> {
    if let Some(Value::Number(number)) = object.get(key) {
        let id = number.to_string();
        object.shift_remove(key);
        return Some(id);
    }
    text(object, key)
}

/// Removes a field if it is null.
pub(super) fn drop_null(object: &mut Object, key: &str) {
    if object.get(key).is_some_and(Value::is_null) {
        object.shift_remove(key);
    }
}

/// Makes a part of a value that is not text. The part has the hash of the JSON; the whole JSON is added to `kept`.
pub(super) fn opaque(value: Value, kept: &mut Vec<Value>) -> Part {
    let raw = value.to_string();
    let part = Part::Opaque { mime: mime_of(&value), raw: Hash::of(raw.as_bytes()), bytes: raw.len() as u64 };
    kept.push(value);
    part
}

fn mime_of(value: &Value) -> String {
    let kind = value.get("type").or_else(|| value.get("content_type")).and_then(Value::as_str).unwrap_or_default();
    let url = value.pointer("/image_url/url").or_else(|| value.get("image_url")).and_then(Value::as_str);
    let named = value.get("mime_type").and_then(Value::as_str);
    let inline = url.and_then(|url| url.strip_prefix("data:")).and_then(|url| url.split([';', ',']).next());
    match (named.or(inline), kind) {
        (Some(mime), _) if !mime.is_empty() && mime.len() <= 100 => mime.to_owned(),
        (_, kind) if kind.contains("image") => "image/*".into(),
        (_, kind) if kind.contains("audio") => "audio/*".into(),
        (_, kind) if kind.contains("video") => "video/*".into(),
        _ => "application/json".into(),
    }
}

/// Returns the type of a value, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
