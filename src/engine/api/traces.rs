//! Requests about past tool calls: list them, show one in full, rerun one.
//! Not for: calls that a model requests (`event`, `TurnRequest::Consent`).

use crate::domain::base::ids::BranchId;
use crate::domain::tool::consent::{Consent, FileChange, Rule, RuleScope};
use crate::domain::tool::trace::ToolTrace;
use std::sync::Arc;

/// A request about tool calls of the open session.
#[derive(Clone, PartialEq, Debug)]
pub enum TraceAct {
    /// List the newest calls, oldest first.
    List {
        /// How many.
        most: usize,
    },
    /// Show one call with its result, its full result if stored, and the files that it changed.
    Show {
        /// Its id or a prefix of it.
        id: String,
    },
    /// Run a call again after a rule or a person allows it. Its result becomes no message; the tool itself has its
    /// usual effects. Reported by [`ToolEvent::Rerun`](super::ToolEvent::Rerun).
    Again {
        /// The branch whose rules apply.
        branch: BranchId,
        /// The call's id or a prefix of it.
        id: String,
    },
    /// Decide on a call that is being rerun.
    Word {
        /// The decision.
        consent: Consent,
        /// A rule that decides similar calls from now on.
        always: Option<(RuleScope, Rule)>,
    },
    /// Stop the rerun.
    Stop,
}

/// A tool call in full.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceWhole {
    /// The call.
    pub trace: ToolTrace,
    /// Its result as sent to the model; `None` if deleted or not there yet.
    pub result: Option<Arc<str>>,
    /// The full result, if more is stored than was sent.
    pub full: Option<Arc<str>>,
    /// The changed files, before and after.
    pub files: Vec<FileChange>,
}
