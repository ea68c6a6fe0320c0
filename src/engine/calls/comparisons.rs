//! Requests that compare stored calls or branches, passed to the worker.
//! Not for: comparing (`diff_worker`, `plan_diff`).

use super::diff_worker::{DiffRequest, WantedCall};
use super::plan_diff::PlanWithCall;
use crate::domain::base::{BranchId, Failure};
use crate::engine::api::{CallSelector, ItemName, Ticket};
use crate::engine::core::Core;
use crate::engine::plans::state::Plans;
use crate::engine::sessions::item_history::section_title;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::workers::Workers;

impl Core {
    /// Starts a comparison of two calls.
    pub(crate) fn compare_calls(
        &self,
        ticket: Ticket,
        before: Option<CallSelector>,
        after: CallSelector,
    ) -> Result<(), Failure> {
        let before = before.map(|which| self.plans.wanted(which).map(Box::new)).transpose()?;
        let after = self.plans.wanted(after)?;
        compare_in_background(&self.sessions, &self.workers, ticket, DiffRequest::Diff(before, Box::new(after)))
    }

    /// Starts a comparison of an item over the calls of a branch.
    pub(crate) fn compare_item(
        &self,
        ticket: Ticket,
        id: BranchId,
        item: &ItemName,
        most: Option<u32>,
    ) -> Result<(), Failure> {
        let branch = self.sessions.branch(id)?;
        let atom = match item {
            ItemName::Atom(atom) => *atom,
            // A row that no mark can be put on has a history too.
            item => match (self.target(&branch, item), item) {
                (Ok((atom, _)), _) => atom,
                (Err(failure), ItemName::Named { text, .. }) => self.item_by_row_id(&branch, text)?.ok_or(failure)?,
                (Err(failure), _) => return Err(failure),
            },
        };
        let drawn = self.plans.drawn_row(id, &atom);
        let title = match drawn {
            Some(row) => Some(row.title.clone()),
            None => section_title(&self.store, branch.session, &atom)?,
        };
        let title = title.unwrap_or_else(|| "this item".to_owned());
        compare_in_background(&self.sessions, &self.workers, ticket, DiffRequest::Item(id, (atom, title), most))
    }
}

/// Starts a comparison of two branches of a session.
pub(crate) fn compare_branches(
    sessions: &Sessions,
    workers: &Workers,
    ticket: Ticket,
    a: BranchId,
    b: BranchId,
) -> Result<(), Failure> {
    if a == b {
        return Err(Failure::user("A branch can't be compared with itself.")
            .todo("Select a branch other than the current branch, or name two branches."));
    }
    sessions.branch(a).and_then(|_| sessions.branch(b))?;
    compare_in_background(sessions, workers, ticket, DiffRequest::Both(a, b))
}

fn compare_in_background(
    sessions: &Sessions,
    workers: &Workers,
    ticket: Ticket,
    request: DiffRequest,
) -> Result<(), Failure> {
    let snapshots = sessions.open.values().map(Session::snapshot).collect();
    workers.diff.compare(ticket, request, snapshots, sessions.current_id)
}

impl Plans {
    fn wanted(&self, which: CallSelector) -> Result<WantedCall, Failure> {
        let CallSelector::Next(branch) = which else { return Ok(WantedCall::Stored(which)) };
        let drawn = self.drawn.get(&branch);
        let drawn = drawn.ok_or_else(Failure::not_planned_yet)?;
        let called = PlanWithCall { plan: drawn.solved.plan.clone(), run: None, branch: Some(branch) };
        Ok(WantedCall::Drawn(Box::new(called)))
    }
}
