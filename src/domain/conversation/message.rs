//! Messages: roles, the parts of a message, how a message ended, and the head of a node without its content.
//! Not for: the place of a node in its session (`tree`) or what is sent (`planning::plan`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::NodeId;
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::fmt;

named_enum! {
    /// Who wrote a message.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum Role {
        /// Instructions.
        System = "system",
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool's result.
        Tool = "tool",
    }
}

impl Role {
    /// Parses a role's name, including names of other formats: `developer` is System, `human` is User, `model` is
    /// Assistant, and `function` is Tool.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "system" | "developer" => Some(Self::System),
            "user" | "human" => Some(Self::User),
            "assistant" | "model" => Some(Self::Assistant),
            "tool" | "function" => Some(Self::Tool),
            _ => None,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

named_enum! {
    /// How a message ended. Only a [`End::Complete`] message is whole.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum End {
        /// The server finished it (finish reason or `[DONE]`), or a person wrote it.
        Complete = "complete",
        /// The server stopped without a finish reason, or at its output limit.
        Truncated = "truncated",
        /// A person stopped the answer.
        Cancelled = "cancelled",
        /// The program crashed while the answer arrived.
        Interrupted = "interrupted",
        /// The server failed while the answer arrived.
        Errored = "errored",
        /// A person deleted it; only its place in the tree remains.
        Removed = "removed",
    }
}

impl End {
    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.name() == name)
    }
}

/// One part of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "lowercase")]
pub enum Part {
    Text {
        /// The text, as received.
        text: String,
    },
    /// A model's reasoning; stored and displayed, but never sent.
    Reasoning { text: String },
    /// A tool call of a model.
    Call {
        /// The call's id, which its result names.
        id: String,
        /// The tool.
        name: String,
        /// The arguments, as the model wrote them (JSON text).
        args: String,
    },
    /// A tool's result.
    Reply {
        /// The id of its call.
        call: String,
        /// The tool, if known.
        name: String,
        body: String,
    },
    /// A part that is not text (an image, a file), stored by hash.
    Opaque {
        /// The media type.
        mime: String,
        /// The hash of its raw bytes.
        raw: Hash,
        /// The size in bytes.
        bytes: u64,
    },
}

/// A message's parts, and unknown fields of an imported message.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Content {
    /// The parts in order; empty for an empty root.
    pub parts: Vec<Part>,
    /// Unknown fields of an imported message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<serde_json::Value>,
}

/// The field of [`Content::extra`] that contains a message's own priority, from 0 to 100.
pub const PRIORITY: &str = "priority";

/// Maximum characters of a preview.
const PREVIEW_CHARS: usize = 100;

impl Content {
    /// Returns a message of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text { text: text.into() }], extra: None }
    }

    /// Returns the hash of the parts, without `extra`.
    pub fn hash(&self) -> Hash {
        Fields::new("content").json(&self.parts).finish()
    }

    /// Returns all text of the message (text parts and tool results), joined by line breaks.
    pub fn plain_text(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n")
    }

    /// Returns the texts of the message: its text parts and tool results.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Reply { body, .. } => Some(body.as_str()),
            Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
        })
    }

    /// Returns the tool calls: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { id, name, args } => Some((id.as_str(), name.as_str(), args.as_str())),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Reply { .. } | Part::Opaque { .. } => None,
        })
    }

    /// Returns the size of all texts in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text { text } | Part::Reasoning { text } => text.len() as u64,
                Part::Call { name, args, .. } => (name.len() + args.len()) as u64,
                Part::Reply { body, .. } => body.len() as u64,
                // An imported file may claim any size.
                Part::Opaque { bytes, .. } => *bytes,
            })
            .fold(0, u64::saturating_add)
    }
}

/// A node without its content. A session's tree keeps the heads of all its messages in memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeHead {
    /// Public id.
    pub id: NodeId,
    /// Content-addressed identity, the same on every machine (see [`node_key`]).
    pub key: Hash,
    /// The node that it answers or follows; `None` for a root.
    pub parent: Option<NodeId>,
    /// The index among its siblings, from 0.
    pub ord: u32,
    /// Who wrote it.
    pub role: Role,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970, for display only.
    pub at: i64,
    pub bytes: u64,
    /// Number of its tool calls.
    pub calls: u16,
    /// Whether it was imported as hidden: listed, but never sent.
    pub hidden: bool,
    /// Whether it was imported. Imported instructions are left out unless a person includes them.
    pub imported: bool,
    /// The hash of its content; `None` if it never had any.
    pub content: Option<Hash>,
    /// The first words, at most 100 characters, unsanitized.
    pub preview: String,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// The speaker's name, if imported.
    pub name: Option<String>,
    /// The lane that it belongs to, as stored; empty for the root lane.
    #[serde(default)]
    pub lane: String,
    /// The id in the source it was imported from.
    #[serde(default)]
    pub external_id: Option<String>,
}

impl NodeHead {
    /// Returns whether the preview contains all words of the message, judged by the preview's length.
    pub fn preview_is_whole(&self) -> bool {
        self.preview.chars().count() < PREVIEW_CHARS
    }

    /// Returns whether the message only keeps a position in the tree: it is hidden and has no text.
    pub fn is_blank(&self) -> bool {
        self.hidden && self.bytes == 0
    }

    /// Returns the first words of `text` on one line of at most 100 characters.
    pub fn preview_of(text: &str) -> String {
        Self::first_words(text, PREVIEW_CHARS)
    }

    /// Returns the first words of `text` on one line of at most `most` characters.
    pub fn first_words(text: &str, most: usize) -> String {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().take(most));
            if line.chars().count() >= most {
                break;
            }
        }
        line.chars().take(most).collect()
    }
}

/// The origin of an imported node: its source, and its id there.
pub type Origin<'a> = (&'a str, &'a str);

/// Returns a node's key: the hash of the parent's key, the role, the content, `twin`, and the origin of an imported
/// node. `twin` is the number of earlier siblings with the same role and content.
pub fn node_key(
    parent: Option<Hash>,
    role: Role,
    content: Option<Hash>,
    twin: u32,
    origin: Option<Origin<'_>>,
) -> Hash {
    let fields = Fields::new("node").optional(parent).text(role.name()).optional(content).number(u64::from(twin));
    match origin {
        Some((source, id)) => fields.text(source).text(id).finish(),
        None => fields.finish(),
    }
}

/// A whole node: head and content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Node {
    pub head: NodeHead,
    pub content: Content,
}
