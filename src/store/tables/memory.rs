//! Memories, with what goes when messages or sessions go.
//! Not for: which memories are sent, or the steps of items (`steps`).

use crate::domain::base::ids::{MemoryId, SessionId};
use crate::domain::conversation::memory::{Memory, MemoryStatus, Scope};
use crate::domain::conversation::operation::{Change, Operation};
use crate::store::Store;
use crate::store::sql::Json;
use crate::store::transaction::WriteTransaction;
use crate::store::types::StoreError;
use rusqlite::OptionalExtension as _;
use std::collections::HashSet;

/// The name under which changes to memories are counted.
const CLOCK: &str = "memory:clock";

impl Store {
    /// The memories that hold in a session (those of all sessions too), oldest first; only the latter where none is named.
    pub fn memories(&self, session: Option<SessionId>) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT body FROM memory WHERE session IS NULL
                 OR session = (SELECT n FROM session WHERE id = ?1) ORDER BY n",
            )?;
            let rows = query.query_map([session], |row| Ok(row.get::<_, Json<Memory>>(0)?.0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// One memory.
    pub fn memory(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached("SELECT body FROM memory WHERE id = ?1")?;
            Ok(query.query_row([id], |row| Ok(row.get::<_, Json<Memory>>(0)?.0)).optional()?)
        })
    }

    /// A value that is another one whenever any memory has changed.
    pub fn memory_clock(&self) -> Result<Option<String>, StoreError> {
        self.setting(CLOCK)
    }
}

/// A memory, new (`expect` is none) or in place of the version that must be there.
pub(crate) fn put(tx: &WriteTransaction<'_>, memory: &Memory, expect: Option<u32>) -> Result<(), StoreError> {
    let session = match memory.scope {
        Scope::Session(id) => Some(tx.session(id)?),
        Scope::All => None,
    };
    let (id, version, body) = (&memory.id, &memory.version, Json(memory));
    match expect {
        None => tx.must(
            "INSERT INTO memory (id, session, version, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
            &[id, &session, version, &body],
        )?,
        Some(old) => tx.must(
            "UPDATE memory SET session = ?2, version = ?3, body = ?4 WHERE id = ?1 AND version = ?5",
            &[id, &session, version, &body, &old],
        )?,
    }
    tick(tx)
}

/// A memory goes, when the version is the one that was seen.
pub(crate) fn delete(tx: &WriteTransaction<'_>, id: MemoryId, expect: u32) -> Result<(), StoreError> {
    tx.must("DELETE FROM memory WHERE id = ?1 AND version = ?2", &[&id, &expect])?;
    tick(tx)
}

fn tick(tx: &WriteTransaction<'_>) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO setting (key, value) VALUES (?1, '1')
         ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        &[&CLOCK],
    )?;
    Ok(())
}

/// Messages of a session were removed, named by their keys: what was made from them and never confirmed goes, and nothing
/// of it can come back by undoing. Gives the texts that went.
pub(crate) fn forget_messages(
    tx: &WriteTransaction<'_>,
    session: SessionId,
    keys: &HashSet<String>,
) -> Result<Vec<String>, StoreError> {
    let from_them = |memory: &Memory| {
        memory.source.session == Some(session) && memory.source.node.is_some_and(|key| keys.contains(&key.to_string()))
    };
    forget_changes(tx, &from_them)?;
    let mut gone = Vec::new();
    for (n, memory) in made_in(tx, session)? {
        if memory.status != MemoryStatus::Confirmed && from_them(&memory) {
            tx.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
            gone.push(memory.text);
        }
    }
    if !gone.is_empty() {
        tick(tx)?;
    }
    Ok(gone)
}

/// A session is being deleted: its own memories go, and those made in it that nobody confirmed. What holds in all sessions
/// stays, without naming the session.
pub(crate) fn forget_session(tx: &WriteTransaction<'_>, id: SessionId, row: i64) -> Result<(), StoreError> {
    let goes = |memory: &Memory| {
        memory.scope == Scope::Session(id)
            || (memory.source.session == Some(id) && memory.status != MemoryStatus::Confirmed)
    };
    forget_changes(tx, &goes)?;
    for (n, memory) in made_in(tx, id)? {
        if goes(&memory) {
            tx.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
        } else {
            tx.run(
                "UPDATE memory SET body = json_remove(body, '$.source.session', '$.source.node') WHERE n = ?1",
                &[&n],
            )?;
        }
    }
    tx.run("DELETE FROM memory WHERE session = ?1", &[&row])?;
    super::steps::forget_session(tx, row)?;
    tick(tx)
}

fn made_in(tx: &WriteTransaction<'_>, session: SessionId) -> Result<Vec<(i64, Memory)>, StoreError> {
    let mut query =
        tx.conn.prepare_cached("SELECT n, body FROM memory WHERE body ->> '$.source.session' = ?1 ORDER BY n")?;
    let rows = query.query_map([session.to_string()], |row| Ok((row.get(0)?, row.get::<_, Json<Memory>>(1)?.0)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Takes changes of such memories out of all operations, and operations in which nothing is left.
fn forget_changes(tx: &WriteTransaction<'_>, goes: &dyn Fn(&Memory) -> bool) -> Result<(), StoreError> {
    let mut query = tx.conn.prepare_cached(
        "SELECT seq, body FROM operation
         WHERE EXISTS (SELECT 1 FROM json_each(operation.body, '$.changes') AS c WHERE c.value ->> '$.change' = 'memory')",
    )?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Json<Operation>>(1)?.0)))?;
    for (seq, mut operation) in rows.collect::<Result<Vec<(i64, Operation)>, _>>()? {
        let before = operation.changes.len();
        operation.changes.retain(|change| match change {
            Change::Memory { before, after } => ![before, after].into_iter().flatten().any(|memory| goes(memory)),
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
