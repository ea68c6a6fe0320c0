//! Reads a whole file of single messages for facts about their sessions: the source, the title, and whether messages
//! name their parents.
//! Not for: reading the messages themselves.

use super::lines::trimmed;
use super::reader::Shape;
use super::source::Source;
use super::split::{self, Separator};
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashMap;
use std::io;

/// The maximum number of sessions with facts, and the maximum size of the facts in bytes.
const MAX_FACTS: (usize, usize) = (100_000, 8 << 20);

/// The facts that a file states about a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// The session's source.
    pub(super) source: Option<String>,
    /// The session's title.
    pub(super) title: Option<String>,
    /// Whether any message names its parent.
    pub(super) tree: bool,
}

/// The fields of a message that matter here.
#[derive(Deserialize)]
struct MessageFields {
    session: Option<Value>,
    source: Option<Value>,
    title: Option<Value>,
    parent: Option<Value>,
    mapping: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
}

/// Returns the facts about each session for which the file states any.
pub(super) fn of(source: &mut Source, shape: Shape) -> io::Result<HashMap<Option<String>, Facts>> {
    let (mut found, mut bytes): (HashMap<Option<String>, Facts>, usize) = (HashMap::new(), 0);
    if shape.separator == Separator::Nothing {
        return Ok(found);
    }
    let here = source.place();
    source.seek_to(shape.start)?;
    let names = ["\"parent\"", "\"source\"", "\"title\""].map(Finder::new);
    while let Some(element) = split::next(source, shape.separator)? {
        if !names.iter().any(|name| name.find(&element.bytes).is_some()) {
            continue;
        }
        let text = String::from_utf8_lossy(&element.bytes);
        let Ok(light) = serde_json::from_str::<MessageFields>(trimmed(&text)) else { continue };
        if light.mapping.is_some() || light.messages.is_some() {
            continue;
        }
        note(light, &mut found, &mut bytes);
    }
    source.seek_to(here)?;
    Ok(found)
}

/// Whether any message of a conversation names its parent.
pub(super) fn is_tree(source: &mut Source, shape: Shape) -> io::Result<bool> {
    let here = source.place();
    source.seek_to(shape.start)?;
    let (name, mut tree) = (Finder::new("\"parent\""), false);
    while !tree && let Some(element) = split::next(source, shape.separator)? {
        if name.find(&element.bytes).is_some() {
            let text = String::from_utf8_lossy(&element.bytes);
            let light = serde_json::from_str::<MessageFields>(trimmed(&text));
            tree = light.is_ok_and(|light| id(light.parent).is_some_and(|parent| !parent.is_empty()));
        }
    }
    source.seek_to(here)?;
    Ok(tree)
}

fn id(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    }
}

fn note(light: MessageFields, found: &mut HashMap<Option<String>, Facts>, bytes: &mut usize) {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (session, parent) = (id(light.session), id(light.parent).filter(|parent| !parent.is_empty()));
    let (source, title) = (text(light.source), text(light.title));
    if source.is_none() && title.is_none() && parent.is_none() {
        return;
    }
    if !found.contains_key(&session) {
        *bytes += session.as_ref().map_or(0, String::len);
        if found.len() >= MAX_FACTS.0 || *bytes > MAX_FACTS.1 {
            return;
        }
    }
    let facts = found.entry(session).or_default();
    facts.tree |= parent.is_some();
    for (kept, stated) in [(&mut facts.source, source), (&mut facts.title, title)] {
        let stated = stated.filter(|stated| kept.is_none() && *bytes + stated.len() <= MAX_FACTS.1);
        *bytes += stated.as_ref().map_or(0, String::len);
        *kept = kept.take().or(stated);
    }
}
