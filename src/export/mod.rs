//! Writers of export formats from neutral records: JSON lines, which are exact, and Markdown for reading.
//! Not for: reading them back (`import`), or choosing the exported sessions and branches (`engine`).

mod jsonl;
mod markdown;

use crate::domain::base::secrets;
use crate::domain::conversation::{Content, Part, Record, Transcript};
use serde_json::Value;
use std::borrow::Cow;

/// Writes the whole tree as JSON lines in the import format, with secrets masked if `mask`. Reading them back gives the
/// same tree.
pub fn jsonl(transcript: &Transcript, mask: bool) -> String {
    jsonl::write(&masked(transcript, mask))
}

/// Writes the tree as Markdown, with secrets masked if `mask`: the current path first, and then every other branch from
/// where it diverges.
pub fn markdown(transcript: &Transcript, mask: bool) -> String {
    markdown::write(&masked(transcript, mask))
}

/// Returns the transcript, masked if requested. Ids are never masked, because they connect the tree.
fn masked(transcript: &Transcript, mask: bool) -> Cow<'_, Transcript> {
    if !mask {
        return Cow::Borrowed(transcript);
    }
    let mut copy = transcript.clone();
    mask_text(&mut copy.title);
    copy.branches.iter_mut().for_each(|branch| mask_text(&mut branch.name));
    copy.records.iter_mut().for_each(mask_record);
    Cow::Owned(copy)
}

fn mask_record(record: &mut Record) {
    let texts = [&mut record.lane, &mut record.label].into_iter().chain(&mut record.name).chain(&mut record.model);
    texts.for_each(mask_text);
    let Content { parts, extra } = &mut record.content;
    for part in parts {
        match part {
            Part::Text { text } | Part::Reasoning { text } => mask_text(text),
            Part::Call { name, args: text, .. } | Part::Reply { name, body: text, .. } => {
                mask_text(name);
                mask_text(text);
            }
            Part::Opaque { mime, .. } => mask_text(mime),
        }
    }
    if let Some(extra) = extra {
        mask_value(extra);
    }
}

fn mask_text(text: &mut String) {
    if let (Cow::Owned(masked), _) = secrets::mask(text) {
        *text = masked;
    }
}

fn mask_value(value: &mut Value) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => mask_text(text),
            Value::Array(items) => waiting.extend(items),
            Value::Object(object) => waiting.extend(object.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
