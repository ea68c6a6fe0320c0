//! Stored calls (replayed, raced, compared, listed, bundled) and auxiliary calls.
//! Not for: calls of a turn (`turns`).

pub(super) mod auxiliary_call;
pub(super) mod bundle;
pub(super) mod comparisons;
pub(super) mod diff_worker;
pub(super) mod ledger;
pub(super) mod meters;
pub(super) mod plan_diff;
pub(super) mod quirks;
pub(super) mod race;
pub(super) mod race_work;
pub(super) mod replay;
pub(super) mod rerun;
pub(super) mod sent_request;
pub(super) mod stored_runs;
