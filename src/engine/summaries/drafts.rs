//! A person's acts on summaries: start a draft, keep dropped items, edit, accept, reject, restore an earlier version.
//! Not for: writing a draft (`writer`), or which summary is sent (`plans::sources::summaries`).
//!
//! A draft changes nothing until it is accepted. Accepting stores the summary and its use on the branch as one undoable
//! operation. The turns remain as they are.

use super::candidates::DraftInput;
use super::draft_text::PendingDraft;
use super::state::{DraftInProgress, DraftResult};
use super::writer::Job;
use crate::context::summary::{keep, sources};
use crate::domain::base::{BranchId, Failure, FailureKind};
use crate::domain::call::Backend;
use crate::domain::summary::draft::no_draft;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{KeptSentence, SourceTurn, SummaryAuthor, SummaryDraft, SummaryKind, SummarySource};
use crate::engine::api::{Answer, Event, SummaryAct, SummaryAnswer, SummaryEvent, Ticket};
use crate::engine::calls::auxiliary_call::auxiliary_call;
use crate::engine::core::Core;
use crate::engine::jobs::CancelToken;
use crate::engine::plans::sources::summaries::LoadedSummary;
use crate::engine::summaries::automatic::record_rejection;
use crate::engine::summaries::candidates::{ready, summary_limit};
use crate::engine::summaries::state::Summaries;
use crate::engine::summaries::stored::{delete_stored_draft, ended_drafts, keep_changed_draft, keep_new_draft};
use crate::store::types::Write;
use std::sync::Arc;

/// The minimum tokens of a draft; less would hold no sentence.
const MIN_SUMMARY: u32 = 64;

impl Core {
    /// Starts a draft. Its ticket is answered when the draft is written. An automatic draft has no ticket but a cause.
    pub(crate) fn start_draft(
        &mut self,
        ticket: Option<Ticket>,
        id: BranchId,
        kind: SummaryKind,
        up_to: Option<u32>,
        by: SummaryAuthor,
        cause: Option<String>,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let rules = self.rules(&branch)?;
        let by = if rules.profile.backend == Backend::Offline { SummaryAuthor::Extractive } else { by };
        let provider = match by {
            SummaryAuthor::Model => Some(self.setup.servers.provider(&rules.profile)?),
            SummaryAuthor::Extractive => None,
        };
        let DraftInput { turns, lane } = ready(&self.sessions, &self.turns, &branch, kind)?;
        let parent = self.sessions.in_use(&branch, kind, &lane);
        let light: Vec<SourceTurn> = turns.iter().map(|(turn, _)| turn.clone()).collect();
        let already =
            parent.as_ref().filter(|summary| self.sessions.holds(&branch, summary.id)).map(|summary| summary.turns.1);
        let choice = sources::choose(&light, up_to, already)?;
        let mut turns: Vec<Option<_>> = turns.into_iter().map(Some).collect();
        let turns: Vec<_> = choice.covered.iter().filter_map(|at| turns[*at].take()).collect();
        let users = turns.iter().map(|(turn, _)| turn.user).collect();
        let most = summary_limit(&self.sessions, &self.setup, &branch, &rules, &users)?;
        if most < MIN_SUMMARY {
            let is_budget = rules.policy.levels.total > rules.budget.prompt;
            let more_room = if is_budget { rules.budget.advice() } else { "give the policy a larger session level" };
            return Err(Failure::user("The session level of the policy has no room for another summary.")
                .kept("Nothing was changed.")
                .todo(format!("Undo or shorten a summary, or {more_room}.")));
        }
        let job = Job {
            number: self.summaries.drafts.next_number(),
            ticket,
            kind,
            lane,
            parent,
            most,
            turns,
            stays: choice.stays,
            by,
            cause,
            restored: None,
            auxiliary_call: auxiliary_call(&self.setup, &self.store, &branch, rules, provider),
            events: self.events.clone(),
        };
        self.write_draft(job);
        Ok(())
    }

    /// Starts writing or restoring a draft. A single command waits for a draft that nobody requested. Only one draft
    /// per branch is written at a time; an older one is canceled.
    pub(crate) fn write_draft(&mut self, job: Job) {
        let (number, branch, asked) = (job.number, job.auxiliary_call.branch, job.ticket.is_some());
        let restored = job.restored.as_ref().map(|(draft, _)| draft);
        let tip = match restored {
            Some(draft) => draft.summary.tip(),
            None => job.turns.last().map(|(turn, _)| turn.tip),
        };
        let mut making = DraftInProgress {
            number,
            cancel: CancelToken::default(),
            automatic: !asked && restored.is_none(),
            restores: restored.map(|draft| draft.id()),
            reach: (job.lane.clone(), tip.unwrap_or_default()),
        };
        let mut at_once = Some(job);
        if asked || !self.setup.patient {
            making.cancel = at_once.take().map(|job| job.start(&self.jobs)).unwrap_or_default();
        }
        if let Some(old) = self.summaries.drafts.making.insert(branch, making) {
            old.cancel.cancel();
        }
        if let Some(job) = at_once {
            self.finish_draft(job.made());
        }
    }

    /// Keeps a finished draft until a person decides, or reports why there is none. Stores the draft, unless a single
    /// command made it to print it.
    pub(crate) fn finish_draft(&mut self, made: DraftResult) {
        let DraftResult { number, ticket, branch, result, runs } = made;
        for run in runs {
            self.show_run(run);
        }
        let current = self.summaries.drafts.making.get(&branch).is_some_and(|making| making.number == number);
        let making = if current { self.summaries.drafts.making.remove(&branch) } else { None };
        let restores = making.as_ref().and_then(|making| making.restores);
        let result = match &making {
            Some(_) => result.map(|mut drafted| {
                let printed = self.setup.patient && ticket.is_some();
                let kept =
                    printed || keep_new_draft(&mut self.sessions, &self.store, branch, &mut drafted, ticket.is_none());
                kept.then(|| self.show_draft(branch, drafted))
            }),
            None => Err(Failure::user("Stopped.").kept("Nothing was changed.")),
        };
        let failed = result.is_err();
        match (ticket, result) {
            (Some(ticket), result) => self.answer(ticket, result.map(|found| SummaryAnswer::Draft(found).into())),
            (None, Ok(Some(_))) if restores.is_some() => {}
            (None, Ok(Some(_))) => self.finish_automatic_draft(branch),
            (None, Ok(None)) => self.sync_draft(branch),
            (None, Err(failure)) => {
                if let Some(stored) = restores {
                    tracing::debug!(%failure, "a draft could not be restored");
                    // Only changed sources make it useless. Any other failure may be temporary.
                    if failure.kind == FailureKind::Stale {
                        delete_stored_draft(&self.store, branch, stored);
                    }
                } else if let Some(DraftInProgress { reach: (lane, tip), .. }) = making {
                    self.automatic_draft_failed(branch, &lane, tip, &failure);
                }
            }
        }
        // After the answer: the workbench still shows the screen of the draft when it learns why there is none.
        if failed && !self.summaries.drafts.making.contains_key(&branch) {
            self.emit(Event::Summary(SummaryEvent::Draft { branch, draft: self.summaries.shown_draft(branch) }));
        }
    }

    /// Keeps a draft in memory until a person decides, and shows it.
    fn show_draft(&mut self, branch: BranchId, drafted: PendingDraft) -> Arc<SummaryDraft> {
        let shown = Arc::new(drafted.shown());
        self.summaries.drafts.hidden.remove(&branch);
        self.summaries.drafts.compared.remove(&branch);
        self.summaries.drafts.waiting.insert(branch, drafted);
        self.emit(Event::Summary(SummaryEvent::Draft { branch, draft: Some(shown.clone()) }));
        shown
    }

    /// Handles the acts that are answered immediately.
    pub(crate) fn act_on_summary(&mut self, branch: BranchId, act: SummaryAct) -> Result<Answer, Failure> {
        if !matches!(act, SummaryAct::List | SummaryAct::Stats) {
            self.sync_draft(branch);
        }
        match act {
            SummaryAct::Draft { .. } => Err(Failure::user("A draft needs its own request.")),
            SummaryAct::Show => Ok(SummaryAnswer::Draft(self.summaries.shown_draft(branch)).into()),
            SummaryAct::Keep { draft, items } => self.keep_items(branch, draft, &items),
            SummaryAct::KeepAll { draft } => self.keep_all(branch, draft, u32::MAX),
            SummaryAct::Unkeep { draft, item } => self.drop_kept_item(branch, draft, item),
            SummaryAct::Edit { draft, text } => {
                let kept = self.summaries.waiting(branch, draft)?.draft.summary.kept.clone();
                self.recompose(branch, draft, Some(text), kept)
            }
            SummaryAct::Accept { draft } => self.accept(branch, draft),
            SummaryAct::Reject => self.reject(branch),
            SummaryAct::Stop => self.stop_draft(branch),
            SummaryAct::UndoNewest { kind } => self.undo_newest_summary(branch, kind),
            SummaryAct::TakeBack { summary } => self.undo_summary(branch, summary),
            SummaryAct::Rewrite { summary, text } => self.rewrite(branch, summary, &text),
            SummaryAct::List => self.list_summaries(branch),
            SummaryAct::Stats => self.summary_stats(branch),
        }
    }

    fn keep_items(&mut self, branch: BranchId, draft: u64, items: &[usize]) -> Result<Answer, Failure> {
        let drafted = self.summaries.waiting(branch, draft)?;
        let mut kept = drafted.draft.summary.kept.clone();
        let found = items.iter().map(|at| {
            let gone = || Failure::user(format!("The draft has no missing item {}.", at + 1));
            drafted.draft.dropped.get(*at).map(keep::keep).ok_or_else(gone)
        });
        let found: Vec<_> = found.collect::<Result<_, Failure>>()?;
        keep::add(&mut kept, found);
        self.recompose(branch, draft, None, kept)
    }

    /// Keeps the missing items that fit, in at most `percent` of the tokens that the draft has.
    pub(crate) fn keep_all(&mut self, branch: BranchId, draft: u64, percent: u32) -> Result<Answer, Failure> {
        let drafted = self.summaries.waiting(branch, draft)?;
        let encoding = self.rules(&self.sessions.branch(branch)?)?.model.encoding;
        let count = |text: &str| self.setup.counter.count(encoding, text);
        let text = drafted.draft.summary.text.clone().unwrap_or_default();
        let mut kept = drafted.draft.summary.kept.clone();
        let heading = if kept.is_empty() { count(&format!("\n\n{}\n", keep::KEPT)) } else { 0 };
        let most = u64::from(drafted.draft.summary.tokens) * u64::from(percent) / 100;
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let room = drafted.room().min(most).saturating_sub(heading);
        keep::add(&mut kept, keep::fill(&drafted.wanted, &text, room, &count));
        self.recompose(branch, draft, None, kept)
    }

    fn drop_kept_item(&mut self, branch: BranchId, draft: u64, item: usize) -> Result<Answer, Failure> {
        let mut kept = self.summaries.waiting(branch, draft)?.draft.summary.kept.clone();
        if item >= kept.len() {
            return Err(Failure::user(format!("The draft keeps no item {}.", item + 1)));
        }
        kept.remove(item);
        self.recompose(branch, draft, None, kept)
    }

    /// Composes the draft again with another body or other kept items. A body that a person changed counts as the
    /// person's.
    fn recompose(
        &mut self,
        branch: BranchId,
        draft: u64,
        body: Option<String>,
        kept: Vec<KeptSentence>,
    ) -> Result<Answer, Failure> {
        let encoding = self.rules(&self.sessions.branch(branch)?)?.model.encoding;
        let counter = self.setup.counter.clone();
        let drafted = self.summaries.waiting(branch, draft)?;
        let changed = body.as_ref().is_some_and(|body| body.trim() != drafted.draft.body.trim());
        let source = if changed { SummarySource::User } else { drafted.draft.summary.source };
        let body = body.unwrap_or_else(|| drafted.draft.body.clone());
        let before = drafted.draft.summary.id;
        let fresh = drafted.composed(body, kept, source, &|text| counter.count(encoding, text))?;
        keep_changed_draft(&self.store, &self.sessions.branch(branch)?, &fresh, before)?;
        Ok(SummaryAnswer::Draft(Some(self.show_draft(branch, fresh))).into())
    }

    /// Stores the draft as a summary and uses it on the branch.
    pub(crate) fn accept(&mut self, id: BranchId, draft: u64) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let summary = self.summaries.waiting(id, draft)?.draft.summary.clone();
        if !self.sessions.sources_unchanged(&branch, &summary) {
            return Err(Failure::new(FailureKind::Stale, "The conversation has changed since the draft was written.")
                .kept("Nothing was changed.")
                .todo("Draft the summary again."));
        }
        let after = self.sessions.summaries_with(&branch, &summary);
        let turns = turns_in_words(summary.turns);
        let what = format!("summarized {turns}");
        let put =
            Write::PutSummary { session: branch.session, summary: Box::new(summary.clone()), at: self.setup.now() };
        let mut writes = ended_drafts(&self.store, &self.summaries, id, &summary)?;
        writes.push(put);
        self.use_summaries(&branch, what, after, writes, |core| {
            if let Ok(session) = core.sessions.of_branch_mut(id) {
                session.summaries.insert(summary.id, LoadedSummary::new(summary));
            }
        })?;
        self.summaries.drafts.waiting.remove(&id);
        self.emit(Event::Summary(SummaryEvent::Draft { branch: id, draft: None }));
        Ok(Answer::Done(format!("Accepted the summary of {turns}; u undoes it.")))
    }

    /// Rejects a draft; its turns are not summarized automatically again.
    fn reject(&mut self, id: BranchId) -> Result<Answer, Failure> {
        let making =
            self.summaries.drafts.making.get(&id).filter(|making| making.automatic).map(|making| making.reach.clone());
        let waiting = self.summaries.drafts.waiting.get(&id).map(|drafted| {
            let summary = &drafted.draft.summary;
            ((summary.lane.clone(), summary.tip().unwrap_or_default()), drafted.stored.then_some(summary.id))
        });
        if !self.drop_draft(id) {
            return Err(no_draft());
        }
        let (waiting, stored) = waiting.unzip();
        if let (Ok(branch), Some((lane, tip))) = (self.sessions.branch(id), waiting.or(making)) {
            record_rejection(&self.sessions, &self.store, &branch, &lane, tip);
        }
        if let Some(stored) = stored.flatten() {
            delete_stored_draft(&self.store, id, stored);
        }
        Ok(Answer::Done("The draft is discarded; nothing was changed.".into()))
    }

    /// Stops a draft that is being written.
    fn stop_draft(&mut self, id: BranchId) -> Result<Answer, Failure> {
        let making =
            self.summaries.drafts.making.remove(&id).ok_or_else(|| Failure::user("No summary is being written."))?;
        making.cancel.cancel();
        if let (true, Ok(branch)) = (making.automatic, self.sessions.branch(id)) {
            record_rejection(&self.sessions, &self.store, &branch, &making.reach.0, making.reach.1);
        }
        self.emit(Event::Summary(SummaryEvent::Draft { branch: id, draft: self.summaries.shown_draft(id) }));
        Ok(Answer::Done("Stopped; nothing was changed.".into()))
    }

    /// Drops a draft from memory and stops one that is being written. Returns whether there was one.
    fn drop_draft(&mut self, branch: BranchId) -> bool {
        let making = self.summaries.drafts.making.remove(&branch);
        if let Some(making) = &making {
            making.cancel.cancel();
        }
        let was = self.summaries.drafts.forget(branch) || making.is_some();
        if was {
            self.emit(Event::Summary(SummaryEvent::Draft { branch, draft: None }));
        }
        was
    }

    /// Drops the drafts of branches from memory, because their messages may no longer exist. Drafts of other messages
    /// are restored from the store.
    pub(crate) fn drop_drafts(&mut self, branches: &[BranchId]) {
        for branch in branches {
            self.drop_draft(*branch);
            self.summaries.drafts.unchecked.insert(*branch);
        }
    }
}

impl Summaries {
    fn shown_draft(&self, branch: BranchId) -> Option<Arc<SummaryDraft>> {
        self.drafts.waiting.get(&branch).map(|drafted| Arc::new(drafted.shown()))
    }

    pub(crate) fn waiting(&self, branch: BranchId, draft: u64) -> Result<&PendingDraft, Failure> {
        let found = self.drafts.waiting.get(&branch).filter(|drafted| drafted.draft.number == draft);
        found.ok_or_else(|| {
            Failure::new(FailureKind::Stale, "That draft no longer exists.").todo("Draft the summary again.")
        })
    }
}
