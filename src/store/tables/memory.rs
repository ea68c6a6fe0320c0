//! Memories, with what goes when messages or sessions go.
//! Not for: which memories are sent, or the steps of items (`steps`).

use crate::domain::base::ids::{MemoryId, SessionId};
use crate::domain::conversation::memory::{Memory, MemoryStatus, Scope};
use crate::domain::conversation::operation::{Change, Operation};
use crate::store::Store;
use crate::store::apply::Apply;
use crate::store::sql::Json;
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
pub(crate) fn put(apply: &Apply<'_>, memory: &Memory, expect: Option<u32>) -> Result<(), StoreError> {
    let session = match memory.scope {
        Scope::Session(id) => Some(apply.session(id)?),
        Scope::All => None,
    };
    let (id, version, body) = (&memory.id, &memory.version, Json(memory));
    match expect {
        None => apply.must(
            "INSERT INTO memory (id, session, version, body) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
            &[id, &session, version, &body],
        )?,
        Some(old) => apply.must(
            "UPDATE memory SET session = ?2, version = ?3, body = ?4 WHERE id = ?1 AND version = ?5",
            &[id, &session, version, &body, &old],
        )?,
    }
    tick(apply)
}

/// A memory goes, when the version is the one that was seen.
pub(crate) fn delete(apply: &Apply<'_>, id: MemoryId, expect: u32) -> Result<(), StoreError> {
    apply.must("DELETE FROM memory WHERE id = ?1 AND version = ?2", &[&id, &expect])?;
    tick(apply)
}

fn tick(apply: &Apply<'_>) -> Result<(), StoreError> {
    apply.run(
        "INSERT INTO setting (key, value) VALUES (?1, '1')
         ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        &[&CLOCK],
    )?;
    Ok(())
}

/// Messages of a session were removed, named by their keys: what was made from them and never confirmed goes, and nothing
/// of it can come back by undoing. Gives the texts that went.
pub(crate) fn forget_messages(
    apply: &Apply<'_>,
    session: SessionId,
    keys: &HashSet<String>,
) -> Result<Vec<String>, StoreError> {
    let from_them = |memory: &Memory| {
        memory.source.session == Some(session) && memory.source.node.is_some_and(|key| keys.contains(&key.to_string()))
    };
    forget_changes(apply, &from_them)?;
    let mut gone = Vec::new();
    for (n, memory) in made_in(apply, session)? {
        if memory.status != MemoryStatus::Confirmed && from_them(&memory) {
            apply.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
            gone.push(memory.text);
        }
    }
    if !gone.is_empty() {
        tick(apply)?;
    }
    Ok(gone)
}

/// A session is being deleted: its own memories go, and those made in it that nobody confirmed. What holds in all sessions
/// stays, without naming the session.
pub(crate) fn forget_session(apply: &Apply<'_>, id: SessionId, row: i64) -> Result<(), StoreError> {
    let goes = |memory: &Memory| {
        memory.scope == Scope::Session(id)
            || (memory.source.session == Some(id) && memory.status != MemoryStatus::Confirmed)
    };
    forget_changes(apply, &goes)?;
    for (n, memory) in made_in(apply, id)? {
        if goes(&memory) {
            apply.run("DELETE FROM memory WHERE n = ?1", &[&n])?;
        } else {
            apply.run(
                "UPDATE memory SET body = json_remove(body, '$.source.session', '$.source.node') WHERE n = ?1",
                &[&n],
            )?;
        }
    }
    apply.run("DELETE FROM memory WHERE session = ?1", &[&row])?;
    super::steps::forget_session(apply, row)?;
    tick(apply)
}

fn made_in(apply: &Apply<'_>, session: SessionId) -> Result<Vec<(i64, Memory)>, StoreError> {
    let mut query =
        apply.conn.prepare_cached("SELECT n, body FROM memory WHERE body ->> '$.source.session' = ?1 ORDER BY n")?;
    let rows = query.query_map([session.to_string()], |row| Ok((row.get(0)?, row.get::<_, Json<Memory>>(1)?.0)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Takes changes of such memories out of all operations, and operations in which nothing is left.
fn forget_changes(apply: &Apply<'_>, goes: &dyn Fn(&Memory) -> bool) -> Result<(), StoreError> {
    let mut query = apply.conn.prepare_cached(
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
            apply.run("DELETE FROM operation WHERE seq = ?1", &[&seq])?;
        } else if operation.changes.len() < before {
            apply.run("UPDATE operation SET body = ?2 WHERE seq = ?1", &[&seq, &Json(&operation)])?;
        }
    }
    Ok(())
}
