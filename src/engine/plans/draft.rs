//! Turns a draft into a displayed plan, and the plan into a turn: submits jobs to the planner, draws plans, and sends
//! them.
//! Not for: solving (`worker`), or the turn itself (`turns::live`).
//!
//! An `Ask` without a drawn plan becomes a pending send: its draft is solved, drawn, then sent. A branch has at most
//! one pending send, and none while a turn is open, so that one act of a person makes one call.

use super::snapshot::{self, Question};
use super::state::{LastPlan, PlanPurpose, ScreenDraft};
use super::worker::{Done, Indexed, Solution, Solved};
use crate::context::render::{first_other, same_prefix};
use crate::domain::base::{BranchId, Failure, FailureKind, Hash, NodeId};
use crate::domain::call::SkipReason;
use crate::domain::conversation::{Branch, Role};
use crate::domain::planning::blocked::UNSENT;
use crate::domain::planning::{Reason, SearchChoice};
use crate::engine::api::{Answer, Draft, DraftKind, Event, IndexingEvent, PlanAnswer, Planned, ProgramEvent, Ticket};
use crate::engine::core::{Core, content};
use crate::engine::indexing::priority::Priority;
use crate::engine::plans::state::Plans;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::rules::Rules;
use crate::engine::turns::claims::release_claims;
use crate::engine::workers::Workers;
use crate::store::Store;

impl Core {
    /// Submits a draft to the planner to draw its plan.
    pub(crate) fn replan(
        &mut self,
        ticket: Option<Ticket>,
        branch: BranchId,
        generation: u64,
        draft: Draft,
    ) -> Result<(), Failure> {
        self.cancel_outdated_what_if(branch, &draft);
        self.load_previous_request(branch);
        if ticket.is_some_and(|ticket| ticket < Ticket::COMMANDS) {
            self.plans.show(ScreenDraft { branch, generation, draft: Some(draft.clone()) });
        } else if ticket.is_some() {
            // The last drawn plan no longer belongs to the screen's draft.
            self.plans.outdate();
        }
        let revision = self.plans.revision(branch);
        self.solve(branch, &draft.clone(), PlanPurpose::Draw { ticket, generation, draft, revision }).map(drop)
    }

    /// Submits a draft to the planner to send it. If `wanted` names a plan, only that plan is sent.
    fn solve_and_send(
        &mut self,
        ticket: Ticket,
        branch: BranchId,
        draft: Draft,
        wanted: Option<Hash>,
    ) -> Result<(), Failure> {
        let revision = self.plans.revision(branch);
        let job = self.solve(branch, &draft.clone(), PlanPurpose::Send { ticket, draft, revision, wanted })?;
        self.plans.pending_sends.insert(branch, job);
        Ok(())
    }

    /// Cancels an `Ask` that still waits for its plan. Returns whether there was one.
    pub(crate) fn cancel_pending_send(&mut self, branch: BranchId) -> bool {
        if let Some(ticket) = self.plans.edited_sends.remove(&branch) {
            let stopped = Failure::user("Stopped before anything was sent.").kept("The edited request is kept.");
            self.answer(ticket, Err(stopped));
            return true;
        }
        let Some(PlanPurpose::Send { ticket, .. }) = self.plans.take_pending_send(branch) else { return false };
        let stopped = Failure::user("Stopped before anything was sent.").kept("Your draft is kept.");
        self.answer(ticket, Err(stopped));
        true
    }

    /// Submits a draft to the planner and returns the number of the job.
    fn solve(&mut self, id: BranchId, draft: &Draft, purpose: PlanPurpose) -> Result<u64, Failure> {
        let branch = self.sessions.branch(id)?;
        let question = self.asked(&branch, draft)?;
        self.submit(&branch, &question, purpose)
    }

    /// Returns the question of a draft, including the message that it replies to.
    pub(crate) fn asked(&self, branch: &Branch, draft: &Draft) -> Result<Question, Failure> {
        let question = question(self.sessions.of_branch(branch.id)?, branch, draft)?;
        let reply = match &draft.kind {
            DraftKind::Message => branch.reply,
            DraftKind::Edit(node) => branch.reply.or_else(|| replied(&self.store, *node)),
            DraftKind::Regenerate(_) | DraftKind::Continue(_) => {
                reply_above(&self.sessions, &self.store, branch.id, question.base)
            }
        };
        // A turn that is continued repeats what its last round sent.
        let round_before = match &draft.kind {
            DraftKind::Continue(node) => self.plans.last_round(branch.id, *node),
            DraftKind::Message | DraftKind::Edit(_) | DraftKind::Regenerate(_) => None,
        };
        Ok(Question { reply, round_before, ..question })
    }

    /// Submits the next round of an open turn to the planner.
    pub(crate) fn solve_round(&mut self, id: BranchId, question: Question) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let reply = question.reply.or_else(|| reply_above(&self.sessions, &self.store, id, question.base));
        self.submit(&branch, &Question { reply, ..question }, PlanPurpose::Round).map(drop)
    }

    fn submit(&mut self, branch: &Branch, question: &Question, purpose: PlanPurpose) -> Result<u64, Failure> {
        self.submit_with_rules(branch, self.rules(branch)?, question, purpose)
    }

    /// Submits a question under the given rules, which may differ from the branch's own. Returns the number of the job.
    pub(crate) fn submit_with_rules(
        &mut self,
        branch: &Branch,
        rules: Rules,
        question: &Question,
        purpose: PlanPurpose,
    ) -> Result<u64, Failure> {
        let mut snapshot = snapshot::take(self.sessions.of_branch(branch.id)?, branch, rules, question);
        let sends = !matches!(purpose, PlanPurpose::Draw { .. });
        if sends {
            snapshot.priority = Priority::Asked;
        }
        snapshot.waits = sends || self.setup.patient;
        let (job, replaced) = self.plans.submit(branch.id, snapshot, purpose);
        if let Some(ticket) = replaced {
            self.answer(ticket, Ok(Answer::Done("A newer draft replaced this plan.".into())));
        }
        Ok(job)
    }

    /// Reports the progress of indexing. When indexing ends, a plan that was made without older messages is made again.
    pub(crate) fn report_indexing(&mut self, indexed: &Indexed) {
        let Indexed { branch, done, total } = *indexed;
        self.emit(Event::Indexing(IndexingEvent::Messages { done, total }));
        let without = |drawn: &LastPlan| {
            drawn.solved.plan.rows.iter().any(|row| row.reason == Reason::NotSearched { because: SkipReason::Indexing })
        };
        if done == total && self.plans.drawn.get(&branch).is_some_and(without) {
            self.plans.outdate();
        }
    }

    /// Plans the draft on the screen again if something that its plan depends on has changed. Called after every
    /// message to the engine's thread. Single commands do not need it: they plan what they send.
    pub(crate) fn replan_when_due(&mut self) {
        if self.setup.patient {
            return;
        }
        if let Some((branch, generation, draft)) = self.plans.due()
            && let Err(failure) = self.replan(None, branch, generation, draft)
        {
            tracing::debug!(%failure, "the draft on the screen was not planned again");
        }
    }

    /// Handles the result of a planning job.
    pub(crate) fn finish_plan(&mut self, done: Done) {
        let branch = done.tag.branch;
        match self.plans.under_way.remove(&done.tag.id) {
            Some(PlanPurpose::Draw { ticket, generation, draft, revision }) => {
                let newer = self.plans.newer_than(branch, generation);
                let message = draft.kind == DraftKind::Message;
                let result = if revision == self.plans.revision(branch) || newer {
                    self.draw(branch, generation, draft, revision, done.solution)
                } else {
                    match self.replan(ticket, branch, generation, draft) {
                        Ok(()) => return,
                        Err(failure) => Err(failure),
                    }
                };
                if let Some(ticket) = ticket {
                    self.answer(ticket, result.map(|found| PlanAnswer::Planned(found).into()));
                } else if let Err(failure) = result {
                    self.emit(Event::Program(ProgramEvent::Notice(failure.to_string())));
                }
                if message {
                    self.check_opened(branch);
                }
            }
            Some(PlanPurpose::Send { ticket, draft, revision, wanted }) => {
                self.plans.pending_sends.remove(&branch);
                self.finish_pending_send(branch, ticket, draft, revision, wanted, done.solution);
            }
            Some(PlanPurpose::Round) => self.round_planned(branch, done.solution),
            Some(PlanPurpose::Aside(waiting)) => self.aside_planned(waiting, done.solution),
            None => {}
        }
    }

    /// Handles the plan of a pending send. If the branch changed meanwhile, the draft is solved again; if the result is
    /// not the named plan, it is only drawn.
    fn finish_pending_send(
        &mut self,
        branch: BranchId,
        ticket: Ticket,
        draft: Draft,
        revision: u64,
        wanted: Option<Hash>,
        solution: Solution,
    ) {
        if revision != self.plans.revision(branch) {
            if let Err(failure) = self.solve_and_send(ticket, branch, draft, wanted) {
                self.answer(ticket, Err(failure));
            }
            return;
        }
        let generation = self.plans.generation(branch);
        let result = self.draw(branch, generation, draft.clone(), revision, solution);
        let other = matches!(&result, Ok(Planned::Plan { plan, .. }) if wanted.is_some_and(|id| id != plan.id));
        if other {
            let stale = Failure::new(FailureKind::Stale, "The plan changed after it was shown.")
                .kept("Nothing was sent; your draft is kept.")
                .todo("Check the new plan, then send again.");
            return self.answer(ticket, Err(stale));
        }
        self.send_drawn(ticket, branch, &draft, result);
    }

    /// Stores a solution as the drawn plan and sends it to the screen.
    fn draw(
        &mut self,
        branch: BranchId,
        generation: u64,
        draft: Draft,
        revision: u64,
        solution: Solution,
    ) -> Result<Planned, Failure> {
        let planned = match solution? {
            Ok(solved) => {
                let planned = self.shown(branch, &solved);
                self.plans.store_drawn(branch, LastPlan { draft, revision, solved });
                planned
            }
            Err(blocked) => {
                self.plans.drawn.remove(&branch);
                Planned::Blocked(blocked)
            }
        };
        self.emit(Event::Planned { branch, generation, planned: planned.clone() });
        Ok(planned)
    }

    /// Converts a solved plan to the form for the screen, with its cost and the part that may be cached.
    pub(crate) fn shown(&mut self, branch: BranchId, solved: &Solved) -> Planned {
        let rules = self.sessions.branch(branch).and_then(|branch| self.rules(&branch));
        let price = rules.ok().and_then(|rules| rules.model.price);
        self.load_previous_request(branch);
        let before = self.plans.outlines.get(&branch);
        let same = before.map(|before| same_prefix(before, &solved.outline));
        let breaks = before.and_then(|before| first_other(before, &solved.outline));
        Planned::Plan {
            plan: solved.plan.clone(),
            request_digest: solved.wire.digest,
            bytes: solved.wire.bytes.len() as u64,
            calibration: self.learned.meters.calibration(&self.store, &solved.plan),
            cost: self.learned.meters.prompt_cost(&self.store, price, &solved.plan, same.unwrap_or(0)),
            same_prefix: same,
            breaks,
            code_set: solved.contents.code_set.clone(),
            state_request: solved.state_request,
        }
    }

    /// Handles `Ask`: sends the drawn plan, or solves the draft first. If the named plan was drawn before something
    /// changed, the draft is solved again and sent if the result is the same plan.
    pub(crate) fn ask(
        &mut self,
        ticket: Ticket,
        branch: BranchId,
        draft: Draft,
        plan: Option<Hash>,
    ) -> Result<(), Failure> {
        self.recover_branch(branch);
        if draft.search == SearchChoice::Never {
            self.cancel_waiting_duplicate(branch, &draft);
        }
        self.may_ask(branch, &draft)?;
        self.claim(branch)?;
        let current = self.plans.revision(branch);
        let named =
            |drawn: &&LastPlan| drawn.draft == draft && Some(drawn.solved.plan.id) == plan && drawn.revision == current;
        let complete = |drawn: &&LastPlan| named(drawn) && !self.workers.withheld(&draft);
        let kept = [self.plans.drawn.get(&branch), self.plans.drawn_before.get(&branch)];
        let drawn = kept.into_iter().flatten().find(complete).cloned();
        match drawn {
            Some(drawn) => {
                let result = Ok(self.shown(branch, &drawn.solved));
                self.plans.drawn.insert(branch, drawn);
                self.send_drawn(ticket, branch, &draft, result);
                Ok(())
            }
            None => self.solve_and_send(ticket, branch, draft, plan),
        }
    }

    /// Cancels a pending send of the same draft, so that the draft can be sent immediately without a search.
    fn cancel_waiting_duplicate(&mut self, branch: BranchId, draft: &Draft) {
        let waits = self.plans.pending_sends.get(&branch).and_then(|id| self.plans.under_way.get(id));
        let same = |waiting: &Draft| waiting.kind == draft.kind && waiting.text == draft.text;
        if matches!(waits, Some(PlanPurpose::Send { draft: waiting, .. }) if same(waiting)) {
            self.cancel_pending_send(branch);
        }
    }

    pub(crate) fn may_ask(&self, branch: BranchId, draft: &Draft) -> Result<(), Failure> {
        let nothing = matches!(draft.kind, DraftKind::Message | DraftKind::Edit(_)) && draft.text.trim().is_empty();
        if nothing {
            return Err(Failure::user("There is nothing to send yet.").todo("Type a message first."));
        }
        if self.turns.live.contains_key(&branch) {
            return Err(Failure::new(FailureKind::Busy, "An answer is still arriving on this branch.")
                .kept("Your draft is kept.")
                .todo("Wait for it, stop it, or fork and ask there."));
        }
        if self.plans.about_to_send(branch) {
            return Err(Failure::new(FailureKind::Busy, "A message on this branch is about to be sent.")
                .kept("Your draft is kept.")
                .todo("Wait for it, or stop it."));
        }
        let rules = self.rules(&self.sessions.branch(branch)?)?;
        self.setup
            .servers
            .ready(&rules.profile)
            .map_err(|failure| failure.kept("Nothing was sent; your draft is kept."))
    }

    fn send_drawn(&mut self, ticket: Ticket, branch: BranchId, draft: &Draft, result: Result<Planned, Failure>) {
        let opened = match result {
            Ok(Planned::Plan { .. }) => match self.plans.drawn.get(&branch).map(|drawn| drawn.solved.clone()) {
                Some(solved) => self.open_turn(branch, draft, &solved),
                None => {
                    Err(Failure::new(FailureKind::Internal, "The plan is no longer available.").todo("Send again."))
                }
            },
            Ok(Planned::Blocked(blocked)) => {
                let failure = Failure::new(FailureKind::Blocked, blocked.send_failure());
                Err(failure.kept(UNSENT).todo(blocked.remedies()))
            }
            Err(failure) => Err(failure),
        };
        let elsewhere = |failure: &Failure| matches!(failure.kind, FailureKind::Busy | FailureKind::Stale);
        if opened.as_ref().is_err_and(elsewhere) {
            self.check_store();
        }
        release_claims(&mut self.plans, &mut self.turns);
        self.answer(ticket, opened.map(|run| Answer::Asked { run }));
    }
}

/// Returns the message that the open turn's user message replies to, by key.
fn reply_above(sessions: &Sessions, store: &Store, branch: BranchId, base: Option<NodeId>) -> Option<Hash> {
    sessions.user_above(branch, base).and_then(|node| replied(store, node))
}

/// Returns the question of a draft on a session's branch: its place in the tree and its text.
fn question(session: &Session, branch: &Branch, draft: &Draft) -> Result<Question, Failure> {
    let gone = || Failure::user("That message is not on this branch.");
    let question = Question { search: draft.search, ..Question::default() };
    Ok(match &draft.kind {
        DraftKind::Message => Question { base: branch.head, text: Some(draft.text.clone()), ..question },
        DraftKind::Edit(node) => {
            let head = session.node(*node)?;
            if head.role != Role::User {
                return Err(Failure::user("Only your own messages can be edited.")
                    .todo("`pleach regenerate` writes another answer; `pleach branch fork` starts a branch."));
            }
            let lane = Some(head.lane.clone());
            Question { base: head.parent, text: Some(draft.text.clone()), replaces: true, lane, ..question }
        }
        DraftKind::Regenerate(node) => {
            let slot = session.tree.slot(*node).ok_or_else(gone)?;
            let path = session.tree.path(slot);
            let asks = path.iter().rev().find(|slot| session.tree.head(**slot).role == Role::User);
            let asks = asks.ok_or_else(|| Failure::user("There is no question before this message."))?;
            Question { base: Some(session.tree.head(*asks).id), replaces: true, ..question }
        }
        DraftKind::Continue(node) => {
            let head = session.node(*node)?;
            let go_on = head.role == Role::Assistant && head.calls == 0;
            Question { base: Some(head.id), go_on, ..question }
        }
    })
}

fn replied(store: &Store, node: NodeId) -> Option<Hash> {
    let reply = content(store, node).ok()?.extra?.get_mut("reply_to")?.take();
    serde_json::from_value(reply).ok()
}

impl Workers {
    /// Whether a remote embedder was not asked about this draft while it was typed.
    fn withheld(&self, draft: &Draft) -> bool {
        !draft.text.trim().is_empty() && self.vectors.as_ref().is_some_and(|vectors| vectors.withheld(&draft.text))
    }
}

impl Plans {
    /// Stores the drawn plan, and the previous plan if only retrieval differs, so that a person who presses Enter
    /// before the new plan is on the screen sends the plan that they saw.
    fn store_drawn(&mut self, branch: BranchId, new: LastPlan) {
        let same = |old: &LastPlan| old.draft == new.draft && old.revision == new.revision;
        let before = self.drawn.get(&branch).filter(|old| same(old) && old.solved.plan.id != new.solved.plan.id);
        match before.cloned() {
            Some(before) => drop(self.drawn_before.insert(branch, before)),
            None => drop(self.drawn_before.remove(&branch)),
        }
        self.drawn.insert(branch, new);
    }

    /// Stores the plan of a round as the drawn one.
    pub(crate) fn store_round_plan(&mut self, branch: BranchId, draft: Draft, solved: Solved) {
        let revision = self.revision(branch);
        self.drawn.insert(branch, LastPlan { draft, revision, solved });
    }
}
