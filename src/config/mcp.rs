//! Servers of tools (Model Context Protocol) as the settings name them.
//! Not for: a folder's own file, and what is asked about it (`servers`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By which way a server of tools is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpKind {
    /// A program's input and output.
    Stdio,
    /// Streamable HTTP.
    #[serde(alias = "streamable-http", alias = "streamableHttp", alias = "streamable_http")]
    Http,
    /// The way before it, which is not spoken here.
    Sse,
}

/// A server of tools (Model Context Protocol). In all texts `${NAME}` is a variable of the environment, and
/// `${NAME:-words}` the words where it is not set.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    /// How it is spoken to; by what else is given where it is not said.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<McpKind>,
    /// The program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment beside the usual names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its folder; the workspace's own where none is named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Headers of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// It is not started.
    pub disabled: bool,
    /// Seconds without a word from it after which a call is given up; 0 is the usual 60.
    pub timeout: u32,
    /// Seconds that its start may take; 0 is the usual 30.
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
