//! The tables, and the migration of older files.
//! Not for: opening files (`open`) or the pragmas of a connection.

use super::types::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use rusqlite_migration::{M, Migrations};

/// The application id in the header of every store: `plch`.
pub(super) const APPLICATION_ID: i64 = 0x706c_6368;

pub(super) const STEPS: &[M<'static>] = &[
    M::up(include_str!("schema/1.sql")),
    M::up(include_str!("schema/2.sql")),
    M::up(include_str!("schema/3.sql")),
    M::up(include_str!("schema/4.sql")),
    M::up(include_str!("schema/5.sql")),
];

/// Returns the newest schema version that this program knows.
pub(super) fn known() -> i64 {
    version(STEPS)
}

/// Returns the schema version after these steps.
pub(super) fn version(steps: &[M<'_>]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Migrates a file: runs all missing steps and sets the new version in one transaction, which takes the write lock at
/// once.
pub(super) fn migrate(conn: &mut Connection, steps: &[M<'_>]) -> Result<(), StoreError> {
    conn.set_transaction_behavior(TransactionBehavior::Exclusive);
    let result = Migrations::from_slice(steps).to_latest(conn);
    conn.set_transaction_behavior(TransactionBehavior::Deferred);
    result.map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
        other => StoreError::Sql(format!("the schema could not be brought up to date: {other}")),
    })
}

/// Creates the tables of the schema version `version` in an empty file.
pub(super) fn migrate_to(conn: &mut Connection, version: i64) -> Result<(), StoreError> {
    let steps = usize::try_from(version).unwrap_or_default().min(STEPS.len());
    if steps == 0 { Ok(()) } else { migrate(conn, &STEPS[..steps]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_migrations_are_valid() {
        Migrations::from_slice(STEPS).validate().unwrap();
    }
}
