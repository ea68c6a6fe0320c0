//! Previews an act: solves the next plan with the marks that the act would set, or with the summary that it would
//! accept. Previews run on the planner's thread after the plans that a screen waits for. Nothing is changed, and a newer
//! preview replaces an older one.
//! Not for: performing the act (`branches::marks`), or other settings (`what_if`).

use super::input_builder::InputBuilder;
use super::results::PreviewWork;
use super::snapshot;
use super::sources::summaries::LoadedSummary;
use super::worker::{self, WorkerTask};
use crate::context::render::same_prefix;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::conversation::{Branch, Change};
use crate::domain::planning::{ActPreview, ContextPlan, PlanFigures, omitted_summary};
use crate::engine::api::{Act, Answer, Draft, ItemName, PlanAnswer, Ticket};
use crate::engine::branches::marks::apply_to;
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::indexing::priority::Priority;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

impl Core {
    /// Starts solving the plan that would follow from marking items.
    pub(crate) fn preview(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: &Draft,
        items: &[ItemName],
        act: Act,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        if act == Act::Reply {
            return Err(Failure::user("A reply changes the next message, so it has no preview."));
        }
        let present = self.present_plan(id, draft)?;
        let marked = self.mark_changes(&branch, items, act)?;
        let changes: Vec<Change> = marked.updates.iter().map(|(update, _)| update.change(branch.id)).collect();
        let mut there = branch.clone();
        apply_to(&mut there, &changes);
        self.start_preview(ticket, &there, draft, present)
    }

    /// Starts solving the plan that would follow from accepting the draft of a summary.
    pub(crate) fn preview_summary(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: &Draft,
        number: u64,
    ) -> Result<(), Failure> {
        let mut there = self.sessions.branch(id)?.clone();
        let present = self.present_plan(id, draft)?;
        let summary = self.summaries.waiting(id, number)?.draft.summary.clone();
        there.summaries = self.sessions.summaries_with(&there, &summary);
        // The snapshot reads the summary from the session.
        let of = summary.id;
        let before = self.sessions.of_branch_mut(id)?.summaries.insert(of, LoadedSummary::new(summary));
        let started = self.start_preview(ticket, &there, draft, present);
        let summaries = &mut self.sessions.of_branch_mut(id)?.summaries;
        match before {
            Some(before) => summaries.insert(of, before),
            None => summaries.remove(&of),
        };
        started
    }

    /// Returns the plan on the screen, if it is for this draft and up to date.
    fn present_plan(&self, id: BranchId, draft: &Draft) -> Result<Arc<ContextPlan>, Failure> {
        let revision = self.plans.revision(id);
        let drawn = self.plans.drawn.get(&id).filter(|drawn| drawn.draft == *draft && drawn.revision == revision);
        let stale = || Failure::new(FailureKind::Stale, "The plan on the screen is out of date.");
        drawn.map(|drawn| drawn.solved.plan.clone()).ok_or_else(|| stale().todo("Wait for the new plan."))
    }

    /// Starts solving the plan of a branch as it would be after an act.
    fn start_preview(
        &mut self,
        ticket: Ticket,
        there: &Branch,
        draft: &Draft,
        present: Arc<ContextPlan>,
    ) -> Result<(), Failure> {
        let (id, revision) = (there.id, self.plans.revision(there.id));
        let question = self.asked(there, draft)?;
        let rules = self.rules(there)?;
        let price = rules.model.price;
        let mut snapshot = snapshot::take(self.sessions.of_branch(id)?, there, rules, &question);
        snapshot.priority = Priority::Typing;
        snapshot.waits = self.setup.patient;
        self.cancel_preview();
        let stop = Arc::new(AtomicBool::new(false));
        let made =
            PreviewWork { ticket, branch: id, revision, present, snapshot, price, stop: stop.clone(), result: None };
        self.plans.planner.run(task(made, self.inbox.clone()))?;
        self.plans.previewing = Some((ticket, stop));
        Ok(())
    }

    /// Cancels the preview in progress and answers its ticket.
    fn cancel_preview(&mut self) {
        if let Some((ticket, stop)) = self.plans.previewing.take() {
            stop.store(true, Ordering::Relaxed);
            self.answer(ticket, Ok(Answer::Done("A newer preview replaced this preview.".into())));
        }
    }

    /// Answers with the figures of a solved preview; stale if the branch changed meanwhile.
    pub(crate) fn report_preview(&mut self, made: PreviewWork) {
        if self.plans.previewing.as_ref().is_none_or(|(ticket, _)| *ticket != made.ticket) {
            return;
        }
        self.plans.previewing = None;
        if made.revision != self.plans.revision(made.branch) {
            let stale = Failure::new(FailureKind::Stale, "The branch changed during the preview.").todo("Try again.");
            return self.answer(made.ticket, Err(stale));
        }
        let before = self.plans.outlines.get(&made.branch);
        let mut left_out = None;
        let result = match made.result {
            Some(Ok(solved)) => {
                left_out = omitted_summary(&solved.plan, &made.present);
                let same = before.map(|before| same_prefix(before, &solved.outline));
                let cost = self.learned.meters.prompt_cost(&self.store, made.price, &solved.plan, same.unwrap_or(0));
                Ok(PlanFigures::of(&solved.plan, &made.present, same, cost))
            }
            Some(Err(why)) => Err(why),
            None => Err(Failure::new(FailureKind::Internal, "The preview was not computed.")),
        };
        let (present, est) = (made.present.id, made.present.est_total);
        let preview = ActPreview { branch: made.branch, present, est, result, left_out };
        self.answer(made.ticket, Ok(PlanAnswer::Preview(Box::new(preview)).into()));
    }
}

fn task(mut made: PreviewWork, inbox: Sender<Inbox>) -> WorkerTask {
    let stop = Some(made.stop.clone());
    let work = Box::new(move |builder: &mut InputBuilder| {
        made.result = worker::solved(builder, &made.snapshot);
        if made.result.is_none() {
            return Some(task(made, inbox));
        }
        let _ = inbox.send(Inbox::Plan(PlanReport::Preview(Box::new(made))));
        None
    });
    WorkerTask { work, stop }
}
