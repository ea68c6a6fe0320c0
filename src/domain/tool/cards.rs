//! All tools of a branch, the program's own and those of servers, with their costs and states, for display.
//! Not for: calling any (`trace`, `mcp`).

use super::mcp::{Origin, ServerState, ToolHints};
use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};

/// A tool.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ToolCard {
    /// Its name when switched off.
    pub key: String,
    /// Its name for the model.
    pub name: String,
    /// Its name at its server.
    pub tool: String,
    /// Its description.
    pub description: String,
    /// JSON schema of its arguments, pretty-printed.
    pub parameters: String,
    /// The server's hints.
    pub hints: ToolHints,
    /// Tokens of its definition in every call, counted alone.
    pub tokens: u32,
    /// Whether it is not switched off.
    pub on: bool,
    /// Whether it differs from what was approved; then it is offered again only after approval.
    pub waits: bool,
    /// Its description when it was approved; `None` for a new tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl ToolCard {
    /// Whether it is sent with calls, apart from settings of its server.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.on && !self.waits
    }
}

/// A server, or the program's own tools.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ServerCard {
    /// The name of all its tools together when switched off.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Who configured it.
    pub origin: Origin,
    /// Its state.
    #[serde(flatten)]
    pub state: ServerState,
    /// The whole command or address, without secrets.
    pub command: String,
    /// Names of its environment variables or headers.
    pub given: Vec<String>,
    /// Its self-description.
    pub about: String,
    /// Its instructions for models, which are sent nowhere.
    pub instructions: String,
    /// The end of its output beside the protocol.
    pub tail: String,
    /// Number of lines that were no messages of the protocol.
    pub strays: u64,
    /// Tools that are not offered, and why, a sentence each.
    pub notes: Vec<String>,
    /// Whether not all of its tools are switched off together.
    pub on: bool,
    /// Tokens of its sent tools.
    pub tokens: u32,
    /// Its tools.
    pub tools: Vec<ToolCard>,
}

impl ServerCard {
    /// Its sent tools.
    pub fn going(&self) -> impl Iterator<Item = &ToolCard> {
        self.tools.iter().filter(|tool| self.on && tool.is_sent())
    }
}

/// A person's decision about a folder's file of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileDecision {
    /// None, or about another text of it.
    Waits,
    /// Its servers are used.
    Yes,
    /// Its servers are not used.
    No,
}

/// A server in a folder's file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileServer {
    /// Its name.
    pub name: String,
    /// The whole command or address.
    pub command: String,
    /// Names of its environment variables or headers.
    pub given: Vec<String>,
    /// Whether it is skipped, because the person's settings have a server of that name.
    pub taken: bool,
}

/// A folder's own file of servers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FileCard {
    /// Its name.
    pub path: String,
    /// Its digest; the decision applies to this text only.
    pub digest: Hash,
    /// The decision.
    pub word: FileDecision,
    /// Its servers.
    pub servers: Vec<FileServer>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FileCard {
    /// Names of its servers that are skipped, because the settings have them too; `None` if there are none.
    #[must_use]
    pub fn passed_over(&self) -> Option<String> {
        let names: Vec<&str> = self.servers.iter().filter(|one| one.taken).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// The cost of a tool in a plan, and whether it is sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolCost {
    /// Its name for the model.
    pub name: String,
    /// Tokens of its schema, counted alone; all together may take slightly more or less.
    pub tokens: u32,
    /// Whether it is sent; otherwise it is switched off on the branch.
    pub on: bool,
}

/// All tools of a branch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Toolbox {
    /// Whether the program was built with the protocol.
    pub built: bool,
    /// Whether the folder is trusted.
    pub trusted: bool,
    /// Whether the settings allow tools and the model accepts them.
    pub enabled: bool,
    /// The folder's own file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileCard>,
    /// The program's own tools first, then servers in configured order.
    pub servers: Vec<ServerCard>,
    /// Tokens of all tools in every call, exactly as a plan counts them.
    pub tokens: u32,
}
