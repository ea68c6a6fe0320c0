//! Feeds the turn machine with the reports of threads and carries out its effects in order.
//! Not for: the machine's decisions (`machine`), or the writes at an end (`commit`).

use super::limits::end_call_usage;
use super::machine::{Effect, Phase, TurnInput, step};
use super::settle::settle;
use super::stream::Report;
use super::tool_calls::AnswerCalls;
use crate::domain::base::{BranchId, Failure, FailureKind, RunId};
use crate::domain::call::{CallEnd, Certainty, Delta, Outcome, ProviderErrorKind, RunStatus};
use crate::domain::tool::consent::CANCELED;
use crate::domain::tool::{ToolOutcome, ToolOutput, ToolStatus, ToolTrace};
use crate::engine::api::{Event, ToolEvent, TurnEvent};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, SummaryReport, TurnReport};
use crate::engine::turns::claims::release_claims;
use crate::store::types::Write;
use std::time::{Duration, Instant};

/// How long calls and tools may take to stop when the program ends.
const STOP_TIMEOUT: Duration = Duration::from_millis(1_500);

impl Core {
    /// Handles a report of a call's or tool's thread. Reports of runs that are over are ignored.
    pub(crate) fn on_call_report(&mut self, branch: BranchId, report: Report) {
        let run = match &report {
            Report::Deltas { run, .. }
            | Report::Ended { run, .. }
            | Report::ToolStarted { run, .. }
            | Report::ToolNeedsDecision { run, .. }
            | Report::ToolOutput { run, .. }
            | Report::ToolEnded { run, .. } => *run,
        };
        if self.turns.live.get(&branch).is_none_or(|live| live.card.id != run) {
            return;
        }
        match report {
            Report::Deltas { deltas, tokens, .. } => self.deltas(branch, run, deltas, tokens),
            Report::Ended { outcome, .. } => self.ended(branch, *outcome),
            Report::ToolStarted { index, .. } => self.tool_began(branch, index),
            Report::ToolNeedsDecision { index, effect, reply, .. } => {
                self.decide_tool_call(branch, index, effect, reply);
            }
            Report::ToolOutput { index, text, .. } => {
                self.emit(Event::Tool(ToolEvent::Output { branch, run, index, text }));
            }
            Report::ToolEnded { index, done, millis, .. } => self.tool_ended(branch, index, *done, millis),
        }
    }

    fn deltas(&mut self, branch: BranchId, run: RunId, deltas: Vec<Delta>, tokens: u32) {
        let (mut text, mut reasoning) = (String::new(), String::new());
        for delta in deltas {
            match &delta {
                Delta::Text(more) => text.push_str(more),
                Delta::Reasoning(more) => reasoning.push_str(more),
                Delta::Retry { attempt, wait_ms, why } => {
                    self.emit(Event::Turn(TurnEvent::Retrying {
                        branch,
                        attempt: *attempt,
                        wait_ms: *wait_ms,
                        why: why.clone(),
                    }));
                }
                Delta::Diagnostic(diagnostic) => {
                    if let Some(live) = self.turns.live.get_mut(&branch) {
                        live.card.diagnose(diagnostic.clone());
                    }
                }
                Delta::Tick | Delta::Accepted | Delta::Call { .. } | Delta::Usage(_) => {}
            }
            self.feed(branch, TurnInput::Delta(delta));
        }
        if text.is_empty() && reasoning.is_empty() {
            return;
        }
        let live = self.turns.live.get(&branch);
        let price = live.and_then(|live| Some((live.model.price?, live.prompt_micro?)));
        let cost_micro = price.map(|(price, prompt)| price.so_far(prompt, tokens));
        let certainty = Certainty::Estimated;
        self.emit(Event::Turn(TurnEvent::Stream { branch, run, text, reasoning, tokens, certainty, cost_micro }));
        self.update_usage(branch, tokens, cost_micro);
    }

    fn ended(&mut self, branch: BranchId, mut outcome: Outcome) {
        self.settle_answer(branch, &mut outcome);
        let plan = self.turns.live.get(&branch).map(|live| live.solved.plan.clone());
        let short_read = plan.and_then(|plan| self.learned.meters.short_read(&self.store, &plan, &outcome.usage));
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        live.card.short_read = short_read;
        if live.state.arrived.is_empty() && outcome.error.is_none() && outcome.end != CallEnd::Cancelled {
            outcome.end = CallEnd::Errored;
            let nothing = Failure::new(FailureKind::Provider, "The server ended its answer without any text.");
            live.card.error = Some(nothing.what.clone());
            live.failure = Some(nothing.todo("Send again, or try another model."));
        }
        if let Some(error) = &outcome.error {
            live.failure = Some(Failure::new(FailureKind::Provider, error.what.clone()).todo(error.hint.clone()));
            live.card.error = Some(error.what.clone());
            if let ProviderErrorKind::Body(quirk) = error.kind {
                live.quirk = Some(quirk);
            }
        }
        let cost = live.model.price.and_then(|price| price.bill(&outcome.usage));
        live.card.ended(&outcome, cost);
        end_call_usage(live, &outcome);
        live.outcome = Some(outcome.clone());
        if outcome.end == CallEnd::Errored && outcome.ttft_ms.is_none() {
            self.plans.drop_previous_request(branch);
        }
        self.feed(branch, TurnInput::Ended(outcome));
    }

    /// Normalizes an answer that ended. Corrections are reported as notices unless the call failed.
    fn settle_answer(&mut self, branch: BranchId, outcome: &mut Outcome) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let expected = live.solved.plan.est_total;
        for diagnostic in settle(live.card.id, &mut live.state.arrived, outcome, &live.solved.wire, expected) {
            live.card.diagnose(diagnostic);
        }
        if outcome.error.is_none() {
            for diagnostic in live.card.diagnostics.clone() {
                self.notify(diagnostic.what);
            }
        }
    }

    /// Feeds an input to the turn machine and carries out the effects.
    pub(crate) fn feed(&mut self, branch: BranchId, event: TurnInput) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let effects = step(&mut live.state, event);
        live.pending.extend(effects);
        self.run_pending_effects(branch);
    }

    /// Carries out the pending effects of a turn. If the store cannot be written, the rest waits: the text stays on the
    /// screen and is written as soon as possible.
    fn run_pending_effects(&mut self, branch: BranchId) {
        while let Some(effect) = self.turns.live.get_mut(&branch).and_then(|live| live.pending.pop_front()) {
            let Err(failure) = self.perform(branch, &effect) else { continue };
            if failure.kind == FailureKind::Store {
                self.postpone(branch, effect, &failure);
            } else {
                self.fail_turn(branch, failure);
            }
            return;
        }
        if let Some(live) = self.turns.live.get_mut(&branch).filter(|live| live.stalled) {
            live.stalled = false;
            self.notify("The store can be written again; everything is saved.");
        }
    }

    fn postpone(&mut self, branch: BranchId, effect: Effect, failure: &Failure) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        live.pending.push_front(effect);
        if !std::mem::replace(&mut live.stalled, true) {
            let kept = "The answer stays on the screen and is saved as soon as the store can be written.";
            self.notify(format!("{} {kept} {}", failure.what, failure.todo));
        }
    }

    /// Retries the effects that the store refused.
    pub(crate) fn retry_stalled(&mut self) {
        let stalled: Vec<BranchId> =
            self.turns.live.iter().filter(|(_, live)| live.stalled).map(|(branch, _)| *branch).collect();
        for branch in stalled {
            self.run_pending_effects(branch);
        }
    }

    fn perform(&mut self, branch: BranchId, effect: &Effect) -> Result<(), Failure> {
        match effect {
            Effect::CommitUser => self.with_live(branch, |core, live| core.commit_user(branch, live)),
            Effect::Stop => {
                if let Some(live) = self.turns.live.get(&branch) {
                    live.cancel.cancel();
                }
                Ok(())
            }
            Effect::RunTools(calls) => {
                self.run_tools(branch, calls);
                Ok(())
            }
            Effect::CommitAnswer { content, end } => {
                self.with_live(branch, |core, live| core.commit_answer(branch, live, content, *end))
            }
            Effect::CommitEpisode { content, results } => {
                self.with_live(branch, |core, live| core.commit_episode(branch, live, content, results))
            }
            Effect::CloseRun => self.close_run(branch),
            Effect::NextRound => {
                if let Err(failure) = self.next_round(branch)
                    && let Some(live) = self.turns.live.get_mut(&branch)
                {
                    live.failure = Some(failure);
                    let effects = step(&mut live.state, TurnInput::RoundRefused);
                    live.pending.extend(effects);
                }
                Ok(())
            }
            Effect::Close { draft_back, completed } => {
                self.close_turn(branch, *draft_back, *completed);
                Ok(())
            }
        }
    }

    fn run_tools(&mut self, branch: BranchId, calls: &[(usize, String, String)]) {
        let now = self.setup.now();
        let turn = self.turns.live.get(&branch).and_then(|live| live.card.user);
        let turn = turn.and_then(|user| self.sessions.of_branch(branch).ok()?.tree.get(user).map(|head| head.key));
        let (runner, visibility, report) = (self.runner(branch), self.file_visibility(branch), self.reporter(branch));
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let ids: Vec<String> = live.state.arrived.with_calls().calls().map(|(id, _, _)| id.to_owned()).collect();
        let traces = calls.iter().map(|(index, name, args)| ToolTrace {
            call_id: ids.get(*index).cloned().unwrap_or_default(),
            run: live.card.id,
            turn,
            name: name.clone(),
            args: args.clone(),
            at: now,
            ..ToolTrace::default()
        });
        live.traces = traces.collect();
        let episode = AnswerCalls {
            run: live.card.id,
            calls: calls.to_vec(),
            runner,
            ids,
            session: live.session,
            store: self.store.clone(),
            visibility,
        };
        live.cancel = episode.start(&self.jobs, report);
    }

    fn tool_began(&mut self, branch: BranchId, index: usize) {
        let Some(live) = self.turns.live.get(&branch) else { return };
        if let Some(trace) = live.traces.get(index) {
            self.emit(Event::Tool(ToolEvent::Trace(Box::new(trace.clone()))));
        }
    }

    fn tool_ended(&mut self, branch: BranchId, index: usize, done: ToolOutcome, millis: u64) {
        self.close_approval(branch, index);
        if let Some(session) = self.turns.live.get(&branch).map(|live| live.session) {
            self.changed_files(session, &done.changed);
        }
        let counter = self.setup.counter.clone();
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        if let Some(trace) = live.traces.get_mut(index) {
            let tokens = counter.count(live.model.encoding, &done.output.body);
            crate::engine::tools::trace_records::ended(trace, &done, tokens, millis);
            let (session, trace) = (live.session, Box::new(trace.clone()));
            let mut writes = crate::engine::tools::trace_records::kept_of(session, &trace, &done);
            writes.push(Write::PutTrace { session, trace: trace.clone() });
            let _ = self.store.write(writes);
            self.emit(Event::Tool(ToolEvent::Trace(trace)));
        }
        self.feed(branch, TurnInput::ToolDone { index, output: done.output });
    }

    /// Stops a turn or a pending send on a person's request.
    pub(crate) fn cancel(&mut self, branch: BranchId) -> Result<(), Failure> {
        if self.cancel_pending_send(branch) {
            return Ok(());
        }
        if !self.turns.live.contains_key(&branch) {
            return Err(Failure::user("No answer is arriving on this branch."));
        }
        self.feed(branch, TurnInput::Cancel);
        if self.turns.live.get(&branch).is_some_and(|live| live.stalled && live.state.phase == Phase::Closed) {
            let given_up =
                Failure::new(FailureKind::Store, "The store could not be written, and pleach no longer waits for it.");
            self.fail_turn(branch, given_up);
        }
        Ok(())
    }

    /// Ends a turn that cannot continue, because its run was ended elsewhere or a person gave up waiting for the store.
    fn fail_turn(&mut self, branch: BranchId, failure: Failure) {
        let Some(mut live) = self.turns.live.remove(&branch) else { return };
        live.cancel.cancel();
        live.card.status = RunStatus::Interrupted;
        self.finish_race_record(branch, &live);
        let draft = live.user.is_some().then(|| live.draft.clone());
        let kept = "The part that arrived and was saved is restored at the next start.";
        release_claims(&mut self.plans, &mut self.turns);
        self.emit(Event::Turn(TurnEvent::Closed { branch, draft, failure: Some(failure.kept(kept)) }));
    }

    /// Handles a message at the program's end: a request is refused, and a report that could start new work is ignored.
    fn handle_at_end(&mut self, message: Inbox) {
        match message {
            Inbox::Request(ticket, _) | Inbox::Turn(TurnReport::Claimed(ticket, ..)) => {
                self.answer(ticket, Err(Failure::user("pleach is closing, so nothing was done.")));
            }
            Inbox::Plan(_) | Inbox::Changed(_) | Inbox::Stop | Inbox::Summary(SummaryReport::Due(_)) => {}
            report => self.handle(report),
        }
    }

    /// Cancels all jobs at the program's end, waits for them, and commits the text that has arrived, within about 1.5
    /// seconds.
    pub(crate) fn end_all_turns(&mut self, inbox: &std::sync::mpsc::Receiver<Inbox>) {
        self.jobs.cancel_all();
        // An automatic draft that the end of the program cancels did not fail; the next start tries again.
        self.summaries.drafts.making.clear();
        let branches: Vec<BranchId> = self.turns.live.keys().copied().collect();
        for branch in &branches {
            self.feed(*branch, TurnInput::Cancel);
            if self.turns.live.get(branch).is_some_and(|live| live.state.phase == Phase::Planning) {
                self.feed(*branch, TurnInput::RoundRefused);
            }
        }
        let until = Instant::now() + STOP_TIMEOUT;
        while self.turns.rerun.is_some() || self.turns.live.values().any(|live| live.state.phase != Phase::Closed) {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => self.handle_at_end(message),
                Err(_) => break,
            }
        }
        // Jobs use the store, which is backed up and closed next.
        self.jobs.cancel_all();
        self.jobs.wait_until_idle(until);
        while let Ok(message) = inbox.try_recv() {
            self.handle_at_end(message);
        }
        for branch in branches {
            self.abandon_turn(branch);
        }
    }

    /// Ends a turn whose threads did not stop in time, with the text that has arrived.
    fn abandon_turn(&mut self, branch: BranchId) {
        let Some(live) = self.turns.live.get(&branch) else { return };
        match live.state.phase {
            Phase::Calling => self.feed(branch, TurnInput::Ended(Outcome::of(CallEnd::Cancelled))),
            Phase::Tools => {
                for index in 0..live.state.results.len() {
                    let output = ToolOutput::whole(ToolStatus::Cancelled, CANCELED);
                    self.feed(branch, TurnInput::ToolDone { index, output });
                }
            }
            Phase::Planning => self.feed(branch, TurnInput::RoundRefused),
            Phase::Closed => self.run_pending_effects(branch),
        }
    }
}
