//! What a person does with summaries: has one drafted, keeps dropped words, edits, accepts, rejects, takes levels back.
//! Not for: writing a draft (`summarise`) or which capsule goes with a call (`summaries`).
//!
//! A draft changes nothing until it is accepted; accepting stores a capsule and which of them the branch uses, as one
//! undoable operation. The turns stay where they are.

use super::api::{Answer, Condense, Event, Ticket};
use super::core::{Core, Inbox};
use super::drafted::Drafted;
use super::summaries::{self, Ground, Held};
use super::summarise::{Job, Made};
use crate::context::condense::{keep, sources};
use crate::domain::branch::Branch;
use crate::domain::capsule::{Capsule, CapsuleKind, CapsuleSource};
use crate::domain::condense::{By, CapsuleCard, CapsuleDraft, SourceTurn, Stats, Stays};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::hash::Hash;
use crate::domain::ids::BranchId;
use crate::domain::mark::{Atom, Mark};
use crate::domain::message::NodeHead;
use crate::domain::model::Backend;
use crate::domain::op::Change;
use crate::domain::tree::{self, Slot};
use crate::store::types::Write;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Drafts that wait, and those that are being made.
#[derive(Default)]
pub(super) struct Drafts {
    waiting: HashMap<BranchId, Drafted>,
    making: HashMap<BranchId, (u64, Arc<AtomicBool>)>,
    last: u64,
}

/// What a draft starts from: the path of a branch and its closed turns.
struct Ready {
    turns: Vec<(SourceTurn, Vec<NodeHead>)>,
    lane: String,
}

impl Core {
    /// Starts a draft; it is answered when it is there.
    pub(super) fn draft_capsule(
        &mut self,
        ticket: Option<Ticket>,
        id: BranchId,
        kind: CapsuleKind,
        up_to: Option<u32>,
        by: By,
    ) -> Result<(), Failure> {
        if !matches!(kind, CapsuleKind::Lane | CapsuleKind::Session) {
            return Err(Failure::user("Only a lane's or the session's older turns are summed up."));
        }
        let branch = self.branch(id)?;
        let rules = self.rules(&branch)?;
        let by = if rules.profile.backend == Backend::Offline { By::Extractive } else { by };
        let provider = match by {
            By::Model => Some(self.setup.servers.provider(&rules.profile)?),
            By::Extractive => None,
        };
        let Ready { turns, lane } = self.ready(&branch, kind)?;
        let parent = self.in_use(&branch, kind, &lane);
        let light: Vec<SourceTurn> = turns.iter().map(|(turn, _)| turn.clone()).collect();
        let already = parent.as_ref().filter(|capsule| self.holds(&branch, capsule.id)).map(|capsule| capsule.turns.1);
        let choice = sources::choose(&light, up_to, already)?;
        self.drafts.last += 1;
        let (number, cancel) = (self.drafts.last, Arc::new(AtomicBool::new(false)));
        if let Some((_, old)) = self.drafts.making.insert(id, (number, cancel.clone())) {
            old.store(true, Ordering::Relaxed);
        }
        let mut turns: Vec<Option<_>> = turns.into_iter().map(Some).collect();
        let job = Job {
            number,
            ticket,
            branch: id,
            session: branch.session,
            kind,
            lane,
            parent,
            turns: choice.covered.iter().filter_map(|at| turns[*at].take()).collect(),
            stays: choice.stays,
            by,
            rules,
            provider,
            store: self.store.clone(),
            counter: self.setup.counter.clone(),
            cancel,
            now: self.now(),
        };
        let inbox = self.inbox.clone();
        job.start(move |made| {
            let _ = inbox.send(Inbox::Condensed(Box::new(made)));
        });
        Ok(())
    }

    /// A draft is there, or came to nothing.
    pub(super) fn drafted(&mut self, made: Made) {
        let Made { number, ticket, branch, result, runs } = made;
        if let Ok(session) = self.session_mut(branch) {
            for run in &runs {
                session.put_run(run);
            }
        }
        for run in runs {
            self.say(Event::Run(Box::new(run)));
        }
        let current = self.drafts.making.get(&branch).is_some_and(|(wanted, _)| *wanted == number);
        if current {
            self.drafts.making.remove(&branch);
        }
        let result = result.and_then(|drafted| {
            if !current {
                return Err(Failure::user("Stopped.").kept("Nothing was changed."));
            }
            Ok(self.put_draft(branch, drafted))
        });
        match (ticket, result) {
            (Some(ticket), result) => self.answer(ticket, result.map(|draft| Answer::Draft(Some(draft)))),
            (None, Err(failure)) => tracing::debug!(%failure, "no summary was drafted"),
            (None, Ok(draft)) => self.say(Event::Notice(format!(
                "A summary of turns {}–{} is drafted; look at it before it is used.",
                draft.capsule.turns.0, draft.capsule.turns.1
            ))),
        }
    }

    fn put_draft(&mut self, branch: BranchId, drafted: Drafted) -> Arc<CapsuleDraft> {
        let shown = Arc::new(CapsuleDraft { warnings: drafted.warnings(), ..drafted.draft.clone() });
        self.drafts.waiting.insert(branch, drafted);
        self.say(Event::Draft { branch, draft: Some(shown.clone()) });
        shown
    }

    /// Everything that is answered at once.
    pub(super) fn condense(&mut self, branch: BranchId, act: Condense) -> Result<Answer, Failure> {
        match act {
            Condense::Draft { .. } => Err(Failure::user("That cannot be asked here.")),
            Condense::Show => Ok(Answer::Draft(
                self.drafts
                    .waiting
                    .get(&branch)
                    .map(|drafted| Arc::new(CapsuleDraft { warnings: drafted.warnings(), ..drafted.draft.clone() })),
            )),
            Condense::Keep { draft, items } => self.keep_items(branch, draft, &items),
            Condense::KeepAll { draft } => self.keep_all(branch, draft),
            Condense::Unkeep { draft, item } => self.unkeep(branch, draft, item),
            Condense::Edit { draft, text } => {
                let kept = self.waiting(branch, draft)?.draft.capsule.kept.clone();
                self.recompose(branch, draft, Some(text), kept)
            }
            Condense::Accept { draft } => self.accept(branch, draft),
            Condense::Reject => self.reject(branch),
            Condense::UndoLevel { kind } => self.undo_level(branch, kind),
            Condense::List => self.list_capsules(branch),
            Condense::Stats => self.memory_stats(branch),
        }
    }

    fn waiting(&self, branch: BranchId, draft: u64) -> Result<&Drafted, Failure> {
        let found = self.drafts.waiting.get(&branch).filter(|drafted| drafted.draft.number == draft);
        found.ok_or_else(|| Failure::new(FailureKind::Stale, "That draft is no longer there.").todo("Draft it again."))
    }

    fn keep_items(&mut self, branch: BranchId, draft: u64, items: &[usize]) -> Result<Answer, Failure> {
        let drafted = self.waiting(branch, draft)?;
        let mut kept = drafted.draft.capsule.kept.clone();
        let found = items.iter().map(|at| {
            let gone = || Failure::user(format!("The draft has no dropped item {}.", at + 1));
            drafted.draft.dropped.get(*at).map(keep::keep).ok_or_else(gone)
        });
        let found: Vec<_> = found.collect::<Result<_, Failure>>()?;
        keep::add(&mut kept, found);
        self.recompose(branch, draft, None, kept)
    }

    fn keep_all(&mut self, branch: BranchId, draft: u64) -> Result<Answer, Failure> {
        let drafted = self.waiting(branch, draft)?;
        let encoding = self.rules(&self.branch(branch)?)?.model.encoding;
        let count = |text: &str| self.setup.counter.count(encoding, text);
        let text = drafted.draft.capsule.text.clone().unwrap_or_default();
        let mut kept = drafted.draft.capsule.kept.clone();
        let heading = if kept.is_empty() { count(&format!("\n\n{}\n", keep::KEPT)) } else { 0 };
        let room = drafted.room().saturating_sub(heading);
        keep::add(&mut kept, keep::fill(&drafted.wanted, &text, room, &count));
        self.recompose(branch, draft, None, kept)
    }

    fn unkeep(&mut self, branch: BranchId, draft: u64, item: usize) -> Result<Answer, Failure> {
        let mut kept = self.waiting(branch, draft)?.draft.capsule.kept.clone();
        if item >= kept.len() {
            return Err(Failure::user(format!("The draft keeps no item {}.", item + 1)));
        }
        kept.remove(item);
        self.recompose(branch, draft, None, kept)
    }

    /// The draft with another body or other kept words. A text that a person changed is the person's.
    fn recompose(
        &mut self,
        branch: BranchId,
        draft: u64,
        body: Option<String>,
        kept: Vec<crate::domain::capsule::Kept>,
    ) -> Result<Answer, Failure> {
        let encoding = self.rules(&self.branch(branch)?)?.model.encoding;
        let counter = self.setup.counter.clone();
        let drafted = self.waiting(branch, draft)?;
        let changed = body.as_ref().is_some_and(|body| body.trim() != drafted.draft.body.trim());
        let source = if changed { CapsuleSource::User } else { drafted.draft.capsule.source };
        let body = body.unwrap_or_else(|| drafted.draft.body.clone());
        let fresh = drafted.composed(body, kept, source, &|text| counter.count(encoding, text))?;
        Ok(Answer::Draft(Some(self.put_draft(branch, fresh))))
    }

    /// Stores the draft and uses it.
    fn accept(&mut self, id: BranchId, draft: u64) -> Result<Answer, Failure> {
        let branch = self.branch(id)?;
        let capsule = self.waiting(id, draft)?.draft.capsule.clone();
        self.must_still_hold(&branch, &capsule)?;
        let mut after = branch.capsules.clone();
        let old = self.in_use(&branch, capsule.kind, &capsule.lane).map(|capsule| capsule.id);
        after.retain(|id| Some(*id) != old && *id != capsule.id);
        after.push(capsule.id);
        let (from, to) = capsule.turns;
        let what = format!("summed up turns {from}–{to}");
        let put = Write::PutCapsule { session: branch.session, capsule: Box::new(capsule.clone()), at: self.now() };
        self.use_capsules(&branch, what, after, vec![put], |core| {
            if let Ok(session) = core.session_mut(id) {
                session.capsules.insert(capsule.id, Held::new(capsule));
            }
        })?;
        self.drafts.waiting.remove(&id);
        self.say(Event::Draft { branch: id, draft: None });
        Ok(Answer::Done(format!("Turns {from}–{to} go as a summary from now on; u undoes it.")))
    }

    /// What was read must still be what is there, and nothing of it pinned or taken out since.
    fn must_still_hold(&self, branch: &Branch, capsule: &Capsule) -> Result<(), Failure> {
        let session = self.session_of(branch.id)?;
        let path = session.head(branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let marks: Vec<Mark> = branch.marks.clone();
        let held = Held::new(capsule.clone());
        let sight = Ground { session, path: &path, marks: &marks }.sight(&held);
        let same = |(key, content): &(Hash, Hash)| {
            session.tree.by_key(*key).is_some_and(|slot| session.tree.head(slot).content == Some(*content))
        };
        let read = capsule.covers.iter().flat_map(|cover| &cover.nodes).all(same);
        let pinned = marks.iter().any(|mark| !mark.kind.excludes() && on_cover(capsule, &mark.target));
        if sight.on_path && sight.source.is_none() && read && !pinned {
            return Ok(());
        }
        Err(Failure::new(FailureKind::Stale, "The conversation has changed since this was drafted.")
            .kept("Nothing was changed.")
            .todo("Draft it again."))
    }

    /// Makes other capsules the branch's own, undoably.
    fn use_capsules(
        &mut self,
        branch: &Branch,
        what: String,
        after: Vec<Hash>,
        first: Vec<Write>,
        known: impl FnOnce(&mut Self),
    ) -> Result<(), Failure> {
        let before = branch.capsules.clone();
        // A level taken back brings the window back to where it stood before that level.
        let older = before.len() > after.len() || after.last().is_some_and(|last| self.is_older(branch, *last));
        let (known_anchor, anchor) =
            if older { super::undo::kept_capsules_anchor(&self.store, branch.id, &after)? } else { (false, None) };
        let change = Change::Capsules { branch: branch.id, before: before.clone(), after: after.clone() };
        let mut writes = first;
        writes.push(Write::SetCapsules { branch: branch.id, expect: before.clone(), capsules: after });
        writes.push(super::undo::keep_capsules_anchor(branch.id, &before, branch.anchor.as_ref()));
        writes.push(self.operation(branch.session, what, vec![change.clone()]));
        if known_anchor {
            writes.push(Write::SetAnchor { branch: branch.id, anchor: anchor.clone() });
        }
        self.store.write(writes)?;
        known(self);
        if known_anchor
            && let Ok(session) = self.session_mut(branch.id)
            && let Some(branch) = session.branch_mut(branch.id)
        {
            branch.anchor = anchor;
        }
        self.apply(&change, true);
        Ok(())
    }

    /// Whether a capsule is a level below one that the branch uses.
    fn is_older(&self, branch: &Branch, id: Hash) -> bool {
        let session = self.session_of(branch.id);
        let parent = |used: &Hash| session.as_ref().ok()?.capsule(*used)?.capsule.parent;
        branch.capsules.iter().any(|used| parent(used) == Some(id))
    }

    fn reject(&mut self, branch: BranchId) -> Result<Answer, Failure> {
        let making = self.drafts.making.remove(&branch);
        if let Some((_, cancel)) = &making {
            cancel.store(true, Ordering::Relaxed);
        }
        if self.drafts.waiting.remove(&branch).is_none() && making.is_none() {
            return Err(Failure::user("There is no draft of a summary."));
        }
        self.say(Event::Draft { branch, draft: None });
        Ok(Answer::Done("The draft is thrown away; nothing was changed.".into()))
    }

    /// Drafts read what is no longer there: they go.
    pub(super) fn drop_drafts(&mut self, branches: &[BranchId]) {
        for branch in branches {
            let _ = self.reject(*branch);
        }
    }

    fn undo_level(&mut self, id: BranchId, kind: CapsuleKind) -> Result<Answer, Failure> {
        let branch = self.branch(id)?;
        let session = self.session_of(id)?;
        let of_kind = |wanted: &&Hash| session.capsule(**wanted).is_some_and(|held| held.capsule.kind == kind);
        let newest = branch.capsules.iter().rev().find(of_kind).copied();
        let newest = newest.ok_or_else(|| Failure::user("There is no summary to take back."))?;
        let parent = session.capsule(newest).and_then(|held| held.capsule.parent);
        let parent = parent.and_then(|id| session.capsule(id)).map(|held| held.capsule.clone());
        let mut after = branch.capsules.clone();
        after.retain(|other| *other != newest);
        after.extend(parent.as_ref().map(|capsule| capsule.id));
        self.use_capsules(&branch, "took a summary back".into(), after, Vec::new(), |_| {})?;
        let now = match parent {
            Some(capsule) => format!("The summary of turns {}–{} goes again", capsule.turns.0, capsule.turns.1),
            None => "The turns go themselves again, as far as they fit".into(),
        };
        Ok(Answer::Done(format!("{now}; u undoes it.")))
    }

    fn list_capsules(&self, id: BranchId) -> Result<Answer, Failure> {
        let branch = self.branch(id)?;
        let session = self.session_of(id)?;
        let path = session.head(&branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let ground = Ground { session, path: &path, marks: &branch.marks };
        let mode = self.rules(&branch)?.mode;
        let mut cards = Vec::new();
        for newest in branch.capsules.iter().rev() {
            let goes = ground.usable(*newest, mode).0.map(|going| going.capsule.id);
            let mut chain = Vec::new();
            let mut at = Some(*newest);
            while let Some(held) = at
                .and_then(|id| session.capsule(id))
                .filter(|held| !chain.iter().any(|card: &CapsuleCard| card.capsule.id == held.capsule.id))
            {
                chain.push(CapsuleCard {
                    capsule: held.capsule.clone(),
                    state: summaries::state(&ground, held),
                    active: held.capsule.id == *newest,
                    goes: Some(held.capsule.id) == goes,
                    depth: 0,
                });
                at = held.capsule.parent;
            }
            let levels = chain.len();
            for (place, card) in chain.iter_mut().enumerate() {
                card.depth = u32::try_from(levels - 1 - place).unwrap_or(0);
            }
            cards.extend(chain);
        }
        Ok(Answer::Capsules(cards))
    }

    fn memory_stats(&self, id: BranchId) -> Result<Answer, Failure> {
        let branch = self.branch(id)?;
        let session = self.session_of(id)?;
        let done = self.store.compressions(branch.session)?;
        let sum = |of: fn(&crate::store::types::Compression) -> u32| done.iter().map(|c| u64::from(of(c))).sum::<u64>();
        let (original, compressed) = (sum(|c| c.original), sum(|c| c.compressed));
        let ratio = (original * 1_000).checked_div(compressed);
        Ok(Answer::Stats(Box::new(Stats {
            budget: self.rules(&branch)?.budget.prompt,
            messages: session.card.messages,
            summaries: u32::try_from(session.capsules.values().filter(|h| h.capsule.text.is_some()).count())
                .unwrap_or(u32::MAX),
            ratio_milli: ratio.and_then(|ratio| u32::try_from(ratio).ok()),
            last: done.last().map(|c| c.at),
            ..Stats::default()
        })))
    }

    /// The capsule of a kind that the branch uses in a lane.
    fn in_use(&self, branch: &Branch, kind: CapsuleKind, lane: &str) -> Option<Arc<Capsule>> {
        let session = self.session_of(branch.id).ok()?;
        let found = branch.capsules.iter().rev().filter_map(|id| session.capsule(*id));
        found.map(|held| held.capsule.clone()).find(|capsule| capsule.kind == kind && capsule.lane == lane)
    }

    /// Whether a capsule itself, and no older level of it, could go.
    fn holds(&self, branch: &Branch, id: Hash) -> bool {
        let Ok(session) = self.session_of(branch.id) else { return false };
        let path = session.head(branch).map(|tip| session.tree.path(tip)).unwrap_or_default();
        let ground = Ground { session, path: &path, marks: &branch.marks };
        session.capsule(id).is_some_and(|held| ground.sight(held).source.is_none() && ground.sight(held).on_path)
    }

    /// The closed turns of a branch as candidates. The turn that is open, or not answered yet, is none.
    fn ready(&self, branch: &Branch, kind: CapsuleKind) -> Result<Ready, Failure> {
        let session = self.session_of(branch.id)?;
        let tree = &session.tree;
        let path: Vec<Slot> = session.head(branch).map(|tip| tree.path(tip)).unwrap_or_default();
        let lane = match (kind, path.last()) {
            (CapsuleKind::Lane, Some(last)) => tree.head(*last).lane.clone(),
            _ => String::new(),
        };
        let mut turns = tree::turns(tree, &path);
        let open = |turn: &tree::Turn| self.live.contains_key(&branch.id) || turn.nodes.len() < 2;
        if turns.last().is_some_and(open) {
            turns.pop();
        }
        let mut found = Vec::new();
        let mut number = 0;
        for turn in turns {
            number += u32::from(turn.asked);
            let heads: Vec<&NodeHead> = turn.nodes.clone().map(|at| tree.head(path[at])).collect();
            let [first, .., last] = heads.as_slice() else { continue };
            let excluded = |mark: &&Mark| mark.kind.excludes();
            let read: Vec<NodeHead> = heads
                .iter()
                .filter(|head| super::gather::bar(head, false).is_none())
                .filter(|head| !branch.marks.iter().filter(excluded).any(|mark| on_node(&mark.target, head.key)))
                .map(|head| (*head).clone())
                .collect();
            let stays = stays(branch, &heads, read.is_empty())
                .or((kind == CapsuleKind::Lane && first.lane != lane).then_some(Stays::OtherLane));
            let source = SourceTurn {
                user: first.key,
                tip: last.key,
                number: if turn.asked { number } else { 0 },
                node: first.id,
                title: first.preview.clone(),
                at: last.at,
                count: u32::try_from(heads.len()).unwrap_or(u32::MAX),
                tokens: 0,
                stays,
                messages: Vec::new(),
            };
            found.push((source, read));
        }
        Ok(Ready { turns: found, lane })
    }
}

/// Why a turn is not summed up: a mark on it or on one of its messages, or nothing to read.
fn stays(branch: &Branch, heads: &[&NodeHead], empty: bool) -> Option<Stays> {
    let first = heads.first()?.key;
    let on_turn = |mark: &&Mark| match mark.target {
        Atom::Turn { user, tip } => user == first && heads.iter().any(|head| head.key == tip),
        _ => false,
    };
    let on_any = |mark: &&Mark| on_turn(mark) || heads.iter().any(|head| on_node(&mark.target, head.key));
    if branch.marks.iter().any(|mark| on_turn(&mark) && mark.kind.excludes()) {
        Some(Stays::Excluded)
    } else if branch.marks.iter().any(|mark| on_any(&mark) && !mark.kind.excludes()) {
        Some(Stays::Pinned)
    } else {
        empty.then_some(Stays::Empty)
    }
}

fn on_node(target: &Atom, key: Hash) -> bool {
    match target {
        Atom::Message { node } | Atom::Episode { call: node, .. } => *node == key,
        Atom::Turn { .. } | Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => false,
    }
}

fn on_cover(capsule: &Capsule, target: &Atom) -> bool {
    capsule.covers.iter().any(|cover| match target {
        Atom::Turn { user, .. } => *user == cover.user,
        other => cover.nodes.iter().any(|(key, _)| on_node(other, *key)),
    })
}
