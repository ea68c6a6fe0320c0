//! The calls of a branch or session with their figures, for charts.
//! Not for: the arithmetic (`domain::call::ledger`) or single calls (`queries`).

use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{BranchId, NodeId};
use crate::domain::call::ledger::{CallCost, Ledger, Totals};
use crate::domain::call::run::RunCard;
use crate::domain::conversation::branch::Branch;
use crate::domain::conversation::message::Role;
use crate::engine::api::Answer;
use crate::engine::core::Core;
use crate::engine::sessions::session::Session;

/// Calls that are handed over; older ones are in the totals.
const MOST: usize = 4_000;

impl Core {
    /// The calls that a branch's path is made of and those made on it, or all of its session.
    pub(crate) fn ledger(&self, id: BranchId, whole: bool) -> Result<Answer, Failure> {
        let branch = self.branch(id)?;
        Ok(Answer::Ledger(Box::new(ledger(self.session_of(id)?, &branch, whole))))
    }
}

fn ledger(session: &Session, branch: &Branch, whole: bool) -> Ledger {
    let turns = turns(session);
    let on_path = on_path(session, branch);
    let slot = |node: Option<NodeId>| node.and_then(|id| session.tree.slot(id));
    let counts =
        |card: &&RunCard| whole || card.branch == branch.id || slot(card.answer).is_some_and(|at| on_path[at as usize]);
    let all: Vec<&RunCard> = session.runs.iter().filter(counts).collect();
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
    Ledger { branch: branch.id, whole, calls, older: u32::try_from(older).unwrap_or(u32::MAX), totals }
}

/// For each node, how many messages of the person's lead to it, itself included. Parents stand before their children.
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
