//! Drafts in the store, where they wait for a decision across programs: storing one, restoring it with its sources,
//! copying it to a fork, and hiding it while its sources differ from the sources that were read.
//! Not for: acts on a draft (`drafts`), or writing one (`writer`).

use super::draft_text::PendingDraft;
use super::writer::Job;
use crate::domain::base::{BranchId, Failure, Hash};
use crate::domain::conversation::{Branch, Mark, MarkKind, NodeHead};
use crate::domain::summary::{SourceTurn, StoredDraft, Summary, SummaryAuthor};
use crate::engine::api::{Event, SummaryEvent};
use crate::engine::calls::auxiliary_call::auxiliary_call;
use crate::engine::core::Core;
use crate::engine::plans::sources::summaries::{LoadedSummary, SummaryView};
use crate::engine::sessions::state::Sessions;
use crate::engine::summaries::automatic::is_decided;
use crate::engine::summaries::candidates::{ready, summary_limit};
use crate::engine::summaries::state::Summaries;
use crate::engine::turns::state::Turns;
use crate::store::Store;
use crate::store::types::{StoreError, Write};

impl Core {
    /// Brings the draft of a branch in line with the store and with the conversation: drops a draft that another
    /// program decided on or whose sources changed, and restores a waiting draft. A single command restores it
    /// immediately, the workbench on a thread.
    pub(crate) fn sync_draft(&mut self, id: BranchId) {
        if self.summaries.drafts.making.contains_key(&id) {
            return;
        }
        if let Err(failure) = self.try_sync_draft(id) {
            tracing::debug!(%failure, "a summary draft was not read");
        }
    }

    fn try_sync_draft(&mut self, id: BranchId) -> Result<(), Failure> {
        self.hide_changed_draft(id);
        if let Some(drafted) = self.summaries.drafts.waiting.get(&id) {
            if !drafted.stored || self.store.summary_draft_id(id)? == Some(drafted.draft.summary.id) {
                return Ok(());
            }
            self.hide_draft(id);
        }
        let branch = self.sessions.branch(id)?;
        let (own, found) = match self.store.summary_draft(id)? {
            Some(draft) => (true, Some(draft)),
            None => (false, inherited_draft(&self.sessions, &self.store, &branch)?),
        };
        match found {
            Some(draft) if self.sessions.sources_unchanged(&branch, &draft.summary) => {
                self.restore_draft(&branch, draft, own)
            }
            Some(draft) => {
                self.summaries.drafts.hidden.insert(id, draft.summary);
                Ok(())
            }
            None => {
                self.summaries.drafts.hidden.remove(&id);
                Ok(())
            }
        }
    }

    /// Compares the drafts of changed branches with their sources: hides drafts whose sources changed, and shows hidden
    /// drafts whose sources match the read sources again. Called after every message to the engine's thread; single
    /// commands compare a draft when they use it.
    pub(crate) fn compare_drafts(&mut self) {
        if self.setup.patient {
            return;
        }
        for id in self.summaries.drafts.branches() {
            let revision = self.plans.revision(id);
            let drafts = &mut self.summaries.drafts;
            if drafts.making.contains_key(&id) || drafts.compared.insert(id, revision) == Some(revision) {
                continue;
            }
            if self.hide_changed_draft(id) {
                self.summaries.drafts.unchecked.insert(id);
            } else if may_return(&self.sessions, &self.summaries, id) {
                self.sync_draft(id);
            }
        }
    }

    /// Restores a stored draft: reads its sources and finds the missing facts again. `own` is whether it is stored for
    /// this branch.
    fn restore_draft(&mut self, branch: &Branch, draft: StoredDraft, own: bool) -> Result<(), Failure> {
        let rules = self.rules(branch)?;
        let turns = sources_of(&self.sessions, &self.turns, branch, &draft.summary)?;
        let users = turns.iter().map(|(turn, _)| turn.user).collect();
        let job = Job {
            number: self.summaries.drafts.next_number(),
            ticket: None,
            kind: draft.summary.kind,
            lane: draft.summary.lane.clone(),
            parent: None,
            most: summary_limit(&self.sessions, &self.setup, branch, &rules, &users)?,
            turns,
            stays: draft.stays.clone(),
            by: SummaryAuthor::Extractive,
            cause: draft.cause.clone(),
            restored: Some((Box::new(draft), own)),
            auxiliary_call: auxiliary_call(&self.setup, &self.store, branch, rules, None),
            events: self.events.clone(),
        };
        self.write_draft(job);
        Ok(())
    }

    /// Hides the draft of a branch if its sources changed. Returns whether it did. It stays in the store until another
    /// draft is written, so that it reappears when the change is undone.
    fn hide_changed_draft(&mut self, id: BranchId) -> bool {
        let Some(drafted) = self.summaries.drafts.waiting.get(&id) else { return false };
        let unchanged = self
            .sessions
            .branch(id)
            .is_ok_and(|branch| self.sessions.sources_unchanged(&branch, &drafted.draft.summary));
        if !unchanged {
            let summary = drafted.draft.summary.clone();
            self.hide_draft(id);
            self.summaries.drafts.hidden.insert(id, summary);
        }
        !unchanged
    }

    fn hide_draft(&mut self, branch: BranchId) {
        if self.summaries.drafts.forget(branch) {
            self.emit(Event::Summary(SummaryEvent::Draft { branch, draft: None }));
        }
    }
}

/// Returns the writes that delete the drafts made obsolete by a decision on `summary`: the draft itself, and a
/// stored one of the same turns' kind and lane.
pub(crate) fn ended_drafts(
    store: &Store,
    summaries: &Summaries,
    id: BranchId,
    summary: &Summary,
) -> Result<Vec<Write>, Failure> {
    let stored = summaries.drafts.waiting.get(&id).is_some_and(|drafted| drafted.stored);
    if stored {
        return Ok(vec![Write::DeleteDraft { branch: id, expect: summary.id }]);
    }
    let same = |old: &StoredDraft| old.summary.kind == summary.kind && old.summary.lane == summary.lane;
    let old = store.summary_draft(id)?.filter(same);
    Ok(old.map(|old| Write::DeleteDraft { branch: id, expect: old.id() }).into_iter().collect())
}

/// Whether the sources of a hidden draft are as they were read.
fn may_return(sessions: &Sessions, summaries: &Summaries, id: BranchId) -> bool {
    let hidden = summaries.drafts.hidden.get(&id).zip(sessions.branch(id).ok());
    hidden.is_some_and(|(summary, branch)| sessions.sources_unchanged(&branch, summary))
}

/// Returns the turns that a summary covers, each with the heads of the messages that were read.
fn sources_of(
    sessions: &Sessions,
    turns: &Turns,
    branch: &Branch,
    summary: &Summary,
) -> Result<Vec<(SourceTurn, Vec<NodeHead>)>, Failure> {
    let tree = &sessions.of_branch(branch.id)?.tree;
    let mut known = ready(sessions, turns, branch, summary.kind)?.turns;
    let mut found = Vec::new();
    for cover in &summary.covers {
        let Some(at) = known.iter().position(|(turn, _)| turn.user == cover.user) else { continue };
        let (turn, _) = known.swap_remove(at);
        let heads = cover.nodes.iter().filter_map(|(key, _)| tree.by_key(*key)).map(|slot| tree.head(slot).clone());
        found.push((SourceTurn { stays: None, ..turn }, heads.collect()));
    }
    Ok(found)
}

/// Returns the nearest ancestor's draft, unless it was decided on this branch.
fn inherited_draft(sessions: &Sessions, store: &Store, branch: &Branch) -> Result<Option<StoredDraft>, Failure> {
    let session = sessions.of_branch(branch.id)?;
    let mut parent = branch.parent;
    for _ in 0..session.branches.len() {
        let Some(above) = parent.and_then(|id| session.branch(id).ok()) else { break };
        if let Some(draft) = store.summary_draft(above.id)? {
            let copied = StoredDraft { branch: branch.id, ..draft };
            return Ok(Some(copied).filter(|draft| !is_decided(sessions, store, branch, &draft.summary)));
        }
        parent = above.parent;
    }
    Ok(None)
}

/// Stores a new draft that waits on a branch, in place of a draft whose sources changed; a person's draft also
/// replaces a waiting draft. Returns false if another program's draft waits there, which then counts instead of an
/// automatic one.
pub(crate) fn keep_new_draft(
    sessions: &mut Sessions,
    store: &Store,
    id: BranchId,
    drafted: &mut PendingDraft,
    automatic: bool,
) -> bool {
    if store.read_only() || drafted.stored {
        return true;
    }
    let put = sessions.branch(id).and_then(|branch| {
        let old = store.summary_draft(id)?;
        if automatic && old.as_ref().is_some_and(|old| sessions.sources_unchanged(&branch, &old.summary)) {
            return Ok(Some(StoreError::Moved));
        }
        Ok(store.write(vec![put_draft(&branch, drafted, old.map(|old| old.id()))]).err())
    });
    match put {
        Ok(None) => drafted.stored = true,
        Ok(Some(StoreError::Moved)) if automatic => return false,
        Ok(Some(failure)) => tracing::debug!(%failure, "a draft was not stored"),
        Err(failure) => tracing::debug!(%failure, "a draft was not stored"),
    }
    true
}

/// Stores a changed draft in place of the version `before`.
pub(crate) fn keep_changed_draft(
    store: &Store,
    branch: &Branch,
    now: &PendingDraft,
    before: Hash,
) -> Result<(), Failure> {
    if !now.stored || now.draft.summary.id == before {
        return Ok(());
    }
    Ok(store.write(vec![put_draft(branch, now, Some(before))])?)
}

/// Deletes a stored draft of a branch. A failure changes nothing: another program decided first.
pub(crate) fn delete_stored_draft(store: &Store, branch: BranchId, expect: Hash) {
    if let Err(failure) = store.write(vec![Write::DeleteDraft { branch, expect }]) {
        tracing::debug!(%failure, "a draft was not deleted");
    }
}

impl Sessions {
    /// Whether the messages that a draft read are on the path, unchanged, and not excluded for longer than one call. A
    /// turn that was pinned since is sent beside the summary.
    pub(super) fn sources_unchanged(&self, branch: &Branch, summary: &Summary) -> bool {
        let lasting = branch.marks.iter().filter(|mark| mark.kind != MarkKind::ExcludeOnce);
        self.reads_the_same(branch, summary, &lasting.cloned().collect::<Vec<Mark>>())
    }

    /// Whether the messages that a draft read are on the path, unchanged, and not excluded by these marks.
    pub(crate) fn reads_the_same(&self, branch: &Branch, summary: &Summary, marks: &[Mark]) -> bool {
        let Ok(session) = self.of_branch(branch.id) else { return false };
        let path = session.path(branch);
        let held = LoadedSummary::new(summary.clone());
        let position = SummaryView { session, path: &path, marks, lane: None }.position(&held);
        let same = |(key, content): &(Hash, Hash)| {
            session.tree.by_key(*key).is_some_and(|slot| session.tree.head(slot).content == Some(*content))
        };
        position.on_path && position.source.is_none() && summary.covers.iter().flat_map(|cover| &cover.nodes).all(same)
    }
}

fn put_draft(branch: &Branch, drafted: &PendingDraft, expect: Option<Hash>) -> Write {
    Write::PutDraft { session: branch.session, draft: Box::new(StoredDraft::of(&drafted.draft)), expect }
}
