//! Restores a branch's previous request from the store after a restart, to tell how much of the next request its server
//! may have cached. Works on a thread of its own; until it is done, plans say nothing about caching.
//! Not for: sending it again (`calls::replay`).

use super::results::PreviousRequest;
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::run::RunCard;
use crate::domain::planning::plan::{Row, RowKind};
use crate::engine::api::Event;
use crate::engine::calls::replay::{rendered, restored, stored};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::sessions::session::Session;
use crate::store::Store;
use std::sync::Arc;

impl Core {
    /// The last call of a branch, or of its ancestor up to the fork.
    pub(crate) fn last_request(&self, id: BranchId) -> Option<RunCard> {
        let session = self.sessions.of_branch(id).ok()?;
        let (mut at, mut until) = (session.branch(id).ok()?, i64::MAX);
        for _ in 0..=session.branches.len() {
            let own = |run: &&RunCard| run.branch == at.id && run.at <= until;
            if let Some(run) = session.runs.iter().rev().find(own) {
                return Some(run.clone());
            }
            until = until.min(at.created_at);
            at = session.branch(at.parent?).ok()?;
        }
        None
    }

    /// Restores the last request of a branch, once, if it is unknown. A single command waits for it.
    pub(crate) fn recall_request(&mut self, branch: BranchId) {
        if self.plans.outlines.contains_key(&branch) || !self.plans.recalling.insert(branch) {
            return;
        }
        let Some(run) = self.last_request(branch) else {
            self.plans.recalling.remove(&branch);
            return;
        };
        if self.setup.patient {
            let session = self.sessions.of_branch(branch).ok();
            if let Some((outline, plan)) = session.and_then(|session| outline(&self.store, session, &run)) {
                self.plans.outlines.insert(branch, outline);
                self.tools.project.carried(branch, &plan);
            }
            return;
        }
        let (store, id) = (self.store.clone(), run.id);
        self.jobs.report(
            "recall",
            move |_| Inbox::Plan(PlanReport::PreviousRequest(branch, id, None)),
            move || {
                let session = Session::load(&store, run.session).ok();
                Inbox::Plan(PlanReport::PreviousRequest(
                    branch,
                    id,
                    session.and_then(|session| outline(&store, &session, &run)),
                ))
            },
        );
    }

    /// The request was restored: the plan on the screen is shown again with that knowledge.
    pub(crate) fn put_previous_request(&mut self, branch: BranchId, run: RunId, request: Option<PreviousRequest>) {
        let newest = self.last_request(branch).map(|last| last.id) == Some(run);
        let request = request.filter(|_| newest && !self.plans.outlines.contains_key(&branch));
        let Some((outline, plan)) = request else { return };
        self.plans.outlines.insert(branch, outline);
        self.tools.project.carried(branch, &plan);
        let other = |row: &Row| {
            let last = plan.rows.iter().find(|before| before.atom == row.atom && before.included());
            matches!(row.kind, RowKind::Rules | RowKind::Module)
                && row.included()
                && last.is_some_and(|last| last.text != row.text)
        };
        // The plan itself reports changes made meanwhile.
        if self.plans.drawn.get(&branch).is_some_and(|drawn| drawn.solved.plan.rows.iter().any(other)) {
            return self.project_changed();
        }
        let generation = self.plans.on_screen.as_ref().filter(|screen| screen.branch == branch);
        let generation = generation.map(|screen| screen.generation);
        if let (Some(drawn), Some(generation), true) =
            (self.plans.drawn.get(&branch).cloned(), generation, self.plans.under_way.is_empty())
        {
            let planned = self.shown(branch, &drawn.solved);
            self.say(Event::Planned { branch, generation, planned });
        }
    }
}

/// The outline of a stored request; `None` if it does not render to the bytes that were sent.
fn outline(store: &Store, session: &Session, run: &RunCard) -> Option<PreviousRequest> {
    let stored = stored(store, run).ok()?;
    let contents = restored(store, &stored, session, run).ok()?;
    let (wire, outline) = rendered(&stored, &contents).ok()?;
    (wire.digest == run.request_digest).then(|| (Arc::new(outline), Box::new(stored.plan)))
}
