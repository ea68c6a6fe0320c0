//! Requests about tool calls that were made: list them, show one in full, or rerun one.
//! Not for: calls that a model asks for (`event`, `TurnRequest::Consent`).

use crate::domain::base::BranchId;
use crate::domain::tool::{Consent, FileChange, Rule, RuleScope, ToolTrace};
use std::sync::Arc;

/// A request about tool calls of the open session.
#[derive(Clone, PartialEq, Debug)]
pub enum TraceAct {
    /// List the newest calls, oldest first.
    List {
        /// The maximum number.
        most: usize,
    },
    /// Show one call with its result, its full result if stored, and the files that it changed.
    Show {
        /// The id of the call's trace, or a prefix of it.
        id: String,
    },
    /// Repeat a call after a rule or a person allows it. Its result does not become a message, but the tool has its
    /// usual effects. Reported by [`ToolEvent::Rerun`](super::ToolEvent::Rerun).
    Again {
        /// The branch whose rules apply.
        branch: BranchId,
        /// The id of the call's trace, or a prefix of it.
        id: String,
    },
    /// Decide on a rerun that waits for approval.
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
    /// The call's trace.
    pub trace: ToolTrace,
    /// The result as sent to the model; `None` if it was deleted or has not arrived.
    pub result: Option<Arc<str>>,
    /// The full result, if more is stored than was sent.
    pub full: Option<Arc<str>>,
    /// The changed files, each with its text before and after.
    pub files: Vec<FileChange>,
}
