//! The engine's planning state: the drawn plans, the jobs in progress, and the draft on the screen, which is planned
//! again whenever something that its plan depends on changes.
//! Not for: making plans (`worker`), or acting on them (`draft`).

use super::results::RunningWhatIf;
use super::snapshot::{RoundBefore, Snapshot};
use super::worker::{Job, Planner, Solved, Stored, Tag};
use crate::context::render::Outline;
use crate::domain::base::{BranchId, Hash, NodeId, RunId};
use crate::domain::conversation::Atom;
use crate::domain::planning::{Row, row_matching};
use crate::engine::api::{Draft, Ticket};
use crate::engine::turns::state::UnplannedAside;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The draft whose plan the screen shows.
#[derive(Clone)]
pub(crate) struct ScreenDraft {
    pub(crate) branch: BranchId,
    /// The number of the draft, which is returned with its plans.
    pub(crate) generation: u64,
    /// `None` after the draft was sent, until the screen shows the next one.
    pub(crate) draft: Option<Draft>,
}

/// The state of planning.
#[derive(Default)]
pub(crate) struct Plans {
    pub(crate) planner: Planner,
    /// The last plan drawn, by branch.
    pub(crate) drawn: HashMap<BranchId, LastPlan>,
    /// The plan before the last one, if only retrieval differs.
    pub(crate) drawn_before: HashMap<BranchId, LastPlan>,
    /// By branch: the last round of a turn that can be continued, with its last message.
    pub(crate) last_rounds: HashMap<BranchId, (NodeId, RoundBefore)>,
    /// The outline of the last request, by branch.
    pub(crate) outlines: HashMap<BranchId, Arc<Outline>>,
    /// Branches whose last request is being or was read from the store.
    pub(crate) requested_outlines: HashSet<BranchId>,
    /// The purposes of the jobs in progress, by job number.
    pub(crate) under_way: HashMap<u64, PlanPurpose>,
    /// The jobs whose plans will be sent, by branch: at most one each.
    pub(crate) pending_sends: HashMap<BranchId, u64>,
    /// The tickets of edited requests that are about to be sent.
    pub(crate) edited_sends: HashMap<BranchId, Ticket>,
    /// The what-if comparison in progress.
    pub(crate) what_if: Option<RunningWhatIf>,
    /// The preview in progress.
    pub(crate) previewing: Option<(Ticket, Arc<AtomicBool>)>,
    /// The call whose request the screen shows, with its stored plan.
    pub(crate) opened_call: Option<(RunId, Arc<Stored>)>,
    pub(crate) on_screen: Option<ScreenDraft>,
    /// Whether something changed since the plan of the draft on the screen was requested.
    outdated: bool,
    revisions: HashMap<BranchId, u64>,
    last_job: u64,
}

impl Plans {
    /// Returns the row of an item in the last plan drawn.
    pub(crate) fn drawn_row(&self, branch: BranchId, atom: &Atom) -> Option<&Row> {
        row_matching::row(&self.drawn.get(&branch)?.solved.plan, atom)
    }

    pub(crate) fn new(planner: Planner) -> Self {
        Self { planner, ..Self::default() }
    }

    /// Stores the draft that the screen shows now; its plan is being made.
    pub(crate) fn show(&mut self, draft: ScreenDraft) {
        self.on_screen = Some(draft);
        self.outdated = false;
    }

    /// Whether the screen shows a newer draft than `generation`.
    pub(crate) fn newer_than(&self, branch: BranchId, generation: u64) -> bool {
        self.on_screen.as_ref().is_some_and(|screen| screen.branch == branch && screen.generation > generation)
    }

    /// Returns the generation that the screen receives with a plan of a branch.
    pub(crate) fn generation(&self, branch: BranchId) -> u64 {
        self.on_screen.as_ref().filter(|screen| screen.branch == branch).map_or(0, |screen| screen.generation)
    }

    /// Records a change that any plan may depend on.
    pub(crate) fn outdate(&mut self) {
        self.outdated = true;
    }

    /// Records a change of a branch that makes its plans stale.
    pub(crate) fn touch(&mut self, branch: BranchId) {
        *self.revisions.entry(branch).or_default() += 1;
        self.outdated |= self.on_screen.as_ref().is_some_and(|screen| screen.branch == branch);
    }

    /// Returns the number of changes that made plans of a branch stale.
    pub(crate) fn revision(&self, branch: BranchId) -> u64 {
        self.revisions.get(&branch).copied().unwrap_or_default()
    }

    /// Returns the draft that must be planned again now. The draft waits while any job is in progress: that job's plan
    /// may still be drawn, and a change that the job itself caused must not start another job.
    pub(crate) fn due(&mut self) -> Option<(BranchId, u64, Draft)> {
        if !self.outdated || !self.under_way.is_empty() {
            return None;
        }
        self.outdated = false;
        let screen = self.on_screen.as_ref()?;
        Some((screen.branch, screen.generation, screen.draft.clone()?))
    }

    /// Records that a draft was sent. If it is the draft on the screen, no plan is made until the screen shows the next
    /// draft.
    pub(crate) fn sent(&mut self, branch: BranchId, draft: &Draft) {
        if let Some(screen) = self.on_screen.as_mut().filter(|screen| screen.branch == branch) {
            screen.draft = screen.draft.take().filter(|shown| shown != draft);
        }
    }

    /// Submits a snapshot to the planner. Returns the job's number, and the ticket of an older draft that it replaces.
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

    /// Returns the last round of the branch's last turn, if it ended with this message and can be continued.
    pub(crate) fn last_round(&self, branch: BranchId, node: NodeId) -> Option<RoundBefore> {
        self.last_rounds.get(&branch).filter(|(last, _)| *last == node).map(|(_, round)| round.clone())
    }

    /// Removes the pending send of a branch and returns its purpose.
    pub(crate) fn take_pending_send(&mut self, branch: BranchId) -> Option<PlanPurpose> {
        let id = self.pending_sends.remove(&branch)?;
        self.planner.withdraw(id);
        self.under_way.remove(&id)
    }

    /// Whether this process is about to send a message on a branch.
    pub(crate) fn about_to_send(&self, branch: BranchId) -> bool {
        self.pending_sends.contains_key(&branch) || self.edited_sends.contains_key(&branch)
    }

    /// Drops everything stored about a deleted branch.
    pub(crate) fn forget(&mut self, branch: BranchId) {
        self.drawn.remove(&branch);
        self.drawn_before.remove(&branch);
        self.last_rounds.remove(&branch);
        self.outlines.remove(&branch);
        self.opened_call = None;
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
