//! Converts our values to and from SQLite, and SQLite's errors to ours.
//! Not for: queries.

use super::types::StoreError;
use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::Path;

/// The message of an error when another process held the lock for longer than SQLite waits. The writer retries such
/// writes.
const LOCKED: &str = "another program holds the store's lock";

/// `SQLITE_IOERR_WRITE`: the system refused a write (for example because of a file size limit or a quota).
const IOERR_WRITE: i32 = 778;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let is_write_failure = error.sqlite_error().is_some_and(|failure| failure.extended_code == IOERR_WRITE);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.to_string()),
            Some(ErrorCode::SystemIoFailure) if is_write_failure => Self::Full(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { path: String::new(), why: error.to_string() }
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::Open { path: String::new(), why: error.to_string() }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Sql(LOCKED.into()),
            _ => Self::Sql(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Sql(format!("a stored value can't be read: {error}"))
    }
}

/// Returns whether the lock was not available, so that a retry may succeed.
pub(super) fn is_locked(error: &StoreError) -> bool {
    matches!(error, StoreError::Sql(what) if what == LOCKED)
}

/// Returns whether the same write may succeed later: the lock was taken, the disk was full, or the file could not be
/// written.
pub(super) fn is_transient(error: &StoreError) -> bool {
    is_locked(error) || matches!(error, StoreError::Full(_) | StoreError::Open { .. } | StoreError::ReadOnly)
}

/// Adds the store's path to an error that has none.
pub(super) fn with_path(error: StoreError, at: &Path) -> StoreError {
    let path = at.display().to_string();
    match error {
        StoreError::Corrupt { path: known, why } if known.is_empty() => StoreError::Corrupt { path, why },
        StoreError::Open { path: known, why } if known.is_empty() => StoreError::Open { path, why },
        other => other,
    }
}

/// Converts an unsigned integer, which SQLite does not have. Our values stay far below the limit.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts an integer back; the inverse of [`int`].
pub(super) fn uint(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl ToSql for Hash {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

impl FromSql for Hash {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        FromSql::column_result(value).map(Self)
    }
}

macro_rules! id_in_sql {
    ($($name:ident)*) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.0.as_bytes().to_vec()))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <[u8; 16]>::column_result(value).map(|bytes| Self(uuid::Uuid::from_bytes(bytes)))
            }
        }
    )*};
}

id_in_sql!(SessionId BranchId NodeId RunId MemoryId);

/// A value stored as JSON text.
pub(super) struct Json<T>(pub T);

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0).map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
        Ok(ToSqlOutput::from(text))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

/// Returns the value that a column holds as JSON text.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    Ok(row.get::<_, Json<T>>(column)?.0)
}

/// Returns a row id and the value that the next column holds as JSON text.
pub(super) fn numbered_json<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<(i64, T)> {
    Ok((row.get(0)?, json(row, 1)?))
}

/// Returns the number that SQLite keeps under this name, such as `user_version`.
pub(super) fn pragma(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, name, |row| row.get(0))
}

/// Returns the row id of a session, or `None` if it does not exist.
pub(super) fn session_row(conn: &Connection, id: SessionId) -> Result<Option<i64>, StoreError> {
    first_row(conn, "SELECT n FROM session WHERE id = ?1", [id], |row| row.get(0))
}

/// Returns all rows of a query, each as `read` returns it.
pub(super) fn all_rows<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    Ok(conn.prepare_cached(sql)?.query_map(values, read)?.collect::<Result<_, _>>()?)
}

/// Returns the first row of a query as `read` returns it, or `None` if there is no row.
pub(super) fn first_row<T>(
    conn: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    Ok(conn.prepare_cached(sql)?.query_row(values, read).optional()?)
}

/// Returns the values that a query finds for these keys, at most one for each.
pub(super) fn first_rows<P: Params, T>(
    conn: &Connection,
    sql: &str,
    keys: &[Hash],
    values: impl Fn(Hash) -> P,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<HashMap<Hash, T>, StoreError> {
    let view = conn.unchecked_transaction()?;
    let mut query = view.prepare_cached(sql)?;
    let mut found = HashMap::with_capacity(keys.len());
    for key in keys {
        found.extend(query.query_row(values(*key), &read).optional()?.map(|value| (*key, value)));
    }
    Ok(found)
}

/// Returns the first and the last blob of `N` bytes whose hex digits begin with `prefix`, or `None` if there is none.
/// Ignores hyphens, as in a UUID.
pub(super) fn hex_range<const N: usize>(prefix: &str) -> Option<([u8; N], [u8; N])> {
    let digits: Vec<u8> = prefix
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if digits.is_empty() || digits.len() > 2 * N {
        return None;
    }
    let (mut low, mut high) = ([0; N], [0xff; N]);
    for (place, digit) in digits.into_iter().enumerate() {
        let (shift, other_half) = if place % 2 == 0 { (4, 0x0f) } else { (0, 0xf0) };
        for end in [&mut low, &mut high] {
            end[place / 2] = (end[place / 2] & other_half) | (digit << shift);
        }
    }
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_ranges_cover_the_prefix() {
        let (low, high) = hex_range::<2>("a").unwrap();
        assert_eq!((low, high), ([0xa0, 0], [0xaf, 0xff]));
        assert_eq!(hex_range::<2>("a-B").unwrap(), ([0xab, 0], [0xab, 0xff]));
        assert_eq!(hex_range::<2>("abcd").unwrap(), ([0xab, 0xcd], [0xab, 0xcd]));
        assert!(hex_range::<2>("abcde").is_none());
        assert!(hex_range::<2>("x").is_none());
        assert!(hex_range::<2>("").is_none());
    }
}
