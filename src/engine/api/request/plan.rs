//! Requests about the next call: its content and the reasons.
//! Not for: past calls (`call`).

use super::super::acts::{Act, Exact};
use super::super::draft::{ItemName, NameOrId};
use crate::domain::base::BranchId;
use crate::domain::conversation::{Atom, Overrides};
use crate::domain::planning::Draft;

/// A request about the next call.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanRequest {
    /// Plan a draft on the planner's thread. The plan is also reported by
    /// [`Event::Planned`](crate::engine::api::Event::Planned). Only the newest generation of a branch is solved.
    Replan {
        branch: BranchId,
        /// A counter of the caller that is returned with the plan.
        generation: u64,
        draft: Draft,
    },
    /// Compare the next call with its variants under other settings: modes, policies, the other layout, models,
    /// budgets, and the given ones. Changes nothing; canceled when another draft of the branch is planned.
    WhatIf {
        branch: BranchId,
        draft: Draft,
        /// Additional variants; each changes only the values that are set.
        variants: Vec<Overrides>,
    },
    /// Preview an act on items: the items that it would add to the next call, and the items that it would displace.
    /// Changes nothing. A newer preview replaces an older one.
    Preview { branch: BranchId, draft: Draft, items: Vec<ItemName>, act: Act },
    /// The same for accepting the draft of a summary.
    PreviewSummary {
        branch: BranchId,
        draft: Draft,
        /// Number of the draft.
        number: u64,
    },
    /// Show the exact bytes of a request, or count or send an edited body.
    Exact { branch: BranchId, act: Exact },
    /// Show the text of a row of the last plan drawn for a branch, as it will be sent.
    RowText {
        branch: BranchId,
        /// The row's atom.
        atom: Atom,
    },
    /// Show the exact bytes of the last plan drawn for a branch.
    WireText { branch: BranchId },
    /// Follow an item through the calls of a branch: when it was sent, in which form, why, and who changed that.
    Why {
        branch: BranchId,
        item: ItemName,
        /// Only this many of the newest calls; all if `None`.
        most: Option<u32>,
    },
    /// Search a branch's messages as a plan would. Sends nothing.
    Retrieve {
        session: NameOrId,
        /// The branch; the last used if `None`.
        branch: NameOrId,
        query: String,
        /// Ignore messages later than this (milliseconds since 1970).
        at: Option<i64>,
        /// The token budget of the result; the mode's allowance if `None`.
        budget: Option<u32>,
        /// Search even if the gate would skip the query.
        anyway: bool,
    },
}

impl PlanRequest {
    /// Returns whether the request makes a plan of a new call, which offers tools.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new request must not compile without this answer")]
    pub(crate) fn plans_with_tools(&self) -> bool {
        match self {
            Self::Replan { .. }
            | Self::WhatIf { .. }
            | Self::Preview { .. }
            | Self::PreviewSummary { .. }
            | Self::Exact { .. } => true,
            Self::RowText { .. } | Self::WireText { .. } | Self::Why { .. } | Self::Retrieve { .. } => false,
        }
    }
}
