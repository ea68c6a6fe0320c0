//! Tools: what the model may call, what a call would do, the approval, the trace, and MCP servers.
//! Not for: running one (the rooms `tools` and `mcp`).

pub mod cards;
pub mod consent;
pub mod folded_text;
pub mod folder_settings;
pub mod indirect_commands;
pub mod mcp;
pub mod rerun;
pub mod resolution;
pub mod schema;
pub mod shell;
pub mod trace;
pub mod visibility;
