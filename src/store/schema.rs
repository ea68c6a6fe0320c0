//! The tables, and how an older file becomes a present one.
//! Not for: opening files (`open`) or the pragmas that a connection sets.

use super::types::StoreError;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};

/// Stands in the header of every store of ours: `plch`.
pub(super) const APPLICATION_ID: i64 = 0x706c_6368;

const STEPS: &[M<'static>] = &[M::up(include_str!("schema/1.sql")), M::up(include_str!("schema/2.sql"))];

/// The newest schema that this program knows.
pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings a file up to the present, each step in a transaction of its own.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    Migrations::from_slice(STEPS).to_latest(conn).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
        other => StoreError::Sql(format!("the schema could not be brought up to date: {other}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_sound() {
        Migrations::from_slice(STEPS).validate().unwrap();
    }
}
