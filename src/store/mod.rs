//! The store: one SQLite file, one writer thread, a few readers.
//! Not for: decisions about conversations; the engine decides which data is written and what the data means.
//!
//! Every change is a [`types::Write`]; a list of them is one IMMEDIATE transaction on the writer thread (`writer`).
//! Reads use a small pool (`pool`) and, with SQLite's write-ahead log, never wait for the writer. Each process that has
//! the store open holds a lock on its own file (`owners`), so that others can distinguish a run in progress from a run
//! whose program died.

mod apply;
mod schema;
mod sql;
mod transaction;
pub mod types;

pub mod file;
mod search;
pub mod tables;
#[cfg(test)]
mod tests;

pub use file::open::{OpenOptions, Opened};
use file::owners::Owners;
use file::pool::Pool;
use file::writer::Writer;
use std::path::PathBuf;
use std::sync::Arc;
use types::{StoreError, Write};

/// The store. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    pool: Pool,
    /// `None` if the store is read-only.
    writer: Option<Writer>,
    owners: Owners,
    check: file::check::RunningCheck,
    conversion: file::convert::Conversion,
}

impl Store {
    /// Writes all of these or nothing. Returns when the transaction is committed.
    pub fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.writer()?.write(writes).map_err(|error| self.with_path(error))
    }

    /// Queues a transaction without waiting for it. If it fails for a reason that may pass (a full disk, a lock), it is
    /// kept and retried every second; if it can never succeed (its run no longer exists), it is logged and dropped.
    pub fn post(&self, writes: Vec<Write>) {
        match self.writer() {
            Ok(thread) => thread.post(writes),
            Err(error) => tracing::warn!(%error, count = writes.len(), "dropped posted writes"),
        }
    }

    /// Returns the id of this process as an owner of runs.
    pub fn owner(&self) -> &str {
        &self.0.owners.view.own
    }

    /// Returns whether the process with this owner id is alive, that is, holds its lock.
    pub fn owner_alive(&self, owner: &str) -> bool {
        self.0.owners.view.alive(owner)
    }

    /// Returns the number of reads, from any store, that ran on the calling thread. The thread that draws the screen
    /// must not read.
    pub fn reads_of_this_thread() -> u64 {
        file::pool::reads_here()
    }

    /// Returns whether the store is read-only.
    pub fn read_only(&self) -> bool {
        self.0.writer.is_none()
    }

    /// Returns a number that changes when another process or another `Store` writes, but not when this store writes.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        let found = match &self.0.writer {
            Some(writer) => writer.call(|conn| version(conn)),
            None => self.0.pool.watch(version),
        };
        found.map_err(|error| self.with_path(error))
    }

    /// Writes the queued transactions, merges the log into the file, and stops the writer. Later writes fail.
    pub fn close(&self) {
        self.0.check.stop();
        self.0.conversion.stop();
        if let Some(writer) = &self.0.writer {
            self.0.pool.clear();
            writer.close();
        }
        self.0.owners.release();
    }

    /// Returns why posted writes are not written yet, or `None` if none wait. They are retried every second.
    pub fn post_delay(&self) -> Option<String> {
        self.0.writer.as_ref().and_then(Writer::post_delay)
    }

    /// Returns whether removed text may still be in the log because another program is reading it. The log is truncated
    /// as soon as that program stops reading, by any program that has the store open at that time.
    pub fn purge_pending(&self) -> bool {
        file::writer::purge_mark(&self.0.path).exists()
    }

    /// Returns the writer, after interrupting the statement that would block it.
    fn writer(&self) -> Result<&Writer, StoreError> {
        let writer = self.0.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        self.0.conversion.yield_to_writer();
        Ok(writer)
    }

    /// Runs a read on a connection of the pool.
    fn read<T>(&self, read: impl FnOnce(&rusqlite::Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.0.pool.with(read).map_err(|error| self.with_path(error))
    }

    /// Adds the store's path to an error that lacks it.
    fn with_path(&self, error: StoreError) -> StoreError {
        sql::with_path(error, &self.0.path)
    }
}

fn version(conn: &rusqlite::Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA data_version", [], |row| row.get(0))?)
}
