//! Restores a branch's previous request from the store after a restart, to determine how much of the next request its
//! server may have cached. Runs on a separate thread; until it is done, plans contain no figures about caching.
//! Not for: sending it again (`calls::replay`).

use super::results::PreviousRequest;
use crate::domain::base::{BranchId, RunId};
use crate::domain::call::RunCard;
use crate::domain::planning::{Row, RowKind};
use crate::engine::api::Event;
use crate::engine::calls::replay::{rendered, restored, stored};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::plans::state::Plans;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::tools::workspace_rules::project_changed;
use crate::store::Store;
use std::sync::Arc;

impl Core {
    /// Starts reading the last request of a branch from the store, once, unless it is known. A single command waits for
    /// the result.
    pub(crate) fn load_previous_request(&mut self, branch: BranchId) {
        if self.plans.outlines.contains_key(&branch) || !self.plans.requested_outlines.insert(branch) {
            return;
        }
        let Some(run) = self.sessions.last_request(branch) else {
            self.plans.requested_outlines.remove(&branch);
            return;
        };
        if self.setup.patient {
            let session = self.sessions.of_branch(branch).ok();
            if let Some((outline, plan)) = session.and_then(|session| outline(&self.store, session, &run)) {
                self.plans.outlines.insert(branch, outline);
                self.tools.project.record_sent(branch, &plan);
            }
            return;
        }
        let (store, id) = (self.store.clone(), run.id);
        self.jobs.report(
            "previous-request",
            move |_| Inbox::Plan(PlanReport::PreviousRequest(branch, id, None)),
            move |cancel| {
                let session = cancel.check().ok().and_then(|()| Session::load(&store, run.session).ok());
                Inbox::Plan(PlanReport::PreviousRequest(
                    branch,
                    id,
                    session.and_then(|session| outline(&store, &session, &run)),
                ))
            },
        );
    }

    /// Stores the restored request and shows the plan on the screen again with the figures that are now known.
    pub(crate) fn put_previous_request(&mut self, branch: BranchId, run: RunId, request: Option<PreviousRequest>) {
        let newest = self.sessions.last_request(branch).map(|last| last.id) == Some(run);
        let request = request.filter(|_| newest && !self.plans.outlines.contains_key(&branch));
        let Some((outline, plan)) = request else { return };
        self.plans.outlines.insert(branch, outline);
        self.tools.project.record_sent(branch, &plan);
        let other = |row: &Row| {
            let last = plan.rows.iter().find(|before| before.atom == row.atom && before.included());
            matches!(row.kind, RowKind::Rules | RowKind::Module)
                && row.included()
                && last.is_some_and(|last| last.text != row.text)
        };
        // If rules changed meanwhile, the plan must report that, so it is made again.
        if self.plans.drawn.get(&branch).is_some_and(|drawn| drawn.solved.plan.rows.iter().any(other)) {
            return project_changed(&mut self.plans, &mut self.turns);
        }
        let generation = self.plans.on_screen.as_ref().filter(|screen| screen.branch == branch);
        let generation = generation.map(|screen| screen.generation);
        if let (Some(drawn), Some(generation), true) =
            (self.plans.drawn.get(&branch).cloned(), generation, self.plans.under_way.is_empty())
        {
            let planned = self.shown(branch, &drawn.solved);
            self.emit(Event::Planned { branch, generation, planned });
        }
    }
}

impl Plans {
    /// Drops the previous request of a branch, because the server did not read it. The request before it is read from
    /// the store when the next plan is shown.
    pub(crate) fn drop_previous_request(&mut self, branch: BranchId) {
        self.outlines.remove(&branch);
        self.requested_outlines.remove(&branch);
    }
}

impl Sessions {
    /// Returns the last call of a branch, or of its ancestors before the fork, that a server may have read: not one
    /// that failed before anything arrived.
    pub(crate) fn last_request(&self, id: BranchId) -> Option<RunCard> {
        let session = self.of_branch(id).ok()?;
        let (mut at, mut until) = (session.branch(id).ok()?, i64::MAX);
        for _ in 0..=session.branches.len() {
            let own = |run: &&RunCard| run.branch == at.id && run.at <= until && !run.unanswered();
            if let Some(run) = session.runs.iter().rev().find(own) {
                return Some(run.clone());
            }
            until = until.min(at.created_at);
            at = session.branch(at.parent?).ok()?;
        }
        None
    }
}

/// Renders a stored request again and returns its outline; `None` if the result differs from the bytes that were sent.
fn outline(store: &Store, session: &Session, run: &RunCard) -> Option<PreviousRequest> {
    let stored = stored(store, run).ok()?;
    let contents = restored(store, &stored, session, run).ok()?;
    let (wire, outline) = rendered(&stored, &contents).ok()?;
    (wire.digest == run.request_digest).then(|| (Arc::new(outline), Box::new(stored.plan)))
}
