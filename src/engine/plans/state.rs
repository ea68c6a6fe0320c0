//! The engine's state of plans: drawn plans, running jobs, and the draft on the screen, which is planned again whenever
//! something that its plan depends on changes.
//! Not for: making plans (`worker`), or their use (`draft`).

use super::results::TrialWork;
use super::snapshot::Snapshot;
use super::worker::{Job, Planner, Solved, Tag};
use crate::context::render::Outline;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::BranchId;
use crate::engine::api::{Draft, Ticket};
use crate::engine::turns::state::UnplannedAside;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A draft that a screen shows the plan of.
#[derive(Clone)]
pub(crate) struct ScreenDraft {
    pub(crate) branch: BranchId,
    /// The number of the draft, returned with its plans.
    pub(crate) generation: u64,
    /// `None` after it was sent, until the screen shows the next one.
    pub(crate) draft: Option<Draft>,
}

/// See the module.
pub(crate) struct Plans {
    pub(crate) planner: Planner,
    /// The last plan drawn, by branch.
    pub(crate) drawn: HashMap<BranchId, LastPlan>,
    /// The plan before it, if only retrieval differs.
    pub(crate) drawn_before: HashMap<BranchId, LastPlan>,
    /// The outline of a branch's last request.
    pub(crate) outlines: HashMap<BranchId, Arc<Outline>>,
    /// Branches whose last request was searched for in the store.
    pub(crate) recalling: HashSet<BranchId>,
    /// Plans that are being made, with their purposes.
    pub(crate) under_way: HashMap<u64, PlanPurpose>,
    /// Those of them that will be sent, by branch: at most one each.
    pub(crate) latched: HashMap<BranchId, u64>,
    /// The tickets of edited requests that are about to be sent.
    pub(crate) by_hand: HashMap<BranchId, Ticket>,
    /// The running what-if comparison.
    pub(crate) trying: Option<TrialWork>,
    /// The running preview.
    pub(crate) previewing: Option<(Ticket, Arc<AtomicBool>)>,
    /// The draft on the screen.
    pub(crate) on_screen: Option<ScreenDraft>,
    /// Whether something changed since its plan was requested.
    outdated: bool,
    revisions: HashMap<BranchId, u64>,
    last_job: u64,
}

impl Plans {
    pub(crate) fn new(planner: Planner) -> Self {
        Self {
            planner,
            drawn: HashMap::new(),
            drawn_before: HashMap::new(),
            outlines: HashMap::new(),
            recalling: HashSet::new(),
            under_way: HashMap::new(),
            latched: HashMap::new(),
            by_hand: HashMap::new(),
            trying: None,
            previewing: None,
            on_screen: None,
            outdated: false,
            revisions: HashMap::new(),
            last_job: 0,
        }
    }

    /// A screen shows another draft, whose plan is being made now.
    pub(crate) fn show(&mut self, draft: ScreenDraft) {
        self.on_screen = Some(draft);
        self.outdated = false;
    }

    /// Whether a newer draft than `generation` is on the screen.
    pub(crate) fn newer_than(&self, branch: BranchId, generation: u64) -> bool {
        self.on_screen.as_ref().is_some_and(|screen| screen.branch == branch && screen.generation > generation)
    }

    /// The generation of a branch's plan, for the screen.
    pub(crate) fn generation(&self, branch: BranchId) -> u64 {
        self.on_screen.as_ref().filter(|screen| screen.branch == branch).map_or(0, |screen| screen.generation)
    }

    /// Something changed that any plan may depend on.
    pub(crate) fn outdate(&mut self) {
        self.outdated = true;
    }

    /// A branch changed, which makes its plans stale.
    pub(crate) fn touch(&mut self, branch: BranchId) {
        *self.revisions.entry(branch).or_default() += 1;
        self.outdated |= self.on_screen.as_ref().is_some_and(|screen| screen.branch == branch);
    }

    /// The number of changes that made plans of a branch stale.
    pub(crate) fn revision(&self, branch: BranchId) -> u64 {
        self.revisions.get(&branch).copied().unwrap_or_default()
    }

    /// The draft to plan again now. It waits while any plan is being made: that plan may still be drawn, and a change
    /// caused by making it does not cause another.
    pub(crate) fn due(&mut self) -> Option<(BranchId, u64, Draft)> {
        if !self.outdated || !self.under_way.is_empty() {
            return None;
        }
        self.outdated = false;
        let screen = self.on_screen.as_ref()?;
        Some((screen.branch, screen.generation, screen.draft.clone()?))
    }

    /// A draft was sent: if it is the one on the screen, it stays there until the screen shows the next one.
    pub(crate) fn sent(&mut self, branch: BranchId, draft: &Draft) {
        if let Some(screen) = self.on_screen.as_mut().filter(|screen| screen.branch == branch) {
            screen.draft = screen.draft.take().filter(|shown| shown != draft);
        }
    }

    /// Passes a snapshot to the planner. Returns the job's number, and the ticket of an older draft that it replaces.
    pub(crate) fn submit(
        &mut self,
        branch: BranchId,
        snapshot: Snapshot,
        purpose: PlanPurpose,
    ) -> (u64, Option<Ticket>) {
        self.last_job += 1;
        let sends = !matches!(purpose, PlanPurpose::Draw { .. });
        self.under_way.insert(self.last_job, purpose);
        let tag = Tag { branch, id: self.last_job, sends };
        let dropped = self.planner.submit(Job { tag, snapshot }).and_then(|id| self.under_way.remove(&id));
        let ticket = match dropped {
            Some(PlanPurpose::Draw { ticket, .. }) => ticket,
            Some(PlanPurpose::Send { .. } | PlanPurpose::Round | PlanPurpose::Aside(_)) | None => None,
        };
        (self.last_job, ticket)
    }

    /// Cancels the draft that waits to be sent on a branch.
    pub(crate) fn cancel_latched(&mut self, branch: BranchId) -> Option<PlanPurpose> {
        self.latched.remove(&branch).and_then(|id| self.under_way.remove(&id))
    }

    /// Whether a message of this program is about to be sent on a branch.
    pub(crate) fn about_to_send(&self, branch: BranchId) -> bool {
        self.latched.contains_key(&branch) || self.by_hand.contains_key(&branch)
    }

    /// Drops all state of a deleted branch.
    pub(crate) fn forget(&mut self, branch: BranchId) {
        self.drawn.remove(&branch);
        self.drawn_before.remove(&branch);
        self.outlines.remove(&branch);
        self.touch(branch);
    }
}

/// The purpose of a planning job.
pub(crate) enum PlanPurpose {
    Draw { ticket: Option<Ticket>, generation: u64, draft: Draft, revision: u64 },
    Send { ticket: Ticket, draft: Draft, revision: u64, wanted: Option<Hash> },
    Round,
    Aside(UnplannedAside),
}

/// The last plan drawn for a branch.
#[derive(Clone)]
pub(crate) struct LastPlan {
    pub(crate) draft: Draft,
    pub(crate) revision: u64,
    pub(crate) solved: Solved,
}
