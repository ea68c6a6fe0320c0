//! Sessions: their cards with counters, and the last used session.
//! Not for: deleting one (`removal`).

use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::domain::conversation::SessionCard;
use crate::store::Store;
use crate::store::sql::{all_rows, first_row, uint};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::Row;

const CARD: &str = "SELECT id, title, created_at, updated_at, messages, branches FROM session";

fn card(row: &Row<'_>) -> rusqlite::Result<SessionCard> {
    Ok(SessionCard {
        id: row.get(0)?,
        title: row.get(1)?,
        created_at: row.get(2)?,
        updated_at: row.get(3)?,
        messages: uint(row.get(4)?),
        branches: row.get(5)?,
    })
}

impl Store {
    /// Returns all sessions, last changed first.
    pub fn sessions(&self) -> Result<Vec<SessionCard>, StoreError> {
        self.read(|conn| all_rows(conn, &format!("{CARD} ORDER BY updated_at DESC, n DESC"), [], card))
    }

    /// Returns one session.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionCard>, StoreError> {
        self.read(|conn| first_row(conn, &format!("{CARD} WHERE id = ?1"), [id], card))
    }

    /// Returns the last used session that still exists.
    pub fn last_session(&self) -> Result<Option<SessionId>, StoreError> {
        let sql = "SELECT id FROM session WHERE used > 0 ORDER BY used DESC, n DESC LIMIT 1";
        self.read(|conn| first_row(conn, sql, [], |row| row.get(0)))
    }

    /// Returns the last used branch of a session.
    pub fn last_branch(&self, session: SessionId) -> Result<Option<BranchId>, StoreError> {
        let sql = "SELECT id FROM branch WHERE session = (SELECT n FROM session WHERE id = ?1) AND used > 0
                 ORDER BY used DESC, n DESC LIMIT 1";
        self.read(|conn| first_row(conn, sql, [session], |row| row.get(0)))
    }
}

/// Stores a new session.
pub(crate) fn put(tx: &WriteTransaction<'_>, id: SessionId, title: &str, at: i64) -> Result<(), StoreError> {
    tx.run("INSERT INTO session (id, title, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)", &[&id, &title, &at])
}

/// Sets a title.
pub(crate) fn title(tx: &WriteTransaction<'_>, id: SessionId, title: &str) -> Result<(), StoreError> {
    tx.run_one("UPDATE session SET title = ?2 WHERE id = ?1", &[&id, &title])
}

/// Stores a title made by a model, with its sources.
pub(crate) fn model_title(
    tx: &mut WriteTransaction<'_>,
    id: SessionId,
    title: &str,
    sources: &[NodeId],
) -> Result<(), StoreError> {
    let session = tx.session(id)?;
    for node in sources {
        tx.run(
            "INSERT OR IGNORE INTO made_title (session, node, title) VALUES (?1, ?2, ?3)",
            &[&session, &tx.stored_id(*node), &title],
        )?;
    }
    Ok(())
}

/// Records the session as the last used one.
pub(crate) fn use_session(tx: &WriteTransaction<'_>, id: SessionId) -> Result<(), StoreError> {
    tx.run_one(
        "UPDATE session SET used = 1 + coalesce((SELECT max(used) FROM session WHERE used > 0), 0) WHERE id = ?1",
        &[&id],
    )
}

/// Updates the time of the last change and adds to the message count.
pub(crate) fn touch(tx: &WriteTransaction<'_>, session: i64, at: i64, messages: i64) -> Result<(), StoreError> {
    tx.run_one(
        "UPDATE session SET updated_at = max(updated_at, ?2), messages = messages + ?3 WHERE n = ?1",
        &[&session, &at, &messages],
    )
}
