//! A call to a tool that a person runs again, beside the conversation.
//! Not for: running it (`engine`).

use super::consent::{FileChange, PendingApproval};
use super::trace::ToolTrace;
use crate::domain::base::ids::BranchId;
use std::sync::Arc;

/// How a call that is run again stands.
#[derive(Clone, PartialEq, Debug)]
pub enum AgainState {
    /// It waits for a person's word.
    Asks(Arc<PendingApproval>),
    /// It runs.
    Runs,
    /// It ended.
    Ended,
}

/// A call that a person runs again.
#[derive(Clone, PartialEq, Debug)]
pub struct AgainView {
    /// The branch whose rules hold.
    pub branch: BranchId,
    /// The id of the call that it repeats.
    pub of: String,
    /// How it stands.
    pub state: AgainState,
    /// It as a call of its own; complete once it ended.
    pub trace: ToolTrace,
    /// From the result then to the result now, once it ended, as a difference of texts.
    pub change: Option<FileChange>,
}
