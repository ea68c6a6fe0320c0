//! What an act would do to the next call: the plan with the act's marks, solved beside the one that is drawn, on the
//! planner's thread and after the plans that a screen waits for. Nothing is changed; a newer act drops an older one.
//! Not for: doing it (`branches::marks`), or other settings (`what_if`).

use super::input_builder::Gatherer;
use super::snapshot::{self, Snapshot};
use super::worker::{self, Errand, Planner, Solved};
use crate::context::render::same_prefix;
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::ids::BranchId;
use crate::domain::call::model::Price;
use crate::domain::conversation::operation::Change;
use crate::domain::planning::plan::ContextPlan;
use crate::domain::planning::what_if::{Figures, Foreseen};
use crate::engine::api::{Act, Answer, Draft, Item, Ticket};
use crate::engine::branches::marks::apply_to;
use crate::engine::core::{Core, Inbox};
use crate::engine::indexing::vectors::Haste;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// See the module.
pub(crate) struct Foreseeing {
    ticket: Ticket,
    branch: BranchId,
    revision: u64,
    present: Arc<ContextPlan>,
    snapshot: Snapshot,
    price: Option<Price>,
    stop: Arc<AtomicBool>,
    result: Option<Result<Solved, String>>,
}

impl Core {
    /// Has the plan solved that an act would give.
    pub(crate) fn foresee(
        &mut self,
        ticket: Ticket,
        id: BranchId,
        draft: &Draft,
        items: &[Item],
        act: Act,
    ) -> Result<(), Failure> {
        let branch = self.branch(id)?;
        if act == Act::Reply {
            return Err(Failure::user("A reply changes the next message, not what goes with it."));
        }
        let revision = self.revision(id);
        let drawn = self.drawn.get(&id).filter(|drawn| drawn.draft == *draft && drawn.revision == revision);
        let present = drawn.map(|drawn| drawn.solved.plan.clone());
        let present = present.ok_or_else(|| {
            Failure::new(FailureKind::Stale, "The plan on the screen is no longer true.").todo("Wait for the new one.")
        })?;
        let marked = self.marked(&branch, items, act)?;
        let changes: Vec<Change> = marked.changes.into_iter().map(|(change, _)| change).collect();
        let mut there = branch.clone();
        apply_to(&mut there, &changes);
        let question = self.asked(&there, draft)?;
        let rules = self.rules(&there)?;
        let price = rules.model.price;
        let mut snapshot = snapshot::take(self.session_of(id)?, &there, rules, &question);
        snapshot.haste = Haste::Typing;
        snapshot.waits = self.setup.patient;
        self.drop_foreseeing();
        let stop = Arc::new(AtomicBool::new(false));
        self.foreseeing = Some((ticket, stop.clone()));
        let made = Foreseeing { ticket, branch: id, revision, present, snapshot, price, stop, result: None };
        self.planner.run(errand(made, self.planner.clone(), self.inbox.clone()));
        Ok(())
    }

    /// What is being worked out is not wanted any more.
    fn drop_foreseeing(&mut self) {
        if let Some((ticket, stop)) = self.foreseeing.take() {
            stop.store(true, Ordering::Relaxed);
            self.answer(ticket, Ok(Answer::Done("A newer one took its place.".into())));
        }
    }

    /// It is solved.
    pub(crate) fn foreseen(&mut self, made: Foreseeing) {
        if self.foreseeing.as_ref().is_none_or(|(ticket, _)| *ticket != made.ticket) {
            return;
        }
        self.foreseeing = None;
        if made.revision != self.revision(made.branch) {
            let stale = Failure::new(FailureKind::Stale, "The branch changed while it was worked out.");
            return self.answer(made.ticket, Err(stale));
        }
        let before = self.outlines.get(&made.branch);
        let result = match made.result {
            Some(Ok(solved)) => {
                let same = before.map(|before| same_prefix(before, &solved.outline));
                let cost = self.prompt_cost(made.price, &solved.plan, same.unwrap_or(0));
                Ok(Figures::of(&solved.plan, &made.present, same, cost))
            }
            Some(Err(why)) => Err(why),
            None => Err("It was not worked out.".into()),
        };
        let (present, est) = (made.present.id, made.present.est_total);
        let foreseen = Foreseen { branch: made.branch, present, est, result };
        self.answer(made.ticket, Ok(Answer::Foreseen(Box::new(foreseen))));
    }
}

fn errand(mut made: Foreseeing, planner: Planner, inbox: Sender<Inbox>) -> Errand {
    Box::new(move |gatherer| {
        if made.stop.load(Ordering::Relaxed) {
            return;
        }
        made.result = solved(gatherer, &made.snapshot);
        if made.result.is_some() {
            let _ = inbox.send(Inbox::Foreseen(Box::new(made)));
        } else {
            let again = planner.clone();
            planner.run(errand(made, again, inbox));
        }
    })
}

/// The plan; nothing while it waits for older messages to be indexed.
fn solved(gatherer: &mut Gatherer, snapshot: &Snapshot) -> Option<Result<Solved, String>> {
    let (solution, left) = worker::try_out(gatherer, snapshot);
    if left > 0 && snapshot.waits {
        return None;
    }
    Some(match solution {
        Ok(Ok(solved)) => Ok(solved),
        Ok(Err(blocked)) => Err(blocked.sentence()),
        Err(failure) => Err(failure.to_string()),
    })
}
