//! Masks text that looks like a secret in everything that an export contains. Ids are never masked, because they connect
//! the tree.
//! Not for: the patterns of secrets (`domain::base::secrets`).

use crate::domain::base::secrets;
use crate::domain::conversation::{Content, Part, Record, Transcript};
use serde_json::Value;
use std::borrow::Cow;

/// Returns the transcript, masked if requested.
pub(super) fn masked(transcript: &Transcript, mask: bool) -> Cow<'_, Transcript> {
    if !mask {
        return Cow::Borrowed(transcript);
    }
    let mut copy = transcript.clone();
    mask_names(&mut copy);
    for record in &mut copy.records {
        mask_record(record);
    }
    Cow::Owned(copy)
}

/// Masks the title and the names of branches. Returns the number of secrets.
pub(super) fn mask_names(transcript: &mut Transcript) -> usize {
    let names = transcript.branches.iter_mut().map(|branch| &mut branch.name);
    std::iter::once(&mut transcript.title).chain(names).map(mask_text).sum()
}

/// Masks a message. Returns the number of secrets.
pub(super) fn mask_record(record: &mut Record) -> usize {
    let texts = [&mut record.lane, &mut record.label].into_iter().chain(&mut record.name).chain(&mut record.model);
    let mut found: usize = texts.map(mask_text).sum();
    let Content { parts, extra } = &mut record.content;
    for part in parts {
        found += match part {
            Part::Text { text } | Part::Reasoning { text } => mask_text(text),
            Part::Call { name, args: text, .. } | Part::Reply { name, body: text, .. } => {
                mask_text(name) + mask_text(text)
            }
            Part::Opaque { mime, .. } => mask_text(mime),
        };
    }
    found + extra.as_mut().map_or(0, mask_value)
}

/// Masks a text. Returns the number of secrets.
pub(super) fn mask_text(text: &mut String) -> usize {
    let (masked, found) = secrets::mask(text);
    if let Cow::Owned(masked) = masked {
        *text = masked;
    }
    found + mask_json(text)
}

/// Masks the strings of a text that is one JSON object or list, because their escapes hide secrets from the patterns.
fn mask_json(text: &mut String) -> usize {
    if !text.trim_start().starts_with(['{', '[']) || !text.contains('\\') {
        return 0;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return 0 };
    let found = mask_value(&mut value);
    if found > 0 {
        *text = value.to_string();
    }
    found
}

/// Masks the strings of a value. Returns the number of secrets.
pub(super) fn mask_value(value: &mut Value) -> usize {
    let (mut waiting, mut found) = (vec![value], 0);
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found += mask_text(text),
            Value::Array(items) => waiting.extend(items),
            Value::Object(object) => waiting.extend(object.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}
