//! Messages: roles, the parts of a message, how a message ended, and the light head of a node.
//! Not for: where a node stands in its session (`tree`) or what of it is sent (`plan`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who speaks.
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

    /// Reads a role's name; `developer` is read as instructions and `function` as a tool's result.
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

/// How a message ended. Only `Complete` came whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Finished by a finish reason, `[DONE]`, or a person.
    Complete,
    /// The server stopped without saying that it was done, or ran into its output limit.
    Truncated,
    /// A person stopped it.
    Cancelled,
    /// The program died while it came.
    Interrupted,
    /// The server failed while it came.
    Errored,
    /// Deleted by a person; only its place is left.
    Removed,
}

impl End {
    /// The word for it in files and on the command line.
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

    /// Reads the word.
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
    /// Words.
    Text {
        /// The words, as they came.
        text: String,
    },
    /// What a model thought aloud; kept and shown, never sent again.
    Reasoning {
        /// The words.
        text: String,
    },
    /// A model asks for a tool.
    Call {
        /// The call's id, which its reply names.
        id: String,
        /// The tool.
        name: String,
        /// The arguments, verbatim JSON text.
        args: String,
    },
    /// A tool's answer.
    Reply {
        /// The id of the call that it answers.
        call: String,
        /// The tool, where known.
        name: String,
        /// What it said.
        body: String,
    },
    /// Something that is not text (an image, a file), kept whole by hash.
    Opaque {
        /// Its media type.
        mime: String,
        /// The hash of its raw bytes.
        raw: Hash,
        /// Its size in bytes.
        bytes: u64,
    },
}

/// What a message says: its parts, and what an import brought that we have no name for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Content {
    /// The parts in order; none for an empty root.
    pub parts: Vec<Part>,
    /// Unknown fields of an imported message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<serde_json::Value>,
}

/// The field of [`Content::extra`] that holds a message's own priority, from 0 to 100.
pub const PRIORITY: &str = "priority";

impl Content {
    /// A message of plain words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text { text: text.into() }], extra: None }
    }

    /// The hash of the parts (`extra` is not content).
    #[must_use]
    pub fn hash(&self) -> Hash {
        Fields::new("content").json(&self.parts).finish()
    }

    /// All words of the message (text parts and tool results), joined by line ends.
    #[must_use]
    pub fn words(&self) -> String {
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

    /// The tool calls in it: id, name, arguments.
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

/// A node without its content: what a session's tree keeps in memory for every message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeHead {
    /// Public id.
    pub id: NodeId,
    /// Content-addressed identity, the same on every machine (see [`node_key`]).
    pub key: Hash,
    /// The node that it answers or follows.
    pub parent: Option<NodeId>,
    /// Its place among its siblings, from 0.
    pub ord: u32,
    /// Who speaks.
    pub role: Role,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970, for display only.
    pub at: i64,
    /// Bytes of its texts.
    pub bytes: u64,
    /// How many tools it calls.
    pub calls: u16,
    /// Brought by an import as invisible: listed, never sent.
    pub hidden: bool,
    /// Came from an import (instructions from outside are off by default).
    pub imported: bool,
    /// The hash of its content; none where there never was any.
    pub content: Option<Hash>,
    /// The first words, at most 100 characters, unsanitised.
    pub preview: String,
    /// The model that wrote it, where known.
    pub model: Option<String>,
    /// The speaker's name, where an import gave one.
    pub name: Option<String>,
    /// The lane (topic) it belongs to; empty is the session's root lane.
    #[serde(default)]
    pub lane: String,
    /// The id that it had where it came from.
    #[serde(default)]
    pub external_id: Option<String>,
}

impl NodeHead {
    /// The first words of `text` in one line of at most 100 characters.
    #[must_use]
    pub fn preview_of(text: &str) -> String {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().take(100));
            if line.chars().count() >= 100 {
                break;
            }
        }
        line.chars().take(100).collect()
    }
}

/// Where an imported node came from: its source and its id there.
pub type Origin<'a> = (&'a str, &'a str);

/// A node's key: H(parent's key, role, content, twin ordinal), with an import's origin where there is one.
/// `twin` counts earlier siblings with the same role and content.
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
    /// What it says.
    pub content: Content,
}
