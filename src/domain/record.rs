//! Neutral records: what every import format is read into and every export format is written from.
//! Not for: the formats (`import`, `export`).

use super::ids::NodeId;
use super::message::{Content, End, Role};
use serde::{Deserialize, Serialize};

/// The key in a message's `extra` under which files keep what a person put on it: `{"label": …, "favourite": true}`.
pub const TAG: &str = "pleach";

/// One message on its way in or out.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its id in the file; derived from its place where the file has none.
    pub id: String,
    /// The id of its parent in the file.
    pub parent: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name.
    pub name: Option<String>,
    /// What it says.
    pub content: Content,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970; none where the file does not say.
    pub at: Option<i64>,
    /// The lane.
    pub lane: String,
    /// Listed but never sent.
    pub hidden: bool,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The name that a person gave it; empty is none.
    pub label: String,
    /// A person starred it.
    pub favourite: bool,
}

/// One session on its way in or out, with parents before children.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Transcript {
    /// Identifies the source session, so that a second import meets the first: format and id.
    pub source: String,
    /// Title.
    pub title: String,
    /// Messages in sibling order, parents first.
    pub records: Vec<Record>,
    /// The id of the message at which the conversation stands.
    pub current: Option<String>,
}

/// A record that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Skipped {
    /// Where: line number, or place in the array.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What a file held.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    /// The format found.
    pub format: String,
    /// Its sessions.
    pub transcripts: Vec<Transcript>,
    /// What was skipped.
    pub skipped: Vec<Skipped>,
}

/// What an import did to one session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Imported {
    /// States that came with it and wait for a yes.
    #[serde(default)]
    pub states: u64,
    /// The session.
    pub session: super::ids::SessionId,
    /// Its title.
    pub title: String,
    /// Messages that are new.
    pub added: u64,
    /// Messages that were there already.
    pub known: u64,
    /// The node at which its branch stands.
    pub head: Option<NodeId>,
}
