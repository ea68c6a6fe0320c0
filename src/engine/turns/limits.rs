//! The limits of branches in a race: checked before each call and while an answer streams.
//! Not for: making races or ending them (`calls::race`).

use super::machine::TurnInput;
use super::state::{LimitWatch, LiveTurn};
use crate::domain::base::{BranchId, Failure, FailureKind, SessionId};
use crate::domain::call::{BranchRun, CallEnd, Limit, Limits, Outcome, RaceUsage};
use crate::engine::api::{Event, TurnEvent};
use crate::engine::core::Core;
use crate::engine::sessions::state::Sessions;
use crate::store::types::Write;
use std::time::Instant;

impl Core {
    /// Stores a record in memory and shows it.
    pub(crate) fn put_record(&mut self, record: BranchRun) {
        if let Ok(session) = self.sessions.of_branch_mut(record.branch)
            && let Some(known) = session.races.iter_mut().find(|known| known.branch == record.branch)
        {
            *known = record.clone();
        }
        self.emit(Event::Turn(TurnEvent::BranchRun(Box::new(record))));
    }

    /// Updates the usage of a call with its tokens and cost so far, and stops the turn at a limit.
    pub(crate) fn update_usage(&mut self, branch: BranchId, tokens: u32, cost: Option<u64>) {
        let Some(live) = self.turns.live.get_mut(&branch) else { return };
        let cancelled = live.state.cancelled;
        let Some(watch) = live.watch.as_mut().filter(|watch| watch.stopped.is_none() && !cancelled) else { return };
        watch.now = (tokens, cost);
        watch.stopped = watch.limits.reached(watch.spent());
        if watch.stopped.is_some() {
            self.feed(branch, TurnInput::Cancel);
        }
    }

    /// Completes the record of a race branch whose turn is over.
    pub(crate) fn finish_race_record(&mut self, branch: BranchId, live: &LiveTurn) {
        let Some(watch) = &live.watch else { return };
        let Ok(session) = self.sessions.of_branch(branch) else { return };
        let id = session.card.id;
        let Some(mut record) = session.races.iter().find(|record| record.branch == branch).cloned() else { return };
        (record.spent, record.stopped, record.ended) = (watch.spent(), watch.stopped, Some(live.card.status));
        let _ = self.store.write(vec![Write::PutBranchRun { session: id, record: Box::new(record.clone()) }]);
        self.put_record(record);
    }

    /// Sends records to the screen.
    pub(crate) fn show_records(&self, records: &[BranchRun]) {
        for record in records {
            self.emit(Event::Turn(TurnEvent::BranchRun(Box::new(record.clone()))));
        }
    }
}

/// Fails if the next call, whose prompt costs `prompt` millionths of a dollar, would exceed a limit.
pub(crate) fn check_limits(live: &mut LiveTurn, prompt: Option<u64>) -> Result<(), Failure> {
    let Some(watch) = &mut live.watch else { return Ok(()) };
    let refused = |limit: Limit, limits: Limits, more: &str| {
        let what = format!("{}{more}", limit.sentence(limits));
        Err(Failure::new(FailureKind::User, what).kept("Nothing more was sent."))
    };
    let spent = watch.spent();
    if let Some(limit) = watch.limits.reached(spent) {
        watch.stopped = Some(limit);
        return refused(limit, watch.limits, "");
    }
    let cost = prompt.map(|prompt| prompt + spent.cost_micro.unwrap_or(0));
    if watch.limits.reached(RaceUsage { cost_micro: cost, ..RaceUsage::default() }) == Some(Limit::Cost) {
        watch.stopped = Some(Limit::Cost);
        return refused(Limit::Cost, watch.limits, " The next request alone would exceed the limit.");
    }
    Ok(())
}

/// Adds the usage of a call that ended. If a limit ended it, the card names the limit.
pub(crate) fn end_call_usage(live: &mut LiveTurn, outcome: &Outcome) {
    let cost = live.card.cost_micro;
    let cancelled = live.state.cancelled;
    let Some(watch) = &mut live.watch else { return };
    if outcome.end == CallEnd::Cancelled && !cancelled && watch.stopped.is_none() {
        watch.stopped = Some(Limit::Time).filter(|_| watch.until().is_some_and(|until| Instant::now() >= until));
    }
    watch.now = (outcome.usage.completion.unwrap_or(watch.now.0), cost.or(watch.now.1));
    watch.before = watch.spent();
    watch.now = (0, None);
    if let Some(limit) = watch.stopped {
        live.card.error = Some(limit.sentence(watch.limits));
    }
}

impl Sessions {
    /// Returns a limit watch for a branch of a race whose question was not answered yet; `None` for other branches.
    pub(crate) fn limit_watch(&self, branch: BranchId) -> Option<LimitWatch> {
        let record = self.of_branch(branch).ok()?.races.iter().find(|record| record.branch == branch)?;
        record.ended.is_none().then(|| LimitWatch {
            limits: record.limits,
            began: Instant::now(),
            before: RaceUsage::default(),
            now: (0, None),
            stopped: None,
        })
    }

    /// Returns the branch's record with the current call added; `None` outside a race.
    pub(crate) fn record_call(&self, branch: BranchId, live: &LiveTurn) -> Option<(SessionId, BranchRun)> {
        live.watch.as_ref()?;
        let session = self.of_branch(branch).ok()?;
        let mut record = session.races.iter().find(|record| record.branch == branch)?.clone();
        record.runs.push(live.card.id);
        Some((session.card.id, record))
    }
}
