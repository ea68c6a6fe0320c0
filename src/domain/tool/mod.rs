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

pub use cards::{FileCard, FileDecision, FileServer, ServerCard, ToolCard, ToolCost, ToolList};
pub use consent::{Command, Consent, FileChange, Hunk, PendingApproval, Rule, RuleScope, ToolEffect, Verdict};
pub use folded_text::Row;
pub use folder_settings::{FolderSettings, SettingChange, SettingsFileStatus};
pub use mcp::{
    ConfiguredServers, FolderFile, OfferedTool, Origin, Secret, Server, ServerSpec, ServerState, ServerTool,
    ServerTransport, ToolHints, ToolServers,
};
pub use rerun::{Rerun, RerunState};
pub use resolution::{Link, LinkKind, TraceFilter};
pub use trace::{
    FileTexts, RunTools, ShortenedResult, ToolObserver, ToolOutcome, ToolOutput, ToolSpec, ToolStatus, ToolTrace,
    TraceDetails,
};
pub use visibility::FileVisibility;
