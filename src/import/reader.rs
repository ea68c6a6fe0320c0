//! Reads single messages of a file, in its order or again.
//! Not for: the content of a message (`message`, `chatgpt`), or splitting the file (`split`).

use super::chatgpt::Nodes;
use super::json::{self, Object};
use super::lines::trimmed;
use super::message::{self, Draft};
use super::notes::Notes;
use super::source::Source;
use super::split::{self, Cutting, Element};
use super::tree_builder::FilePosition;
use serde_json::Value;
use std::io;

/// How a file is split, and the words for its elements.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) cutting: Cutting,
    /// For sentences: `line`, `element`, `conversation`.
    pub(super) element: &'static str,
    /// The word for a single message in it.
    pub(super) unit: &'static str,
    /// Offset of the first element.
    pub(super) start: u64,
    /// The elements are the chats of an account.
    pub(super) account: bool,
}

/// See the module.
pub(super) struct Reader {
    pub(super) shape: Shape,
    /// Whether the elements are the messages of one conversation rather than of any session.
    pub(super) inside: bool,
    /// The order of a `ChatGPT` conversation's nodes.
    pub(super) nodes: Option<Nodes>,
}

impl Reader {
    /// Reads a message again.
    pub(super) fn fetch(&self, source: &mut Source, spot: FilePosition) -> io::Result<Option<Draft>> {
        let here = source.place();
        let draft = if let Some(order) = &self.nodes {
            order.draft(source, spot, "", &mut Notes::default())?
        } else {
            source.go(spot.place)?;
            let element = split::next(source, self.shape.cutting)?;
            element.and_then(|element| self.draft(&element, spot.number, |_| true))
        };
        source.go(here)?;
        Ok(draft)
    }

    /// A message that names no session.
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

/// Removes and returns what a message states about its session.
pub(super) fn bare(object: &mut Object) -> (Option<String>, Option<String>, Option<String>) {
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
