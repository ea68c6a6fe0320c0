//! The engine's turn state: the turns themselves, claims on branches, side questions, a rerun of a tool
//! call, and answers whose use of items is not determined yet.
//! Not for: the course of a turn (`machine`, `effects`, `commit`).

use super::machine::{Arrived, Effect, TurnState};
use super::tool_calls::CallDecision;
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, NodeId, RunId, SessionId};
use crate::domain::call::{Limit, Limits, ModelInfo, Outcome, Price, Quirk, RaceUsage, RunCard};
use crate::domain::conversation::{Atom, Content, NodeHead};
use crate::domain::planning::{Anchor, ContextPlan};
use crate::domain::tool::{PendingApproval, Rerun, ToolEffect, ToolOutcome, ToolTrace};
use crate::engine::api::{AsideView, Draft, Ticket};
use crate::engine::jobs::CancelToken;
use crate::engine::plans::input_builder::Contents;
use crate::engine::plans::worker::Solved;
use crate::store::file::claims::Claim;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The state of turns in progress.
#[derive(Default)]
pub(crate) struct Turns {
    /// The running turn of each branch.
    pub(crate) live: HashMap<BranchId, LiveTurn>,
    /// The claims that this program holds.
    pub(crate) claims: HashMap<BranchId, HeldClaim>,
    /// Side questions that are in progress or answered, by run.
    pub(crate) asides: HashMap<RunId, Aside>,
    /// The tool call that a person repeats.
    pub(crate) rerun: Option<RunningCall>,
    /// Answers whose use of items is not determined yet.
    pub(crate) unchecked: Vec<AnswerToCheck>,
}

impl Turns {
    /// Fails while an answer is arriving on the branch.
    pub(crate) fn ensure_idle(&self, branch: BranchId) -> Result<(), Failure> {
        if self.live.contains_key(&branch) {
            return Err(Failure::new(FailureKind::Busy, "An answer is still arriving on this branch.")
                .todo("Wait for it, or stop it."));
        }
        Ok(())
    }
}

/// A running turn.
pub(crate) struct LiveTurn {
    pub(crate) state: TurnState,
    pub(crate) session: SessionId,
    pub(crate) draft: Draft,
    /// The user message that is not a node yet.
    pub(crate) user: Option<(NodeHead, Content)>,
    /// The node that the next one follows.
    pub(crate) after: Option<NodeId>,
    /// The branch's head after this turn's last move.
    pub(crate) head: Option<NodeId>,
    /// The branch's head and the window's anchor before the turn.
    pub(crate) before: (Option<NodeId>, Option<Anchor>),
    /// Whether the turn did not start at the head, so that its end moves the head.
    pub(crate) moves: bool,
    pub(crate) card: RunCard,
    pub(crate) solved: Solved,
    pub(crate) model: ModelInfo,
    /// The estimated cost of the current call's prompt.
    pub(crate) prompt_micro: Option<u64>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) failure: Option<Failure>,
    /// Atoms that were sent with any of the turn's calls.
    pub(crate) sent: HashSet<Atom>,
    /// Marks that were considered in any of them, with their revisions.
    pub(crate) counted: HashSet<(Atom, u64)>,
    pub(crate) traces: Vec<ToolTrace>,
    /// The tool call that waits for a person's decision.
    pub(crate) asks: Option<WaitingCall>,
    /// Cancels the current call or its tools.
    pub(crate) cancel: CancelToken,
    pub(crate) quirk: Option<Quirk>,
    /// The request that was refused because of its form, until the next one is sent.
    pub(crate) refused: Option<RefusedRequest>,
    /// Effects that are not carried out yet, in order.
    pub(crate) pending: VecDeque<Effect>,
    /// Whether the store refused the first effect; it is retried periodically.
    pub(crate) stalled: bool,
    /// Whether another window moved the branch meanwhile, so that the answer is stored on another path.
    pub(crate) detached: bool,
    /// Whether the operation that undoes the head's move is stored.
    pub(crate) undoable: bool,
    /// The limits of a branch of a race.
    pub(crate) watch: Option<LimitWatch>,
}

/// The limits of a race branch with a running turn.
pub(crate) struct LimitWatch {
    pub(crate) limits: Limits,
    pub(crate) began: Instant,
    /// The usage of its finished calls.
    pub(crate) before: RaceUsage,
    /// Tokens and cost of the current call, as estimated.
    pub(crate) now: (u32, Option<u64>),
    /// The limit that ended the turn.
    pub(crate) stopped: Option<Limit>,
}

impl LimitWatch {
    pub(crate) fn spent(&self) -> RaceUsage {
        let cost_micro = match (self.before.cost_micro, self.now.1) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        RaceUsage { tokens: self.before.tokens.saturating_add(self.now.0), cost_micro, ms }
    }

    /// Returns the time at which its time limit is reached; `None` without one.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.limits.without_zeros().seconds.map(|seconds| self.began + Duration::from_secs(u64::from(seconds)))
    }
}

/// A tool call that waits for a person's decision.
pub(crate) struct WaitingCall {
    pub(crate) asking: Arc<PendingApproval>,
    pub(crate) reply: Sender<CallDecision>,
}

/// A request that a server refused because of its form.
pub(crate) struct RefusedRequest {
    pub(crate) digest: Hash,
    pub(crate) quirk: Quirk,
    pub(crate) failure: Failure,
}

/// A claim that this program holds.
pub(crate) struct HeldClaim {
    pub(crate) _claim: Claim,
    /// Whether a request waited for it and has not used it yet.
    pub(crate) unused: bool,
}

/// A side question that waits for its plan.
pub(crate) struct UnplannedAside {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) text: Arc<str>,
    /// The node that the question would follow.
    pub(crate) base: Option<NodeId>,
}

/// A side question.
pub(crate) struct Aside {
    pub(crate) view: AsideView,
    pub(crate) base: Option<NodeId>,
    pub(crate) card: RunCard,
    pub(crate) solved: Solved,
    pub(crate) arrived: Arrived,
    pub(crate) price: Option<Price>,
    pub(crate) prompt_micro: Option<u64>,
    pub(crate) cancel: CancelToken,
    /// Whether the answer was discarded; its call still counts.
    pub(crate) dropped: bool,
}

/// An answer whose use of items is not determined yet.
pub(crate) struct AnswerToCheck {
    pub(crate) session: SessionId,
    pub(crate) branch: BranchId,
    pub(crate) run: RunId,
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) contents: Arc<Contents>,
    pub(crate) content: Content,
    pub(crate) traces: Vec<ToolTrace>,
}

/// The running rerun.
pub(crate) struct RunningCall {
    pub(crate) session: SessionId,
    pub(crate) view: Rerun,
    /// The original result.
    pub(crate) before: Option<String>,
    /// Where to send the decision.
    pub(crate) reply: Option<Sender<CallDecision>>,
    pub(crate) cancel: CancelToken,
}

/// An event of the rerun's thread.
pub(crate) enum RerunEvent {
    /// The call was parsed and waits for a decision.
    Wants(ToolEffect, Sender<CallDecision>),
    /// The call ended: its outcome and its duration in milliseconds.
    Ended(Box<ToolOutcome>, u64),
}
