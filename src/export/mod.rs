//! Writers of export formats from neutral records: JSON lines, which are exact, and Markdown for reading.
//! Not for: reading them back (`import`), or choosing what is exported (`engine`).

mod jsonl;
mod markdown;

use crate::domain::base::secrets;
use crate::domain::conversation::message::{Content, Part};
use crate::domain::conversation::record::{Record, Transcript};
use serde_json::Value;
use std::borrow::Cow;

/// A finished export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    /// The file's text.
    pub text: String,
    /// The number of secrets found. With masking they are replaced; without it they are still in the text.
    pub secrets_found: usize,
}

/// Writes the whole tree as JSON lines in the import format. Reading them back gives the same tree.
pub fn jsonl(transcript: &Transcript, mask: bool) -> Exported {
    let (transcript, secrets_found) = masked(transcript, mask);
    Exported { text: jsonl::write(&transcript), secrets_found }
}

/// Writes the tree as Markdown: the current path first, and then every other branch from where it diverges.
pub fn markdown(transcript: &Transcript, mask: bool) -> Exported {
    let (transcript, secrets_found) = masked(transcript, mask);
    Exported { text: markdown::write(&transcript), secrets_found }
}

/// Returns the transcript, masked if requested, and the number of secrets. Ids are never masked, because they connect
/// the tree.
fn masked(transcript: &Transcript, mask: bool) -> (Cow<'_, Transcript>, usize) {
    let mut copy = transcript.clone();
    let mut found = mask_text(&mut copy.title);
    found += copy.branches.iter_mut().map(|branch| mask_text(&mut branch.name)).sum::<usize>();
    for record in &mut copy.records {
        found += mask_record(record);
    }
    if mask && found > 0 { (Cow::Owned(copy), found) } else { (Cow::Borrowed(transcript), found) }
}

fn mask_record(record: &mut Record) -> usize {
    let mut found = mask_text(&mut record.lane) + mask_text(&mut record.label);
    found += record.name.as_mut().map_or(0, mask_text) + record.model.as_mut().map_or(0, mask_text);
    let Content { parts, extra } = &mut record.content;
    for part in parts {
        found += match part {
            Part::Text { text } | Part::Reasoning { text } => mask_text(text),
            Part::Call { name, args, .. } => mask_text(name) + mask_text(args),
            Part::Reply { name, body, .. } => mask_text(name) + mask_text(body),
            Part::Opaque { mime, .. } => mask_text(mime),
        };
    }
    found + extra.as_mut().map_or(0, mask_value)
}

fn mask_text(text: &mut String) -> usize {
    let (masked, found) = secrets::mask(text);
    if let Cow::Owned(masked) = masked {
        *text = masked;
    }
    found
}

fn mask_value(value: &mut Value) -> usize {
    let mut found = 0;
    let mut waiting = vec![value];
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

#[cfg(test)]
mod tests;
