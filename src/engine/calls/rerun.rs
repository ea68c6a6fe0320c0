//! Reruns a tool call on a person's request, after a rule or the person allows it. Its result is shown next to the old
//! result and does not become a message.
//! Not for: calls that a model asks for (`turns::effects`).

use crate::domain::base::{BranchId, Failure, FailureKind, SessionId};
use crate::domain::tool::consent::BESIDE;
use crate::domain::tool::{
    Consent, PendingApproval, Rerun, RerunState, Rule, RuleScope, ToolEffect, ToolOutcome, ToolTrace, TraceDetails,
};
use crate::engine::api::{Answer, Event, ToolEvent};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, TurnReport};
use crate::engine::jobs::CancelToken;
use crate::engine::startup::learned;
use crate::engine::tools::trace_records;
use crate::engine::tools::traces::result_of;
use crate::engine::turns::consent::{decide_by_rules, no_longer_waits, protection, visibility_of, with_rule_warning};
use crate::engine::turns::state::{RerunEvent, RunningCall, Turns};
use crate::engine::turns::tool_calls::{CallDecision, CallHost, SingleCall, lost_call};
use crate::store::Store;
use crate::store::types::Write;
use crate::tools;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

impl Core {
    /// Starts a rerun.
    pub(crate) fn start_rerun(&mut self, branch: BranchId, id: &str) -> Result<Answer, Failure> {
        if self.turns.rerun.is_some() {
            return Err(Failure::new(FailureKind::Busy, "Another rerun is in progress.").todo("Stop it first."));
        }
        let (session, of) = self.find_trace(id)?;
        if of.args.is_empty() && of.preview.is_empty() {
            return Err(Failure::user("The call can't run again: its arguments were deleted."));
        }
        let first = of.more.again.clone().unwrap_or_else(|| of.call_id.clone());
        let trace = ToolTrace {
            call_id: format!("{first}/{}", uuid::Uuid::now_v7().simple()),
            run: of.run,
            turn: of.turn,
            name: of.name.clone(),
            args: of.args.clone(),
            at: self.setup.now(),
            more: TraceDetails { again: Some(first), ..TraceDetails::default() },
            ..ToolTrace::default()
        };
        let view = Rerun { branch, of: of.id(), state: RerunState::Runs, trace, change: None };
        let before = result_of(&self.store, &of);
        let runner = self.runner(branch);
        let visibility = self.file_visibility(branch);
        let (inbox, store, trace) = (self.inbox.clone(), self.store.clone(), view.trace.clone());
        let ended = |done, millis| Inbox::Turn(TurnReport::Rerun(Box::new(RerunEvent::Ended(done, millis))));
        let work = move |cancel: &CancelToken| {
            let host = SideCall { inbox: Mutex::new(inbox), id: trace.id(), store, session };
            let mut began = Instant::now();
            let (runner, host) = (runner.as_deref(), &host);
            let call =
                SingleCall { name: &trace.name, args: &trace.args, runner, cancel, host, visibility: &visibility };
            let done = Box::new(call.run(&mut began));
            let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            ended(done, millis)
        };
        let cancel = self.jobs.report("rerun", move |failure| ended(Box::new(lost_call(&failure)), 0), work);
        self.emit(Event::Tool(ToolEvent::Rerun(Box::new(view.clone()))));
        self.turns.rerun = Some(RunningCall { session, view, before, reply: None, cancel });
        Ok(Answer::Done(String::new()))
    }

    /// Handles an event of the rerun's thread.
    pub(crate) fn on_rerun_event(&mut self, event: RerunEvent) {
        match event {
            RerunEvent::Wants(effect, reply) => self.approve_rerun(effect, reply),
            RerunEvent::Ended(done, millis) => self.finish_rerun(&done, millis),
        }
    }

    fn approve_rerun(&mut self, effect: ToolEffect, reply: Sender<CallDecision>) {
        // A rerun that was stopped meanwhile needs no decision.
        let rerun = self.turns.rerun.as_ref().filter(|rerun| !rerun.cancel.is_canceled());
        let Some(branch) = rerun.map(|rerun| rerun.view.branch) else { return };
        let rules = self.all_rules(branch);
        let visibility = visibility_of(&rules);
        let effect = with_rule_warning(effect, &visibility);
        let Some(rerun) = &mut self.turns.rerun else { return };
        let trace = &mut rerun.view.trace;
        trace.more.protection = protection(&effect);
        // A person asked for the rerun; calls that only read need no other approval.
        trace.word = Some("you".into());
        let asking =
            PendingApproval { index: BESIDE, tool: trace.name.clone(), args: trace.args.clone(), effect, rule: None };
        match decide_by_rules(&rules, asking) {
            Ok((consent, rule)) => {
                trace.word = rule.or_else(|| trace.word.take());
                let _ = reply.send(CallDecision { consent, by_person: false, visibility });
            }
            Err(asking) => {
                rerun.view.state = RerunState::Asks(asking);
                rerun.reply = Some(reply);
                let view = Box::new(rerun.view.clone());
                self.emit(Event::Tool(ToolEvent::Rerun(view)));
            }
        }
    }

    /// Records a person's decision.
    pub(crate) fn decide_rerun(
        &mut self,
        consent: Consent,
        always: Option<(RuleScope, Rule)>,
    ) -> Result<Answer, Failure> {
        let asked = self.turns.rerun.as_ref().and_then(|rerun| match &rerun.view.state {
            RerunState::Asks(asking) => Some((rerun.view.branch, asking.clone())),
            RerunState::Runs | RerunState::Ended => None,
        });
        let (branch, asking) = asked.ok_or_else(no_longer_waits)?;
        let kept = self.add_rule_for(&asking, always)?;
        let visibility = self.file_visibility(branch).answered(&asking.tool, &asking.effect);
        if let Some(rerun) = &mut self.turns.rerun {
            rerun.view.trace.word = Some("you".into());
            rerun.view.state = RerunState::Runs;
            if let Some(reply) = rerun.reply.take() {
                let _ = reply.send(CallDecision { consent, by_person: true, visibility });
            }
            let view = Box::new(rerun.view.clone());
            self.emit(Event::Tool(ToolEvent::Rerun(view)));
        }
        Ok(kept.unwrap_or_else(|| Answer::Done(String::new())))
    }

    fn finish_rerun(&mut self, done: &ToolOutcome, millis: u64) {
        let Some(RunningCall { session, mut view, before, .. }) = self.turns.rerun.take() else { return };
        self.changed_files(session, &done.changed);
        let tokens = self.setup.counter.count(learned::encoding(&self.setup), &done.output.body);
        trace_records::ended(&mut view.trace, done, tokens, millis);
        view.state = RerunState::Ended;
        let now = &done.output.body;
        view.change = Some(tools::compared("result", before.map(Arc::from), Some(now)));
        // No message contains this result, so it is always stored, in full if it was shortened.
        let full = done.cut.as_ref().and_then(|cut| cut.full.as_deref());
        let trace = Box::new(view.trace.clone());
        let writes = vec![
            trace_records::output(session, &trace, full.unwrap_or(now)),
            Write::PutTrace { session, trace: trace.clone() },
        ];
        if let Err(error) = self.store.write(writes) {
            self.notify(format!("The result could not be stored: {error}"));
        }
        self.emit(Event::Tool(ToolEvent::Trace(trace)));
        self.emit(Event::Tool(ToolEvent::Rerun(Box::new(view))));
    }
}

impl Turns {
    /// Stops the rerun.
    pub(crate) fn stop_rerun(&mut self) -> Result<Answer, Failure> {
        let rerun = self.rerun.as_ref().ok_or_else(|| Failure::user("No rerun is in progress."))?;
        rerun.cancel.cancel();
        Ok(Answer::Done("Stopped.".into()))
    }
}

/// The host of a rerun, which is not part of the conversation.
struct SideCall {
    inbox: Mutex<Sender<Inbox>>,
    id: String,
    store: Store,
    session: SessionId,
}

impl CallHost for SideCall {
    fn request_decision(&self, effect: ToolEffect, reply: Sender<CallDecision>) {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = inbox.send(Inbox::Turn(TurnReport::Rerun(Box::new(RerunEvent::Wants(effect, reply)))));
    }

    fn on_output(&self, _: &str) {}

    fn id(&self) -> String {
        self.id.clone()
    }

    fn stored_result(&self, id: &str) -> Option<String> {
        trace_records::kept(&self.store, self.session, id)
    }
}
