//! The writer: one thread that owns the one connection that writes.
//! Not for: what a write does to the tables (`apply`).

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

/// Jobs that wait before a poster waits too.
const QUEUE: usize = 4_096;
/// Posted writes kept while the disk is full.
const KEPT: usize = 20_000;
/// Posted transactions that are committed together.
const GROUP: usize = 64;
/// How often a transaction is tried that another process keeps out for longer than SQLite waits.
const TRIES: u32 = 4;
/// How long to wait before what could not be done is tried again by itself.
const AGAIN: Duration = Duration::from_secs(1);

/// The file that is there while removed text may stand in the log. Any program that opens the store sees it.
pub(crate) fn purge_mark(path: &Path) -> PathBuf {
    beside(path, ".purge-pending")
}

type Call = Box<dyn FnOnce(&mut Connection) + Send>;

/// Looks at what is there, inside the transaction, and says what to write.
pub(crate) type WriteDecision = Box<dyn FnOnce(&Connection) -> Result<Vec<Write>, StoreError> + Send>;

enum Job {
    Write(Vec<Write>, SyncSender<Result<(), StoreError>>),
    Decide(WriteDecision, SyncSender<Result<(), StoreError>>),
    Post(Vec<Write>),
    Call(Call),
    Stop,
}

/// The writer's front: hands jobs to its thread.
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
    held_up: Arc<Mutex<Option<String>>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(conn: Connection, owners: OwnersView, durable: bool, path: &Path) -> Result<Self, StoreError> {
        let (jobs, inbox) = sync_channel(QUEUE);
        let held_up = Arc::default();
        let mark = purge_mark(path);
        let purge = mark.exists();
        let kept = VecDeque::new();
        let back = Back { conn, owners, durable, full: durable, kept, purge, mark, held_up: Arc::clone(&held_up) };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || back.run(&inbox))
            .map_err(|error| StoreError::Sql(format!("the writer's thread does not start: {error}")))?;
        Ok(Self { jobs, thread: Mutex::new(Some(thread)), held_up })
    }

    /// Writes and waits.
    pub(crate) fn write(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let (reply, answer) = sync_channel(1);
        self.jobs.send(Job::Write(writes, reply)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Looks, writes what that leads to, and waits.
    pub(crate) fn decide(&self, work: WriteDecision) -> Result<(), StoreError> {
        let (reply, answer) = sync_channel(1);
        self.jobs.send(Job::Decide(work, reply)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Why posts are kept back.
    pub(crate) fn held_up(&self) -> Option<String> {
        lock(&self.held_up).clone()
    }

    /// Queues.
    pub(crate) fn post(&self, writes: Vec<Write>) {
        if self.jobs.send(Job::Post(writes)).is_err() {
            tracing::error!("the store is closed; dropped what was posted");
        }
    }

    /// Runs something on the writer's connection, after all that was queued before it.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        let call: Call = Box::new(move |conn| drop(reply.send(work(conn))));
        self.jobs.send(Job::Call(call)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }

    /// Ends the thread after what is queued.
    pub(crate) fn close(&self) {
        if let Some(thread) = lock(&self.thread).take() {
            drop(self.jobs.send(Job::Stop));
            if thread.join().is_err() {
                tracing::error!("the store's writer had failed");
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

struct Back {
    conn: Connection,
    owners: OwnersView,
    /// No write-ahead log: every commit is synced.
    durable: bool,
    /// Whether `synchronous` is FULL at present.
    full: bool,
    /// Posts that could not be written yet.
    kept: VecDeque<Vec<Write>>,
    /// Deleted text may still stand in the log.
    purge: bool,
    /// Says so to other programs, and to the next start.
    mark: PathBuf,
    /// Why `kept` is not empty, or what was refused last.
    held_up: Arc<Mutex<Option<String>>>,
}

impl Back {
    fn run(mut self, inbox: &Receiver<Job>) {
        let mut next = None;
        self.finish_purge(Duration::ZERO);
        loop {
            let job = match next.take().map_or_else(|| self.next(inbox), Ok) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => {
                    self.flush();
                    self.try_room();
                    self.finish_purge(Duration::ZERO);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match job {
                Job::Write(writes, reply) => {
                    self.flush();
                    let result = self.commit(&[&writes]);
                    self.note_room(result.as_ref().err());
                    drop(reply.send(result));
                }
                Job::Decide(work, reply) => {
                    self.flush();
                    let result = self.decide(work);
                    self.note_room(result.as_ref().err());
                    drop(reply.send(result));
                }
                Job::Post(writes) => {
                    self.keep(writes);
                    next = self.gather(inbox);
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

    /// Waits for a job; not for ever while something waits to be tried again.
    fn next(&self, inbox: &Receiver<Job>) -> Result<Job, RecvTimeoutError> {
        if self.purge || !self.kept.is_empty() || lock(&self.held_up).is_some() {
            return inbox.recv_timeout(AGAIN);
        }
        inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Takes more posts that wait already; gives back the first job that is none.
    fn gather(&mut self, inbox: &Receiver<Job>) -> Option<Job> {
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
        if self.kept.len() > KEPT {
            self.kept.pop_front();
            tracing::error!("the store has been full for too long; dropped the oldest of what was posted");
        }
    }

    /// Writes the posts, together or, where one of them is at fault, one by one.
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
                    tracing::error!(%error, "dropped what was posted");
                    false
                }
            }),
        }
        self.kept = kept;
        if self.kept.is_empty() {
            lock(&self.held_up).take();
        }
    }

    /// A write of which somebody waits for the end says whether there is room.
    fn note_room(&self, failed: Option<&StoreError>) {
        match failed {
            Some(error @ StoreError::Full(_)) => self.hold_up(error),
            None if self.kept.is_empty() => drop(lock(&self.held_up).take()),
            _ => {}
        }
    }

    /// Nothing waits, but something was refused: writes one page as it is, to learn when there is room again.
    fn try_room(&self) {
        if !self.kept.is_empty() || lock(&self.held_up).is_none() {
            return;
        }
        let known = self.conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
        let written = known.and_then(|version| self.conn.pragma_update(None, "user_version", version));
        self.note_room(written.map_err(StoreError::from).err().as_ref());
    }

    fn hold_up(&self, error: &StoreError) {
        let why = error.to_string();
        if lock(&self.held_up).replace(why.clone()).is_none() {
            tracing::warn!(why, "kept what was posted");
        }
    }

    fn commit(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        self.sync_for(groups)?;
        let mut tries = 1;
        loop {
            match self.transact(groups) {
                Err(error) if is_locked(&error) && tries < TRIES => tries += 1,
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

    /// One transaction that looks before it writes. Only its beginning waits for others, so that the work is done once.
    fn decide(&mut self, work: WriteDecision) -> Result<(), StoreError> {
        self.sync_for(&[])?;
        let mut tries = 1;
        while let Err(error) = self.conn.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from) {
            if !is_locked(&error) || tries == TRIES {
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

    /// One transaction; says whether it deleted text.
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

    /// A transaction that opens or ends a call, or is an act of the person's, outlives a power failure.
    fn sync_for(&mut self, groups: &[&Vec<Write>]) -> Result<(), StoreError> {
        let matters = |write: &Write| matches!(write, Write::OpenRun(_) | Write::CloseRun(_) | Write::PutOp(_));
        let full = self.durable || groups.iter().copied().flatten().any(matters);
        if full != self.full {
            self.conn.pragma_update(None, "synchronous", if full { "FULL" } else { "NORMAL" })?;
            self.full = full;
        }
        Ok(())
    }

    /// Deleted text stands in the write-ahead log until it is cut off, which waits for readers in other windows.
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
            tracing::error!(%error, "the store's patience could not be set");
        }
        matches!(done, Ok(0))
    }
}
