//! Transitions of items and memories, and the items that turns touched.
//! Not for: the meaning or timing of a transition (`engine`).

use crate::domain::base::{Hash, SessionId};
use crate::domain::conversation::{Touches, Transition};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_rows, json, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use std::collections::HashMap;

impl Store {
    /// Returns the transitions of a session's items and memories, oldest first.
    pub fn transitions(&self, session: SessionId) -> Result<Vec<Transition>, StoreError> {
        let sql = "SELECT body FROM transition WHERE session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
        self.read(|conn| all_rows(conn, sql, [session], |row| json(row, 0)))
    }

    /// Returns the transitions of some items, by the keys of their subjects, oldest first.
    pub fn steps_of(&self, session: SessionId, items: &[Hash]) -> Result<Vec<Transition>, StoreError> {
        self.read(|conn| {
            let sql = "SELECT n, body FROM transition
                 WHERE session = (SELECT n FROM session WHERE id = ?1) AND item = ?2 ORDER BY n";
            let mut found: Vec<(i64, Transition)> = Vec::new();
            for item in items {
                found.extend(all_rows(conn, sql, (session, item), numbered_json)?);
            }
            found.sort_by_key(|(n, _)| *n);
            found.dedup_by_key(|(n, _)| *n);
            Ok(found.into_iter().map(|(_, step)| step).collect())
        })
    }

    /// Returns the touches of turns, by the keys of their last nodes.
    pub fn touches(&self, session: SessionId, nodes: &[Hash]) -> Result<HashMap<Hash, Touches>, StoreError> {
        let sql = "SELECT body FROM touch WHERE session = (SELECT n FROM session WHERE id = ?1) AND node = ?2";
        self.read(|conn| first_rows(conn, sql, nodes, |node| (session, node), |row| json(row, 0)))
    }
}

/// Stores a transition.
pub(crate) fn put(tx: &WriteTransaction<'_>, session: SessionId, step: &Transition) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    let item = step.item.key();
    tx.run("INSERT INTO transition (session, item, body) VALUES (?1, ?2, ?3)", &[&row, &item, &Json(step)])
}

/// Stores the touches of a turn.
pub(crate) fn put_touches(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    node: Hash,
    touches: &Touches,
) -> Result<(), StoreError> {
    let row = tx.session(session)?;
    tx.run(
        "INSERT INTO touch (session, node, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        &[&row, &node, &Json(touches)],
    )
}
