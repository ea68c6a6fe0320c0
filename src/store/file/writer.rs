//! The writer: a thread that owns the only writing connection.
//! Not for: applying a write to the tables (`apply`).

use super::open::path_with_suffix;
use super::owners::OwnersView;
use super::pool::{LOCK_TIMEOUT, lock};
use super::private;
use crate::store::sql::{is_locked, is_transient, pragma};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, Write};
use rusqlite::{Connection, TransactionBehavior};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The maximum number of queued jobs; additional posts block.
const MAX_QUEUED: usize = 4_096;
/// The maximum number of posted transactions kept in memory while they cannot be written.
const MAX_KEPT: usize = 20_000;
/// The maximum number of posted transactions that are committed together.
const GROUP: usize = 64;
/// The number of attempts if another process blocks a transaction for longer than SQLite waits.
const MAX_ATTEMPTS: u32 = 4;
/// The pause before a failed write is retried.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Returns the path of the marker file that exists while removed text may still be in the log. Every program that opens
/// the store sees it.
pub(crate) fn purge_mark(path: &Path) -> PathBuf {
    path_with_suffix(path, ".purge-pending")
}

enum Job {
    Post(Vec<Write>),
    /// Work for a waiting caller.
    Run(Box<dyn FnOnce(&mut WriterThread) + Send>),
    Stop,
}

/// The writer's handle: passes jobs to its thread.
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
    delay: Arc<Mutex<Option<String>>>,
}

impl Writer {
    /// Starts the thread. With `durable`, every commit is synced.
    pub(crate) fn start(conn: Connection, owners: OwnersView, durable: bool, path: &Path) -> Result<Self, StoreError> {
        let (jobs, queue) = sync_channel(MAX_QUEUED);
        let delay = Arc::default();
        let mark = purge_mark(path);
        let purge = mark.exists();
        let pending = VecDeque::new();
        let thread_state =
            WriterThread { conn, owners, durable, full: durable, pending, purge, mark, delay: Arc::clone(&delay) };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || thread_state.run(&queue))
            .map_err(|error| StoreError::Sql(format!("the writer thread can't be started: {error}")))?;
        Ok(Self { jobs, thread: Mutex::new(Some(thread)), delay })
    }

    /// Writes, and waits for the result.
    pub(crate) fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        self.ask(move |thread| thread.after_posts(|thread| thread.commit(&[&writes])))
    }

    /// Reads, decides what to write, writes it, and waits for the result, all in one transaction.
    pub(crate) fn decide<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<(Vec<Write>, T), StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(move |thread| thread.after_posts(|thread| thread.decide(work)))
    }

    /// Runs work on the thread after all jobs queued before it, and waits for its result.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterThread) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let stopped = || StoreError::Sql("it is closed".into());
        let (reply, answer) = sync_channel(1);
        let job = Job::Run(Box::new(move |thread| drop(reply.send(work(thread)))));
        self.jobs.send(job).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Returns why posted writes are not written yet, or `None` if none wait.
    pub(crate) fn post_delay(&self) -> Option<String> {
        lock(&self.delay).clone()
    }

    /// Queues a transaction without waiting for it.
    pub(crate) fn post(&self, writes: Vec<Write>) {
        if self.jobs.send(Job::Post(writes)).is_err() {
            tracing::error!("the store is closed; dropped posted writes");
        }
    }

    /// Runs a function on the writer's connection after all jobs queued before it.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask(|thread| work(&mut thread.conn))
    }

    /// Ends the thread after the queued jobs are done.
    pub(crate) fn close(&self) {
        if let Some(thread) = lock(&self.thread).take() {
            drop(self.jobs.send(Job::Stop));
            if thread.join().is_err() {
                tracing::error!("the store's writer failed");
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

struct WriterThread {
    conn: Connection,
    owners: OwnersView,
    /// Whether every commit is synced, because there is no write-ahead log.
    durable: bool,
    /// Whether `synchronous` is currently FULL.
    full: bool,
    /// Posted transactions that could not be written yet.
    pending: VecDeque<Vec<Write>>,
    /// Whether deleted text may still be in the log.
    purge: bool,
    /// The marker file that tells other programs, and the next start, about such text.
    mark: PathBuf,
    /// Why `pending` is not empty, or the last failure because of a full disk.
    delay: Arc<Mutex<Option<String>>>,
}

impl WriterThread {
    fn run(mut self, queue: &Receiver<Job>) {
        let mut next = None;
        self.finish_purge(Duration::ZERO);
        loop {
            let job = match next.take().map_or_else(|| self.next(queue), Ok) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.flush();
                    self.probe_disk_space();
                    self.finish_purge(Duration::ZERO);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match job {
                Job::Post(writes) => {
                    self.keep_pending(writes);
                    next = self.collect_posts(queue);
                    self.flush();
                }
                Job::Run(work) => work(&mut self),
                Job::Stop => break,
            }
            self.finish_purge(Duration::ZERO);
        }
        self.flush();
        if self.checkpoint(Duration::from_millis(200)) {
            self.purged();
        }
    }

    /// Runs a transaction with a waiting caller, after the posted transactions.
    fn after_posts<T>(
        &mut self,
        transaction: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.flush();
        let result = transaction(self);
        self.record_disk_space(result.as_ref().err());
        result
    }

    /// Waits for a job; with a timeout while something must be retried.
    fn next(&self, queue: &Receiver<Job>) -> Result<Job, RecvTimeoutError> {
        if self.purge || !self.pending.is_empty() || lock(&self.delay).is_some() {
            return queue.recv_timeout(RETRY_PAUSE);
        }
        queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Collects more queued posts. Returns the first job of another kind, if it found one.
    fn collect_posts(&mut self, queue: &Receiver<Job>) -> Option<Job> {
        for _ in 1..GROUP {
            match queue.try_recv().ok()? {
                Job::Post(writes) => self.keep_pending(writes),
                other => return Some(other),
            }
        }
        None
    }

    fn keep_pending(&mut self, writes: Vec<Write>) {
        self.pending.push_back(writes);
        if self.pending.len() > MAX_KEPT {
            self.pending.pop_front();
            tracing::error!("the store has been full for too long; dropped the oldest posted writes");
        }
    }

    /// Commits the pending transactions together or, if that fails, one by one.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let all: Vec<&Vec<Write>> = pending.iter().collect();
        match self.commit(&all) {
            Ok(()) => {}
            Err(error) if is_transient(&error) => {
                self.record_delay(&error);
                self.pending = pending;
            }
            Err(_) => {
                for writes in pending {
                    match self.commit(&[&writes]) {
                        Ok(()) => {}
                        Err(error) if is_transient(&error) => {
                            self.record_delay(&error);
                            self.pending.push_back(writes);
                        }
                        Err(error) => tracing::error!(%error, "dropped posted writes"),
                    }
                }
            }
        }
        if self.pending.is_empty() {
            lock(&self.delay).take();
        }
    }

    /// Records whether the disk has space, after a write with a waiting caller.
    fn record_disk_space(&self, failed: Option<&StoreError>) {
        match failed {
            Some(error @ StoreError::Full(_)) => self.record_delay(error),
            None if self.pending.is_empty() => drop(lock(&self.delay).take()),
            _ => {}
        }
    }

    /// If no transaction is pending but a write failed, rewrites one page unchanged to learn whether the disk has space
    /// again.
    fn probe_disk_space(&self) {
        if !self.pending.is_empty() || lock(&self.delay).is_none() {
            return;
        }
        let known = pragma(&self.conn, "user_version");
        let written = known.and_then(|version| self.conn.pragma_update(None, "user_version", version));
        self.record_disk_space(written.map_err(StoreError::from).err().as_ref());
    }

    fn record_delay(&self, error: &StoreError) {
        let why = error.to_string();
        if lock(&self.delay).replace(why.clone()).is_none() {
            tracing::warn!(why, "kept posted writes");
        }
    }

    fn commit(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        self.sync_for(groups)?;
        if retried(|| self.transact(groups))? {
            self.begin_purge();
        }
        Ok(())
    }

    /// Runs one transaction that reads before it writes. Only its beginning waits for other processes, so `work` runs
    /// only once.
    fn decide<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<(Vec<Write>, T), StoreError>,
    ) -> Result<T, StoreError> {
        self.sync_for(&[])?;
        retried(|| Ok(self.conn.execute_batch("BEGIN IMMEDIATE")?))?;
        let done = work(&self.conn).and_then(|(writes, value)| {
            let purged = apply_all(&self.conn, &self.owners, &self.mark, writes.iter())?;
            self.purge |= purged;
            self.conn.execute_batch("COMMIT")?;
            Ok((purged, value))
        });
        if done.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        let (purged, value) = done?;
        if purged {
            self.begin_purge();
        }
        Ok(value)
    }

    /// Runs one transaction; returns whether it deleted text.
    fn transact(&mut self, groups: &[&Vec<Write>]) -> Result<bool, StoreError> {
        let transaction = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let purged = apply_all(&transaction, &self.owners, &self.mark, groups.iter().copied().flatten())?;
        self.purge |= purged;
        transaction.commit()?;
        Ok(purged)
    }

    /// Sets whether the next commit is synced. Transactions that open or end a call, or record a person's act, must
    /// survive a power failure.
    fn sync_for(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        let must_survive =
            |write: &Write| matches!(write, Write::OpenRun(_) | Write::CloseRun(_) | Write::PutOperation(_));
        let full = self.durable || groups.iter().copied().flatten().any(must_survive);
        if full != self.full {
            self.conn.pragma_update(None, "synchronous", if full { "FULL" } else { "NORMAL" })?;
            self.full = full;
        }
        Ok(())
    }

    /// Follows a transaction that deleted text: drops the pending writes that may have been computed from that text,
    /// because they would store parts of it again, and truncates the log.
    fn begin_purge(&mut self) {
        for writes in &mut self.pending {
            writes.retain(|write| !is_computed(write));
        }
        self.pending.retain(|writes| !writes.is_empty());
        self.finish_purge(Duration::from_secs(1));
    }

    /// Truncates the log while deleted text may be in it. Waits at most `timeout` for readers of other processes.
    fn finish_purge(&mut self, timeout: Duration) {
        if self.purge && self.checkpoint(timeout) {
            self.purged();
        }
    }

    fn purged(&mut self) {
        self.purge = false;
        if self.mark.exists() {
            drop(std::fs::remove_file(&self.mark));
        }
    }

    fn checkpoint(&self, timeout: Duration) -> bool {
        let done = self
            .conn
            .busy_timeout(timeout)
            .and_then(|()| self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)));
        if let Err(error) = self.conn.busy_timeout(LOCK_TIMEOUT) {
            tracing::error!(%error, "the store's busy timeout could not be set");
        }
        matches!(done, Ok(0))
    }
}

/// Executes writes inside a transaction. Returns whether they delete text. Creates the marker file then, so that the
/// next start truncates the log even if this process ends right after the commit.
fn apply_all<'a>(
    conn: &Connection,
    owners: &OwnersView,
    mark: &Path,
    mut writes: impl Iterator<Item = &'a Write>,
) -> Result<bool, StoreError> {
    let mut tx = WriteTransaction::new(conn, owners);
    writes.try_for_each(|write| tx.apply(write))?;
    if tx.purged {
        drop(private::make_file(mark));
    }
    Ok(tx.purged)
}

/// Returns whether a write stores values that were computed from texts and can be computed again.
fn is_computed(write: &Write) -> bool {
    matches!(
        write,
        Write::PutCounts(_) | Write::PutEmbeddings { .. } | Write::PutIndexSegment { .. } | Write::PutIndexTail { .. }
    )
}

/// Repeats an attempt while another process blocks the store, up to [`MAX_ATTEMPTS`] times.
fn retried<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let mut tries = 1;
    loop {
        match attempt() {
            Err(error) if is_locked(&error) && tries < MAX_ATTEMPTS => tries += 1,
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn only_attempts_that_another_process_blocks_are_repeated() {
        let error = |code| StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        let attempts = |failures: u32, code| {
            let mut count = 0;
            let done = retried(|| {
                count += 1;
                if count > failures { Ok(()) } else { Err(error(code)) }
            });
            (count, done.is_ok())
        };
        for failures in 0..MAX_ATTEMPTS {
            assert_eq!(attempts(failures, ffi::SQLITE_BUSY), (failures + 1, true));
        }
        assert_eq!(attempts(MAX_ATTEMPTS, ffi::SQLITE_BUSY), (MAX_ATTEMPTS, false));
        assert_eq!(attempts(1, ffi::SQLITE_FULL), (1, false));
    }
}
