//! Undo and redo: applies the inverse of an operation's changes if the current state is still as the operation left it,
//! and skips marks that calls have used up.
//! Not for: making operations (`marks`), or which operations are skipped because of later messages (`undo_skips`).

use super::file_notes;
use super::undo_skips::{Skip, Skipped, uncapitalized};
use crate::domain::base::{BranchId, Failure, FailureKind, Fields, Hash, NodeId};
use crate::domain::conversation::{Actor, Atom, Branch, Change, Mark, Operation};
use crate::domain::planning::Anchor;
use crate::engine::api::{Answer, Event, SessionEvent};
use crate::engine::core::Core;
use crate::engine::sessions::memory::{dismissal_steps, memory_is_current};
use crate::engine::sessions::state::Sessions;
use crate::engine::summaries::automatic::record_undone_summaries;
use crate::engine::turns::consent::revert_files;
use crate::engine::turns::state::Turns;
use crate::store::Store;
use crate::store::types::Write;

impl Core {
    /// Undoes the newest operation of the session that is not undone and has something left to undo, or redoes the oldest
    /// undone operation that has something left to redo.
    pub(crate) fn undo_or_redo(&mut self, undoing: bool) -> Result<Answer, Failure> {
        let mut ops = self.store.ops(self.sessions.current()?.card.id)?;
        ops.retain(|op| op.undone != undoing && !op.changes.is_empty());
        if undoing {
            ops.reverse();
        }
        let (act, done) = if undoing { ("undo", "undone") } else { ("redo", "redone") };
        let mut skipped = Skipped::default();
        for op in ops {
            let wanted: Vec<Change> =
                if undoing { op.changes.iter().rev().map(inverse).collect() } else { op.changes.clone() };
            if by_program(&op) && wanted.iter().any(|change| self.ensure_unchanged_since(change, undoing).is_err()) {
                continue;
            }
            if let Some(reason) = self.sessions.strands_messages(&op, &wanted, undoing) {
                skipped.stranding.push(reason);
                continue;
            }
            let Remaining { changes, used_up } = self.sessions.remaining(wanted);
            if changes.is_empty() {
                skipped.used_up.push(uncapitalized(&op.what));
                continue;
            }
            if changes.iter().all(|change| self.sessions.is_on_archived_branch(change)) {
                skipped.stranding.push(Skip::new("its branch is archived", &op));
                continue;
            }
            // What changed since stays, and the operations before it can be undone. An answer that is arriving is not
            // such a change: the undo is refused until it has ended.
            let is_changed = |change: &&Change| {
                self.ensure_unchanged_since(change, undoing).is_err_and(|failure| failure.kind == FailureKind::Stale)
            };
            let passes = self.turns.live.is_empty() || !skipped.stranding.is_empty();
            if let Some(change) = changes.iter().find(is_changed).filter(|_| passes) {
                skipped.stranding.push(self.sessions.changed_since(&op, change));
                continue;
            }
            if let Some(failure) = self.carry_out(&op, &changes, undoing)? {
                skipped.stranding.push(Skip::new(failure.what.trim_end_matches('.'), &op));
                continue;
            }
            let sentence = skipped.sentence(done, &op.what);
            return Ok(Answer::Done(if undoing {
                self.undone(&op, &sentence, used_up)
            } else {
                self.sessions.redone(&op, sentence)
            }));
        }
        Ok(Answer::Done(skipped.nothing_left(act)))
    }

    /// Records that the summaries of an operation were undone. Returns the answer to the undo, which begins with
    /// `sentence`.
    fn undone(&self, op: &Operation, sentence: &str, used_up: bool) -> String {
        record_undone_summaries(&self.sessions, &self.store, &op.changes);
        let used_up = if used_up { " A call had used the mark; the previous mark is restored." } else { "" };
        let archived = self.sessions.archived_messages(op);
        format!("{sentence}{used_up}{archived} U redoes it.")
    }

    /// Names the operation in the failure of an undo or redo whose `change` cannot be made.
    fn refusal(&self, failure: Failure, op: &Operation, change: &Change, undone: bool) -> Failure {
        if failure.kind != FailureKind::Stale {
            return failure;
        }
        let done = if undone { "undone" } else { "redone" };
        Failure { what: self.sessions.changed_since(op, change).sentence(done), ..failure }
    }

    /// Makes the changes of an undo or redo in the store and in memory. If a file cannot be changed back (it has changed
    /// since, or tools are off), changes nothing and returns why.
    fn carry_out(&mut self, op: &Operation, changes: &[Change], undone: bool) -> Result<Option<Failure>, Failure> {
        for change in changes {
            self.ensure_unchanged_since(change, undone).map_err(|failure| self.refusal(failure, op, change, undone))?;
        }
        let anchors = anchors_to_restore(&self.store, changes)?;
        let mut writes: Vec<Write> = changes.iter().flat_map(|change| self.writes_for(change, undone)).collect();
        writes.extend(changes.iter().flat_map(|change| dismissal_steps(&self.sessions, &self.setup, change)));
        writes.extend(changes.iter().filter_map(|change| self.mark_step(change, "undone or redone")));
        writes.push(Write::SetUndone { seq: op.seq, undone });
        for (branch, left, anchor) in &anchors {
            let now = self.sessions.branch(*branch)?.anchor;
            writes.push(Write::SetValue { key: left.clone(), value: serde_json::to_string(&now).ok() });
            writes.push(Write::SetAnchor { branch: *branch, anchor: anchor.clone() });
        }
        let branch = self.sessions.current()?.current;
        let note = file_notes::change(&self.sessions.branch(branch)?, changes, undone);
        writes.extend(note.iter().flat_map(|note| self.writes_for(note, undone)));
        if let Err(failure) = revert_files(&self.setup, &self.store, op.session, changes) {
            return Ok(Some(failure));
        }
        if let Err(error) = self.store.write(writes) {
            let again: Vec<Change> = changes.iter().rev().map(inverse).collect();
            revert_files(&self.setup, &self.store, op.session, &again)?;
            return Err(error.into());
        }
        for (branch, _, anchor) in anchors {
            self.sessions.with_branch(branch, |branch| branch.anchor = anchor);
        }
        for change in changes {
            self.apply(change, !undone);
        }
        if let Some(note) = note {
            self.apply(&note, !undone);
        }
        Ok(None)
    }

    /// Fails unless the current state is the change's starting state.
    fn ensure_unchanged_since(&self, change: &Change, undoing: bool) -> Result<(), Failure> {
        let stands = match change {
            Change::Mark { branch, target, before, .. } => {
                self.sessions.branch(*branch)?;
                same_kind(self.sessions.mark_on(*branch, target).as_ref(), before.as_deref())
            }
            Change::Head { branch, before, .. } => {
                !self.turns.live.contains_key(branch) && self.sessions.branch(*branch)?.head == *before
            }
            Change::Name { branch, before, .. } => self.sessions.branch(*branch)?.name == *before,
            Change::Archived { branch, before, after } => {
                self.sessions.branch(*branch)?.archived == *before
                    && (!after || can_archive(&self.sessions, &self.turns, *branch))
            }
            Change::Forked { branch } => {
                self.sessions.branch(*branch)?.archived != undoing
                    && (!undoing || can_archive(&self.sessions, &self.turns, *branch))
            }
            Change::Overrides { branch, before, .. } => self.sessions.branch(*branch)?.overrides == **before,
            Change::Title { before, .. } => self.sessions.current()?.card.title == *before,
            Change::Summaries { branch, before, .. } => self.sessions.branch(*branch)?.summaries == *before,
            Change::State { .. } | Change::File { .. } => true,
            Change::Tag { session, node, before, .. } => self.sessions.tag_is_current(*session, *node, before.as_ref()),
            Change::Memory { before, after } => memory_is_current(&self.store, before.as_deref(), after.as_deref())?,
        };
        if stands {
            return Ok(());
        }
        Err(Failure::new(FailureKind::Stale, "Not undone: later actions changed it.")
            .todo("Undo the later changes first, or make this change by hand."))
    }

    fn writes_for(&self, change: &Change, undoing: bool) -> Vec<Write> {
        match change {
            Change::Mark { branch, target, after, .. } => {
                let expect = self.sessions.mark_on(*branch, target).map(|mark| mark.revision);
                vec![Write::PutMark { branch: *branch, target: *target, expect, mark: newer(after.as_deref(), expect) }]
            }
            Change::Head { branch, before, after } => {
                vec![Write::MoveHead { branch: *branch, expect: *before, head: *after }]
            }
            Change::Name { branch, after, .. } => vec![Write::RenameBranch { branch: *branch, name: after.clone() }],
            Change::Archived { branch, after, .. } => vec![Write::ArchiveBranch { branch: *branch, archived: *after }],
            Change::Forked { branch } => vec![Write::ArchiveBranch { branch: *branch, archived: undoing }],
            Change::Overrides { branch, after, .. } => {
                vec![Write::SetOverrides { branch: *branch, overrides: after.clone() }]
            }
            Change::Title { after, .. } => {
                let session = self.sessions.current().map(|session| session.card.id);
                session.map(|session| Write::SetTitle { session, title: after.clone() }).into_iter().collect()
            }
            Change::Summaries { branch, before, after } => {
                vec![Write::SetSummaries { branch: *branch, expect: before.clone(), summaries: after.clone() }]
            }
            Change::Tag { session, node, before, after } => {
                vec![Write::PutTag { session: *session, node: *node, expect: before.clone(), tag: after.clone() }]
            }
            Change::Memory { before, after } => self.memory_writes(before.as_deref(), after.as_deref()),
            Change::File { .. } => Vec::new(),
            Change::State { branch, before, after } => {
                let Ok(session) = self.sessions.of_branch(*branch) else { return Vec::new() };
                let states = session.states.iter().filter_map(|state| {
                    let withdrawn = withdrawn(state.version, *before, *after)?;
                    Some(crate::domain::conversation::branch::StateVersion { withdrawn, ..state.clone() })
                });
                states.map(|version| Write::PutState { session: session.card.id, version }).collect()
            }
        }
    }

    /// Applies a change in memory and reports it to the screen. `forward` distinguishes a fork from its undo.
    pub(crate) fn apply(&mut self, change: &Change, forward: bool) {
        let Some(id) = change.branch() else { return self.apply_beyond(change) };
        match change {
            Change::Mark { target, after, .. } => self.sessions.with_branch(id, |branch| {
                let expect = branch.marks.iter().find(|mark| mark.target == *target).map(|mark| mark.revision);
                branch.marks.retain(|mark| mark.target != *target);
                branch.marks.extend(newer(after.as_deref(), expect));
            }),
            Change::Head { after, .. } => self.sessions.with_branch(id, |branch| {
                branch.head = *after;
                branch.seq += 1;
            }),
            Change::Name { after, .. } => self.sessions.with_branch(id, |branch| branch.name.clone_from(after)),
            Change::Archived { after, .. } => self.sessions.with_branch(id, |branch| branch.archived = *after),
            Change::Forked { .. } => self.sessions.with_branch(id, |branch| branch.archived = !forward),
            Change::Overrides { after, .. } => {
                self.sessions.with_branch(id, |branch| branch.overrides = (**after).clone());
            }
            Change::Summaries { after, .. } => {
                self.sessions.with_branch(id, |branch| branch.summaries.clone_from(after));
            }
            Change::State { before, after, .. } => self.swap_states(id, *before, *after),
            Change::Title { .. } | Change::Memory { .. } | Change::Tag { .. } | Change::File { .. } => {}
        }
        self.leave_archived(id);
        self.show_branch(id);
    }

    fn swap_states(&mut self, id: BranchId, before: Option<u32>, after: Option<u32>) {
        if let Ok(session) = self.sessions.of_branch_mut(id) {
            for state in &mut session.states {
                state.withdrawn = withdrawn(state.version, before, after).unwrap_or(state.withdrawn);
            }
            session.refresh_state(id);
        }
        if let Ok(branch) = self.sessions.branch(id) {
            self.emit(Event::Session(SessionEvent::State { branch: id, version: branch.state, missing: false }));
        }
    }

    /// Leaves an archived branch for its parent, or else for any open one.
    fn leave_archived(&mut self, id: BranchId) {
        let Ok(session) = self.sessions.of_branch_mut(id) else { return };
        let Ok(branch) = session.branch(id) else { return };
        if session.current != id || !branch.archived {
            return;
        }
        let open = |wanted: &Branch| !wanted.archived;
        let parent = branch.parent.and_then(|p| session.branches.iter().find(|b| b.id == p && open(b)));
        let next = parent.or_else(|| session.branches.iter().find(|b| open(b))).map(|b| b.id);
        if let Some(next) = next {
            session.current = next;
            let _ = self.store.write(vec![Write::UseBranch(next)]);
            self.show_branch(next);
        }
    }

    fn apply_beyond(&mut self, change: &Change) {
        if matches!(change, Change::Memory { .. }) {
            return self.memories_changed();
        }
        if let Change::Tag { session, node, after, .. } = change {
            return self.put_tag(*session, *node, after.as_ref());
        }
        let Change::Title { after, .. } = change else { return };
        let Some(session) = self.sessions.current_id.and_then(|id| self.sessions.open.get_mut(&id)) else { return };
        session.card.title.clone_from(after);
        let card = session.card.clone();
        self.emit(Event::Session(SessionEvent::Card(card)));
    }
}

/// Whether a branch can be archived: no answer is arriving on it, and another branch is open.
fn can_archive(sessions: &Sessions, turns: &Turns, branch: BranchId) -> bool {
    let others = sessions.of_branch(branch).is_ok_and(|s| s.branches.iter().any(|b| !b.archived && b.id != branch));
    others && !turns.live.contains_key(&branch)
}

/// Returns the window anchors to restore for heads that move back and for changed summaries: the branch, the
/// settings key of the current anchor, and the anchor to restore.
#[deny(clippy::wildcard_enum_match_arm)]
fn anchors_to_restore(store: &Store, changes: &[Change]) -> Result<Vec<AnchorToRestore>, Failure> {
    let mut found = Vec::new();
    for change in changes {
        let (branch, left, key) = match change {
            Change::Head { branch, before, after } => {
                (branch, anchor_key(*branch, *before), anchor_key(*branch, *after))
            }
            Change::Summaries { branch, before, after } => {
                (branch, summaries_key(*branch, before), summaries_key(*branch, after))
            }
            Change::Mark { .. }
            | Change::Name { .. }
            | Change::Archived { .. }
            | Change::Forked { .. }
            | Change::Overrides { .. }
            | Change::Title { .. }
            | Change::State { .. }
            | Change::Memory { .. }
            | Change::Tag { .. }
            | Change::File { .. } => continue,
        };
        if let Some(kept) = store.setting(&key)? {
            found.push((*branch, left, serde_json::from_str(&kept).ok().flatten()));
        }
    }
    Ok(found)
}

impl Sessions {
    /// Whether a change concerns a mark on an archived branch, where nobody would see the undo.
    fn is_on_archived_branch(&self, change: &Change) -> bool {
        let Change::Mark { branch, .. } = change else { return false };
        self.branch(*branch).is_ok_and(|branch| branch.archived)
    }

    /// The changes that remain to be carried out. A used-up mark for one call no longer exists: if it had replaced
    /// another mark, that mark is restored; otherwise nothing remains to be done.
    fn remaining(&self, changes: Vec<Change>) -> Remaining {
        let mut remaining = Remaining::default();
        for change in changes {
            let is_used_up = self.is_used_up(&change);
            match change {
                Change::Mark { branch, target, after, .. } if is_used_up => {
                    remaining.used_up = true;
                    let before = self.mark_on(branch, &target).map(Box::new);
                    let lasting = after.filter(|mark| !mark.kind.once());
                    let put = |mark| Change::Mark { branch, target, before, after: Some(mark) };
                    remaining.changes.extend(lasting.map(put));
                }
                change => remaining.changes.push(change),
            }
        }
        remaining
    }

    /// Whether a change starts from a person's mark for one call that was used up, so that the item now has no mark, or
    /// a mark that the program made since.
    fn is_used_up(&self, change: &Change) -> bool {
        let Change::Mark { branch, target, before: Some(before), .. } = change else { return false };
        let of_person = before.kind.once() && before.by != Actor::Engine;
        of_person && self.mark_on(*branch, target).is_none_or(|mark| mark.by == Actor::Engine)
    }

    fn mark_on(&self, branch: BranchId, target: &Atom) -> Option<Mark> {
        self.branch(branch).ok()?.marks.into_iter().find(|mark| mark.target == *target)
    }

    /// Changes a branch in memory.
    pub(crate) fn with_branch(&mut self, id: BranchId, change: impl FnOnce(&mut Branch)) {
        if let Ok(session) = self.of_branch_mut(id)
            && let Some(branch) = session.branch_mut(id)
        {
            change(branch);
        }
    }
}

/// The changes of an operation that can still be carried out.
#[derive(Default)]
struct Remaining {
    changes: Vec<Change>,
    /// Whether a call has used up one of its marks.
    used_up: bool,
}

/// A branch, the key under which an anchor of its window is stored, and that anchor.
type AnchorToRestore = (BranchId, String, Option<Anchor>);

fn anchor_key(branch: BranchId, head: Option<NodeId>) -> String {
    format!("anchor:{branch}:{}", head.map(|head| head.to_string()).unwrap_or_default())
}

fn summaries_key(branch: BranchId, summaries: &[Hash]) -> String {
    format!("anchor:{branch}:capsules:{}", Fields::new("capsules").json(summaries).finish().short())
}

/// Returns whether an anchor of the window was stored for these summaries, and the anchor.
pub(crate) fn stored_anchor_for_summaries(
    store: &Store,
    branch: BranchId,
    summaries: &[Hash],
) -> Result<(bool, Option<Anchor>), Failure> {
    let kept = store.setting(&summaries_key(branch, summaries))?;
    Ok((kept.is_some(), kept.and_then(|kept| serde_json::from_str(&kept).ok().flatten())))
}

/// Returns the write that stores the window's anchor for these summaries.
pub(crate) fn store_anchor_for_summaries(branch: BranchId, summaries: &[Hash], anchor: Option<&Anchor>) -> Write {
    Write::SetValue { key: summaries_key(branch, summaries), value: serde_json::to_string(&anchor).ok() }
}

/// Returns the write that stores the window's anchor for a head.
pub(crate) fn store_anchor_for_head(branch: BranchId, head: Option<NodeId>, anchor: Option<&Anchor>) -> Write {
    Write::SetValue { key: anchor_key(branch, head), value: serde_json::to_string(&anchor).ok() }
}

/// Whether two marks are of the same kind; a lease that has counted down is still the same lease.
fn same_kind(a: Option<&Mark>, b: Option<&Mark>) -> bool {
    let kind = |mark: Option<&Mark>| mark.map(|mark| std::mem::discriminant(&mark.kind));
    kind(a) == kind(b)
}

/// Whether an operation changed only the program's own marks. Undo skips it if these marks have expired.
fn by_program(op: &Operation) -> bool {
    let own = |mark: &Option<Box<Mark>>| mark.as_ref().is_none_or(|mark| mark.by == Actor::Engine);
    op.changes.iter().all(|change| matches!(change, Change::Mark { before, after, .. } if own(before) && own(after)))
}

fn newer(mark: Option<&Mark>, than: Option<u64>) -> Option<Mark> {
    mark.map(|mark| Mark { revision: than.unwrap_or(0).max(mark.revision) + 1, ..mark.clone() })
}

fn inverse(change: &Change) -> Change {
    match change.clone() {
        Change::Mark { branch, target, before, after } => Change::Mark { branch, target, before: after, after: before },
        Change::Head { branch, before, after } => Change::Head { branch, before: after, after: before },
        Change::Name { branch, before, after } => Change::Name { branch, before: after, after: before },
        Change::Archived { branch, before, after } => Change::Archived { branch, before: after, after: before },
        Change::Overrides { branch, before, after } => Change::Overrides { branch, before: after, after: before },
        Change::Title { before, after } => Change::Title { before: after, after: before },
        Change::Summaries { branch, before, after } => Change::Summaries { branch, before: after, after: before },
        Change::State { branch, before, after } => Change::State { branch, before: after, after: before },
        Change::Memory { before, after } => Change::Memory { before: after, after: before },
        Change::Tag { session, node, before, after } => Change::Tag { session, node, before: after, after: before },
        Change::File { path, before, after } => Change::File { path, before: after, after: before },
        forked @ Change::Forked { .. } => forked,
    }
}

/// Returns whether a change from one version of the state block to another withdraws (`true`) or restores (`false`)
/// this version; `None` if the change does not involve this version.
fn withdrawn(version: u32, before: Option<u32>, after: Option<u32>) -> Option<bool> {
    let versions = [(before, true), (after, false)];
    versions.iter().find(|(of, _)| *of == Some(version)).map(|(_, withdrawn)| *withdrawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_between_versions_withdraws_one_and_restores_the_other() {
        let all = |before, after| [1, 2, 3].map(|version| withdrawn(version, before, after));
        assert_eq!(all(Some(1), Some(3)), [Some(true), None, Some(false)]);
        assert_eq!(all(Some(3), Some(1)), [Some(false), None, Some(true)]);
        assert_eq!(all(None, Some(2)), [None, Some(false), None]);
        assert_eq!(all(Some(2), None), [None, Some(true), None]);
    }
}
