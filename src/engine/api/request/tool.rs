//! Requests about tools: servers, rules, trust, traces, files, code, and what the workspace says of itself.
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
    /// Files of the workspace for a message that is being written. Done beside everything else.
    Files(FileAct),
    /// Tools and their servers, as a branch has them.
    Servers(Option<BranchId>, ServerAct),
    /// Rules about calls to tools.
    Rule(RuleAct),
    /// Trusts (or no longer trusts) the workspace folder, so that tools are offered.
    Trust {
        /// Yes or no.
        trusted: bool,
    },
    /// The folder's own settings file: how it stands, or what a person says to it.
    FolderSettings(FolderAct),
    /// Calls to tools: all, one whole, one again.
    Traces(TraceAct),
    /// Reads the code of a workspace, or answers about it.
    Code {
        /// Its folder; when none the program's own, or for a question, where that was not indexed, the one indexed last.
        root: Option<std::path::PathBuf>,
        /// What is wanted.
        act: CodeAct,
    },
    /// About what the project says of itself: rules, skills.
    Project(ProjectAct),
}
