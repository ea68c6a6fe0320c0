//! Memories, and their deletion with removed messages or sessions.
//! Not for: which memories are sent, or the transitions of items (`steps`).

use crate::domain::base::SessionId;
use crate::domain::base::ids::MemoryId;
use crate::domain::conversation::{Change, Memory, MemoryStatus, Operation, Scope};
use crate::store::Store;
use crate::store::sql::{Json, all_rows, first_row, json, numbered_json};
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use std::collections::HashSet;

/// The named value that counts changes to memories.
const CHANGE_COUNT: &str = "memory:clock";

impl Store {
    /// Returns the memories that apply in a session, including global ones, oldest first; only global ones without a
    /// session.
    pub fn memories(&self, session: Option<SessionId>) -> Result<Vec<Memory>, StoreError> {
        let sql = "SELECT body FROM memory WHERE session IS NULL
                 OR session = (SELECT n FROM session WHERE id = ?1) ORDER BY n";
        self.read(|conn| all_rows(conn, sql, [session], |row| json(row, 0)))
    }

    /// Returns one memory.
    pub fn memory(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        self.read(|conn| first_row(conn, "SELECT body FROM memory WHERE id = ?1", [id], |row| json(row, 0)))
    }

    /// Returns a value that changes whenever any memory changes.
    pub fn memory_clock(&self) -> Result<Option<String>, StoreError> {
        self.setting(CHANGE_COUNT)
    }
}

/// Stores a memory: a new one if `expect` is `None`, otherwise in place of that version.
pub(crate) fn put(tx: &WriteTransaction<'_>, memory: &Memory, expect: Option<u32>) -> Result<(), StoreError> {
    let session = match memory.scope {
        Scope::Session(id) => Some(tx.session(id)?),
        Scope::All => None,
    };
    let (id, version, body) = (&memory.id, &memory.version, Json(memory));
    match expect {
        None => tx.run_one(
            "INSERT INTO memory (id, session, version, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
            &[id, &session, version, &body],
        )?,
        Some(old) => tx.run_one(
            "UPDATE memory SET session = ?2, version = ?3, body = ?4 WHERE id = ?1 AND version = ?5",
            &[id, &session, version, &body, &old],
        )?,
    }
    count_change(tx)
}

/// Deletes a memory if its version is the expected one.
pub(crate) fn delete(tx: &WriteTransaction<'_>, id: MemoryId, expect: u32) -> Result<(), StoreError> {
    tx.run_one("DELETE FROM memory WHERE id = ?1 AND version = ?2", &[&id, &expect])?;
    count_change(tx)
}

fn count_change(tx: &WriteTransaction<'_>) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO setting (key, value) VALUES (?1, '1')
         ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        &[&CHANGE_COUNT],
    )
}

/// Deletes memories that were made from removed messages (given by id or key) and never confirmed. Also deletes them
/// from the operations, so that undo cannot restore them. Returns the deleted texts.
pub(crate) fn forget_messages(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    keys: &HashSet<String>,
) -> Result<Vec<String>, StoreError> {
    let from_them = |memory: &Memory| {
        memory.source.session == Some(session) && memory.source.node.is_some_and(|key| keys.contains(&key.to_string()))
    };
    forget_changes(tx, &from_them)?;
    let mut deleted = Vec::new();
    for (n, memory) in made_in(tx, session)? {
        if memory.status != MemoryStatus::Confirmed && from_them(&memory) {
            tx.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
            deleted.push(memory.text);
        }
    }
    if !deleted.is_empty() {
        count_change(tx)?;
    }
    Ok(deleted)
}

/// Deletes the memories made in a session that are its own or unconfirmed. The others stay, but no longer name the
/// session.
pub(crate) fn forget_session(tx: &WriteTransaction<'_>, id: SessionId) -> Result<(), StoreError> {
    let is_deleted = |memory: &Memory| {
        memory.scope == Scope::Session(id)
            || (memory.source.session == Some(id) && memory.status != MemoryStatus::Confirmed)
    };
    forget_changes(tx, &is_deleted)?;
    for (n, memory) in made_in(tx, id)? {
        if is_deleted(&memory) {
            tx.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
        } else {
            tx.run(
                "UPDATE memory SET body = json_remove(body, '$.source.session', '$.source.node') WHERE n = ?1",
                &[&n],
            )?;
        }
    }
    count_change(tx)
}

fn made_in(tx: &WriteTransaction<'_>, session: SessionId) -> Result<Vec<(i64, Memory)>, StoreError> {
    let sql = "SELECT n, body FROM memory WHERE body ->> '$.source.session' = ?1 ORDER BY n";
    all_rows(tx.conn, sql, [session.to_string()], numbered_json)
}

/// Removes the changes of such memories from all operations, and deletes operations without changes.
fn forget_changes(tx: &WriteTransaction<'_>, is_deleted: &dyn Fn(&Memory) -> bool) -> Result<(), StoreError> {
    let sql = "SELECT seq, body FROM operation
         WHERE EXISTS (SELECT 1 FROM json_each(operation.body, '$.changes') AS c WHERE c.value ->> '$.change' = 'memory')";
    for (seq, mut operation) in all_rows(tx.conn, sql, [], numbered_json::<Operation>)? {
        let before = operation.changes.len();
        operation.changes.retain(|change| match change {
            Change::Memory { before, after } => ![before, after].into_iter().flatten().any(|memory| is_deleted(memory)),
            _ => true,
        });
        if operation.changes.is_empty() {
            tx.run("DELETE FROM operation WHERE seq = ?1", &[&seq])?;
        } else if operation.changes.len() < before {
            tx.run("UPDATE operation SET body = ?2 WHERE seq = ?1", &[&seq, &Json(&operation)])?;
        }
    }
    Ok(())
}
