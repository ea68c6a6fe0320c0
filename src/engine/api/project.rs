//! Requests about a workspace's rules, skills and module summaries.
//! Not for: answers to them (`domain::code::workspace_rules`), or files that are attached to a message (`acts`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::domain::summary::draft::SummaryAuthor;

/// What is asked about rules and skills.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProjectAct {
    /// All of them, as they stand to a branch's next call; answered by [`Answer::Project`](super::Answer::Project).
    List {
        /// Which branch.
        branch: BranchId,
    },
    /// Takes a file with rules (or `skills`, the list of them) out of a branch's calls, or back in (undoable).
    Set {
        /// Which branch.
        branch: BranchId,
        /// Its path, as it is listed.
        path: String,
        /// Back in; without it the other way than now.
        on: Option<bool>,
        /// Of the next call only.
        once: bool,
    },
    /// About summaries of parts of the program.
    Module(ModuleAct),
    /// Writes a file with rules (undoable). Refused when the file is no longer what was read.
    Save {
        /// On which branch's session undo will know of it.
        branch: BranchId,
        /// Its path, as it is listed.
        path: String,
        /// Its new text.
        text: String,
        /// The hash of the text that was read; none for a new file.
        expected: Option<Hash>,
    },
}

/// What is asked about summaries of parts of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleAct {
    /// Makes one from the code of a folder or file beneath the workspace; answered once it is stored.
    Make {
        /// A branch of the session.
        branch: BranchId,
        /// The folder or file; `.` is the workspace.
        path: String,
        /// By whom: from names and comments, or by the branch's model.
        by: SummaryAuthor,
    },
    /// All versions; answered by [`Answer::Modules`](super::Answer::Modules).
    List {
        /// By whose model tokens are counted.
        branch: BranchId,
    },
    /// Puts one into other words: a new version.
    Edit {
        /// Of what.
        path: String,
        /// The new text.
        text: String,
    },
    /// Stops what is being made for a branch; its own request is answered with that. Nothing of it is kept.
    Stop {
        /// Which branch.
        branch: BranchId,
    },
    /// Goes back a version, or on again.
    Step {
        /// Of what.
        path: String,
        /// On instead of back.
        forward: bool,
    },
}
