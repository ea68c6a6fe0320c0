//! The writer: one thread that owns the only writing connection.
//! Not for: the effect of a write on the tables (`apply`).

use super::open::beside;
use super::owners::OwnersView;
use super::pool::lock;
use super::private;
use crate::store::sql::{is_locked, may_pass_later};
use crate::store::transaction::WriteTransaction;
use crate::store::types::{StoreError, Write};
use rusqlite::{Connection, TransactionBehavior};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Queued jobs after which a poster blocks.
const MAX_QUEUED: usize = 4_096;
/// Posted writes kept while the disk is full.
const MAX_KEPT: usize = 20_000;
/// Posted transactions that are committed together.
const GROUP: usize = 64;
/// Attempts of a transaction that another process blocks for longer than SQLite waits.
const MAX_ATTEMPTS: u32 = 4;
/// Pause before a failed write is retried.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The marker file that exists while removed text may still be in the log. Any program that opens the store sees it.
pub(crate) fn purge_mark(path: &Path) -> PathBuf {
    beside(path, ".purge-pending")
}

type Call = Box<dyn FnOnce(&mut Connection) + Send>;

/// Reads inside the transaction and decides what to write.
pub(crate) type WriteDecision = Box<dyn FnOnce(&Connection) -> Result<Vec<Write>, StoreError> + Send>;

enum Job {
    Write(Vec<Write>, SyncSender<Result<(), StoreError>>),
    Decide(WriteDecision, SyncSender<Result<(), StoreError>>),
    Post(Vec<Write>),
    Call(Call),
    Stop,
}

/// The writer's handle: passes jobs to its thread.
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
    held_up: Arc<Mutex<Option<String>>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(conn: Connection, owners: OwnersView, durable: bool, path: &Path) -> Result<Self, StoreError> {
        let (jobs, inbox) = sync_channel(MAX_QUEUED);
        let held_up = Arc::default();
        let mark = purge_mark(path);
        let purge = mark.exists();
        let kept = VecDeque::new();
        let back =
            WriterThread { conn, owners, durable, full: durable, kept, purge, mark, held_up: Arc::clone(&held_up) };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || back.run(&inbox))
            .map_err(|error| StoreError::Sql(format!("the writer thread can't be started: {error}")))?;
        Ok(Self { jobs, thread: Mutex::new(Some(thread)), held_up })
    }

    /// Writes and waits.
    pub(crate) fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let (reply, answer) = sync_channel(1);
        self.jobs.send(Job::Write(writes, reply)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Reads, writes the result of the decision, and waits.
    pub(crate) fn decide(&self, work: WriteDecision) -> Result<(), StoreError> {
        let (reply, answer) = sync_channel(1);
        self.jobs.send(Job::Decide(work, reply)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Why posts are held back.
    pub(crate) fn post_delay(&self) -> Option<String> {
        lock(&self.held_up).clone()
    }

    /// Queues a transaction.
    pub(crate) fn post(&self, writes: Vec<Write>) {
        if self.jobs.send(Job::Post(writes)).is_err() {
            tracing::error!("the store is closed; dropped posted writes");
        }
    }

    /// Runs a function on the writer's connection, after all jobs queued before it.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        let call: Call = Box::new(move |conn| drop(reply.send(work(conn))));
        self.jobs.send(Job::Call(call)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Ends the thread after the queued jobs.
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

fn stopped() -> StoreError {
    StoreError::Sql("it is closed".into())
}

struct WriterThread {
    conn: Connection,
    owners: OwnersView,
    /// No write-ahead log: every commit is synced.
    durable: bool,
    /// Whether `synchronous` is FULL at present.
    full: bool,
    /// Posts that could not be written yet.
    kept: VecDeque<Vec<Write>>,
    /// Deleted text may still be in the log.
    purge: bool,
    /// The marker file that tells other programs and the next start.
    mark: PathBuf,
    /// Why `kept` is not empty, or the last refusal.
    held_up: Arc<Mutex<Option<String>>>,
}

impl WriterThread {
    fn run(mut self, inbox: &Receiver<Job>) {
        let mut next = None;
        self.finish_purge(Duration::ZERO);
        loop {
            let job = match next.take().map_or_else(|| self.next(inbox), Ok) {
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
                Job::Write(writes, reply) => {
                    self.flush();
                    let result = self.commit(&[&writes]);
                    self.note_disk_space(result.as_ref().err());
                    drop(reply.send(result));
                }
                Job::Decide(work, reply) => {
                    self.flush();
                    let result = self.decide(work);
                    self.note_disk_space(result.as_ref().err());
                    drop(reply.send(result));
                }
                Job::Post(writes) => {
                    self.keep(writes);
                    next = self.collect_posts(inbox);
                    self.flush();
                }
                Job::Call(call) => call(&mut self.conn),
                Job::Stop => break,
            }
            self.finish_purge(Duration::ZERO);
        }
        self.flush();
        if self.checkpoint(Duration::from_millis(200)) {
            self.purged();
        }
    }

    /// Waits for a job, with a timeout while failed writes wait to be retried.
    fn next(&self, inbox: &Receiver<Job>) -> Result<Job, RecvTimeoutError> {
        if self.purge || !self.kept.is_empty() || lock(&self.held_up).is_some() {
            return inbox.recv_timeout(RETRY_PAUSE);
        }
        inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Collects further queued posts; returns the first job of another kind.
    fn collect_posts(&mut self, inbox: &Receiver<Job>) -> Option<Job> {
        for _ in 1..GROUP {
            match inbox.try_recv().ok()? {
                Job::Post(writes) => self.keep(writes),
                other => return Some(other),
            }
        }
        None
    }

    fn keep(&mut self, writes: Vec<Write>) {
        self.kept.push_back(writes);
        if self.kept.len() > MAX_KEPT {
            self.kept.pop_front();
            tracing::error!("the store has been full for too long; dropped the oldest posted writes");
        }
    }

    /// Writes the posts together or, if one of them fails, one by one.
    fn flush(&mut self) {
        if self.kept.is_empty() {
            return;
        }
        let mut kept = std::mem::take(&mut self.kept);
        let all: Vec<&Vec<Write>> = kept.iter().collect();
        match self.commit(&all) {
            Ok(()) => kept.clear(),
            Err(error) if may_pass_later(&error) => self.hold_up(&error),
            Err(_) => kept.retain(|writes| match self.commit(&[writes]) {
                Ok(()) => false,
                Err(error) if may_pass_later(&error) => {
                    self.hold_up(&error);
                    true
                }
                Err(error) => {
                    tracing::error!(%error, "dropped posted writes");
                    false
                }
            }),
        }
        self.kept = kept;
        if self.kept.is_empty() {
            lock(&self.held_up).take();
        }
    }

    /// A write with a waiting caller shows whether the disk has space.
    fn note_disk_space(&self, failed: Option<&StoreError>) {
        match failed {
            Some(error @ StoreError::Full(_)) => self.hold_up(error),
            None if self.kept.is_empty() => drop(lock(&self.held_up).take()),
            _ => {}
        }
    }

    /// If nothing waits but a write was refused, rewrites one page unchanged to learn whether the disk has space again.
    fn probe_disk_space(&self) {
        if !self.kept.is_empty() || lock(&self.held_up).is_none() {
            return;
        }
        let known = self.conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        let written = known.and_then(|version| self.conn.pragma_update(None, "user_version", version));
        self.note_disk_space(written.map_err(StoreError::from).err().as_ref());
    }

    fn hold_up(&self, error: &StoreError) {
        let why = error.to_string();
        if lock(&self.held_up).replace(why.clone()).is_none() {
            tracing::warn!(why, "kept posted writes");
        }
    }

    fn commit(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        self.sync_for(groups)?;
        let mut tries = 1;
        loop {
            match self.transact(groups) {
                Err(error) if is_locked(&error) && tries < MAX_ATTEMPTS => tries += 1,
                Err(error) => return Err(error),
                Ok(purged) => {
                    if purged {
                        self.purge = true;
                        drop(private::make_file(&self.mark));
                    }
                    self.finish_purge(Duration::from_secs(1));
                    return Ok(());
                }
            }
        }
    }

    /// One transaction that reads before it writes. Only its beginning waits for other processes, so the work is done
    /// once.
    fn decide(&mut self, work: WriteDecision) -> Result<(), StoreError> {
        self.sync_for(&[])?;
        let mut tries = 1;
        while let Err(error) = self.conn.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from) {
            if !is_locked(&error) || tries == MAX_ATTEMPTS {
                return Err(error);
            }
            tries += 1;
        }
        let done = work(&self.conn).and_then(|writes| {
            let mut tx = WriteTransaction::new(&self.conn, &self.owners);
            writes.iter().try_for_each(|write| tx.apply(write))?;
            Ok(self.conn.execute_batch("COMMIT")?)
        });
        if done.is_err() && !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// One transaction; returns whether it deleted text.
    fn transact(&mut self, groups: &[&Vec<Write>]) -> Result<bool, StoreError> {
        let transaction = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut tx = WriteTransaction::new(&transaction, &self.owners);
        for write in groups.iter().copied().flatten() {
            tx.apply(write)?;
        }
        let purged = tx.purged();
        transaction.commit()?;
        Ok(purged)
    }

    /// Transactions that open or end a call, or record a person's act, must survive a power failure.
    fn sync_for(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        let matters = |write: &Write| matches!(write, Write::OpenRun(_) | Write::CloseRun(_) | Write::PutOperation(_));
        let full = self.durable || groups.iter().copied().flatten().any(matters);
        if full != self.full {
            self.conn.pragma_update(None, "synchronous", if full { "FULL" } else { "NORMAL" })?;
            self.full = full;
        }
        Ok(())
    }

    /// Deleted text stays in the write-ahead log until it is truncated, which waits for readers of other processes.
    fn finish_purge(&mut self, patience: Duration) {
        if self.purge && self.checkpoint(patience) {
            self.purged();
        }
    }

    fn purged(&mut self) {
        self.purge = false;
        if self.mark.exists() {
            drop(std::fs::remove_file(&self.mark));
        }
    }

    fn checkpoint(&self, patience: Duration) -> bool {
        let done = self
            .conn
            .busy_timeout(patience)
            .and_then(|()| self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)));
        if let Err(error) = self.conn.busy_timeout(super::open::PATIENCE) {
            tracing::error!(%error, "the store's busy timeout could not be set");
        }
        matches!(done, Ok(0))
    }
}
