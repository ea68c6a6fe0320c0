//! Requests about a workspace's rules, skills, and module summaries.
//! Not for: answers to them (`domain::code::workspace_rules`), or files that are attached to a message (`acts`).

use crate::domain::base::{BranchId, Hash};
use crate::domain::summary::SummaryAuthor;

/// A request about rules, skills, and module summaries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProjectAct {
    /// List rules and skills with their state in a branch's next call. Answered by
    /// [`ToolAnswer::Project`](super::ToolAnswer::Project).
    List { branch: BranchId },
    /// Exclude a rules file (or `skills`, the list of skills) from a branch's calls, or include it again (undoable).
    Set {
        branch: BranchId,
        /// The file's path as listed.
        path: String,
        /// Whether to include the file; `None` toggles.
        on: Option<bool>,
        /// Whether the change is for the next call only.
        once: bool,
    },
    /// A request about module summaries.
    Module(ModuleAct),
    /// Write a rules file (undoable). Refused if the file changed after it was read.
    Save {
        /// The branch whose session records the undo operation.
        branch: BranchId,
        /// The file's path as listed.
        path: String,
        text: String,
        /// The hash of the text that was read; `None` for a new file.
        expected: Option<Hash>,
    },
}

/// A request about module summaries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleAct {
    /// Make a summary of a folder or file of the workspace. Answered when it is stored.
    Make {
        /// A branch of the session.
        branch: BranchId,
        /// The folder or file; `.` is the workspace.
        path: String,
        /// The author: extractive (names and comments) or the branch's model.
        by: SummaryAuthor,
    },
    /// List all versions. Answered by [`ToolAnswer::Modules`](super::ToolAnswer::Modules).
    List {
        /// The branch whose model counts tokens.
        branch: BranchId,
    },
    /// Edit a summary, which adds a version.
    Edit {
        /// The folder or file.
        path: String,
        text: String,
    },
    /// Stop the module summaries that are being made for a branch. Their requests are answered as stopped, and nothing
    /// is stored.
    Stop { branch: BranchId },
    /// Go one version back or forward.
    Step {
        /// The folder or file.
        path: String,
        /// Whether to go forward instead of back.
        forward: bool,
    },
}
