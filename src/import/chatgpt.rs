//! Reads one conversation of a ChatGPT export (`conversations.json`): the whole tree, with all branches and hidden
//! nodes.
//! Not for: finding conversations in a file.

use super::json::{self, Object};
use super::lines::{MAX_MESSAGES, too_large, trimmed};
use super::message::{self, Draft, Parent};
use super::notes::Notes;
use super::source::Source;
use super::split::{self, KeptPart, Separator};
use super::time;
use super::tree_builder::{FilePosition, ShortId, short};
use crate::domain::conversation::{Content, End, Part, Role};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::io;

/// The format's name.
pub(super) const FORMAT: &str = "chatgpt";

/// The index that means no node.
const NONE: u32 = u32::MAX;

/// The nodes of a conversation: their offsets in the file, and the order in which they are read.
pub(super) struct Nodes {
    places: Vec<u64>,
    /// For each node, the node whose `children` list it.
    listed: Vec<u32>,
    /// The order of the nodes: siblings in the order of their parent's `children`, then the nodes that no list reaches,
    /// in the order of the file.
    order: Vec<u32>,
    /// The number of entries of `order` that were read.
    at: usize,
}

/// The first child, the last child, and the next sibling of each node.
struct ChildrenByParent {
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
}

#[derive(Deserialize)]
struct Links {
    children: Option<Value>,
}

impl Nodes {
    /// Indexes the mapping whose first entry begins at `start`.
    pub(super) fn of(source: &mut Source, start: u64, prefix: &str, notes: &mut Notes) -> io::Result<Self> {
        let mut ids: HashMap<ShortId, u32> = HashMap::new();
        let mut places = Vec::new();
        source.seek_to(start)?;
        while let Some(element) = split::next(source, Separator::Object)? {
            let text = String::from_utf8_lossy(&element.bytes);
            let Some((key, _)) = entry(&text) else {
                let place = format!("{prefix}node {}", places.len() + 1);
                notes.skip(place, "it could not be read; no part of it was kept");
                continue;
            };
            let at = u32::try_from(places.len()).unwrap_or(NONE);
            if at >= MAX_MESSAGES {
                let more = 1 + split::count(source, Separator::Object)?;
                let why = format!("{more} nodes were skipped: pleach reads {MAX_MESSAGES} per conversation");
                notes.skip(format!("{prefix}node {key}"), why);
                break;
            }
            // If two nodes have the same key, the last one is used.
            match ids.insert(short(&key), at) {
                Some(same) => {
                    ids.insert(short(&key), same);
                    places[same as usize] = element.place;
                }
                None => places.push(element.place),
            }
        }
        let (listed, children) = children_by_parent(source, start, &ids, &places)?;
        let order = order(&listed, &children);
        Ok(Self { places, listed, order, at: 0 })
    }

    /// Returns the position of the next node, or `None` at the end.
    pub(super) fn next(&mut self) -> Option<FilePosition> {
        let node = self.order.get(self.at).copied()?;
        self.at += 1;
        Some(FilePosition { place: self.places[node as usize], number: u64::from(node) })
    }

    /// Reads a node. Returns `None` if it has no key.
    pub(super) fn draft(
        &self,
        source: &mut Source,
        position: FilePosition,
        prefix: &str,
        notes: &mut Notes,
    ) -> io::Result<Option<Draft>> {
        source.seek_to(position.place)?;
        let Some(element) = split::next(source, Separator::Object)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&element.bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            notes.lossy();
        }
        let Some((key, value)) = entry(&text) else { return Ok(None) };
        let place = || format!("{prefix}node {key}");
        if element.kept == KeptPart::Part {
            notes.skip(place(), too_large(&element));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|error| {
            notes.skip(place(), format!("not readable as JSON: {error}; an empty message replaces it"));
            Value::Object(Object::new())
        });
        let (weight, named) =
            (element.weight, matches!(value.get("parent"), Some(Value::String(_) | Value::Number(_))));
        let list = self.listed.get(usize::try_from(position.number).unwrap_or(usize::MAX)).copied();
        let list = list.filter(|at| !named && *at != NONE);
        drop(element.bytes);
        let list = match list.and_then(|at| self.places.get(at as usize)) {
            Some(place) => key_at(source, *place)?,
            None => None,
        };
        Ok(Some(Draft { weight, ..draft(key, list, value, prefix, notes) }))
    }
}

/// Splits an entry into its key and the text of its value.
fn entry(text: &str) -> Option<(String, &str)> {
    let text = trimmed(text);
    let mut keys = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let key = keys.next()?.ok()?;
    let rest = text.get(keys.byte_offset()..)?.trim_start().strip_prefix(':')?;
    Some((key, rest))
}

fn key_at(source: &mut Source, place: u64) -> io::Result<Option<String>> {
    source.seek_to(place)?;
    let element = split::next(source, Separator::Object)?;
    Ok(element.and_then(|element| entry(&String::from_utf8_lossy(&element.bytes)).map(|(key, _)| key)))
}

/// Returns for each node the parent that lists it, and the children. The first list that names a node owns it.
fn children_by_parent(
    source: &mut Source,
    start: u64,
    ids: &HashMap<ShortId, u32>,
    places: &[u64],
) -> io::Result<(Vec<u32>, ChildrenByParent)> {
    let none = || vec![NONE; places.len()];
    let mut listed = none();
    let mut children = ChildrenByParent { first: none(), last: none(), next: none() };
    source.seek_to(start)?;
    while let Some(element) = split::next(source, Separator::Object)? {
        let text = String::from_utf8_lossy(&element.bytes);
        let Some((key, value)) = entry(&text) else { continue };
        let Some(at) = ids.get(&short(&key)).copied().filter(|at| places[*at as usize] == element.place) else {
            continue;
        };
        let links = serde_json::from_str::<Links>(value).ok().and_then(|links| links.children);
        for child in links.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            let Some(child) = ids.get(&short(child)).copied() else { continue };
            if listed[child as usize] != NONE {
                continue;
            }
            listed[child as usize] = at;
            match std::mem::replace(&mut children.last[at as usize], child) {
                NONE => children.first[at as usize] = child,
                last => children.next[last as usize] = child,
            }
        }
    }
    Ok((listed, children))
}

/// Returns all nodes depth first: the nodes that no list contains, each with its descendants, and then all other nodes.
fn order(listed: &[u32], children: &ChildrenByParent) -> Vec<u32> {
    let mut order = Vec::with_capacity(listed.len());
    let mut seen = vec![false; listed.len()];
    let all = || 0..u32::try_from(listed.len()).unwrap_or(NONE);
    let mut stack: Vec<u32> = Vec::new();
    for start in all().filter(|at| listed[*at as usize] == NONE).chain(all()) {
        stack.push(start);
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            order.push(at);
            let from = stack.len();
            let mut child = children.first[at as usize];
            while child != NONE {
                stack.push(child);
                child = children.next[child as usize];
            }
            stack[from..].reverse();
        }
    }
    order
}

fn draft(key: String, listed_under: Option<String>, node: Value, prefix: &str, notes: &mut Notes) -> Draft {
    let mut node = match node {
        Value::Object(node) => node,
        other => {
            notes.skip(format!("{prefix}node {key}"), format!("it is {}, not an object", json::kind(&other)));
            Object::new()
        }
    };
    let parent = json::id(&mut node, "parent").or(listed_under);
    let mut draft = Draft::placeholder(key, parent.map_or(Parent::Root, Parent::Of), 0, "node");
    match node.shift_remove("message") {
        Some(Value::Object(message)) => match fill(&mut draft, message) {
            Ok(()) => draft.is_blank = draft.record.role == Role::System && is_blank(&draft.record.content),
            Err(why) => notes.skip(draft.place(prefix), format!("{why}; an empty message replaces it")),
        },
        None | Some(Value::Null) => draft.is_blank = true,
        Some(other) => notes.skip(draft.place(prefix), format!("its message is {}", json::kind(&other))),
    }
    // In this format, an unreadable or empty node is part of the tree even if it has no descendants.
    draft.placeholder = false;
    draft
}

fn fill(draft: &mut Draft, mut message: Object) -> Result<(), String> {
    let Some(Value::Object(mut author)) = message.shift_remove("author") else {
        return Err("it has no author".into());
    };
    let role = message::read_role(&json::text(&mut author, "role").unwrap_or_default())?;
    json::drop_null(&mut author, "name");
    let name = json::text(&mut author, "name");
    if author.get("metadata").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
        author.shift_remove("metadata");
    }
    let mut kept = Vec::new();
    let mut parts = match message.shift_remove("content") {
        Some(Value::Object(content)) => content_parts(content, &mut message, &mut kept),
        Some(Value::String(text)) => vec![Part::Text { text }],
        _ => Vec::new(),
    };
    if role == Role::Tool {
        parts = as_reply(parts, name.as_deref().unwrap_or_default());
    }
    let record = &mut draft.record;
    record.role = role;
    record.name = name;
    record.at = message.get("create_time").and_then(time::millis);
    if record.at.is_some() {
        message.shift_remove("create_time");
    }
    json::drop_null(&mut message, "create_time");
    record.end = end_of(&message);
    record.hidden = hidden(&message);
    record.model = model(&mut message);
    if !author.is_empty() {
        message.insert("author".into(), Value::Object(author));
    }
    if !kept.is_empty() {
        message.insert("opaque".into(), Value::Array(kept));
    }
    // The message's own id is nearly always the node's. It is kept only if it differs.
    if message.get("id").and_then(Value::as_str) == Some(record.id.as_str()) {
        message.shift_remove("id");
    }
    record.content = Content { parts, extra: (!message.is_empty()).then_some(Value::Object(message)) };
    Ok(())
}

fn is_blank(content: &Content) -> bool {
    content.parts.iter().all(|part| matches!(part, Part::Text { text } if text.trim().is_empty()))
}

fn hidden(message: &Object) -> bool {
    let marked = message.get("metadata").and_then(|m| m.get("is_visually_hidden_from_conversation"));
    let weightless = message.get("weight").and_then(Value::as_f64) == Some(0.0);
    weightless || marked.and_then(Value::as_bool).unwrap_or(false)
}

fn end_of(message: &Object) -> End {
    let finish = message.get("metadata").and_then(|m| m.pointer("/finish_details/type")).and_then(Value::as_str);
    match (message.get("status").and_then(Value::as_str), finish) {
        (_, Some("interrupted")) => End::Cancelled,
        (_, Some("max_tokens" | "length")) | (Some("finished_partial_completion" | "in_progress"), _) => End::Truncated,
        _ => End::Complete,
    }
}

fn model(message: &mut Object) -> Option<String> {
    message.get_mut("metadata").and_then(Value::as_object_mut).and_then(|metadata| json::text(metadata, "model_slug"))
}

fn as_reply(parts: Vec<Part>, name: &str) -> Vec<Part> {
    let (mut body, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text { text } => body.push(text),
            other => others.push(other),
        }
    }
    if !body.is_empty() {
        others.insert(0, Part::Reply { call: String::new(), name: name.to_owned(), body: body.join("\n") });
    }
    others
}

/// Returns the parts of a content of any type. Fields that the parts do not express are put back into the message, for
/// `extra`.
fn content_parts(mut content: Object, message: &mut Object, kept: &mut Vec<Value>) -> Vec<Part> {
    let kind = json::text(&mut content, "content_type").unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(Value::Array(items)) = content.shift_remove("parts") {
        parts.extend(items.into_iter().filter_map(|item| part(item, kept)));
    }
    match kind.as_str() {
        "thoughts" => parts.extend(thoughts(&mut content)),
        "reasoning_recap" => {
            parts.extend(json::text(&mut content, "content").map(|text| Part::Reasoning { text }));
        }
        _ => {
            let fields = ["text", "result", "content", "user_profile", "user_instructions", "model_set_context"];
            let texts = fields.into_iter().filter_map(|key| json::text(&mut content, key));
            parts.extend(texts.filter(|text| !text.is_empty()).map(|text| Part::Text { text }));
        }
    }
    if kind != "text" && !kind.is_empty() {
        message.insert("content_type".into(), Value::String(kind));
    }
    if !content.is_empty() {
        message.insert("content".into(), Value::Object(content));
    }
    parts
}

fn part(item: Value, kept: &mut Vec<Value>) -> Option<Part> {
    match item {
        Value::Null => None,
        Value::String(text) => Some(Part::Text { text }),
        other => {
            let is_transcript = other.get("content_type").and_then(Value::as_str) == Some("audio_transcription");
            match other.get("text").and_then(Value::as_str).filter(|_| is_transcript) {
                Some(text) => Some(Part::Text { text: text.to_owned() }),
                None => Some(json::opaque(other, kept)),
            }
        }
    }
}

fn thoughts(content: &mut Object) -> Vec<Part> {
    let Some(Value::Array(thoughts)) = content.get("thoughts") else { return Vec::new() };
    let texts: Vec<String> = thoughts
        .iter()
        .map(|thought| {
            let field = |key| thought.get(key).and_then(Value::as_str).unwrap_or_default();
            [field("summary"), field("content")].join("\n\n").trim().to_owned()
        })
        .filter(|text| !text.is_empty())
        .collect();
    texts.into_iter().map(|text| Part::Reasoning { text }).collect()
}
