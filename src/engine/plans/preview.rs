//! Previews an act: solves the next plan with the marks that the act would set. Previews run on the planner's thread
//! after the plans that a screen waits for. Nothing is changed, and a newer preview replaces an older one.
//! Not for: performing the act (`branches::marks`), or other settings (`what_if`).

use super::input_builder::InputBuilder;
use super::results::PreviewWork;
use super::snapshot;
use super::worker::{self, WorkerTask};
use crate::context::render::same_prefix;
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::conversation::Change;
use crate::domain::planning::{ActPreview, PlanFigures};
use crate::engine::api::{Act, Answer, Draft, ItemName, PlanAnswer, Ticket};
use crate::engine::branches::marks::apply_to;
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, PlanReport};
use crate::engine::indexing::priority::Priority;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

impl Core {
    /// Starts solving the plan that would follow from an act.
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
        let revision = self.plans.revision(id);
        let drawn = self.plans.drawn.get(&id).filter(|drawn| drawn.draft == *draft && drawn.revision == revision);
        let present = drawn.map(|drawn| drawn.solved.plan.clone());
        let stale = || Failure::new(FailureKind::Stale, "The plan on the screen is out of date.");
        let present = present.ok_or_else(|| stale().todo("Wait for the new plan."))?;
        let marked = self.mark_changes(&branch, items, act)?;
        let changes: Vec<Change> = marked.updates.iter().map(|(update, _)| update.change(branch.id)).collect();
        let mut there = branch.clone();
        apply_to(&mut there, &changes);
        let question = self.asked(&there, draft)?;
        let rules = self.rules(&there)?;
        let price = rules.model.price;
        let mut snapshot = snapshot::take(self.sessions.of_branch(id)?, &there, rules, &question);
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
        let result = match made.result {
            Some(Ok(solved)) => {
                let same = before.map(|before| same_prefix(before, &solved.outline));
                let cost = self.learned.meters.prompt_cost(&self.store, made.price, &solved.plan, same.unwrap_or(0));
                Ok(PlanFigures::of(&solved.plan, &made.present, same, cost))
            }
            Some(Err(why)) => Err(why),
            None => Err(Failure::new(FailureKind::Internal, "The preview was not computed.")),
        };
        let (present, est) = (made.present.id, made.present.est_total);
        let preview = ActPreview { branch: made.branch, present, est, result };
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
