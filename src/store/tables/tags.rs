//! Tags: labels and favorites.
//! Not for: choosing the tags that a removal deletes (`removal`).

use crate::domain::base::{Hash, SessionId};
use crate::domain::conversation::Tag;
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, json, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::Connection;
use std::collections::HashSet;

impl Store {
    /// Returns a session's tags, in the order of the messages' keys.
    pub fn tags(&self, session: SessionId) -> Result<Vec<Tag>, StoreError> {
        let sql = "SELECT body FROM tag WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY node";
        self.read(|conn| all_rows(conn, sql, [session], |row| json(row, 0)))
    }
}

/// Returns the row ids of all messages whose name contains `named`, which must be in lower case.
pub(crate) fn with_label(conn: &Connection, named: &str) -> Result<HashSet<i64>, StoreError> {
    let sql = "SELECT node.n, tag.body FROM tag JOIN node ON node.session = tag.session AND node.key = tag.node";
    let is_named = |tag: &Tag| !tag.label.is_empty() && tag.label.to_lowercase().contains(named);
    let all = all_rows(conn, sql, [], numbered_json)?.into_iter();
    Ok(all.filter(|(_, tag)| is_named(tag)).map(|(n, _)| n).collect())
}

/// Sets, changes, or removes a tag if the current one is `expect`; otherwise fails with `Moved`.
pub(crate) fn put(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    node: Hash,
    expect: Option<&Tag>,
    tag: Option<&Tag>,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let sql = "SELECT body FROM tag WHERE session = ?1 AND node = ?2";
    let current: Option<Tag> = first_row(tx.conn, sql, (row, node), |row| json(row, 0))?;
    if current.as_ref() != expect {
        return Err(StoreError::Moved);
    }
    match tag {
        None => tx.run("DELETE FROM tag WHERE session = ?1 AND node = ?2", &[&row, &node]),
        Some(tag) => tx.run(
            "INSERT INTO tag (session, node, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (session, node) DO UPDATE SET body = excluded.body",
            &[&row, &node, &Json(tag)],
        ),
    }
}

/// Deletes the tags for which `is_removed` returns true.
pub(crate) fn forget(
    tx: &WriteTransaction<'_>,
    session: i64,
    is_removed: &dyn Fn(&Tag) -> bool,
) -> Result<(), StoreError> {
    let sql = "SELECT body FROM tag WHERE session = ?1";
    let all: Vec<Tag> = all_rows(tx.conn, sql, [session], |row| json(row, 0))?;
    for tag in all.iter().filter(|tag| is_removed(tag)) {
        tx.run("DELETE FROM tag WHERE session = ?1 AND node = ?2", &[&session, &tag.node])?;
    }
    Ok(())
}
