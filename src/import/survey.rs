//! A look through a whole file of single messages for what any of them may say of its session: its source, its title, and
//! whether messages name their parents. Nothing else is kept.
//! Not for: reading the messages.

use super::lines::{Shape, trimmed};
use super::source::Source;
use super::split::{self, Cutting};
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashMap;
use std::io;

/// Sessions of which something is kept.
const MOST: usize = 100_000;

/// What a file says of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// Where it comes from.
    pub(super) source: Option<String>,
    /// Its title.
    pub(super) title: Option<String>,
    /// Some message names its parent.
    pub(super) tree: bool,
}

/// The fields that matter.
#[derive(Deserialize)]
struct Light {
    session: Option<Value>,
    source: Option<Value>,
    title: Option<Value>,
    parent: Option<Value>,
    mapping: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
}

/// What the whole file says of each session of which it says anything.
pub(super) fn of(source: &mut Source, shape: Shape) -> io::Result<HashMap<Option<String>, Facts>> {
    let mut found: HashMap<Option<String>, Facts> = HashMap::new();
    if shape.cutting == Cutting::Nothing {
        return Ok(found);
    }
    let here = source.place();
    source.go(shape.start)?;
    let words = ["\"parent\"", "\"source\"", "\"title\""].map(Finder::new);
    while let Some(element) = split::next(source, shape.cutting)? {
        if !words.iter().any(|word| word.find(&element.bytes).is_some()) {
            continue;
        }
        let text = String::from_utf8_lossy(&element.bytes);
        let Ok(light) = serde_json::from_str::<Light>(trimmed(&text)) else { continue };
        if light.mapping.is_some() || light.messages.is_some() {
            continue;
        }
        note(light, &mut found);
    }
    source.go(here)?;
    Ok(found)
}

fn note(light: Light, found: &mut HashMap<Option<String>, Facts>) {
    let id = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (session, parent) = (id(light.session), id(light.parent).filter(|parent| !parent.is_empty()));
    let (source, title) = (text(light.source), text(light.title));
    if source.is_none() && title.is_none() && parent.is_none() {
        return;
    }
    if found.len() >= MOST && !found.contains_key(&session) {
        return;
    }
    let facts = found.entry(session).or_default();
    facts.tree |= parent.is_some();
    facts.source = facts.source.take().or(source);
    facts.title = facts.title.take().or(title);
}
