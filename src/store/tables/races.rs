//! Records of race branches.
//! Not for: the calls made on them (`runs`).

use crate::domain::base::SessionId;
use crate::domain::call::BranchRun;
use crate::store::Store;
use crate::store::sql::{Json, all_rows, json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;

impl Store {
    /// Returns the race branches of a session in order of creation.
    pub fn branch_runs(&self, session: SessionId) -> Result<Vec<BranchRun>, StoreError> {
        let sql = "SELECT body FROM branch_run WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
        self.read(|conn| all_rows(conn, sql, [session], |row| json(row, 0)))
    }
}

/// Stores a record, new or changed.
pub(crate) fn put(tx: &WriteTransaction<'_>, session: SessionId, record: &BranchRun) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    tx.run(
        "INSERT INTO branch_run (session, branch, body) VALUES (?1, ?2, ?3)
         ON CONFLICT (branch) DO UPDATE SET body = excluded.body",
        &[&row, &record.branch, &Json(record)],
    )
}
