//! Compares the stored plans of two calls, or one item over the calls of a branch, and lists the events between them.
//! Runs on the thread of `diff_worker`, on copies of the sessions.
//! Not for: matching rows (`domain::planning::row_matching`), or finding who caused a difference
//! (`context::explain::cause`).

use super::diff_worker::{DiffContext, WantedCall, stale};
use super::stored_runs::{one_run, plan_json, unreadable};
use crate::context::explain::cause::{self, ChangesBetweenCalls};
use crate::context::explain::transition;
use crate::domain::base::{BranchId, Failure, Hash, NodeId};
use crate::domain::call::RunCard;
use crate::domain::conversation::memory;
use crate::domain::conversation::{Atom, Branch, Change, Operation, Role, Slot, Subject, Transition, Tree};
use crate::domain::planning::row_matching::{self, subject};
use crate::domain::planning::{
    CallRef, Cause, ContextPlan, HistoryStep, ItemDiff, ItemHistory, ItemInCall, ItemPlace, PlanDiff, RowKind,
};
use crate::engine::api::{Answer, CallAnswer, CallSelector, PlanAnswer};
use crate::engine::plans::snapshot::anchor_key;
use crate::engine::sessions::path::position;
use crate::engine::sessions::session::{SessionSnapshot, lineage, reaches};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of cached plans at which the cache is cleared. Following an item through its calls reads the same plans
/// repeatedly.
const KEPT: usize = 96;

/// A cache of stored plans by id.
#[derive(Default)]
pub(crate) struct StoredPlans(HashMap<Hash, Arc<ContextPlan>>);

impl StoredPlans {
    /// Clears the cache.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A plan with its call, if it was sent.
#[derive(Clone)]
pub(crate) struct PlanWithCall {
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) run: Option<RunCard>,
    /// The branch of a plan that was not sent.
    pub(crate) branch: Option<BranchId>,
}

/// The events of a session that concern a branch, oldest first.
struct SessionHistory {
    steps: Vec<(Atom, Transition)>,
    ops: Vec<Operation>,
}

impl<'a> DiffContext<'a> {
    /// Returns a stored plan by its id.
    pub(crate) fn plan_of(&mut self, id: Hash) -> Result<Arc<ContextPlan>, Failure> {
        if let Some(plan) = self.stored_plans.0.get(&id) {
            return Ok(plan.clone());
        }
        let json = plan_json(self.store, id)?;
        let plan: Arc<ContextPlan> = Arc::new(serde_json::from_str(&json).map_err(|error| unreadable(&error))?);
        if self.stored_plans.0.len() >= KEPT {
            self.stored_plans.clear();
        }
        self.stored_plans.0.insert(id, plan.clone());
        Ok(plan)
    }

    /// Returns the calls of a branch and of its ancestors before the forks, oldest first.
    pub(crate) fn calls(&self, id: BranchId) -> Result<Vec<RunCard>, Failure> {
        let session = self.session_of(id)?;
        let lines = lineage(&session.branches, session.branch(id)?);
        let counts = |run: &&RunCard| !run.aside && reaches(&lines, run.branch, run.at);
        Ok(session.runs.iter().filter(counts).cloned().collect())
    }

    /// Returns these calls without those whose answers are not on the branch because the edit or the regeneration that
    /// made them was undone.
    fn calls_in_effect(&self, id: BranchId) -> Result<Vec<RunCard>, Failure> {
        let session = self.session_of(id)?;
        let nodes = |tip: Slot| session.tree.path(tip).into_iter().map(|slot| session.tree.head(slot).id);
        let mut undone: HashSet<NodeId> = HashSet::new();
        for op in self.operations(session.id)?.iter().filter(|op| op.undone) {
            let tips = op.changes.iter().filter_map(|change| match change {
                Change::Head { after: Some(tip), .. } => session.tree.slot(*tip),
                _ => None,
            });
            undone.extend(tips.flat_map(nodes));
        }
        for node in session.head(session.branch(id)?).into_iter().flat_map(nodes) {
            undone.remove(&node);
        }
        let mut calls = self.calls(id)?;
        calls.retain(|run| run.answer.is_none_or(|answer| !undone.contains(&answer)));
        Ok(calls)
    }

    pub(crate) fn called(&mut self, wanted: &WantedCall) -> Result<PlanWithCall, Failure> {
        let which = match wanted {
            WantedCall::Drawn(called) => return Ok(called.as_ref().clone()),
            WantedCall::Stored(which) => which,
        };
        match which {
            CallSelector::Next(_) => Err(Failure::not_planned_yet()),
            CallSelector::Last(branch) => {
                let run = self.calls_in_effect(*branch)?.pop();
                self.of_run(run.ok_or_else(Failure::no_calls)?)
            }
            CallSelector::Named(prefix) => {
                let plans = self.store.plan_by_prefix(prefix)?;
                match plans.as_slice() {
                    [] => self.of_run(one_run(self.store, prefix)?),
                    [(id, _)] => {
                        let plan = self.plan_of(*id)?;
                        Ok(PlanWithCall { plan, run: self.store.plan_runs(*id)?.pop(), branch: None })
                    }
                    _ => Err(Failure::user(format!("{prefix:?} matches several plans.")).todo("Type more of the id.")),
                }
            }
        }
    }

    pub(crate) fn of_run(&mut self, run: RunCard) -> Result<PlanWithCall, Failure> {
        Ok(PlanWithCall { plan: self.plan_of(run.plan)?, branch: None, run: Some(run) })
    }

    /// Answers with the differences between two calls.
    pub(crate) fn diff_plans(&mut self, before: Option<&WantedCall>, after: &WantedCall) -> Result<Answer, Failure> {
        let after = self.called(after)?;
        let before = match before {
            Some(before) => self.called(before)?,
            None => self.before(&after)?,
        };
        let when = |called: &PlanWithCall| called.run.as_ref().map_or(i64::MAX, |run| run.at);
        let (before, after) = if when(&before) > when(&after) { (after, before) } else { (before, after) };
        Ok(CallAnswer::Diff(Box::new(self.plan_diff(&before, &after)?)).into())
    }

    /// Returns the previous call on the branch of a given call. A call that was undone is not compared with, except by
    /// another one.
    fn before(&mut self, after: &PlanWithCall) -> Result<PlanWithCall, Failure> {
        let none = || Failure::user("There is no earlier call on its branch.");
        let branch = after.branch.or(after.run.as_ref().map(|run| run.branch)).ok_or_else(none)?;
        let mut calls = self.calls_in_effect(branch)?;
        if let Some(run) = &after.run {
            if !calls.iter().any(|call| call.id == run.id) {
                calls = self.calls(branch)?;
            }
            let at = calls.iter().position(|call| call.id == run.id).unwrap_or(calls.len());
            calls.truncate(at);
        }
        self.of_run(calls.pop().ok_or_else(none)?)
    }

    /// Returns the differences between two plans, with their causes.
    pub(crate) fn plan_diff(&self, before: &PlanWithCall, after: &PlanWithCall) -> Result<PlanDiff, Failure> {
        let session = self.session_of_call(after)?;
        let spans = Spans::new(&session.tree);
        let (mut deltas, (same, same_tokens)) =
            row_matching::deltas(&before.plan, &after.plan, &|range, key| spans.cover(range, key));
        let (from, to) = (call(session, before), call(session, after));
        if let Some(branch) = to.branch.and_then(|id| session.branch(id).ok()) {
            let history = self.history(session, branch)?;
            let path = path_to(&session.tree, after.plan.basis.head);
            let (steps, ops) = history.between(from.at, to.at);
            let on_path = |key: Hash| on(session, &path, &after.plan, key);
            let between = ChangesBetweenCalls { steps, ops, on_path: &on_path, name: &to.name };
            cause::set_causes(&mut deltas, &before.plan, &after.plan, &between);
        }
        let settings = row_matching::settings(&before.plan, &after.plan);
        Ok(PlanDiff { before: from, after: to, settings, deltas, same, same_tokens })
    }

    /// Returns the session in which a call was made.
    fn session_of_call(&self, called: &PlanWithCall) -> Result<&'a SessionSnapshot, Failure> {
        match (&called.run, called.branch) {
            (Some(run), _) => self.by_id(run.session).map_or_else(|| self.session(), Ok),
            (None, Some(branch)) => self.session_of(branch),
            (None, None) => self.session(),
        }
    }

    /// Returns the transitions and operations that concern a branch, oldest first.
    fn history(&self, session: &SessionSnapshot, branch: &Branch) -> Result<SessionHistory, Failure> {
        let lines = lineage(&session.branches, branch);
        let mut steps: Vec<(Atom, Transition)> = self
            .store
            .transitions(session.id)?
            .into_iter()
            .filter(|step| step.branch.is_none_or(|of| reaches(&lines, of, step.at)))
            .map(|step| (atom_of(&step.item), step))
            .collect();
        steps.sort_by_key(|(_, step)| step.at);
        let concerns = |change: &Change, at: i64| {
            matches!(change, Change::Memory { .. }) || change.branch().is_some_and(|of| reaches(&lines, of, at))
        };
        let ops = self.operations(session.id)?;
        let ops = ops.iter().filter(|op| op.changes.iter().any(|change| concerns(change, op.at))).cloned().collect();
        Ok(SessionHistory { steps, ops })
    }

    /// Answers with the history of an item over the calls of a branch.
    pub(crate) fn why(
        &mut self,
        id: BranchId,
        (atom, title): (Atom, String),
        most: Option<u32>,
    ) -> Result<Answer, Failure> {
        let session = self.session_of(id)?;
        let branch = session.branch(id)?;
        let mut calls = self.calls(id)?;
        let older = most.map_or(0, |most| calls.len().saturating_sub(most as usize));
        calls.drain(..older);
        let mut opened = Vec::with_capacity(calls.len());
        for run in calls {
            if (self.stale)() {
                return Err(stale());
            }
            opened.push(self.of_run(run)?);
        }
        let history = self.history(session, branch)?;
        let stays = stays(session, &history, &atom, &opened);
        let (title, turn) = named(session, &atom, &opened).unwrap_or((title, None));
        let turn = turn.or_else(|| turn_on_path(session, branch, &atom));
        let own = |(of, _): &&(Atom, Transition)| subject(of) == subject(&atom);
        let to_step = |(_, step): &(Atom, Transition)| HistoryStep {
            at: step.at,
            to: step.to,
            words: transition::sentence(step),
        };
        let steps = history.steps.iter().filter(own).map(to_step).collect();
        let older = u32::try_from(older).unwrap_or(u32::MAX);
        Ok(PlanAnswer::History(Box::new(ItemHistory { atom, title, turn, stays, older, steps })).into())
    }
}

impl SessionHistory {
    /// Returns the events after one time up to another.
    fn between(&self, from: Option<i64>, to: Option<i64>) -> (&[(Atom, Transition)], &[Operation]) {
        let (from, to) = (from.unwrap_or(0), to.unwrap_or(i64::MAX));
        let cut = |starts: usize, ends: usize| starts.min(ends)..ends;
        let steps = cut(
            self.steps.partition_point(|(_, step)| step.at <= from),
            self.steps.partition_point(|(_, step)| step.at <= to),
        );
        let ops = cut(self.ops.partition_point(|op| op.at <= from), self.ops.partition_point(|op| op.at <= to));
        (&self.steps[steps], &self.ops[ops])
    }
}

/// Returns the number of a turn on a branch's path.
fn turn_on_path(session: &SessionSnapshot, branch: &Branch, atom: &Atom) -> Option<u32> {
    let Atom::Turn { user, .. } = atom else { return None };
    let path = session.tree.path(session.head(branch)?);
    let mut asked = path.iter().map(|slot| session.tree.head(*slot)).filter(|head| head.role == Role::User);
    u32::try_from(asked.position(|head| head.key == *user)? + 1).ok()
}

/// Returns the position of an item over the calls; consecutive calls without a change are one entry.
fn stays(session: &SessionSnapshot, history: &SessionHistory, atom: &Atom, calls: &[PlanWithCall]) -> Vec<ItemInCall> {
    let spans = Spans::new(&session.tree);
    let covers = |range: &Atom, key: Hash| spans.cover(range, key);
    let mut found: Vec<ItemInCall> = Vec::new();
    let mut before: Option<&PlanWithCall> = None;
    for called in calls {
        let place = row_matching::place(&called.plan, atom, &covers);
        let now = call(session, called);
        let as_before = |last: &ItemInCall| match (&last.place, &place) {
            (Some(old), Some(new)) => old.looks_like(new),
            (None, None) => true,
            _ => false,
        };
        if let Some(last) = found.last_mut().filter(|last| as_before(last)) {
            (last.to, last.place, last.calls) = (now, place, last.calls + 1);
        } else {
            let causes = before.map_or_else(Vec::new, |before| {
                let old = found.last().and_then(|stay| stay.place.clone());
                causes(session, history, (atom, old, place.clone()), before, called)
            });
            found.push(ItemInCall { from: now.clone(), to: now, calls: 1, place, causes });
        }
        before = Some(called);
    }
    // Nothing is reported about calls before the item existed.
    if found.first().is_some_and(|stay| stay.place.is_none()) {
        found.remove(0);
    }
    found
}

/// Returns why an item's position differs from the previous call.
fn causes(
    session: &SessionSnapshot,
    history: &SessionHistory,
    (atom, old, new): (&Atom, Option<ItemPlace>, Option<ItemPlace>),
    before: &PlanWithCall,
    after: &PlanWithCall,
) -> Vec<Cause> {
    let kinds = row_matching::kinds(old.as_ref(), new.as_ref());
    let row = [&after.plan, &before.plan].into_iter().find_map(|plan| row_matching::row(plan, atom));
    let delta = ItemDiff {
        atom: *atom,
        row: row.map_or(RowKind::Turn, |row| row.kind),
        title: String::new(),
        turn: None,
        kinds,
        before: old,
        after: new,
        causes: Vec::new(),
    };
    let (from, to) = (call(session, before), call(session, after));
    let path = path_to(&session.tree, after.plan.basis.head);
    let (steps, ops) = history.between(from.at, to.at);
    let on_path = |key: Hash| on(session, &path, &after.plan, key);
    let between = ChangesBetweenCalls { steps, ops, on_path: &on_path, name: &to.name };
    cause::causes(&delta, &before.plan, &after.plan, &between)
}

/// Returns an item's title and turn from the newest plan that contains it, or else from its message.
fn named(session: &SessionSnapshot, atom: &Atom, calls: &[PlanWithCall]) -> Option<(String, Option<u32>)> {
    if let Some(row) = calls.iter().rev().find_map(|called| row_matching::row(&called.plan, atom)) {
        return Some((row.title.clone(), row.source.turn));
    }
    let key = match atom {
        Atom::Turn { user, .. } => Some(*user),
        atom => anchor_key(atom),
    };
    let slot = key.and_then(|key| session.tree.by_key(key))?;
    Some((session.tree.head(slot).preview.clone(), None))
}

/// Returns the item of a transition as plans name it.
fn atom_of(item: &Subject) -> Atom {
    match item {
        Subject::Item(atom) => *atom,
        Subject::Memory(id) => memory::atom(*id),
    }
}

pub(crate) fn call(session: &SessionSnapshot, called: &PlanWithCall) -> CallRef {
    let run = called.run.as_ref();
    let branch = run.map(|run| run.branch).or(called.branch);
    let name = branch.and_then(|id| session.branch(id).ok()).map(|branch| branch.name.clone());
    CallRef {
        run: run.map(|run| run.id),
        plan: called.plan.id,
        branch,
        name: name.unwrap_or_default(),
        at: run.map(|run| run.at),
        tokens: called.plan.est_total,
        budget: called.plan.budget.prompt,
        safety: called.plan.budget.safety,
        model: called.plan.model.clone(),
        cost_micro: run.and_then(|run| run.cost_micro),
    }
}

/// Returns the path to a message; empty if the session does not contain it.
fn path_to(tree: &Tree, key: Hash) -> Vec<Slot> {
    tree.by_key(key).map(|tip| tree.path(tip)).unwrap_or_default()
}

/// Whether a message is on a plan's path or part of the plan's items.
fn on(session: &SessionSnapshot, path: &[Slot], plan: &ContextPlan, key: Hash) -> bool {
    position(&session.tree, path, key).is_some()
        || plan.rows.iter().any(|row| row.items.iter().any(|item| item.key == key))
}

/// Decides which turns a range contains, with a cache of the paths to the ends of ranges.
struct Spans<'a> {
    tree: &'a Tree,
    paths: RefCell<HashMap<Hash, Vec<Slot>>>,
}

impl<'a> Spans<'a> {
    fn new(tree: &'a Tree) -> Self {
        Self { tree, paths: RefCell::default() }
    }

    fn cover(&self, range: &Atom, key: Hash) -> bool {
        let Atom::Range { first, last } = range else { return false };
        let tree = self.tree;
        let (Some(from), Some(at)) = (tree.by_key(*first), tree.by_key(key)) else { return false };
        let mut paths = self.paths.borrow_mut();
        let path = paths.entry(*last).or_insert_with(|| path_to(tree, *last));
        let is_on = |slot: Slot| path.get(tree.depth(slot) as usize) == Some(&slot);
        is_on(from) && is_on(at) && tree.depth(at) >= tree.depth(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::tree::tests::head;

    /// A path of the messages 1 to 4, and message 5, which also follows message 2.
    #[test]
    fn a_range_covers_the_messages_between_its_ends_on_their_path() {
        let parents = [None, Some(1), Some(2), Some(3), Some(2)];
        let tree = Tree::build((1..).zip(parents).map(|(id, parent)| head(id, parent, Role::User)).collect());
        let key = |id: u128| head(id, None, Role::User).key;
        let spans = Spans::new(&tree);
        let covered = |first, last| -> Vec<u128> {
            let range = Atom::Range { first: key(first), last: key(last) };
            (1..=6).filter(|id| spans.cover(&range, key(*id))).collect()
        };
        assert_eq!(covered(2, 4), [2, 3, 4]);
        assert_eq!(covered(1, 5), [1, 2, 5]);
        assert_eq!((covered(5, 4), covered(2, 6), covered(6, 4)), (vec![], vec![], vec![]));
    }
}
