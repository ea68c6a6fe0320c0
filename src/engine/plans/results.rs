//! Jobs of the planner's thread with their results: edited bodies, what-if comparisons, previews, and the previous
//! request of a branch.
//! Not for: the work itself (`edited`, `what_if`, `preview`, `previous_request`).

use super::snapshot::Snapshot;
use super::worker::Solved;
use crate::context::render::Outline;
use crate::domain::base::{BranchId, Failure};
use crate::domain::call::Price;
use crate::domain::conversation::Overrides;
use crate::domain::planning::ContextPlan;
use crate::engine::api::{BodyCount, Draft, Ticket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A body that a person edited, sent to the planner's thread and back.
pub(crate) struct EditedBody {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) revision: u64,
    pub(crate) draft: Draft,
    pub(crate) body: Arc<str>,
    pub(crate) sends: bool,
    /// The plan that would be sent without the edit, if it was already drawn.
    pub(crate) base: Option<Solved>,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) made: Option<Result<(Solved, BodyCount), Failure>>,
}

/// The preview of an act, sent to the planner's thread and back.
pub(crate) struct PreviewWork {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) revision: u64,
    pub(crate) present: Arc<ContextPlan>,
    pub(crate) snapshot: Snapshot,
    pub(crate) price: Option<Price>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) result: Option<Result<Solved, Failure>>,
}

/// The what-if comparison that is being solved.
pub(crate) struct RunningWhatIf {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) draft: Draft,
    pub(crate) stop: Arc<AtomicBool>,
}

/// A solved plan without its bytes.
pub(crate) struct VariantPlan {
    pub(crate) plan: Arc<ContextPlan>,
    pub(crate) outline: Arc<Outline>,
}

/// One variant: its overrides, its snapshot, its result.
pub(crate) struct PlannedVariant {
    pub(crate) overrides: Overrides,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) price: Option<Price>,
    /// Whether it uses the same model as the current call, so that the server may have cached the prefix.
    pub(crate) same_model: bool,
    pub(crate) result: Option<Result<VariantPlan, Failure>>,
}

/// All variants; the first is the current call.
pub(crate) struct WhatIfWork {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) revision: u64,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) all: Vec<PlannedVariant>,
}

/// The outline of a request and the plan that it was made from.
pub(crate) type PreviousRequest = (Arc<Outline>, Box<ContextPlan>);
