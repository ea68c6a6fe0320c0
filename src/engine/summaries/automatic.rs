//! Automatic summaries: after a turn closes, or a branch is opened, a thread checks whether the branch's policy calls
//! for a summary; the result is a draft. No turns are summarized twice: not while a draft waits, not if a summary
//! covers them, and not after a person rejected the draft, until enough turns for another summary have been added.
//! Not for: writing drafts (`writer`), acts on them (`drafts`), or the check itself (`due`).

use super::due::{DueCheck, beside_turns, left_out_by_levels, seconds, unsummarized_turns, window_start};
use super::state::{Due, DueResult};
use crate::domain::base::{BranchId, Failure, FailureKind, Hash};
use crate::domain::call::Backend;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::{Branch, Change, Slot};
use crate::domain::planning::ContextPlan;
use crate::domain::summary::draft::DRAFT_COMMANDS;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{AutoSummaryAcceptance, AutoSummaryTrigger, Summary, SummaryAuthor, SummaryKind};
use crate::engine::api::Answer;
use crate::engine::core::Core;
use crate::engine::plans::sources::summaries::SummaryView;
use crate::engine::sessions::path::position;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::rules::Rules;
use crate::engine::startup::setup::Setup;
use crate::store::Store;
use crate::store::types::Write;

/// The maximum number of unsummarized turns; with more of them, a person must ask for a summary.
const MOST_TURNS: usize = 1_000;
/// The tokens of missing facts that are added to a draft before it is accepted automatically, in percent of its own.
const ADDED_PERCENT: u32 = 50;
/// The maximum bytes of a path that are read for an automatic summary.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

impl Core {
    /// Checks after a closed turn whether a summary is due. `plan` is the plan of the turn's last call.
    pub(crate) fn check_due(&mut self, branch: BranchId, plan: &ContextPlan, completed: bool) {
        if self.summaries.drafts.own.remove(&branch) {
            self.accept_automatically(branch);
        }
        if !completed {
            return;
        }
        self.summaries.drafts.unchecked.remove(&branch);
        self.sync_draft(branch);
        let Some(look) = self.prepare_due_check(branch, plan, false) else { return };
        if self.setup.patient { self.due_after_command(&look) } else { look.start(&self.jobs) }
    }

    /// Shows the waiting draft of a branch that was opened or switched to, and schedules a check for when its next call
    /// is planned. A single command needs neither: it reads the draft when it uses it.
    pub(crate) fn check_later(&mut self, branch: BranchId) {
        if !self.setup.patient {
            self.sync_draft(branch);
            self.summaries.drafts.unchecked.insert(branch);
        }
    }

    /// Checks, as after a turn, a branch that was opened or switched to, or whose draft was hidden, once its next call
    /// is planned. A draft that would need a model call is only announced.
    pub(crate) fn check_opened(&mut self, branch: BranchId) {
        if self.setup.patient || self.turns.live.contains_key(&branch) {
            return;
        }
        let Some(plan) = self.plans.drawn.get(&branch).map(|drawn| drawn.solved.plan.clone()) else { return };
        if !self.summaries.drafts.unchecked.remove(&branch) {
            return;
        }
        self.sync_draft(branch);
        if let Some(look) = self.prepare_due_check(branch, &plan, true) {
            look.start(&self.jobs);
        }
    }

    /// Checks for a single command, which ends with the turn. A summary that needs no model is made before the command
    /// ends. A summary that needs the model is left to a person: a notice says how to request it, once for the same
    /// turns.
    fn due_after_command(&mut self, look: &DueCheck) {
        let Some(due) = look.due().ok().flatten() else { return };
        let (branch, opened) = (look.branch, look.opened);
        if self.automatic_author(branch) == Some(SummaryAuthor::Extractive) {
            return self.draft_if_due(DueResult { branch, opened, due: Some(due) });
        }
        let command = format!("`pleach compress --up-to {} --by-model` drafts it.", due.up_to);
        self.announce(format!("compaction.told.{branch}"), &due, &command);
    }

    /// Reports the draft that a single command made. The workbench shows it instead.
    fn report_draft(&self, branch: BranchId) {
        let Some(drafted) = self.summaries.drafts.waiting.get(&branch).filter(|_| self.setup.patient) else { return };
        self.notify(format!("{} {DRAFT_COMMANDS}", drafted.draft.waiting_sentence()));
    }

    /// Reports that a summary is due, once for the same turns.
    fn announce(&self, key: String, due: &Due, command: &str) {
        let Due { first, up_to, cause } = due;
        if report_once(&self.store, key, &first.to_string()) {
            let notice = format!("A summary of {} is due ({cause}). {command}", turns_in_words((*first, *up_to)));
            self.notify(notice);
        }
    }

    /// Collects the inputs of a branch's check; `None` if no summary can be due.
    fn prepare_due_check(&mut self, branch: BranchId, plan: &ContextPlan, opened: bool) -> Option<DueCheck> {
        if self.store.read_only() || self.summaries.drafts.busy(branch) {
            return None;
        }
        self.due_check(branch, plan, opened).unwrap_or_else(|failure| {
            tracing::debug!(%failure, "could not determine whether a summary is due");
            None
        })
    }

    fn due_check(&mut self, id: BranchId, plan: &ContextPlan, opened: bool) -> Result<Option<DueCheck>, Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        if rules.auto_summaries.measure == AutoSummaryTrigger::Off {
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
            opened,
            since: seconds(now, summed.map_or(began, |(_, at)| at)),
            turns,
            settings: rules.auto_summaries,
            window: window_start(plan),
            left_out: left_out_by_levels(plan),
            fixed: beside_turns(plan),
            total: rules.policy.levels.total.min(rules.budget.prompt),
            encoding: rules.model.encoding,
            policy: rules.policy,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            counts: self.summaries.drafts.counts.clone(),
        }))
    }

    /// Returns the end of the part of a lane that is summarized, or whose summary a person rejected, as a position on
    /// the path; and the time of that summary or rejection, in the conversation's own time.
    fn summarized_up_to(&self, session: &Session, branch: &Branch, path: &[Slot], lane: &str) -> Option<(usize, i64)> {
        let place = |tip: Hash| position(&session.tree, path, tip);
        let view = SummaryView { session, path, marks: &branch.marks, lane: None };
        let mode = self.rules(branch).ok()?.mode;
        let summary = self.sessions.in_use(branch, SummaryKind::Lane, lane).and_then(|top| view.usable(top.id, mode).0);
        let summary = summary.and_then(|going| Some((place(going.summary.tip()?)?, going.summary.generated_at)));
        let down = rejection_on(&self.store, session, branch, lane).and_then(|(tip, at)| Some((place(tip)?, at)));
        summary.into_iter().chain(down).max()
    }

    /// Starts a draft if a summary is due. Opening a branch costs nothing, so a summary by the model is then announced.
    pub(crate) fn draft_if_due(&mut self, result: DueResult) {
        let DueResult { branch, opened, due } = result;
        let Some(due) = due.filter(|_| !self.summaries.drafts.busy(branch)) else { return };
        if opened && self.automatic_author(branch) == Some(SummaryAuthor::Model) {
            let command = format!("/compress {} model drafts it.", due.up_to);
            return self.announce(format!("summaries.told.{branch}"), &due, &command);
        }
        if let Err(failure) = self.draft_due(branch, SummaryKind::Lane, due.up_to, due.cause) {
            tracing::debug!(%failure, "a summary that is due was not drafted");
        }
    }

    /// Returns the author of the automatic summaries of a branch; `None` if its rules cannot be resolved.
    fn automatic_author(&self, id: BranchId) -> Option<SummaryAuthor> {
        let branch = self.sessions.branch(id).ok()?;
        self.rules(&branch).ok().map(|rules| self.setup.author_under(&rules))
    }

    fn draft_due(&mut self, id: BranchId, kind: SummaryKind, up_to: u32, cause: String) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        if rules.auto_summaries.measure == AutoSummaryTrigger::Off {
            return Ok(());
        }
        let session = self.sessions.of_branch(id)?;
        let path = session.paths.get(&session.tree, session.head(&branch));
        let end = (up_to as usize + path.preamble()).min(path.turns.len());
        if path.bytes(&session.tree, 0..end) > MOST_BYTES {
            self.report_too_long(id);
            return Ok(());
        }
        self.start_draft(None, id, kind, Some(up_to), self.setup.author_under(&rules), Some(cause))
    }

    /// Drafts a summary of the session so far after a task has ended, if automatic summaries are on. Returns a sentence
    /// about that, or about how to request a draft.
    pub(crate) fn summarize_task(&mut self, id: BranchId, name: &str) -> String {
        let Ok(turns) = self.sessions.turns_until_now(id) else { return String::new() };
        let automatic = self.sessions.branch(id).and_then(|branch| self.rules(&branch));
        let off = automatic.map_or(true, |rules| rules.auto_summaries.measure == AutoSummaryTrigger::Off);
        if turns == 0 || self.store.read_only() {
            return String::new();
        }
        self.sync_draft(id);
        let busy = self.summaries.drafts.busy(id);
        let author = self.automatic_author(id);
        if self.setup.patient && (off || busy || author != Some(SummaryAuthor::Extractive)) {
            return format!(" `pleach compress --whole-session --up-to {turns}` drafts a summary of the turns so far.");
        }
        if off || busy {
            return format!(" /compress session {turns} drafts a summary of the turns so far.");
        }
        match self.draft_due(id, SummaryKind::Session, turns, format!("task {name} is done")) {
            Ok(()) if self.setup.patient => String::new(),
            Ok(()) => " Drafting a summary of the turns so far; F5 shows it.".to_owned(),
            Err(failure) => format!(" Could not draft a summary of the turns so far: {failure}"),
        }
    }

    fn report_too_long(&mut self, branch: BranchId) {
        if report_once(&self.store, format!("compaction.too_much.{branch}"), "said") {
            let why = "A summary of the older turns is due, but there are too many turns to summarize automatically.";
            let todo = "Nothing was changed; /compress N summarizes the first N turns.";
            self.notify(format!("{why} {todo}"));
        }
    }

    /// Handles a finished automatic draft: if the policy accepts drafts automatically, accepts it, or marks it to be
    /// accepted when the open turn ends.
    pub(crate) fn finish_automatic_draft(&mut self, branch: BranchId) {
        let accepts = self.sessions.branch(branch).and_then(|branch| self.rules(&branch));
        if accepts.is_ok_and(|rules| rules.auto_summaries.accept == AutoSummaryAcceptance::Auto) {
            if self.turns.live.contains_key(&branch) {
                self.summaries.drafts.own.insert(branch);
            } else {
                self.accept_automatically(branch);
            }
        }
        self.report_draft(branch);
    }

    /// Accepts a draft automatically, after keeping the dropped items that fit into half of its tokens. A draft that saves too little, or that
    /// can no longer be used, waits for a person.
    fn accept_automatically(&mut self, branch: BranchId) {
        let Some(number) = self.summaries.drafts.number(branch) else { return };
        let accepted = self.keep_all(branch, number, ADDED_PERCENT).and_then(|_| {
            let summary = self.summaries.waiting(branch, number)?.draft.summary.clone();
            let short = !summary.too_detailed();
            Ok(if short { Some((summary, self.accept(branch, number)?)) } else { None })
        });
        match accepted {
            Ok(Some((summary, Answer::Done(notice)))) => {
                let (before, after) = (grouped(summary.original_tokens.into()), grouped(summary.tokens.into()));
                let effect = "Requests contain it instead of these turns unless that makes them larger.";
                self.notify(format!(
                    "{notice} {effect} ({before} tokens became {after}; the policy accepts drafts automatically.)"
                ));
            }
            Ok(_) => {}
            Err(failure) => tracing::debug!(%failure, "a draft was not accepted automatically"),
        }
    }

    /// Records that an automatic draft failed, so that it is not tried again after every turn.
    pub(crate) fn automatic_draft_failed(&mut self, id: BranchId, lane: &str, tip: Hash, failure: &Failure) {
        tracing::debug!(%failure, "no summary was drafted");
        let Ok(branch) = self.sessions.branch(id) else { return };
        record_rejection(&self.sessions, &self.store, &branch, lane, tip);
        // A person who can do something about it is told once.
        let advises = || !failure.todo.is_empty() && report_once(&self.store, format!("summaries.failed.{id}"), lane);
        if failure.kind != FailureKind::User || advises() {
            let what = format!("A summary was due but could not be written: {failure}");
            self.notify(format!("{what} /compress tries again."));
        }
    }
}

/// Records that turns up to `tip` are not summarized automatically, unless a later rejection exists.
pub(crate) fn record_rejection(sessions: &Sessions, store: &Store, branch: &Branch, lane: &str, tip: Hash) {
    let Ok(session) = sessions.of_branch(branch.id) else { return };
    let path = session.path(branch);
    let place = |tip: Hash| position(&session.tree, &path, tip);
    let before = rejection_on(store, session, branch, lane).and_then(|(tip, _)| place(tip));
    let at = path.last().map_or(0, |slot| session.tree.head(*slot).at);
    let value = serde_json::to_string(&(tip, at)).ok();
    if !store.read_only() && before <= place(tip) {
        store.post(vec![Write::SetValue { key: rejection_key(branch.id, lane), value }]);
    }
}

/// Records that summaries reverted by undo are not made again automatically.
pub(crate) fn record_undone_summaries(sessions: &Sessions, store: &Store, changes: &[Change]) {
    for change in changes {
        let Change::Summaries { branch, before, after } = change else { continue };
        let (Ok(session), Ok(branch)) = (sessions.of_branch(*branch), sessions.branch(*branch)) else {
            continue;
        };
        let gone = after.iter().filter(|id| !before.contains(*id)).filter_map(|id| session.summary(*id));
        for held in gone {
            record_rejection(sessions, store, &branch, &held.summary.lane, held.summary.tip().unwrap_or_default());
        }
    }
}

/// Whether a person already decided on the turns of a summary on this branch: rejected them, or uses a summary that
/// reaches as far.
pub(crate) fn is_decided(sessions: &Sessions, store: &Store, branch: &Branch, summary: &Summary) -> bool {
    let Ok(session) = sessions.of_branch(branch.id) else { return true };
    let depth = |tip: Hash| session.tree.by_key(tip).map(|slot| session.tree.depth(slot));
    let reach = summary.tip().and_then(depth);
    let used = sessions.in_use(branch, summary.kind, &summary.lane).and_then(|used| depth(used.tip()?));
    let rejected = rejection_on(store, session, branch, &summary.lane).and_then(|(tip, _)| depth(tip));
    used.max(rejected) >= reach
}

/// Returns the last rejection on a branch or its ancestors.
fn rejection_on(store: &Store, session: &Session, branch: &Branch, lane: &str) -> Option<(Hash, i64)> {
    let mut at = Some(branch);
    for _ in 0..session.branches.len() {
        let here = at?;
        if let Ok(Some(text)) = store.setting(&rejection_key(here.id, lane)) {
            return serde_json::from_str(&text).ok();
        }
        at = here.parent.and_then(|id| session.branch(id).ok());
    }
    None
}

/// Whether this value was not stored before, by this program or another one. Stores it.
fn report_once(store: &Store, key: String, value: &str) -> bool {
    let first = store.setting(&key).ok().flatten().as_deref() != Some(value);
    if first {
        store.post(vec![Write::SetValue { key, value: Some(value.to_owned()) }]);
    }
    first
}

impl Setup {
    fn author_under(&self, rules: &Rules) -> SummaryAuthor {
        let callable = rules.profile.backend != Backend::Offline && self.servers.ready(&rules.profile).is_ok();
        if callable { rules.auto_summaries.by } else { SummaryAuthor::Extractive }
    }
}

impl Sessions {
    fn turns_until_now(&self, id: BranchId) -> Result<u32, Failure> {
        let session = self.of_branch(id)?;
        let path = session.paths.get(&session.tree, session.head(session.branch(id)?));
        Ok(u32::try_from(path.turns.iter().filter(|turn| turn.asked).count()).unwrap_or(u32::MAX))
    }
}

fn rejection_key(branch: BranchId, lane: &str) -> String {
    format!("compaction.put_down.{branch}.{}", Hash::of(lane.as_bytes()).short())
}
