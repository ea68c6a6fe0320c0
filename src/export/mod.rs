//! Writers of export formats, from neutral records: JSON lines (exact) and Markdown (to be read).
//! Not for: reading them back (`import`) or choosing what is exported (`engine`).

mod jsonl;
mod markdown;
pub mod secrets;

use crate::domain::conversation::message::{Content, Part};
use crate::domain::conversation::record::{Record, Transcript};
use serde_json::Value;
use std::borrow::Cow;

/// A finished export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    /// The file's text.
    pub text: String,
    /// How many secret shapes were seen; with masking each is replaced, without it is in the text.
    pub secrets_found: usize,
}

/// The whole tree as JSON lines in the import shape; reading it back gives the same tree.
#[must_use]
pub fn jsonl(transcript: &Transcript, mask: bool) -> Exported {
    let (transcript, secrets_found) = veiled(transcript, mask);
    Exported { text: jsonl::write(&transcript), secrets_found }
}

/// The tree as Markdown: the current path first, then every other branch from where it leaves.
#[must_use]
pub fn markdown(transcript: &Transcript, mask: bool) -> Exported {
    let (transcript, secrets_found) = veiled(transcript, mask);
    Exported { text: markdown::write(&transcript), secrets_found }
}

/// The transcript with its secrets masked if asked, and how many there are. Ids stay, for they hold the tree together.
fn veiled(transcript: &Transcript, mask: bool) -> (Cow<'_, Transcript>, usize) {
    let mut copy = transcript.clone();
    let mut found = cover(&mut copy.title);
    found += copy.branches.iter_mut().map(|branch| cover(&mut branch.name)).sum::<usize>();
    for record in &mut copy.records {
        found += cover_record(record);
    }
    if mask && found > 0 { (Cow::Owned(copy), found) } else { (Cow::Borrowed(transcript), found) }
}

fn cover_record(record: &mut Record) -> usize {
    let mut found = cover(&mut record.lane) + cover(&mut record.label);
    found += record.name.as_mut().map_or(0, cover) + record.model.as_mut().map_or(0, cover);
    let Content { parts, extra } = &mut record.content;
    for part in parts {
        found += match part {
            Part::Text { text } | Part::Reasoning { text } => cover(text),
            Part::Call { name, args, .. } => cover(name) + cover(args),
            Part::Reply { name, body, .. } => cover(name) + cover(body),
            Part::Opaque { mime, .. } => cover(mime),
        };
    }
    found + extra.as_mut().map_or(0, cover_value)
}

fn cover(text: &mut String) -> usize {
    let (masked, found) = secrets::mask(text);
    if let Cow::Owned(masked) = masked {
        *text = masked;
    }
    found
}

fn cover_value(value: &mut Value) -> usize {
    let mut found = 0;
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found += cover(text),
            Value::Array(items) => waiting.extend(items),
            Value::Object(object) => waiting.extend(object.values_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
