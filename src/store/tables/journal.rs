//! State versions and the operation log of a session.
//! Not for: choosing the current state version, or undo (`engine`).

use crate::domain::base::SessionId;
use crate::domain::conversation::{Operation, StateVersion};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, int, json, numbered_json, uint};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;

impl Store {
    /// Returns a session's state versions, oldest first.
    pub fn states(&self, session: SessionId) -> Result<Vec<StateVersion>, StoreError> {
        let sql =
            "SELECT body FROM state_version WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY version";
        self.read(|conn| all_rows(conn, sql, [session], |row| json(row, 0)))
    }

    /// Returns a session's operations, oldest first.
    pub fn ops(&self, session: SessionId) -> Result<Vec<Operation>, StoreError> {
        self.read(|conn| {
            let sql = "SELECT seq, undone, body FROM operation WHERE session = (SELECT n FROM session WHERE id = ?1)
                 ORDER BY seq";
            all_rows(conn, sql, [session], |row| {
                let body: Operation = json(row, 2)?;
                Ok(Operation { seq: uint(row.get(0)?), undone: row.get(1)?, ..body })
            })
        })
    }
}

/// Stores a state version, new or changed.
pub(crate) fn put_state(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    version: &StateVersion,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let version = StateVersion { node: tx.stored_id(version.node), ..version.clone() };
    tx.run(
        "INSERT INTO state_version (session, version, node, body) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session, version) DO UPDATE SET node = excluded.node, body = excluded.body",
        &[&row, &version.version, &version.node, &Json(&version)],
    )
}

/// Stores an operation. Operations that are undone can then no longer be redone.
pub(crate) fn put_op(tx: &WriteTransaction<'_>, operation: &Operation) -> Result<(), StoreError> {
    let row = tx.session(operation.session)?;
    tx.run("DELETE FROM operation WHERE session = ?1 AND undone = 1", &[&row])?;
    tx.run(
        "INSERT INTO operation (session, undone, body) VALUES (?1, ?2, ?3)",
        &[&row, &operation.undone, &Json(operation)],
    )
}

/// Passes each operation of a session to `change`, and stores the operations for which it returns true.
pub(crate) fn change_ops(
    tx: &WriteTransaction<'_>,
    session: i64,
    change: &mut dyn FnMut(&mut Operation) -> bool,
) -> Result<(), StoreError> {
    let sql = "SELECT seq, body FROM operation WHERE session = ?1";
    for (seq, mut operation) in all_rows(tx.conn, sql, [session], numbered_json)? {
        if change(&mut operation) {
            tx.run("UPDATE operation SET body = ?2 WHERE seq = ?1", &[&seq, &Json(&operation)])?;
        }
    }
    Ok(())
}

/// Marks an operation as undone or redone.
pub(crate) fn set_undone(tx: &WriteTransaction<'_>, seq: u64, undone: bool) -> Result<(), StoreError> {
    tx.run_one("UPDATE operation SET undone = ?2 WHERE seq = ?1", &[&int(seq), &undone])
}
