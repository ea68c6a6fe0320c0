//! Answers about whole sessions, and contents of the open one.
//! Not for: one branch (`branch`).

use crate::domain::base::BranchId;
use crate::domain::call::{BranchRun, Bundle, RunCard};
use crate::domain::conversation::{
    Branch, FoundMessages, ImportResult, Node, NodeHead, SessionCard, Skipped, Tag, Transcript,
};
use crate::domain::tool::ToolTrace;
use std::sync::Arc;

/// An answer about sessions.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionAnswer {
    Sessions(Vec<SessionCard>),
    /// Messages that were found.
    Found(Box<FoundMessages>),
    Opened(Arc<SessionView>),
    /// Contents of nodes; nodes that no longer exist are omitted.
    Bodies(Vec<Arc<Node>>),
    /// The result of an import.
    Imported {
        /// The detected format.
        format: String,
        sessions: Vec<ImportResult>,
        /// Records that were skipped.
        skipped: Vec<Skipped>,
    },
    /// A session as neutral records.
    Transcript(Box<Transcript>),
    /// A session with its calls.
    Bundle(Box<Bundle>),
}

/// An open session for the screen, without contents of messages.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    pub card: SessionCard,
    /// All nodes, parents before children.
    pub nodes: Vec<NodeHead>,
    /// All branches, including archived ones.
    pub branches: Vec<Branch>,
    /// The last used branch.
    pub current: BranchId,
    /// All calls, oldest first.
    pub runs: Vec<RunCard>,
    /// Labels and favorites.
    pub tags: Vec<Tag>,
    /// Records of branches in races.
    pub races: Vec<BranchRun>,
    /// The newest tool traces, oldest first (at most 500).
    pub traces: Vec<ToolTrace>,
    /// The workspace folder, and whether it is trusted.
    pub workspace: (String, bool),
    /// Unsent drafts by branch.
    pub drafts: Vec<(BranchId, Arc<str>)>,
    /// The messages that were cleared on each branch, newest first, with their times in milliseconds since 1970.
    pub cleared: Vec<(BranchId, i64, Arc<str>)>,
    /// Notices about recovery ("1 answer was interrupted; …"); may be empty.
    pub recovered: Vec<String>,
}
