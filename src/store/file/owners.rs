//! Which processes live: each holds a lock on a file of its own for as long as it has the store open.
//! Not for: SQLite's locks, or what is done with the runs of the dead (`engine`).
//!
//! A file that nobody holds is of a program that ended without closing the store; it is kept under another ending until
//! the store was checked.

use super::pool::lock;
use super::private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// This process's lock file, and a way to look at others'.
pub(crate) struct Owners {
    folder: PathBuf,
    own: String,
    /// Held, never read: the lock goes with the file.
    lock: Mutex<Option<File>>,
}

impl Owners {
    /// Takes a new id and locks its file. Call it under the store's opening lock: it clears away files of the dead, and
    /// a file that is made but not locked yet would look like one.
    pub(crate) fn join(folder: PathBuf) -> io::Result<Self> {
        private::make_dir(&folder)?;
        sweep(&folder);
        let own = uuid::Uuid::now_v7().to_string();
        let file = private::make_file(&file_of(&folder, &own))?;
        file.lock()?;
        Ok(Self { folder, own, lock: Mutex::new(Some(file)) })
    }

    /// An owner that never writes and so needs no lock.
    pub(crate) fn onlooker(folder: PathBuf) -> Self {
        Self { folder, own: uuid::Uuid::now_v7().to_string(), lock: Mutex::new(None) }
    }

    /// This process's id.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// A view of the same folder for the writer's thread.
    pub(crate) fn view(&self) -> OwnersView {
        OwnersView { folder: self.folder.clone(), own: self.own.clone() }
    }

    /// Whether the owner's process lives.
    pub(crate) fn alive(&self, owner: &str) -> bool {
        alive(&self.folder, &self.own, owner)
    }

    /// Gives the lock back: this process closed the store as it should.
    pub(crate) fn leave(&self) {
        if lock(&self.lock).take().is_some() {
            drop(std::fs::remove_file(file_of(&self.folder, &self.own)));
        }
    }

    /// What those left behind that ended without closing the store. A file stays until somebody has looked at the store.
    pub(crate) fn dead(&self) -> Vec<PathBuf> {
        files(&self.folder, "dead")
    }

    /// Whether any process holds a lock here. Call it under the store's opening lock.
    pub(crate) fn anyone(folder: &Path) -> bool {
        files(folder, "lock")
            .iter()
            .any(|path| File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))))
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Looks at owners without holding a lock itself.
pub(crate) struct OwnersView {
    folder: PathBuf,
    own: String,
}

impl OwnersView {
    /// Whether the owner's process lives.
    pub(crate) fn alive(&self, owner: &str) -> bool {
        alive(&self.folder, &self.own, owner)
    }
}

fn file_of(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{owner}.lock"))
}

fn alive(folder: &Path, own: &str, owner: &str) -> bool {
    // An id from the store becomes a file's name only when it has the shape of one that we made.
    owner == own || (owner.parse::<uuid::Uuid>().is_ok() && held(&file_of(folder, owner)))
}

/// Whether somebody holds the lock on this file; when nobody does, it becomes the mark of an unclean end.
fn held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => {
            drop(std::fs::rename(path, path.with_extension("dead")));
            false
        }
        // Where locks cannot be asked for, a run that may be alive is left alone.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn sweep(folder: &Path) {
    for path in files(folder, "lock") {
        held(&path);
    }
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|known| known == end)).collect()
}
