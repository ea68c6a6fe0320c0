//! Tools that the model may call: MCP servers, switches, tools for code, workspace rules and skills, traces.
//! Not for: running a turn's tool calls (`turns`).

pub(super) mod added;
pub(super) mod cards;
pub(super) mod code;
pub(super) mod files;
pub(super) mod folder_settings;
pub(super) mod selection;
pub(super) mod server_report;
pub(super) mod servers;
pub(super) mod skills;
pub(super) mod state;
pub(super) mod switches;
pub(super) mod trace_records;
pub(super) mod traces;
pub(super) mod workspace;
pub(super) mod workspace_rules;
