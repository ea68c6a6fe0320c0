//! Automatic summaries: after a turn closes, a thread checks whether the branch's policy calls for a summary; the
//! result is a draft. No turns are summarized twice: not while a draft waits, not if a summary covers them, and not
//! after a person rejected the draft until as much has been added as the policy requires.
//! Not for: writing drafts (`writer`), acts on them (`drafts`), or the measures (`context::policy`).

use super::candidates::{readable, stays};
use super::state::{Counts, DueResult};
use super::writer::cost;
use crate::context::policy::lanes::{self, Cause, LaneTurn};
use crate::context::policy::levels::{self, UnsummarizedTurn};
use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::call::tokens::{CountTokens, Encoding, grouped};
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::message::{Node, NodeHead};
use crate::domain::conversation::operation::Change;
use crate::domain::planning::input::{ANSWER_FRAMING, MESSAGE_FRAMING};
use crate::domain::planning::plan::ContextPlan;
use crate::domain::planning::policy::{PolicySpec, Section};
use crate::domain::summary::accepted::SummaryKind;
use crate::domain::summary::draft::{AutoSummaryAcceptance, AutoSummarySettings, AutoSummaryTrigger, SummaryAuthor};
use crate::engine::api::{Answer, Event, ProgramEvent};
use crate::engine::core::Core;
use crate::engine::inbox::{Inbox, SummaryReport};
use crate::engine::jobs::Jobs;
use crate::engine::plans::sources::summaries::SummaryView;
use crate::engine::sessions::session::Session;
use crate::store::Store;
use crate::store::types::Write;
use std::sync::{Arc, PoisonError};

/// The maximum number of unsummarized turns; with more of them, a person has to ask for a summary.
const MOST_TURNS: usize = 1_000;
/// The maximum bytes of a path that are read for an automatic summary.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// The number of cached counts at which the cache is cleared.
const MAX_CACHED: usize = 20_000;
/// The number of messages that are read at a time.
const BATCH: usize = 256;
/// The number of turns that are counted at a time, because a few may be enough for a decision.
const BATCH_TURNS: usize = 16;

/// A turn that no summary covers.
struct Turn {
    number: u32,
    age: u64,
    heads: Vec<NodeHead>,
}

/// The input of a check whether a summary is due.
struct DueCheck {
    branch: BranchId,
    turns: Vec<Turn>,
    policy: PolicySpec,
    compaction: AutoSummarySettings,
    /// Seconds since the last summary, or since the first unsummarized turn.
    since: u64,
    /// The number of the first turn in the last request's window.
    window: u32,
    /// Tokens of the request besides the turns.
    fixed: u32,
    total: u32,
    encoding: Encoding,
    store: Store,
    counter: Arc<dyn CountTokens>,
    counts: Counts,
}

impl Core {
    /// Checks after a closed turn whether a summary is due. `plan` is the plan of the turn's last call.
    pub(crate) fn check_due(&mut self, branch: BranchId, plan: &ContextPlan, completed: bool) {
        if self.summaries.drafts.own.remove(&branch) {
            self.accept_automatically(branch);
        }
        if self.store.read_only() || !completed || self.summaries.drafts.busy(branch) {
            return;
        }
        match self.prepare_due_check(branch, plan) {
            Ok(Some(look)) if self.setup.patient => self.due_after_command(&look),
            Ok(Some(look)) => look.start(&self.jobs),
            Ok(None) => {}
            Err(failure) => tracing::debug!(%failure, "could not determine whether a summary is due"),
        }
    }

    /// Checks for a single command, which ends with the turn. A summary that is accepted automatically and needs no
    /// model is made before the command ends. A draft could not wait, so a notice says how to have one made, once for
    /// the same turns.
    fn due_after_command(&mut self, look: &DueCheck) {
        let Some((up_to, cause)) = look.due().ok().flatten() else { return };
        let AutoSummarySettings { accept, by, .. } = look.compaction;
        if (accept, by) == (AutoSummaryAcceptance::Own, SummaryAuthor::Extractive) {
            return self.draft_if_due(DueResult { branch: look.branch, due: Some((up_to, cause)) });
        }
        let first = look.turns.first().map_or(0, |turn| turn.number);
        if self.report_once(format!("compaction.told.{}", look.branch), &first.to_string()) {
            self.emit(Event::Program(ProgramEvent::Notice(format!(
                "A summary of turns {first} to {up_to} is due ({cause}). `pleach compress --up-to {up_to}` drafts it."
            ))));
        }
    }

    fn prepare_due_check(&mut self, id: BranchId, plan: &ContextPlan) -> Result<Option<DueCheck>, Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        if rules.compaction.measure == AutoSummaryTrigger::Off {
            return Ok(None);
        }
        let session = self.sessions.of_branch(id)?;
        let path = session.paths.get(&session.tree, session.head(&branch));
        let Some(last) = path.slots.last().map(|slot| session.tree.head(*slot)) else { return Ok(None) };
        let (lane, now) = (last.lane.clone(), last.at);
        let summed = self.summarized_up_to(session, &branch, &path.slots, &lane);
        let from = summed.map_or(0, |(place, _)| path.turn_at(place) + 1);
        if path.turns.len().saturating_sub(from) > MOST_TURNS {
            self.report_too_long(id);
            return Ok(None);
        }
        let turns = unsummarized_turns(session, &branch, &path, from, (&lane, now));
        let began = turns.first().and_then(|turn| turn.heads.first()).map_or(now, |head| head.at);
        Ok(Some(DueCheck {
            branch: id,
            since: seconds(now, summed.map_or(began, |(_, at)| at)),
            turns,
            compaction: rules.compaction,
            window: window_start(plan),
            fixed: beside_turns(plan),
            total: rules.policy.levels.total.min(rules.budget.prompt),
            encoding: rules.model.encoding,
            policy: rules.policy,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            counts: self.summaries.drafts.counts.clone(),
        }))
    }

    /// Returns the position on the path up to which a lane is summarized or a person rejected that, and the time of
    /// that, in the conversation's own time.
    fn summarized_up_to(
        &self,
        session: &Session,
        branch: &Branch,
        path: &[crate::domain::conversation::tree::Slot],
        lane: &str,
    ) -> Option<(usize, i64)> {
        let place = |tip: Hash| {
            let slot = session.tree.by_key(tip)?;
            let at = session.tree.depth(slot) as usize;
            (path.get(at) == Some(&slot)).then_some(at)
        };
        let view = SummaryView { session, path, marks: &branch.marks, lane: None };
        let mode = self.rules(branch).ok()?.mode;
        let summary = self.in_use(branch, SummaryKind::Lane, lane).and_then(|top| view.usable(top.id, mode).0);
        let summary = summary.and_then(|going| Some((place(going.summary.tip()?)?, going.summary.generated_at)));
        let down = self.rejection_on(session, branch, lane).and_then(|(tip, at)| Some((place(tip)?, at)));
        summary.into_iter().chain(down).max()
    }

    /// Records that turns up to `tip` are not summarized automatically, unless a later rejection exists.
    pub(crate) fn record_rejection(&self, branch: &Branch, lane: &str, tip: Hash) {
        let Ok(session) = self.sessions.of_branch(branch.id) else { return };
        let path = session.head(branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let place = |tip: Hash| {
            let slot = session.tree.by_key(tip)?;
            path.get(session.tree.depth(slot) as usize).filter(|at| **at == slot).map(|_| session.tree.depth(slot))
        };
        let before = self.rejection_on(session, branch, lane).and_then(|(tip, _)| place(tip));
        let at = path.last().map_or(0, |slot| session.tree.head(*slot).at);
        let value = serde_json::to_string(&(tip, at)).ok();
        if !self.store.read_only() && before <= place(tip) {
            self.store.post(vec![Write::SetValue { key: rejection_key(branch.id, lane), value }]);
        }
    }

    /// Records that summaries reverted by undo are not made again automatically.
    pub(crate) fn record_undone_summaries(&self, changes: &[Change]) {
        for change in changes {
            let Change::Summaries { branch, before, after } = change else { continue };
            let (Ok(session), Ok(branch)) = (self.sessions.of_branch(*branch), self.sessions.branch(*branch)) else {
                continue;
            };
            let gone = after.iter().filter(|id| !before.contains(*id)).filter_map(|id| session.summary(*id));
            for held in gone {
                self.record_rejection(&branch, &held.summary.lane, held.summary.tip().unwrap_or_default());
            }
        }
    }

    /// Returns the last rejection on a branch or its ancestors.
    fn rejection_on(&self, session: &Session, branch: &Branch, lane: &str) -> Option<(Hash, i64)> {
        let mut at = Some(branch);
        for _ in 0..session.branches.len() {
            let here = at?;
            if let Ok(Some(text)) = self.store.setting(&rejection_key(here.id, lane)) {
                return serde_json::from_str(&text).ok();
            }
            at = here.parent.and_then(|id| session.branch(id).ok());
        }
        None
    }

    /// Starts a draft if a summary is due.
    pub(crate) fn draft_if_due(&mut self, looked: DueResult) {
        let DueResult { branch, due } = looked;
        let Some((up_to, cause)) = due.filter(|_| !self.summaries.drafts.busy(branch)) else { return };
        if let Err(failure) = self.draft_due(branch, SummaryKind::Lane, up_to, cause) {
            tracing::debug!(%failure, "a summary that is due was not drafted");
        }
    }

    fn draft_due(&mut self, id: BranchId, kind: SummaryKind, up_to: u32, cause: String) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        if rules.compaction.measure == AutoSummaryTrigger::Off {
            return Ok(());
        }
        let session = self.sessions.of_branch(id)?;
        let path = session.paths.get(&session.tree, session.head(&branch));
        let before = usize::from(path.turns.first().is_some_and(|turn| !turn.asked));
        let end = (up_to as usize + before).min(path.turns.len());
        if path.bytes(&session.tree, 0..end) > MOST_BYTES {
            self.report_too_long(id);
            return Ok(());
        }
        let callable = self.setup.servers.ready(&rules.profile).is_ok();
        let by = if callable { rules.compaction.by } else { SummaryAuthor::Extractive };
        self.start_draft(None, id, kind, Some(up_to), by, Some(cause))
    }

    /// Drafts a summary of the session so far after a task has ended, if automatic summaries are on. Returns a sentence
    /// about that, or about how to have a summary drafted.
    pub(crate) fn summarize_task(&mut self, id: BranchId, name: &str) -> String {
        let Ok(turns) = self.turns_until_now(id) else { return String::new() };
        let automatic = self.sessions.branch(id).and_then(|branch| self.rules(&branch));
        let off = automatic.map_or(true, |rules| rules.compaction.measure == AutoSummaryTrigger::Off);
        if turns == 0 || self.store.read_only() {
            return String::new();
        }
        if self.setup.patient {
            return format!(" `pleach compress --whole-session --up-to {turns}` drafts a summary of its turns.");
        }
        if off || self.summaries.drafts.busy(id) {
            return format!(" /compress session {turns} drafts a summary of its turns.");
        }
        match self.draft_due(id, SummaryKind::Session, turns, format!("task {name} is done")) {
            Ok(()) => " Drafting a summary of its turns; F5 shows it.".to_owned(),
            Err(failure) => format!(" Could not draft a summary of its turns: {failure}"),
        }
    }

    fn turns_until_now(&self, id: BranchId) -> Result<u32, Failure> {
        let session = self.sessions.of_branch(id)?;
        let path = session.paths.get(&session.tree, session.head(session.branch(id)?));
        Ok(u32::try_from(path.turns.iter().filter(|turn| turn.asked).count()).unwrap_or(u32::MAX))
    }

    fn report_too_long(&mut self, branch: BranchId) {
        if self.report_once(format!("compaction.too_much.{branch}"), "said") {
            let words = "A summary of the older turns is due, but there are too many turns to summarize \
                automatically.";
            let todo = "/compress N summarizes the first N.";
            self.emit(Event::Program(ProgramEvent::Notice(format!("{words} Nothing was changed; {todo}"))));
        }
    }

    /// Whether this value was not stored before, by this program or another one. Stores it.
    fn report_once(&self, key: String, value: &str) -> bool {
        let first = self.store.setting(&key).ok().flatten().as_deref() != Some(value);
        if first {
            self.store.post(vec![Write::SetValue { key, value: Some(value.to_owned()) }]);
        }
        first
    }

    /// Handles a finished automatic draft: accepts it if the policy wants that, at the end of the open turn.
    pub(crate) fn finish_automatic_draft(&mut self, branch: BranchId) {
        let accepts = self.sessions.branch(branch).and_then(|branch| self.rules(&branch));
        if accepts.is_ok_and(|rules| rules.compaction.accept == AutoSummaryAcceptance::Own) {
            if self.turns.live.contains_key(&branch) {
                self.summaries.drafts.own.insert(branch);
            } else {
                self.accept_automatically(branch);
            }
        }
    }

    /// Accepts a draft automatically, after keeping the dropped items that fit. A draft that saves too little, or that
    /// can no longer be used, waits for a person.
    fn accept_automatically(&mut self, branch: BranchId) {
        let Some(number) = self.summaries.drafts.number(branch) else { return };
        let accepted = self.keep_all(branch, number).and_then(|_| {
            let summary = self.waiting(branch, number)?.draft.summary.clone();
            let short = !summary.too_detailed();
            Ok(if short { Some((summary, self.accept(branch, number)?)) } else { None })
        });
        match accepted {
            Ok(Some((summary, Answer::Done(said)))) => {
                let (before, after) = (grouped(summary.original_tokens.into()), grouped(summary.tokens.into()));
                self.emit(Event::Program(ProgramEvent::Notice(format!(
                    "{said} ({before} est. tokens became {after}; the policy accepts \
                    drafts automatically.)"
                ))));
            }
            Ok(_) => {}
            Err(failure) => tracing::debug!(%failure, "a draft was not accepted automatically"),
        }
    }

    /// Records that an automatic draft failed, so that it is not tried again after every turn.
    pub(crate) fn automatic_draft_failed(&mut self, id: BranchId, lane: &str, tip: Hash, failure: &Failure) {
        tracing::debug!(%failure, "no summary was drafted");
        let Ok(branch) = self.sessions.branch(id) else { return };
        self.record_rejection(&branch, lane, tip);
        if failure.kind != FailureKind::User {
            let what = format!("A summary was due but could not be written: {failure}");
            self.emit(Event::Program(ProgramEvent::Notice(format!("{what} /compress tries again."))));
        }
    }
}

fn rejection_key(branch: BranchId, lane: &str) -> String {
    format!("compaction.put_down.{branch}.{}", Hash::of(lane.as_bytes()).short())
}

fn seconds(now: i64, then: i64) -> u64 {
    u64::try_from(now.saturating_sub(then)).unwrap_or(0) / 1_000
}

/// Returns the closed turns of a lane, from an index on, that could be summarized.
fn unsummarized_turns(
    session: &Session,
    branch: &Branch,
    path: &crate::engine::sessions::path::PathView,
    from: usize,
    (lane, now): (&str, i64),
) -> Vec<Turn> {
    let before = usize::from(path.turns.first().is_some_and(|turn| !turn.asked));
    let mut found = Vec::new();
    for (index, turn) in path.turns.iter().enumerate().skip(from) {
        let heads: Vec<&NodeHead> = turn.nodes.clone().map(|at| session.tree.head(path.slots[at])).collect();
        let [first, .., last] = heads.as_slice() else { continue };
        if !turn.asked || first.lane != lane {
            continue;
        }
        let age = seconds(now, last.at);
        let read = readable(branch, &heads);
        if stays(branch, &heads, read.is_empty()).is_none() {
            let number = u32::try_from(index + 1 - before).unwrap_or(u32::MAX);
            found.push(Turn { number, age, heads: read });
        }
    }
    found
}

/// Returns the tokens of a call besides its turns: instructions, pins, state, summaries, retrieved content, tools.
fn beside_turns(plan: &ContextPlan) -> u32 {
    let turns = |section: Option<Section>| {
        matches!(section, Some(Section::Recent | Section::UserMessage | Section::QuotedReply))
    };
    let rows = plan.included().filter(|row| row.pin.is_some() || !turns(row.section()));
    let fixed = plan.tools.saturating_add(MESSAGE_FRAMING + ANSWER_FRAMING);
    rows.fold(fixed, |sum, row| sum.saturating_add(row.tokens))
}

/// Returns the number of the first turn in the window; 0 if the window is empty.
fn window_start(plan: &ContextPlan) -> u32 {
    let recent = plan.included().filter(|row| row.section() == Some(Section::Recent) && row.pin.is_none());
    recent.filter_map(|row| row.source.turn).min().unwrap_or(0)
}

impl DueCheck {
    /// Starts the check on a separate thread.
    fn start(self, jobs: &Jobs<Inbox>) {
        let branch = self.branch;
        let ended = move |due: Result<Option<(u32, String)>, Failure>| {
            let due = due.unwrap_or_else(|failure: Failure| {
                tracing::debug!(%failure, "could not determine whether a summary is due");
                None
            });
            Inbox::Summary(SummaryReport::Due(Box::new(DueResult { branch, due })))
        };
        jobs.report("due", move |failure| ended(Err(failure)), move || ended(self.due()));
    }

    fn due(&self) -> Result<Option<(u32, String)>, Failure> {
        let found = match self.compaction.measure {
            AutoSummaryTrigger::Off => None,
            AutoSummaryTrigger::Lane => self.lane_due()?,
            AutoSummaryTrigger::Levels => self.levels_due()?,
            AutoSummaryTrigger::Window => self.window_due()?,
        };
        let last = |upto: usize| upto.checked_sub(1).and_then(|at| self.turns.get(at)).map(|turn| turn.number);
        Ok(found.and_then(|(upto, cause)| Some((last(upto)?, cause))))
    }

    /// Checks messages, tokens and hours of a lane. Tokens are counted only if the number of messages does not decide.
    fn lane_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let spec = &self.policy.lanes;
        let messages = |turn: &Turn| u32::try_from(turn.heads.len()).unwrap_or(u32::MAX);
        let all = self.turns.iter().fold(0_u32, |sum, turn| sum.saturating_add(messages(turn)));
        let counted = if all > spec.messages { vec![0; self.turns.len()] } else { self.tokens()? };
        let turns: Vec<LaneTurn> = self
            .turns
            .iter()
            .zip(counted)
            .map(|(turn, tokens)| LaneTurn { messages: messages(turn), tokens })
            .collect();
        Ok(lanes::due(&turns, self.since, spec).map(|due| {
            let cause = match due.cause {
                Cause::Messages(n) => format!("{n} messages had no summary, more than {}", spec.messages),
                Cause::Tokens(n) => {
                    format!(
                        "{} est. tokens had no summary, more than {}",
                        grouped(n.into()),
                        grouped(spec.tokens.into())
                    )
                }
                Cause::Hours(n) => {
                    format!("{} hours passed without a summary, more than {}", grouped(n), spec.hours)
                }
            };
            (due.upto, cause)
        }))
    }

    /// Checks the tokens in all priority levels.
    fn levels_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let counted = self.tokens()?;
        let turns: Vec<UnsummarizedTurn> =
            self.turns.iter().zip(counted).map(|(turn, tokens)| UnsummarizedTurn { tokens, age: turn.age }).collect();
        let spec = &self.policy.levels;
        let due = levels::due(&turns, self.fixed, self.total, self.policy.refill_percent, spec);
        Ok(due.map(|due| {
            let (used, total) = (grouped(due.used), grouped(self.total.into()));
            (due.upto, format!("the levels held {used} of {total} est. tokens, more than {} %", spec.trigger_percent))
        }))
    }

    /// Checks the tokens of turns before the window, counting only as many as are needed.
    fn window_due(&self) -> Result<Option<(usize, String)>, Failure> {
        let outside = self.turns.partition_point(|turn| turn.number < self.window);
        let (most, mut held) = (self.compaction.tokens, 0_u32);
        for turns in self.turns[..outside].chunks(BATCH_TURNS) {
            held = self.tokens_of(turns)?.into_iter().fold(held, u32::saturating_add);
            if held > most {
                let most = grouped(most.into());
                let cause = format!("turns before the window hold more than {most} est. tokens without a summary");
                return Ok(Some((outside, cause)));
            }
        }
        Ok(None)
    }

    fn tokens(&self) -> Result<Vec<u32>, Failure> {
        self.tokens_of(&self.turns)
    }

    /// Returns the tokens of each turn in full form.
    fn tokens_of(&self, turns: &[Turn]) -> Result<Vec<u32>, Failure> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if counts.len() > MAX_CACHED {
            counts.clear();
        }
        let unknown = |head: &&NodeHead| !counts.contains_key(&(head.key, self.encoding));
        let missing: Vec<NodeId> =
            turns.iter().flat_map(|turn| &turn.heads).filter(unknown).map(|head| head.id).collect();
        for batch in missing.chunks(BATCH) {
            for Node { head, content } in self.store.nodes(batch)? {
                let tokens = cost(&head, &content, &|text| self.counter.count(self.encoding, text));
                counts.insert((head.key, self.encoding), tokens);
            }
        }
        let known = |head: &NodeHead| counts.get(&(head.key, self.encoding)).copied().unwrap_or(0);
        let sums = turns.iter().map(|turn| turn.heads.iter().map(known).fold(0, u32::saturating_add)).collect();
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = counts;
        Ok(sums)
    }
}
