//! All tools of a branch, the program's own and the servers', with their costs and states, for display.
//! Not for: calling them (`trace`, `mcp`).

use super::mcp::{Origin, ServerState, ToolHints};
use crate::domain::base::hash::Hash;
use serde::{Deserialize, Serialize};

/// A tool.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ToolCard {
    /// The key that switches it off.
    pub key: String,
    /// The model's name for the tool.
    pub name: String,
    /// The server's name for the tool.
    pub tool: String,
    pub description: String,
    /// JSON schema of its arguments, pretty-printed.
    pub parameters: String,
    /// The server's hints.
    pub hints: ToolHints,
    /// Tokens of its definition, counted alone.
    pub tokens: u32,
    /// Whether it is switched on.
    pub on: bool,
    /// Whether it differs from its approved version; it is then offered only after a new approval.
    pub waits: bool,
    /// The description when it was approved; `None` for a new tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl ToolCard {
    /// Returns whether it is sent with calls if its server is switched on.
    pub fn is_sent(&self) -> bool {
        self.on && !self.waits
    }
}

/// A server, or the program's own tools.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ServerCard {
    /// The key that switches off all its tools together.
    pub key: String,
    pub name: String,
    /// Who configured it.
    pub origin: Origin,
    #[serde(flatten)]
    pub state: ServerState,
    /// The whole command or address, without secrets.
    pub command: String,
    /// Names of its environment variables or headers.
    pub given: Vec<String>,
    /// The server's description of itself.
    pub about: String,
    /// The server's instructions for models, which are never sent.
    pub instructions: String,
    /// The end of its output that is not part of the protocol.
    pub tail: String,
    /// Number of lines that were not messages of the protocol.
    pub strays: u64,
    /// The tools that are not offered and why, one sentence each.
    pub notes: Vec<String>,
    /// Whether the server is switched on; off if all its tools are switched off together.
    pub on: bool,
    /// Tokens that its tools add to a request; 0 if none is sent.
    pub tokens: u32,
    pub tools: Vec<ToolCard>,
}

impl ServerCard {
    /// Returns the tools that are sent.
    pub fn sent_tools(&self) -> impl Iterator<Item = &ToolCard> {
        self.tools.iter().filter(|tool| self.on && tool.is_sent())
    }
}

/// A person's decision about a folder's file with servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileDecision {
    /// No decision, or one about another text of the file.
    Waits,
    /// The file's servers are used.
    Yes,
    /// The file's servers are not used.
    No,
}

/// A server in a folder's file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileServer {
    pub name: String,
    /// The whole command or address.
    pub command: String,
    /// Names of its environment variables or headers.
    pub given: Vec<String>,
    /// Whether it is skipped because the person's settings have a server of that name.
    pub taken: bool,
}

/// A folder's file with servers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FileCard {
    /// The name.
    pub path: String,
    /// The digest of the file. The decision applies only to a file with this digest.
    pub digest: Hash,
    pub word: FileDecision,
    pub servers: Vec<FileServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl FileCard {
    /// Returns the names of the file's servers that are skipped because the settings have servers of these names;
    /// `None` if there are none.
    pub fn skipped_servers(&self) -> Option<String> {
        let names: Vec<&str> = self.servers.iter().filter(|one| one.taken).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// The cost of a tool in a plan, and whether it is sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToolCost {
    /// The model's name for the tool.
    pub name: String,
    /// Tokens of its definition, counted alone. All tools together may take slightly more or less than the sum.
    pub tokens: u32,
    /// Whether it is sent; if not, it is switched off on the branch.
    pub on: bool,
}

/// All tools of a branch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ToolList {
    /// Whether the program was built with support for MCP.
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
    /// Tokens of all tools that are sent, as a plan counts them.
    pub tokens: u32,
}
