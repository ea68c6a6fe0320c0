//! Requests about the next call: what it would send, and why.
//! Not for: calls that were made (`call`).

use super::super::acts::Act;
use super::super::acts::Exact;
use super::super::draft::ItemName;
use super::super::draft::NameOrId;
use crate::domain::base::ids::BranchId;
use crate::domain::conversation::branch::Overrides;
use crate::domain::conversation::mark::Atom;
use crate::domain::planning::draft::Draft;

/// A request about the next call.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanRequest {
    /// Solves the plan for a draft again, off the screen's thread; answered by [`Event::Planned`](crate::engine::api::Event::Planned) too. Only the newest
    /// generation of a branch is worked on.
    Replan {
        /// For which branch.
        branch: BranchId,
        /// Counts up; comes back with the plan.
        generation: u64,
        /// The draft.
        draft: Draft,
    },
    /// What the next call would hold under other settings, beside how it stands: modes, policies, the other layout, models,
    /// budgets, and those that are named. Changes nothing, and is dropped when another draft of the branch is planned.
    WhatIf {
        /// On which branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// More ways (only what is set in each counts).
        arms: Vec<Overrides>,
    },
    /// What an act on items would do to the next call, worked out beside it: what it brings, what it pushes out. Changes
    /// nothing; a newer one takes its place.
    Preview {
        /// On which branch.
        branch: BranchId,
        /// The draft.
        draft: Draft,
        /// What.
        items: Vec<ItemName>,
        /// How.
        act: Act,
    },
    /// The exact bytes of a request: shown, weighed, sent after a person edited them.
    Exact {
        /// On which branch.
        branch: BranchId,
        /// What.
        act: Exact,
    },
    /// The text of a row of the last plan drawn for a branch, as it will be sent.
    RowText {
        /// Which branch.
        branch: BranchId,
        /// Which row.
        atom: Atom,
    },
    /// The exact bytes of the last plan drawn for a branch.
    WireText {
        /// Which branch.
        branch: BranchId,
    },
    /// An item over the calls of a branch: in which it went, how, why, and who changed it when.
    Why {
        /// Of which branch.
        branch: BranchId,
        /// Which item.
        item: ItemName,
        /// Only so many of the newest calls; all when none.
        most: Option<u32>,
    },
    /// Looks through the messages of a branch for what fits a query, as a plan would, and sends nothing.
    Retrieve {
        /// Which session.
        session: NameOrId,
        /// Which branch; the last used when none.
        branch: NameOrId,
        /// What to look for.
        query: String,
        /// Messages later than this do not exist (milliseconds since 1970).
        at: Option<i64>,
        /// Tokens for what is found; the mode's when none.
        budget: Option<u32>,
        /// Look whatever the query says.
        anyway: bool,
    },
}
