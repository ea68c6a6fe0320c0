//! Runs: the record of a call to a model, written before the call is made.
//! Not for: making calls (`engine`, `llm`).

use super::item_use::UseCount;
use super::meter::ShortRead;
use super::provider::{CallEnd, Diagnostic, Outcome};
use super::usage::Usage;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::base::named_enum::named_enum;
use crate::domain::code::symbols::is_zero;
use crate::domain::planning::ContextPlan;
use crate::domain::planning::mode::Mode;
use serde::{Deserialize, Serialize};

/// The notice shown with any comparison of a call with its repetition.
pub const CAUTION: &str = "The same request can give different answers: a difference may be due to chance.";

/// Maximum number of diagnostics stored with a run.
pub const DIAGNOSTICS: usize = 16;

named_enum! {
    /// The status of a run.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub enum RunStatus {
        /// In progress.
        #[default]
        Open = "open",
        /// Ended by a finish reason.
        Complete = "complete",
        /// The stream stopped early.
        Truncated = "truncated",
        /// Stopped by a person.
        Cancelled = "cancelled",
        /// The program crashed.
        Interrupted = "interrupted",
        /// Failed.
        Errored = "errored",
    }
}

/// A call, as shown in lists and under a message.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunCard {
    pub id: RunId,
    pub session: SessionId,
    pub branch: BranchId,
    /// The user message that it answers; `None` until that is a node.
    pub user: Option<NodeId>,
    /// The answer; `None` until that is a node.
    pub answer: Option<NodeId>,
    /// The tool round within its turn, from 1.
    pub round: u32,
    pub plan: Hash,
    /// BLAKE3 hash of the body that was posted.
    pub request_digest: Hash,
    pub profile: String,
    pub model: String,
    pub policy: String,
    pub mode: Mode,
    pub status: RunStatus,
    /// Estimated tokens of the whole prompt.
    pub est_total: u32,
    /// Number of items attached to the message (see [`ContextPlan::attached`]).
    pub items: u32,
    /// Tokens of those items.
    pub attached: u32,
    /// Number of items that a person's marks included or left out (see [`ContextPlan::marked`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub marked: u32,
    /// Hash of which items these are; `None` without any, and in calls of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Hash>,
    /// The usage that the server reported.
    pub usage: Usage,
    /// Set if the server read far less than was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_read: Option<ShortRead>,
    /// Whether a person edited the body before it was sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Cost in millionths of a dollar; `None` if unknown.
    pub cost_micro: Option<u64>,
    /// The finish reason, verbatim.
    pub finish_reason: Option<String>,
    /// Milliseconds to the first event.
    pub ttft_ms: Option<u64>,
    /// Milliseconds in total.
    pub total_ms: Option<u64>,
    /// Number of POSTs.
    pub attempts: u32,
    /// Why it failed, for display.
    pub error: Option<String>,
    /// Parts of the answer that could not be used as received; at most [`DIAGNOSTICS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// Whether it is a side question, which becomes no message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// How many of the call's items the answer used; `None` if that was not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<UseCount>,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl RunCard {
    /// Creates the record of a call that is about to be made from a plan. `at` is in milliseconds since 1970.
    pub fn open(
        id: RunId,
        (session, branch): (SessionId, BranchId),
        plan: &ContextPlan,
        request_digest: Hash,
        round: u32,
        at: i64,
    ) -> Self {
        let (items, attached) = plan.attached();
        let (marked, marks) = plan.marked();
        Self {
            round,
            plan: plan.id,
            request_digest,
            profile: plan.profile.clone(),
            model: plan.model.clone(),
            policy: plan.policy.clone(),
            mode: plan.mode,
            est_total: plan.est_total,
            items,
            attached,
            marked,
            marks,
            at,
            ..Self::blank(id, session, branch)
        }
    }

    /// Creates the record of an open call without a plan.
    pub(crate) fn blank(id: RunId, session: SessionId, branch: BranchId) -> Self {
        Self { id, session, branch, round: 1, ..Self::default() }
    }

    /// Adds a diagnostic, unless the maximum is reached.
    pub fn diagnose(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Returns whether the call failed before anything arrived, so that its server need not have read the prompt.
    pub fn unanswered(&self) -> bool {
        self.status == RunStatus::Errored && self.ttft_ms.is_none()
    }

    /// Records how the call ended. The caller sets the status.
    pub fn ended(&mut self, outcome: &Outcome, cost_micro: Option<u64>) {
        self.usage = outcome.usage;
        self.finish_reason.clone_from(&outcome.finish_reason);
        self.ttft_ms = outcome.ttft_ms;
        self.total_ms = Some(outcome.total_ms);
        self.attempts = outcome.attempts;
        self.cost_micro = cost_micro;
    }
}

impl From<CallEnd> for RunStatus {
    fn from(end: CallEnd) -> Self {
        match end {
            CallEnd::Complete => Self::Complete,
            CallEnd::Truncated => Self::Truncated,
            CallEnd::Errored => Self::Errored,
            CallEnd::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn only_the_first_diagnostics_are_kept() {
        let nil = Uuid::nil();
        let mut card = RunCard::blank(RunId(nil), SessionId(nil), BranchId(nil));
        for number in 0..40 {
            card.diagnose(Diagnostic { what: number.to_string(), raw: String::new() });
        }
        let kept: Vec<&str> = card.diagnostics.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(kept, (0..16).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
