//! MCP (Model Context Protocol) servers in the settings.
//! Not for: a folder's own file (`servers`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The transport of an MCP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpKind {
    /// Standard input and output of a program.
    Stdio,
    /// Streamable HTTP.
    #[serde(alias = "streamable-http", alias = "streamableHttp", alias = "streamable_http")]
    Http,
    /// The older SSE transport, which is not supported.
    Sse,
}

/// An MCP (Model Context Protocol) server. In all texts, `${NAME}` stands for an environment variable, and
/// `${NAME:-words}` for the words if the variable is not set.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// The transport. The default follows from the other fields.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<McpKind>,
    /// The program to start.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The program's arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The program's environment, in addition to the usual variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The program's folder. The default is the workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The server's address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// HTTP headers of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Do not start the server.
    pub disabled: bool,
    /// Seconds without a message from the server after which a call fails; 0 is the default of 60.
    pub timeout: u32,
    /// Maximum seconds for the start; 0 is the default of 30.
    pub start_timeout: u32,
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer")
            .field("command", &self.command)
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}
