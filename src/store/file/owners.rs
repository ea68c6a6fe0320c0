//! Owners: the processes that are alive. Each owner holds a lock on its own file while it has the store open.
//! Not for: SQLite's locks, or handling the runs of dead processes (`engine`).
//!
//! An unlocked file belongs to a program that ended without closing the store. It is renamed and kept until the store
//! has been checked.

use super::pool::lock;
use super::private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// This process's lock file, and access to the files of other processes.
pub(crate) struct Owners {
    /// The ids and files of this and other processes.
    pub(crate) view: OwnersView,
    /// Never read: dropping the file releases the lock.
    lock: Mutex<Option<File>>,
}

impl Owners {
    /// Creates a new id and locks its file. Call it under the store's opening lock: it marks files of dead processes,
    /// and a file that is created but not locked yet would look like one.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        private::make_dir(&folder)?;
        for path in files(&folder, "lock") {
            is_locked(&path);
        }
        let own = uuid::Uuid::now_v7().to_string();
        let file = private::make_file(&file_of(&folder, &own))?;
        file.lock()?;
        Ok(Self { view: OwnersView { folder, own }, lock: Mutex::new(Some(file)) })
    }

    /// Creates an owner that never writes and so needs no lock.
    pub(crate) fn without_lock(folder: PathBuf) -> Self {
        Self { view: OwnersView { folder, own: uuid::Uuid::now_v7().to_string() }, lock: Mutex::new(None) }
    }

    /// Releases the lock: this process closed the store properly.
    pub(crate) fn release(&self) {
        if lock(&self.lock).take().is_some() {
            drop(std::fs::remove_file(file_of(&self.view.folder, &self.view.own)));
        }
    }

    /// Returns the files of processes that ended without closing the store. A file stays until the store has been
    /// checked.
    pub(crate) fn unclean_ends(&self) -> Vec<PathBuf> {
        files(&self.view.folder, "dead")
    }

    /// Returns whether any process holds a lock here. Call it under the store's opening lock.
    pub(crate) fn any_alive(folder: &Path) -> bool {
        files(folder, "lock")
            .iter()
            .any(|path| File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))))
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        self.release();
    }
}

/// Checks which owners are alive, without its own lock.
#[derive(Clone)]
pub(crate) struct OwnersView {
    folder: PathBuf,
    /// This process's id.
    pub(crate) own: String,
}

impl OwnersView {
    /// Returns whether the owner's process is alive.
    pub(crate) fn alive(&self, owner: &str) -> bool {
        // An id from the store is used as a file name only if it has the format of our ids.
        owner == self.own || (owner.parse::<uuid::Uuid>().is_ok() && is_locked(&file_of(&self.folder, owner)))
    }
}

fn file_of(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{owner}.lock"))
}

/// Returns whether a process holds the lock on this file. If none does, renames the file to mark an unclean end.
fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => {
            drop(std::fs::rename(path, path.with_extension("dead")));
            false
        }
        // If locks cannot be checked, the run may be alive and is left alone.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|known| known == end)).collect()
}
