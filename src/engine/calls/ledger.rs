//! The calls of a branch or session with their tokens, costs, and times, for charts.
//! Not for: the arithmetic (`domain::call::ledger`), or single calls (`plans::queries`).

use crate::domain::base::{BranchId, Failure, NodeId, RunId};
use crate::domain::call::{CallCost, Ledger, RunCard, Totals, UseTotals, item_use};
use crate::domain::conversation::{Branch, Role};
use crate::engine::api::{Answer, CallAnswer};
use crate::engine::calls::replay::stored;
use crate::engine::core::Core;
use crate::engine::plans::state::Plans;
use crate::engine::sessions::session::Session;
use crate::store::Store;

/// The maximum number of calls that are listed; older ones are part of the totals.
const MOST: usize = 4_000;
/// The maximum number of calls whose items are totaled, newest first.
const MOST_USES: usize = 1_000;

impl Core {
    /// Returns the calls of a branch, or of its whole session, with totals.
    pub(crate) fn ledger(&self, id: BranchId, whole: bool) -> Result<Answer, Failure> {
        let branch = self.sessions.branch(id)?;
        let session = self.sessions.of_branch(id)?;
        let mut ledger = ledger(session, &branch, whole);
        ledger.uses = use_totals(&self.plans, &self.store, session, &branch, whole)?;
        Ok(CallAnswer::Ledger(Box::new(ledger)).into())
    }
}

/// Totals the uses of the items of the newest calls, and names the items of the branch's next request (if that request
/// is planned) and of its last call that were sent repeatedly and not used.
fn use_totals(
    plans: &Plans,
    store: &Store,
    session: &Session,
    branch: &Branch,
    whole: bool,
) -> Result<UseTotals, Failure> {
    let mut totals = UseTotals::default();
    // Nothing needs to be read for sessions without any record.
    if session.runs.iter().all(|card| card.uses.is_none()) {
        return Ok(totals);
    }
    let uses = store.uses(session.card.id, MOST_USES)?;
    for card in calls(session, branch, whole) {
        if let Some(known) = uses.get(&card.id) {
            totals.add(&card.policy, known);
        }
    }
    let mut own = calls(session, branch, false);
    own.reverse();
    // A plan of an old version may be unreadable; its items are then not reported.
    let last = own.iter().find(|card| uses.contains_key(&card.id)).and_then(|card| stored(store, card).ok());
    let turns = item_use::unused_turns(own.into_iter().filter_map(|card| Some((card, uses.get(&card.id)?))));
    let next = plans.drawn.get(&branch.id).map(|drawn| drawn.solved.plan.clone());
    let rows = next.iter().flat_map(|plan| plan.included());
    let rows_of_last = last.iter().flat_map(|stored| stored.plan.included());
    totals.unused = item_use::unused(rows, rows_of_last, &branch.marks, &turns);
    Ok(totals)
}

/// Returns how the items of one call were used.
pub(crate) fn uses_of(store: &Store, run: RunId) -> Result<Answer, Failure> {
    Ok(CallAnswer::Uses(store.uses_of(run)?.map(Box::new)).into())
}

/// Returns the calls on a branch's path and the calls made on the branch, or all calls of its session; oldest first.
pub(super) fn calls<'a>(session: &'a Session, branch: &Branch, whole: bool) -> Vec<&'a RunCard> {
    let on_path = on_path(session, branch);
    let slot = |node: Option<NodeId>| node.and_then(|id| session.tree.slot(id));
    let counts =
        |card: &&RunCard| whole || card.branch == branch.id || slot(card.answer).is_some_and(|at| on_path[at as usize]);
    session.runs.iter().filter(counts).collect()
}

fn ledger(session: &Session, branch: &Branch, whole: bool) -> Ledger {
    let turns = turns(session);
    let slot = |node: Option<NodeId>| node.and_then(|id| session.tree.slot(id));
    let all = calls(session, branch, whole);
    let older = all.len().saturating_sub(MOST);
    let mut totals = Totals::default();
    let mut calls = Vec::with_capacity(all.len() - older);
    for (at, card) in all.into_iter().enumerate() {
        let asked = slot(card.user);
        let turn = asked.map(|at| turns[at as usize]).filter(|turn| *turn > 0);
        let title = asked.filter(|_| at >= older).map(|at| session.tree.head(at).preview.clone());
        let call = CallCost::of(card, turn, title.unwrap_or_default());
        totals.add(&call);
        if at >= older {
            calls.push(call);
        }
    }
    let older = u32::try_from(older).unwrap_or(u32::MAX);
    Ledger { branch: branch.id, whole, calls, older, totals, uses: UseTotals::default() }
}

/// Returns for each node the number of user messages on its path, including itself. Parents come before their children.
fn turns(session: &Session) -> Vec<u32> {
    let tree = &session.tree;
    let mut turns: Vec<u32> = Vec::with_capacity(tree.len());
    for (slot, head) in (0..).zip(tree.heads()) {
        let above = tree.parent(slot).and_then(|parent| turns.get(parent as usize)).copied().unwrap_or(0);
        turns.push(above + u32::from(head.role == Role::User));
    }
    turns
}

fn on_path(session: &Session, branch: &Branch) -> Vec<bool> {
    let mut on = vec![false; session.tree.len()];
    let mut at = session.head(branch);
    while let Some(slot) = at {
        on[slot as usize] = true;
        at = session.tree.parent(slot);
    }
    on
}
