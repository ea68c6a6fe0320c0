//! One conversation of a ChatGPT export (`conversations.json`): the whole tree, with every branch and hidden node.
//! Not for: finding conversations in a file.

use super::arrange::{Arranged, arrange};
use super::json::{self, Object};
use super::message::{Draft, Parent};
use super::notes::Notes;
use super::time;
use crate::domain::base::hash::Fields;
use crate::domain::conversation::message::{Content, End, Part, Role};
use crate::domain::conversation::record::Transcript;
use serde_json::Value;
use std::collections::HashMap;

/// The format's name.
pub(super) const FORMAT: &str = "chatgpt";

/// Reads one conversation, taken apart.
pub(super) fn read(mut object: Object, place: &str, stem: &str, notes: &mut Notes) -> Option<Transcript> {
    let Some(Value::Object(mapping)) = object.shift_remove("mapping") else { return None };
    let order = children_order(&mapping);
    let mut by_key: HashMap<String, Value> = mapping.into_iter().collect();
    let id = json::id(&mut object, "conversation_id").or_else(|| json::id(&mut object, "id"));
    let current = json::id(&mut object, "current_node");
    let title = json::text(&mut object, "title").filter(|title| !title.trim().is_empty());
    let prefix = id.as_ref().map_or_else(|| format!("{place}, "), |id| format!("{place} ({id}), "));
    let mut drafts = Vec::with_capacity(order.len());
    for (key, listed_under) in order {
        if let Some(node) = by_key.remove(&key) {
            drafts.push(draft(key, listed_under, node, &prefix, notes));
        }
    }
    let Arranged { records, .. } = arrange(drafts, &prefix, notes);
    if records.is_empty() {
        notes.skip(place, "the conversation holds no messages");
        return None;
    }
    let known = current.filter(|id| records.iter().any(|record| &record.id == id));
    let current = known.or_else(|| records.last().map(|record| record.id.clone()));
    let id = id.unwrap_or_else(|| Fields::new("chatgpt").text(&records[0].id).finish().to_string()[..20].to_owned());
    let title = title.unwrap_or_else(|| if stem.is_empty() { "Imported".into() } else { stem.to_owned() });
    Some(Transcript { source: format!("{FORMAT}:{id}"), title, records, current, branches: Vec::new() })
}

/// All keys so that siblings come in the order of their parent's `children`, each with the parent that lists it.
/// What no list reaches follows in the order of the file.
fn children_order(mapping: &Object) -> Vec<(String, Option<String>)> {
    let ids: HashMap<&str, usize> = mapping.keys().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let nodes: Vec<(&String, &Value)> = mapping.iter().collect();
    let mut listed_under: Vec<Option<usize>> = vec![None; nodes.len()];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, (_, node)) in nodes.iter().enumerate() {
        for child in node.get("children").and_then(Value::as_array).into_iter().flatten() {
            if let Some(child) = child.as_str().and_then(|id| ids.get(id)).copied()
                && listed_under[child].is_none()
            {
                listed_under[child] = Some(at);
                children[at].push(child);
            }
        }
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    let roots = (0..nodes.len()).filter(|at| listed_under[*at].is_none());
    for start in roots.chain(0..nodes.len()) {
        let mut stack = vec![start];
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            order.push((nodes[at].0.clone(), listed_under[at].map(|parent| nodes[parent].0.clone())));
            stack.extend(children[at].iter().rev());
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
    let said = json::id(&mut node, "parent").or(listed_under);
    let mut draft = Draft::ghost(key, said.map_or(Parent::Root, Parent::Of), 0, "node");
    match node.shift_remove("message") {
        Some(Value::Object(message)) => {
            if let Err(why) = fill(&mut draft, message) {
                notes.skip(draft.place(prefix), format!("{why}; an empty message keeps the place"));
            }
        }
        None | Some(Value::Null) => {}
        Some(other) => notes.skip(draft.place(prefix), format!("its message is {}", json::kind(&other))),
    }
    // An unread or empty node is part of the tree here, not only when something hangs on it.
    draft.ghost = false;
    draft
}

fn fill(draft: &mut Draft, mut message: Object) -> Result<(), String> {
    let Some(Value::Object(mut author)) = message.shift_remove("author") else {
        return Err("it has no author".into());
    };
    let said = json::text(&mut author, "role").unwrap_or_default();
    let role = Role::from_name(&said)
        .ok_or_else(|| format!("unknown role {:?}", said.chars().take(40).collect::<String>()))?;
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
    // The message's own id is nearly always the node's; only another one says anything.
    if message.get("id").and_then(Value::as_str) == Some(record.id.as_str()) {
        message.shift_remove("id");
    }
    record.content = Content { parts, extra: (!message.is_empty()).then_some(Value::Object(message)) };
    Ok(())
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

/// The parts of any content type; what they do not say goes back into the message, for `extra`.
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
            let spoken = other.get("content_type").and_then(Value::as_str) == Some("audio_transcription");
            match other.get("text").and_then(Value::as_str).filter(|_| spoken) {
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
