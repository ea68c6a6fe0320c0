//! All tools that there are for a branch, the program's own and those of servers, with what each costs and whether it goes:
//! what a screen and the command line show.
//! Not for: calling any (`trace`, `mcp`).

use super::mcp::{Origin, ServerState, ToolHints};
use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};

/// A tool.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ToolCard {
    /// How it is named where it is switched off.
    pub key: String,
    /// As the model sees it.
    pub name: String,
    /// As its server names it.
    pub tool: String,
    /// What it says it does.
    pub description: String,
    /// JSON schema of its arguments, laid out.
    pub parameters: String,
    /// What its server says of it.
    pub hints: ToolHints,
    /// Tokens of its description in every call, alone.
    pub tokens: u32,
    /// It is not switched off.
    pub on: bool,
    /// It is not what was approved: it is offered again once a person approves it.
    pub waits: bool,
    /// What it said it did when it was approved; none for one that is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl ToolCard {
    /// Whether it goes with calls, as far as it itself is asked.
    #[must_use]
    pub fn goes(&self) -> bool {
        self.on && !self.waits
    }
}

/// A server, or the program's own tools.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ServerCard {
    /// How all its tools together are named where they are switched off.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Who named it.
    pub origin: Origin,
    /// How it stands.
    #[serde(flatten)]
    pub state: ServerState,
    /// The whole command or address, without secrets.
    pub command: String,
    /// Names of what it is given.
    pub given: Vec<String>,
    /// What it says it is.
    pub about: String,
    /// What it wants models to be told; it goes nowhere.
    pub instructions: String,
    /// The end of what it wrote beside the protocol.
    pub tail: String,
    /// Lines that were no messages of the protocol.
    pub strays: u64,
    /// What of its list of tools is not offered, and why, a sentence each.
    pub notes: Vec<String>,
    /// Not all its tools are switched off at once.
    pub on: bool,
    /// Tokens of its tools that go.
    pub tokens: u32,
    /// Its tools.
    pub tools: Vec<ToolCard>,
}

impl ServerCard {
    /// Its tools that go.
    pub fn going(&self) -> impl Iterator<Item = &ToolCard> {
        self.tools.iter().filter(|tool| self.on && tool.goes())
    }
}

/// What a person said to a folder's file of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileWord {
    /// Nothing yet, or to another text of it.
    Waits,
    /// Its servers are used.
    Yes,
    /// They are not.
    No,
}

/// A server that a folder's file names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileServer {
    /// Its name.
    pub name: String,
    /// The whole command or address.
    pub command: String,
    /// Names of what it is given.
    pub given: Vec<String>,
    /// It is passed over: the person's settings name a server so too.
    pub taken: bool,
}

/// A folder's own file of servers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FileCard {
    /// Its name.
    pub path: String,
    /// Its digest: what is said is said of this text.
    pub digest: Hash,
    /// What was said to it.
    pub word: FileWord,
    /// What it names, whole.
    pub servers: Vec<FileServer>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FileCard {
    /// Names of its servers that are passed over, because the settings have them too; none where there are none.
    #[must_use]
    pub fn passed_over(&self) -> Option<String> {
        let names: Vec<&str> = self.servers.iter().filter(|one| one.taken).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// What a tool costs in a plan, and whether it goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolCost {
    /// As the model sees it.
    pub name: String,
    /// Tokens of its schema, counted alone: all together may take a few more or less.
    pub tokens: u32,
    /// It goes; else it is switched off on the branch.
    pub on: bool,
}

/// All of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Toolbox {
    /// The program knows the protocol.
    pub built: bool,
    /// The folder is trusted.
    pub trusted: bool,
    /// Tools are not switched off in the settings, and the model is one that takes them.
    pub enabled: bool,
    /// The folder's own file, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileCard>,
    /// The program's own first, then servers as they are named.
    pub servers: Vec<ServerCard>,
    /// Tokens of all tools in every call, exactly as a plan counts them.
    pub tokens: u32,
}
