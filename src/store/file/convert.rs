//! Background work on the store: converts plans of older versions to the current format, and returns free space to the
//! disk. The work resumes where it stopped and yields to every write.
//! Not for: the format itself (`tables::packed_plans`).

use super::open;
use super::pool::lock;
use crate::store::sql::pragma;
use crate::store::types::StoreError;
use crate::store::{Inner, Store};
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A file is compacted if at least this many bytes and at least a quarter of it are free.
const MIN_FREE: i64 = 8 << 20;
/// Stores with more bytes in use are rebuilt in a temporary file instead of in memory.
const MAX_IN_MEMORY: i64 = 256 << 20;
/// How long the store must be quiet before each attempt to compact it, and the number of attempts.
const QUIET: Duration = Duration::from_secs(10);
const TRIES: u32 = 60;
/// A conversion that takes less time than this is not reported.
const REPORT_AFTER: Duration = Duration::from_secs(3);

/// The conversion in progress.
#[derive(Default)]
pub(crate) struct Conversion {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Interrupts the one long statement that blocks writers.
    compacting: Mutex<Option<InterruptHandle>>,
}

impl Conversion {
    /// Interrupts the statement that blocks a pending write.
    pub(crate) fn yield_to_writer(&self) {
        if let Some(handle) = lock(&self.shared.compacting).as_ref() {
            handle.interrupt();
        }
    }

    /// Stops the work and waits for its end.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        let Some(thread) = lock(&self.thread).take() else { return };
        while !thread.is_finished() {
            self.yield_to_writer();
            thread.thread().unpark();
            std::thread::yield_now();
        }
        let _ = thread.join();
    }
}

impl Store {
    /// Starts the remaining work on its own thread. `report` receives sentences about the progress of long work.
    /// Closing the store stops the work, and the next start resumes it.
    pub fn start_conversion(&self, report: impl Fn(String) + Send + 'static) {
        if self.read_only() {
            return;
        }
        let work = ConversionTask { store: Arc::downgrade(&self.0), shared: Arc::clone(&self.0.conversion.shared) };
        let run = move || {
            if let Err(error) = work.run(&report) {
                tracing::info!(%error, "some stored plans were not converted");
            }
        };
        match std::thread::Builder::new().name("store-renew".into()).spawn(run) {
            Ok(thread) => *lock(&self.0.conversion.thread) = Some(thread),
            Err(error) => tracing::error!(%error, "the conversion of old plans did not start"),
        }
    }
}

struct ConversionTask {
    store: Weak<Inner>,
    shared: Arc<Shared>,
}

impl ConversionTask {
    fn store(&self) -> Option<Store> {
        self.store.upgrade().filter(|_| !self.shared.stop.load(Ordering::Acquire)).map(Store)
    }

    fn run(&self, report: &dyn Fn(String)) -> Result<(), StoreError> {
        let Some(path) = self.store().map(|store| store.0.path.clone()) else { return Ok(()) };
        let before = std::fs::metadata(&path).map_or(0, |file| file.len());
        let (start, mut reported, mut converted) = (Instant::now(), false, false);
        while let Some(store) = self.store() {
            if store.unconverted_plans()?.0 == 0 {
                break;
            }
            let remaining = store.convert_plans()?;
            converted = true;
            if is_report_due(reported, remaining, start.elapsed()) {
                reported = true;
                report(format!(
                    "{remaining} stored plans of an older version are being converted to a smaller format; you can \
                    keep working or quit at any time (`pleach doctor` shows the progress)."
                ));
            }
            std::thread::yield_now();
        }
        let smaller = self.compact(&path)?;
        let after = std::fs::metadata(&path).map_or(0, |file| file.len());
        if converted && smaller && before > after {
            let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
            report(format!(
                "The store shrank from {} MB to {} MB: its plans are stored in a smaller format.",
                megabytes(before),
                megabytes(after)
            ));
        }
        Ok(())
    }

    /// Returns free space to the disk once the store is quiet. Returns whether it did so.
    fn compact(&self, path: &Path) -> Result<bool, StoreError> {
        for _ in 0..TRIES {
            let Some(store) = self.store() else { return Ok(false) };
            let (free, all) = store.read(space)?;
            if free < MIN_FREE || free * 4 < all {
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

    /// Rewrites the whole file unless a write arrives meanwhile. Returns whether it finished.
    fn vacuum(&self, path: &Path, live: i64) -> Result<bool, StoreError> {
        let conn = open::connect(path, None)?;
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        conn.pragma_update(None, "temp_store", if live > MAX_IN_MEMORY { "FILE" } else { "MEMORY" })?;
        // Without a write-ahead log, readers would have to wait.
        if mode != "wal" {
            return Ok(false);
        }
        *lock(&self.shared.compacting) = Some(conn.get_interrupt_handle());
        let done = conn.execute_batch("VACUUM");
        *lock(&self.shared.compacting) = None;
        if let Err(error) = done {
            tracing::info!(%error, "the store was not compacted");
            return Ok(false);
        }
        conn.busy_timeout(Duration::ZERO)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(true)
    }
}

/// Whether to report a conversion now that has taken this long.
fn is_report_due(reported: bool, remaining: u64, elapsed: Duration) -> bool {
    !reported && remaining > 0 && elapsed > REPORT_AFTER
}

/// Returns the free bytes in the file, and its size in bytes.
fn space(conn: &Connection) -> Result<(i64, i64), StoreError> {
    let size = pragma(conn, "page_size")?;
    Ok((pragma(conn, "freelist_count")? * size, pragma(conn, "page_count")? * size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenOptions;

    #[test]
    fn long_conversions_are_reported_once() {
        let long = REPORT_AFTER + Duration::from_nanos(1);
        let found = [(false, 1, long), (true, 1, long), (false, 1, REPORT_AFTER), (false, 0, long)]
            .map(|(reported, remaining, elapsed)| is_report_due(reported, remaining, elapsed));
        assert_eq!(found, [true, false, false, false]);
    }

    #[test]
    fn every_write_interrupts_the_statement_that_blocks_it() {
        let home = tempfile::tempdir().unwrap();
        let options = OpenOptions { path: home.path().join("pleach.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let blocking = Connection::open_in_memory().unwrap();
        *lock(&store.0.conversion.shared.compacting) = Some(blocking.get_interrupt_handle());
        let endless = "WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n) SELECT n FROM n";
        let writes: [(&str, &dyn Fn()); 3] = [
            ("write", &|| store.write(Vec::new()).unwrap()),
            ("post", &|| store.post(Vec::new())),
            ("decide", &|| store.decide(|_| Ok((Vec::new(), ()))).unwrap()),
        ];
        for (name, write) in writes {
            let mut query = blocking.prepare(endless).unwrap();
            let mut rows = query.query([]).unwrap();
            assert!(rows.next().unwrap().is_some());
            write();
            assert!(rows.next().is_err(), "{name}");
        }
    }

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
