//! Finds a stored call by a prefix of its id; and the failures of reading and writing its plan.
//! Not for: what a call contained (`replay`, `plan_diff`).

use crate::domain::base::failure::{Failure, FailureKind};
use crate::domain::call::run::RunCard;
use crate::store::Store;

/// Returns the call that a prefix of its id names.
pub(crate) fn one_run(store: &Store, prefix: &str) -> Result<RunCard, Failure> {
    let mut runs = store.run_by_prefix(prefix)?;
    match runs.len() {
        0 => Err(Failure::user(format!("There is no call or plan {prefix:?}.")).todo("pleach plans list shows them.")),
        1 => Ok(runs.remove(0)),
        _ => Err(Failure::user(format!("{prefix:?} matches several calls.")).todo("Type more of the id.")),
    }
}

pub(crate) fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Internal, format!("The plan can't be written: {error}."))
}

pub(crate) fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Store, format!("The stored plan can't be read: {error}."))
}
