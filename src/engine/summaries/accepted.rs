//! Accepted summaries: which are in use, undoing one version after the other, their list and statistics.
//! Not for: drafts (`drafts`), or which summaries are sent (`plans::sources::summaries`).

use crate::domain::base::{BranchId, Failure, Hash};
use crate::domain::conversation::{Branch, Change};
use crate::domain::planning::Mode;
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{Stats, Summary, SummaryCard, SummaryKind};
use crate::engine::api::{Answer, SummaryAnswer};
use crate::engine::branches::undo;
use crate::engine::core::Core;
use crate::engine::plans::sources::summaries::{self, SummaryView};
use crate::engine::sessions::state::Sessions;
use crate::engine::summaries::automatic::record_rejection;
use crate::store::types::Write;
use std::sync::Arc;

impl Core {
    /// Replaces the summaries in use on a branch, with additional writes `first` in the same transaction (undoable).
    /// `known` is called after the write and before the change is applied.
    pub(crate) fn use_summaries(
        &mut self,
        branch: &Branch,
        what: String,
        after: Vec<Hash>,
        first: Vec<Write>,
        known: impl FnOnce(&mut Self),
    ) -> Result<(), Failure> {
        let before = branch.summaries.clone();
        // Undoing a version restores the window that the branch had before it, if a summary was sent since.
        let older =
            before.len() > after.len() || after.last().is_some_and(|last| self.sessions.is_older(branch, *last));
        let older = older && branch.anchor.as_ref().is_some_and(|anchor| !anchor.summaries.is_empty());
        let (known_anchor, anchor) =
            if older { undo::stored_anchor_for_summaries(&self.store, branch.id, &after)? } else { (false, None) };
        let change = Change::Summaries { branch: branch.id, before: before.clone(), after: after.clone() };
        let mut writes = first;
        writes.push(Write::SetSummaries { branch: branch.id, expect: before.clone(), summaries: after });
        writes.push(undo::store_anchor_for_summaries(branch.id, &before, branch.anchor.as_ref()));
        writes.push(self.setup.operation(branch.session, what, vec![change.clone()]));
        if known_anchor {
            writes.push(Write::SetAnchor { branch: branch.id, anchor: anchor.clone() });
        }
        self.store.write(writes)?;
        known(self);
        if known_anchor {
            self.sessions.with_branch(branch.id, |branch| branch.anchor = anchor);
        }
        self.apply(&change, true);
        Ok(())
    }

    /// Undoes the newest summary of a kind.
    pub(crate) fn undo_newest_summary(&mut self, id: BranchId, kind: SummaryKind) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let of_kind = |wanted: &&Hash| session.summary(**wanted).is_some_and(|loaded| loaded.summary.kind == kind);
        let newest = branch.summaries.iter().rev().find(of_kind).copied();
        let newest = newest.ok_or_else(|| Failure::user("There is no summary to undo."))?;
        self.undo_summary(id, newest)
    }

    /// Undoes a summary and its later versions.
    pub(crate) fn undo_summary(&mut self, id: BranchId, summary: Hash) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let chains = branch.summaries.iter().map(|top| self.sessions.versions(&branch, *top));
        let chain = chains.into_iter().find(|chain| chain.iter().any(|version| version.id == summary));
        let unused = || Failure::user("That summary is not in use on this branch.").kept("Nothing was changed.");
        let chain = chain.ok_or_else(unused)?;
        let place = chain.iter().position(|version| version.id == summary).unwrap_or(0);
        let earlier = chain.get(place + 1).cloned();
        let mut after = branch.summaries.clone();
        after.retain(|other| *other != chain[0].id);
        after.extend(earlier.as_ref().map(|version| version.id));
        let what = format!("removed the summary of {}", turns_in_words(chain[0].turns));
        self.use_summaries(&branch, what, after, Vec::new(), |_| {})?;
        record_rejection(&self.sessions, &self.store, &branch, &chain[0].lane, chain[0].tip().unwrap_or_default());
        let now = match earlier {
            Some(version) => format!("The summary of {} is in use again", turns_in_words(version.turns)),
            None => "The turns themselves are sent again, as many as fit".into(),
        };
        Ok(Answer::Done(format!("{now}; u undoes it.")))
    }

    pub(crate) fn list_summaries(&self, id: BranchId) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let path = session.path(&branch);
        let view = SummaryView { session, path: &path, marks: &branch.marks, lane: None };
        let mode = self.rules(&branch)?.mode;
        let mut cards = Vec::new();
        for newest in branch.summaries.iter().rev() {
            let included = view.usable(*newest, mode).0.map(|going| going.summary.id);
            let chain = self.sessions.versions(&branch, *newest);
            let versions = chain.len();
            let card = |(place, summary): (usize, Arc<Summary>)| {
                let loaded = session.summary(summary.id)?;
                Some(SummaryCard {
                    state: summaries::state(&view, loaded),
                    active: place == 0,
                    included: Some(summary.id) == included,
                    depth: u32::try_from(versions - 1 - place).unwrap_or(0),
                    summary,
                })
            };
            cards.extend(chain.into_iter().enumerate().filter_map(card));
        }
        Ok(SummaryAnswer::Summaries(cards).into())
    }

    pub(crate) fn summary_stats(&self, id: BranchId) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let used = branch.summaries.iter().filter_map(|id| session.summary(*id)).map(|loaded| &*loaded.summary);
        let used: Vec<&Summary> = used.filter(|summary| summary.text.is_some()).collect();
        let sum = |of: fn(&Summary) -> u32| used.iter().map(|summary| u64::from(of(summary))).sum::<u64>();
        let ratio = (sum(|summary| summary.original_tokens) * 1_000).checked_div(sum(|summary| summary.tokens));
        Ok(SummaryAnswer::Stats(Box::new(Stats {
            budget: self.rules(&branch)?.budget.prompt,
            messages: session.card.messages,
            summaries: u32::try_from(used.len()).unwrap_or(u32::MAX),
            ratio_milli: ratio.and_then(|ratio| u32::try_from(ratio).ok()),
            last: self.store.last_summary_at(branch.session)?,
            ..Stats::default()
        }))
        .into())
    }
}

/// Returns the branch's summaries that apply, in Light: all turns that they cover are on the path, unchanged and not
/// excluded.
pub(crate) fn applicable_summaries(sessions: &Sessions, branch: &Branch) -> Vec<Hash> {
    if branch.summaries.is_empty() {
        return Vec::new();
    }
    let Ok(session) = sessions.of_branch(branch.id) else { return Vec::new() };
    let path = session.path(branch);
    let view = SummaryView { session, path: &path, marks: &branch.marks, lane: None };
    let applies = |id: &&Hash| view.usable(**id, Mode::Light).0.is_some_and(|sent| sent.summary.id == **id);
    branch.summaries.iter().filter(applies).copied().collect()
}

/// Returns a sentence, after a space, about the summaries among `before` that no longer apply to the branch; empty if
/// all of them do.
pub(crate) fn lost_summaries(sessions: &Sessions, branch: &Branch, before: &[Hash]) -> String {
    let now = applicable_summaries(sessions, branch);
    let Ok(session) = sessions.of_branch(branch.id) else { return String::new() };
    let lost = before.iter().filter(|id| !now.contains(id)).filter_map(|id| session.summary(*id));
    let lost: Vec<String> = lost.map(|loaded| turns_in_words(loaded.summary.turns)).collect();
    match &lost[..] {
        [] => String::new(),
        [turns] => {
            format!(" The summary of {turns} no longer applies; its turns are sent again, as many as fit.")
        }
        many => format!(" The summaries of {} no longer apply.", many.join(", ")),
    }
}

impl Sessions {
    /// Whether a summary is the version before a summary that the branch uses.
    fn is_older(&self, branch: &Branch, id: Hash) -> bool {
        let session = self.of_branch(branch.id);
        let parent = |used: &Hash| session.as_ref().ok()?.summary(*used)?.summary.parent;
        branch.summaries.iter().any(|used| parent(used) == Some(id))
    }

    /// Returns a summary and its earlier versions, newest first.
    pub(crate) fn versions(&self, branch: &Branch, top: Hash) -> Vec<Arc<Summary>> {
        let mut chain: Vec<Arc<Summary>> = Vec::new();
        let Ok(session) = self.of_branch(branch.id) else { return chain };
        let mut at = Some(top);
        while let Some(loaded) = at.and_then(|id| session.summary(id)) {
            if chain.iter().any(|version| version.id == loaded.summary.id) {
                break;
            }
            chain.push(loaded.summary.clone());
            at = loaded.summary.parent;
        }
        chain
    }

    /// Returns the summaries that the branch uses once it uses this one.
    pub(crate) fn summaries_with(&self, branch: &Branch, summary: &Summary) -> Vec<Hash> {
        let old = self.in_use(branch, summary.kind, &summary.lane).map(|summary| summary.id);
        let others = branch.summaries.iter().copied().filter(|id| Some(*id) != old && *id != summary.id);
        others.chain([summary.id]).collect()
    }

    /// Returns the summary of a kind that the branch uses in a lane.
    pub(crate) fn in_use(&self, branch: &Branch, kind: SummaryKind, lane: &str) -> Option<Arc<Summary>> {
        let session = self.of_branch(branch.id).ok()?;
        let found = branch.summaries.iter().rev().filter_map(|id| session.summary(*id));
        found.map(|loaded| loaded.summary.clone()).find(|summary| summary.kind == kind && summary.lane == lane)
    }

    /// Whether a summary itself, not only an earlier version of it, is valid on the branch's path.
    pub(crate) fn holds(&self, branch: &Branch, id: Hash) -> bool {
        let Ok(session) = self.of_branch(branch.id) else { return false };
        let path = session.path(branch);
        let view = SummaryView { session, path: &path, marks: &branch.marks, lane: None };
        session
            .summary(id)
            .is_some_and(|loaded| view.position(loaded).source.is_none() && view.position(loaded).on_path)
    }
}
