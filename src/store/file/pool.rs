//! The readers: read-only connections. The pool keeps some of them open.
//! Not for: the writer's connection.

use crate::store::types::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long SQLite waits for another process's lock.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of idle readers that are kept open.
const MAX_IDLE: usize = 4;

thread_local! {
    /// The number of reads that this thread ran.
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of reads that the calling thread ran. Writes always run on the writer's thread.
pub(crate) fn reads_here() -> u64 {
    READS.get()
}

/// A pool that opens readers on demand.
pub(crate) struct Pool {
    path: PathBuf,
    immutable: bool,
    idle: Mutex<Vec<Connection>>,
    watch: Mutex<Option<Connection>>,
}

impl Pool {
    /// Creates a pool for this file. With `immutable`, reads without locks; no process may be writing the file then.
    pub(crate) fn new(path: PathBuf, immutable: bool) -> Self {
        Self { path, immutable, idle: Mutex::new(Vec::new()), watch: Mutex::new(None) }
    }

    /// Runs a read on an idle or new reader.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        READS.set(READS.get() + 1);
        let idle = lock(&self.idle).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => reader(&self.path, self.immutable)?,
        };
        let result = read(&conn);
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE && !matches!(result, Err(StoreError::Corrupt { .. })) {
            idle.push(conn);
        }
        result
    }

    /// Runs a read on the same reader each time, because values of `PRAGMA data_version` are comparable only on one
    /// connection.
    pub(crate) fn watch<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        READS.set(READS.get() + 1);
        match &mut *lock(&self.watch) {
            Some(conn) => read(conn),
            none => read(none.insert(reader(&self.path, self.immutable)?)),
        }
    }

    /// Closes all idle readers.
    pub(crate) fn clear(&self) {
        lock(&self.idle).clear();
        *lock(&self.watch) = None;
    }
}

/// Locks a mutex even if it is poisoned: a panic during a read leaves no state that matters to the next reader.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a reader.
pub(crate) fn reader(path: &Path, immutable: bool) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = if immutable {
        Connection::open_with_flags(uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    conn.busy_timeout(LOCK_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;")?;
    Ok(conn)
}

/// Returns a `file:` URI that marks the file as immutable.
fn uri(path: &Path) -> String {
    let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~');
    let written = |byte: &u8| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_encoded_bytes().iter().map(written).collect();
    format!("file:{path}?immutable=1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surplus_readers_are_closed() {
        fn within(pool: &Pool, more: usize) {
            let deeper = |_: &Connection| {
                (0..more.min(1)).for_each(|_| within(pool, more - 1));
                Ok(())
            };
            pool.with(deeper).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let pool = Pool::new(file, false);
        for (more, stay) in [(0, 1), (MAX_IDLE + 3, MAX_IDLE)] {
            within(&pool, more);
            assert_eq!(lock(&pool.idle).len(), stay);
        }
    }
}
