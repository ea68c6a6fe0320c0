//! Helpers that remove known fields from a JSON object, so that the rest can be kept as `extra`.
//! Not for: the meaning of any format.

use crate::domain::base::Hash;
use crate::domain::conversation::Part;
use serde_json::{Map, Value};

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// Parses a value. Also accepts control characters written as `\xNN`, which is not JSON but which Telegram Desktop
/// writes.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    match serde_json::from_str(text) {
        Err(_) if text.contains("\\x") => serde_json::from_str(&repaired(text)),
        read => read,
    }
}

/// Replaces the escapes `\xNN` by JSON escapes, and a truncated one by U+FFFD.
fn repaired(text: &str) -> String {
    let mut whole = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let digits = escape.get(2..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let length = match (escape.as_bytes().get(1), digits) {
            (Some(b'x'), Some(digits)) => {
                whole.extend(["\\u00", digits]);
                4
            }
            (Some(b'x'), None) => {
                whole.push_str("\\ufffd");
                2
            }
            (Some(_), _) => {
                let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
                whole.push_str(&escape[..end]);
                end
            }
            (None, _) => {
                whole.push('\\');
                1
            }
        };
        rest = &escape[length..];
    }
    whole + rest
}

/// Removes and returns a string. Leaves values of other types.
pub(super) fn text(object: &mut Object, key: &str) -> Option<String> {
    object.get(key).filter(|value| value.is_string())?;
    match object.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
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
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn control_characters_of_telegram_desktop_are_read() {
        let table = [
            (r#""a\x1Bb\x0""#, json!("a\u{1b}b\u{fffd}0")),
            (r#""\\x41 \x07""#, json!("\\x41 \u{7}")),
            (r#""\"\x0Aü\u00fc""#, json!("\"\nüü")),
            (r#""\x""#, json!("\u{fffd}")),
        ];
        for (text, wanted) in table {
            assert_eq!(parse(text).unwrap(), wanted, "{text}");
        }
        assert!(parse(r#""\x1B"#).is_err(), "it is still incomplete");
        assert!(parse(r#""\q""#).is_err());
    }
}
