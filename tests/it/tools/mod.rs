//! Tools: approval, deny rules, the sandbox, MCP servers.
//! Not for: parsing of shell commands (unit tests of `tools`).

mod consent;
mod deny_rules;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(target_os = "linux")]
mod sandbox_attacks;
mod sandbox_commands;
