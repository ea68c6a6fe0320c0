//! A tool call that a person runs again, beside the conversation.
//! Not for: running it (`engine`).

use super::consent::{FileChange, PendingApproval};
use super::trace::ToolTrace;
use crate::domain::base::ids::BranchId;
use std::sync::Arc;

/// The state of a repeated call.
#[derive(Clone, PartialEq, Debug)]
pub enum RerunState {
    /// It waits for approval.
    Asks(Arc<PendingApproval>),
    /// It runs.
    Runs,
    /// It ended.
    Ended,
}

/// A repeated call.
#[derive(Clone, PartialEq, Debug)]
pub struct Rerun {
    /// The branch whose rules apply.
    pub branch: BranchId,
    /// The id of the original call.
    pub of: String,
    /// Its state.
    pub state: RerunState,
    /// Its own trace; complete once it has ended.
    pub trace: ToolTrace,
    /// The difference between the original result and the new one, once it has ended.
    pub change: Option<FileChange>,
}
