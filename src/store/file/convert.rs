//! Work on the store beside everything else: plans of older versions into their present form, and free space back to the
//! disk. It goes on where it stopped, and gives way to every write.
//! Not for: the form itself (`tables::packed_plans`).

use super::open;
use super::pool::lock;
use crate::store::types::StoreError;
use crate::store::{Inner, Store};
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A file is made smaller where at least so many bytes, and a quarter of it, are free.
const FREE: i64 = 8 << 20;
/// Larger stores are put together in a temporary file instead of in memory.
const IN_MEMORY: i64 = 256 << 20;
/// How long the store must be quiet before it is tried (again) to make it smaller, and how often that is tried.
const QUIET: Duration = Duration::from_secs(10);
const TRIES: u32 = 60;
/// What takes no longer is not spoken of.
const SOON: Duration = Duration::from_secs(3);

/// The work under way.
#[derive(Default)]
pub(crate) struct Conversion {
    stop: Arc<AtomicBool>,
    /// Interrupts the one long statement that keeps writers out.
    compacting: Arc<Mutex<Option<InterruptHandle>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Conversion {
    /// Something is to be written: what keeps it out ends now.
    pub(crate) fn give_way(&self) {
        if let Some(handle) = lock(&self.compacting).as_ref() {
            handle.interrupt();
        }
    }

    /// Stops, and waits for the end of it.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        let Some(thread) = lock(&self.thread).take() else { return };
        while !thread.is_finished() {
            self.give_way();
            thread.thread().unpark();
            std::thread::yield_now();
        }
        let _ = thread.join();
    }
}

impl Store {
    /// Starts what is left to do, on a thread of its own; `tell` hears of what takes longer. Closing the store stops it, and
    /// the next start goes on with it.
    pub fn renew(&self, tell: impl Fn(String) + Send + 'static) {
        if self.read_only() {
            return;
        }
        let work = Work {
            store: Arc::downgrade(&self.0),
            stop: Arc::clone(&self.0.renewing.stop),
            compacting: Arc::clone(&self.0.renewing.compacting),
        };
        let run = move || {
            if let Err(error) = work.run(&tell) {
                tracing::info!(%error, "the store's plans were not all brought into their present form");
            }
        };
        match std::thread::Builder::new().name("store-renew".into()).spawn(run) {
            Ok(thread) => *lock(&self.0.renewing.thread) = Some(thread),
            Err(error) => tracing::error!(%error, "the store's work on old plans does not start"),
        }
    }
}

struct Work {
    store: Weak<Inner>,
    stop: Arc<AtomicBool>,
    compacting: Arc<Mutex<Option<InterruptHandle>>>,
}

impl Work {
    fn store(&self) -> Option<Store> {
        self.store.upgrade().filter(|_| !self.stop.load(Ordering::Acquire)).map(Store)
    }

    fn run(&self, tell: &dyn Fn(String)) -> Result<(), StoreError> {
        let Some(path) = self.store().map(|store| store.0.path.clone()) else { return Ok(()) };
        let before = std::fs::metadata(&path).map_or(0, |file| file.len());
        let (began, mut told, mut moved) = (Instant::now(), false, false);
        while let Some(store) = self.store() {
            if store.plans_to_move()?.0 == 0 {
                break;
            }
            let left = store.move_plans()?;
            moved = true;
            if !told && left > 0 && began.elapsed() > SOON {
                told = true;
                tell(format!(
                    "{left} stored plans of an older version are being converted to a smaller format; you can \
                        keep working or quit at any time (pleach doctor shows the progress)."
                ));
            }
            std::thread::yield_now();
        }
        let smaller = self.compact(&path)?;
        let after = std::fs::metadata(&path).map_or(0, |file| file.len());
        if moved && smaller && before > after {
            let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
            tell(format!(
                "The store shrank to {} MB from {} MB: its plans are stored in a smaller format.",
                megabytes(after),
                megabytes(before)
            ));
        }
        Ok(())
    }

    /// Gives free space back to the disk, in a quiet moment; says whether it did.
    fn compact(&self, path: &Path) -> Result<bool, StoreError> {
        for _ in 0..TRIES {
            let Some(store) = self.store() else { return Ok(false) };
            let (free, all) = store.read(space)?;
            if free < FREE || free * 4 < all {
                return Ok(false);
            }
            let quiet = store.open_runs()?.is_empty();
            drop(store);
            if quiet && self.vacuum(path, all - free)? {
                return Ok(true);
            }
            std::thread::park_timeout(QUIET);
        }
        Ok(false)
    }

    /// Writes the whole file anew, unless something else is to be written meanwhile; says whether it came to its end.
    fn vacuum(&self, path: &Path, live: i64) -> Result<bool, StoreError> {
        let conn = open::connect(path, None)?;
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        conn.pragma_update(None, "temp_store", if live > IN_MEMORY { "FILE" } else { "MEMORY" })?;
        // Without a write-ahead log, readers would have to wait.
        if mode != "wal" {
            return Ok(false);
        }
        *lock(&self.compacting) = Some(conn.get_interrupt_handle());
        let done = conn.execute_batch("VACUUM");
        *lock(&self.compacting) = None;
        if let Err(error) = done {
            tracing::info!(%error, "the store was not made smaller this time");
            return Ok(false);
        }
        conn.busy_timeout(Duration::ZERO)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(true)
    }
}

/// Bytes that are free in the file, and all of it.
fn space(conn: &Connection) -> Result<(i64, i64), StoreError> {
    let number = |pragma: &str| conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    let size = number("page_size")?;
    Ok((number("freelist_count")? * size, number("page_count")? * size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_counted_in_bytes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(300000));").unwrap();
        let all = i64::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
        assert_eq!(space(&conn).unwrap(), (0, all));
        conn.execute_batch("DELETE FROM t;").unwrap();
        let (free, after) = space(&conn).unwrap();
        assert!(after == all && (290_000..all).contains(&free), "{free} of {after}");
    }
}
