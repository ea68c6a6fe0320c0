//! Tools that the model can call, the effect of a call, its approval, its trace, and MCP servers.
//! Not for: running tools (`tools`, `mcp`).

pub mod cards;
pub mod consent;
pub mod folded_text;
pub mod folder_settings;
pub mod indirect_commands;
pub mod mcp;
pub mod rerun;
pub mod resolution;
pub mod schema;
mod sed_scripts;
pub mod shell;
pub mod trace;
pub mod visibility;
