//! Reads single messages of a file, in the order of the file or again from an offset.
//! Not for: the content of a message (`message`, `chatgpt`), or splitting the file (`split`).

use super::bundle;
use super::chatgpt::Nodes;
use super::json::{self, Object};
use super::lines::trimmed;
use super::message::{self, Draft};
use super::notes::Notes;
use super::source::Source;
use super::split::{self, Element, Separator};
use super::tree_builder::FilePosition;
use serde_json::Value;
use std::io;

/// How a file is split, and what its elements are called in sentences.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) separator: Separator,
    /// The name of an element: `line`, `element`, `document`, or `chat`.
    pub(super) element: &'static str,
    /// The name of a single message.
    pub(super) unit: &'static str,
    /// The offset of the first element.
    pub(super) start: u64,
    /// Whether the elements are the chats of an account.
    pub(super) account: bool,
}

/// Reads the messages of a file.
pub(super) struct Reader {
    pub(super) shape: Shape,
    /// Whether the elements are the messages of a single conversation, not of any session.
    pub(super) inside: bool,
    /// The nodes of a `ChatGPT` conversation.
    pub(super) nodes: Option<Nodes>,
}

impl Reader {
    /// Reads a message again. The source stays at its offset.
    pub(super) fn fetch(&self, source: &mut Source, position: FilePosition) -> io::Result<Option<Draft>> {
        let here = source.place();
        let draft = if let Some(order) = &self.nodes {
            order.draft(source, position, "", &mut Notes::default())?
        } else {
            source.seek_to(position.place)?;
            let element = split::next(source, self.shape.separator)?;
            element.and_then(|element| self.draft(&element, position.number, |_| true))
        };
        source.seek_to(here)?;
        Ok(draft)
    }

    /// Reads an element if it is a message that names no session.
    pub(super) fn nameless(&self, element: &Element, number: u64) -> Option<Draft> {
        self.draft(element, number, |object| {
            let other = object.get("mapping").is_some_and(Value::is_object)
                || object.get("messages").is_some_and(Value::is_array);
            let named = matches!(object.get("session"), Some(Value::String(_) | Value::Number(_)));
            self.inside || (!other && is_message(object) && !named)
        })
    }

    fn draft(&self, element: &Element, number: u64, takes: impl Fn(&Object) -> bool) -> Option<Draft> {
        let text = String::from_utf8_lossy(&element.bytes);
        let Ok(Value::Object(mut object)) = serde_json::from_str(trimmed(&text)) else { return None };
        if !takes(&object) {
            return None;
        }
        if !self.inside {
            bare(&mut object);
        }
        let draft = drafted(object, number, self.shape.unit, "", &mut Notes::default());
        Some(Draft { weight: element.weight, ..draft })
    }
}

/// Removes and returns a message's facts about its session: the id, the source, and the title.
pub(super) fn bare(object: &mut Object) -> (Option<String>, Option<String>, Option<String>) {
    bundle::strip(object);
    (json::id(object, "session"), json::text(object, "source"), json::text(object, "title"))
}

pub(super) fn is_message(object: &Object) -> bool {
    ["role", "content", "parent"].iter().any(|key| object.contains_key(*key))
}

pub(super) fn drafted(object: Object, number: u64, unit: &'static str, prefix: &str, notes: &mut Notes) -> Draft {
    message::read(object, number, unit).unwrap_or_else(|(why, placeholder)| {
        notes.skip(placeholder.place(prefix), why);
        *placeholder
    })
}
