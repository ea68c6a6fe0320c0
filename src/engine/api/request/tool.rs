//! Requests about tools: servers, rules, trust, traces, files, code, and the workspace's rules and skills.
//! Not for: calls that wait for approval (`turn`).

use super::super::acts::{CodeAct, FileAct, FolderAct, RuleAct};
use super::super::project::ProjectAct;
use super::super::servers::ServerAct;
use super::super::traces::TraceAct;
use crate::domain::base::BranchId;

/// A request about tools and the workspace.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolRequest {
    /// Find or read files of the workspace for a message that is being written. Runs in the background.
    Files(FileAct),
    /// List and control a branch's tools and their servers.
    Servers(Option<BranchId>, ServerAct),
    /// List or change rules for tool calls.
    Rule(RuleAct),
    /// Trust the workspace folder, so that tools are offered, or revoke the trust.
    Trust {
        /// Whether the folder is trusted.
        trusted: bool,
    },
    /// Show or decide on the folder's own settings file.
    FolderSettings(FolderAct),
    /// List, show, or rerun tool calls.
    Traces(TraceAct),
    /// Index the code of a workspace, or query it.
    Code {
        /// The workspace's folder. If `None`, the program's own workspace; for a query, the last indexed workspace if
        /// the program's own is not indexed.
        root: Option<std::path::PathBuf>,
        act: CodeAct,
    },
    /// List or change rules, skills, and module summaries of the workspace.
    Project(ProjectAct),
}
