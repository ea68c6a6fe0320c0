//! Finds a stored call by a prefix of its id, and reads its stored plan; with the failures of reading and writing a
//! plan.
//! Not for: the content of a call (`replay`, `plan_diff`).

use crate::domain::base::{Failure, FailureKind, Hash};
use crate::domain::call::RunCard;
use crate::store::Store;

/// Returns the call that a prefix of its id names.
pub(crate) fn one_run(store: &Store, prefix: &str) -> Result<RunCard, Failure> {
    let mut runs = store.run_by_prefix(prefix)?;
    match runs.len() {
        0 => Err(Failure::user(format!("There is no call or plan {prefix:?}."))
            .todo("`pleach plans list` lists the calls and their plans.")),
        1 => Ok(runs.remove(0)),
        _ => Err(Failure::user(format!("{prefix:?} matches several calls.")).todo("Type more of the id.")),
    }
}

/// Returns the stored plan of a call as JSON.
pub(crate) fn plan_json(store: &Store, id: Hash) -> Result<String, Failure> {
    let found = store.plan_by_prefix(&id.to_string())?.pop();
    found.map(|(_, json)| json).ok_or_else(|| Failure::user("The plan of that call was deleted."))
}

pub(crate) fn unwritable(error: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Internal, format!("The plan can't be written: {error}."))
}

pub(crate) fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Store, format!("The stored plan can't be read: {error}."))
}
