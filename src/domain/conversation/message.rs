//! Messages: roles, the parts of a message, how a message ended, and the head of a node without its content.
//! Not for: the place of a node in its session (`tree`) or what is sent (`plan`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who wrote a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Role {
    /// The role's name on the wire and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Parses a role's name; `developer` means instructions and `function` a tool's result.
    #[must_use]
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

/// How a message ended. Only `Complete` is a whole message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Finished by a finish reason, `[DONE]`, or a person.
    Complete,
    /// The server stopped without a finish reason, or at its output limit.
    Truncated,
    /// A person stopped it.
    Cancelled,
    /// The program crashed while it was received.
    Interrupted,
    /// The server failed while it was received.
    Errored,
    /// Deleted by a person; only its place remains.
    Removed,
}

impl End {
    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Errored => "errored",
            Self::Removed => "removed",
        }
    }

    /// Parses a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Complete, Self::Truncated, Self::Cancelled, Self::Interrupted, Self::Errored, Self::Removed]
            .into_iter()
            .find(|end| end.name() == name)
    }
}

/// One part of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "lowercase")]
pub enum Part {
    /// Text.
    Text {
        /// The text, as received.
        text: String,
    },
    /// A model's reasoning; stored and displayed, never sent again.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A tool call of a model.
    Call {
        /// The call's id, which its result names.
        id: String,
        /// The tool.
        name: String,
        /// The arguments, verbatim JSON text.
        args: String,
    },
    /// A tool's result.
    Reply {
        /// The id of its call.
        call: String,
        /// The tool, if known.
        name: String,
        /// Its text.
        body: String,
    },
    /// A part that is not text (an image, a file), stored by hash.
    Opaque {
        /// Its media type.
        mime: String,
        /// The hash of its raw bytes.
        raw: Hash,
        /// Its size in bytes.
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

/// The field of [`Content::extra`] with a message's own priority, from 0 to 100.
pub const PRIORITY: &str = "priority";

/// Characters of a preview.
const PREVIEW_CHARS: usize = 100;

impl Content {
    /// A message of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text { text: text.into() }], extra: None }
    }

    /// The hash of the parts (`extra` is not content).
    #[must_use]
    pub fn hash(&self) -> Hash {
        Fields::new("content").json(&self.parts).finish()
    }

    /// All text of the message (text parts and tool results), joined by line breaks.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::Reply { body, .. } => Some(body.as_str()),
                Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Its tool calls: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call { id, name, args } => Some((id.as_str(), name.as_str(), args.as_str())),
            Part::Text { .. } | Part::Reasoning { .. } | Part::Reply { .. } | Part::Opaque { .. } => None,
        })
    }

    /// The size of all texts in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text { text } | Part::Reasoning { text } => text.len() as u64,
                Part::Call { name, args, .. } => (name.len() + args.len()) as u64,
                Part::Reply { body, .. } => body.len() as u64,
                // A file may claim any size.
                Part::Opaque { bytes, .. } => *bytes,
            })
            .fold(0, u64::saturating_add)
    }
}

/// A node without its content, which a session's tree holds in memory for every message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeHead {
    /// Public id.
    pub id: NodeId,
    /// Content-addressed identity, the same on every machine (see [`node_key`]).
    pub key: Hash,
    /// The node it answers or follows.
    pub parent: Option<NodeId>,
    /// Its index among its siblings, from 0.
    pub ord: u32,
    /// Who wrote it.
    pub role: Role,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970, for display only.
    pub at: i64,
    /// Bytes of its texts.
    pub bytes: u64,
    /// Number of its tool calls.
    pub calls: u16,
    /// Imported as invisible: listed, never sent.
    pub hidden: bool,
    /// Imported (imported instructions are off by default).
    pub imported: bool,
    /// The hash of its content; `None` if it never had any.
    pub content: Option<Hash>,
    /// The first words, at most 100 characters, unsanitized.
    pub preview: String,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// The speaker's name, if imported.
    pub name: Option<String>,
    /// The lane it belongs to; empty is the root lane.
    #[serde(default)]
    pub lane: String,
    /// Its id at its origin.
    #[serde(default)]
    pub external_id: Option<String>,
}

impl NodeHead {
    /// Whether the preview holds all words of the message, as far as its length tells.
    #[must_use]
    pub fn preview_is_whole(&self) -> bool {
        self.preview.chars().count() < PREVIEW_CHARS
    }

    /// The first words of `text` in one line of at most 100 characters.
    #[must_use]
    pub fn preview_of(text: &str) -> String {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().take(PREVIEW_CHARS));
            if line.chars().count() >= PREVIEW_CHARS {
                break;
            }
        }
        line.chars().take(PREVIEW_CHARS).collect()
    }
}

/// Where an imported node came from: its source and its id there.
pub type Origin<'a> = (&'a str, &'a str);

/// A node's key: H(parent's key, role, content, twin ordinal), with the origin of an imported node. `twin` counts
/// earlier siblings with the same role and content.
#[must_use]
pub fn node_key(
    parent: Option<Hash>,
    role: Role,
    content: Option<Hash>,
    twin: u32,
    origin: Option<Origin<'_>>,
) -> Hash {
    let fields = Fields::new("node").maybe(parent).text(role.name()).maybe(content).number(u64::from(twin));
    match origin {
        Some((source, id)) => fields.text(source).text(id).finish(),
        None => fields.finish(),
    }
}

/// A whole node: head and content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// The head.
    pub head: NodeHead,
    /// Its content.
    pub content: Content,
}
