//! A rerun: a tool call that a person repeats outside the conversation.
//! Not for: running it (`engine`).

use super::consent::{FileChange, PendingApproval};
use super::trace::ToolTrace;
use crate::domain::base::ids::BranchId;
use std::sync::Arc;

/// The state of a rerun.
#[derive(Clone, PartialEq, Debug)]
pub enum RerunState {
    /// The rerun waits for approval.
    Asks(Arc<PendingApproval>),
    /// The rerun is in progress.
    Runs,
    /// The rerun has ended.
    Ended,
}

/// A rerun.
#[derive(Clone, PartialEq, Debug)]
pub struct Rerun {
    /// The branch whose rules apply.
    pub branch: BranchId,
    /// The id of the original call.
    pub of: String,
    pub state: RerunState,
    /// The trace of the rerun; complete once it has ended.
    pub trace: ToolTrace,
    /// The difference between the original result and the new one; `None` until the rerun has ended.
    pub change: Option<FileChange>,
}
