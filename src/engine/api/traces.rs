//! Requests about tool calls that were made: list them, show one in full, run one again.
//! Not for: calls that a model asks for (`event`, `TurnRequest::Consent`).

use crate::domain::base::ids::BranchId;
use crate::domain::tool::consent::{Consent, FileChange, Rule, RuleScope};
use crate::domain::tool::trace::ToolTrace;
use std::sync::Arc;

/// What is asked about calls to tools of the open session.
#[derive(Clone, PartialEq, Debug)]
pub enum TraceAct {
    /// The newest so many, oldest first.
    List {
        /// How many.
        most: usize,
    },
    /// One with its result, what is kept of it beyond that, and the files that it changed.
    Show {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Runs a call again, with the word of a rule or a person. Its result stands beside the conversation, in which nothing
    /// changes; the call itself does what it does. Told of by [`ToolEvent::Rerun`](super::ToolEvent::Rerun).
    Again {
        /// The branch whose rules hold.
        branch: BranchId,
        /// The call's id, or the beginning of it.
        id: String,
    },
    /// A person's word on a call that is run again.
    Word {
        /// The word.
        consent: Consent,
        /// A rule by which the like of it is decided from now on.
        always: Option<(RuleScope, Rule)>,
    },
    /// Stops it.
    Stop,
}

/// A call with all that is known of it.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceWhole {
    /// The call.
    pub trace: ToolTrace,
    /// Its result as the model got it; none where it is gone, or not there yet.
    pub result: Option<Arc<str>>,
    /// The full result, where more is kept than the model got.
    pub full: Option<Arc<str>>,
    /// The files that it changed, before and after.
    pub files: Vec<FileChange>,
}
