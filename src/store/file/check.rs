//! Checks the integrity of the whole file with SQLite's quick check, on its own read-only connection.
//! Not for: the short check when a file is opened (`open`), or the repair of damage (`damage`).

use super::pool::{lock, reader};
use crate::domain::conversation::memory::one_line;
use crate::store::Store;
use crate::store::types::StoreError;
use rusqlite::{Connection, InterruptHandle};
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Returns the first fault that SQLite finds, or `None`. Reads the whole file: 0.4 s at 100,000 messages, several
/// seconds with their search index.
pub(crate) fn quick(conn: &Connection) -> Result<Option<String>, StoreError> {
    let result = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match result.map_err(StoreError::from) {
        Ok(result) if result == "ok" => Ok(None),
        Ok(result) => Ok(Some(one_line(&result))),
        Err(StoreError::Corrupt { why, .. }) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// A check in progress; closing the store stops it.
#[derive(Default)]
pub(crate) struct RunningCheck(Mutex<Option<(InterruptHandle, JoinHandle<()>)>>);

impl RunningCheck {
    /// Stops the check and waits until its connection is closed.
    pub(crate) fn stop(&self) {
        let running = lock(&self.0).take();
        if let Some((handle, thread)) = running {
            while !thread.is_finished() {
                handle.interrupt();
                std::thread::yield_now();
            }
            let _ = thread.join();
        }
    }
}

impl Store {
    /// Reads the whole file and returns the first fault, or `None`. Slow for a large store.
    pub fn quick_check(&self) -> Result<Option<String>, StoreError> {
        quick(&reader(&self.0.path, false)?).map_err(|error| self.with_path(error))
    }

    /// Reads the whole file on a thread if a program that had this store open ended without closing it, and passes a
    /// sentence about the first fault to `report`. Closing the store stops the check; the next start then repeats it.
    pub fn check_after_crash(&self, report: impl FnOnce(String) + Send + 'static) {
        let dead = self.0.owners.unclean_ends();
        if dead.is_empty() || self.read_only() {
            return;
        }
        let Ok(conn) = reader(&self.0.path, false) else { return };
        let handle = conn.get_interrupt_handle();
        let path = self.0.path.clone();
        let work = move || match quick(&conn) {
            // Another program may have deleted these marks at the same time.
            Ok(None) => dead.iter().for_each(|file| drop(std::fs::remove_file(file))),
            Ok(Some(why)) => {
                tracing::error!(%why, "the store is damaged");
                report(format!(
                    "The store is damaged: export the sessions that you need, quit, and run `pleach doctor \
                    --repair`. A program ended without closing {}, so pleach checked the file and found: {why}",
                    path.display()
                ));
            }
            Err(error) => tracing::info!(%error, "the store's check did not finish"),
        };
        match std::thread::Builder::new().name("store-check".into()).spawn(work) {
            Ok(thread) => *lock(&self.0.check.0) = Some((handle, thread)),
            Err(error) => tracing::error!(%error, "the store's check did not start"),
        }
    }
}
