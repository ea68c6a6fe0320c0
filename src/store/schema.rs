//! The tables, and the migration of older files.
//! Not for: opening files (`open`) or the pragmas of a connection.

use super::types::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// The application id in the header of every store: `plch`.
pub(super) const APPLICATION_ID: i64 = 0x706c_6368;

/// The SQL of each step. A file's schema version is the number of its steps.
pub(super) const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// Returns the newest schema version that this program knows.
pub(super) fn known() -> i64 {
    version(STEPS)
}

/// Returns the schema version after these steps.
pub(super) fn version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Migrates a file: runs all missing steps and sets the new version in one transaction, which takes the write lock
/// immediately.
pub(super) fn migrate(conn: &mut Connection, steps: &[&str]) -> Result<(), StoreError> {
    let current = |conn: &Connection| conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    if current(conn)? == version(steps) {
        return Ok(());
    }
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Another process may have migrated the file while this one waited for the lock.
    let found = current(&transaction)?;
    let missing = usize::try_from(found).ok().and_then(|found| steps.get(found..)).ok_or_else(|| {
        StoreError::Sql(format!("the schema could not be brought up to date: its version is {found}"))
    })?;
    missing.iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", version(steps))?;
    Ok(transaction.commit()?)
}

/// Creates the tables of the schema version `version` in an empty file.
pub(super) fn migrate_to(conn: &mut Connection, version: i64) -> Result<(), StoreError> {
    let steps = usize::try_from(version).unwrap_or_default().min(STEPS.len());
    migrate(conn, &STEPS[..steps])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_once_and_a_newer_schema_is_refused() {
        let mut conn = Connection::open_in_memory().unwrap();
        for steps in [1, STEPS.len(), STEPS.len()] {
            migrate(&mut conn, &STEPS[..steps]).unwrap();
            let found: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
            assert_eq!(found, version(&STEPS[..steps]));
        }
        assert!(migrate(&mut conn, &STEPS[..1]).is_err());
    }
}
