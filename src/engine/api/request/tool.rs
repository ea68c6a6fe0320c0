//! Requests about tools: servers, rules, trust, traces, files, code, and the workspace's rules and skills.
//! Not for: calls that wait for approval (`turn`).

use super::super::acts::CodeAct;
use super::super::acts::FileAct;
use super::super::acts::FolderAct;
use super::super::acts::RuleAct;
use super::super::project::ProjectAct;
use super::super::servers::ServerAct;
use super::super::traces::TraceAct;
use crate::domain::base::ids::BranchId;

/// A request about tools and the workspace.
#[derive(Clone, PartialEq, Debug)]
pub enum ToolRequest {
    /// Files of the workspace for a message that is being written. Runs in the background.
    Files(FileAct),
    /// Tools and their servers, as a branch has them.
    Servers(Option<BranchId>, ServerAct),
    /// Rules for tool calls.
    Rule(RuleAct),
    /// Trust the workspace folder, so that tools are offered, or revoke its trust.
    Trust {
        /// Whether it is trusted.
        trusted: bool,
    },
    /// The folder's own settings file.
    FolderSettings(FolderAct),
    /// Tool calls: list, show, rerun.
    Traces(TraceAct),
    /// Index the code of a workspace, or query it.
    Code {
        /// Its folder. If `None`, the program's own; for a query, the one that was indexed last if the program's own
        /// was not.
        root: Option<std::path::PathBuf>,
        /// The act.
        act: CodeAct,
    },
    /// Rules, skills and module summaries of the workspace.
    Project(ProjectAct),
}
