//! The state of a race whose requests are being planned.
//! Not for: planning them, or making the branches (`race`).

use crate::domain::base::{BranchId, Failure};
use crate::domain::call::Limits;
use crate::domain::conversation::Overrides;
use crate::engine::api::{Draft, Ticket};
use crate::engine::plans::snapshot::Snapshot;
use std::collections::VecDeque;

/// A race whose requests are planned before its branches are made.
pub(crate) struct RaceWork {
    pub(super) ticket: Ticket,
    pub(super) branch: BranchId,
    /// The branch's revision when planning began.
    pub(super) revision: u64,
    pub(super) variants: Vec<Overrides>,
    pub(super) limits: Limits,
    pub(super) draft: Draft,
    /// The variants that are not planned yet, each with its title.
    pub(super) left: VecDeque<(String, Snapshot)>,
    /// Why the race cannot start.
    pub(super) refusal: Option<Failure>,
}
