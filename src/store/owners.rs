//! Which processes live: each holds a lock on a file of its own for as long as it has the store open.
//! Not for: SQLite's locks, or what is done with the runs of the dead (`engine`).

use super::private;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// This process's lock file, and a way to look at others'.
pub(super) struct Owners {
    folder: PathBuf,
    own: String,
    /// Held, never read: the lock goes with the file.
    lock: Option<File>,
}

impl Owners {
    /// Takes a new id and locks its file. Call it under the store's opening lock: it clears away files of the dead, and
    /// a file that is made but not locked yet would look like one.
    pub(super) fn join(folder: PathBuf) -> io::Result<Self> {
        private::make_dir(&folder)?;
        sweep(&folder);
        let own = uuid::Uuid::now_v7().to_string();
        let file = private::make_file(&file_of(&folder, &own))?;
        file.lock()?;
        Ok(Self { folder, own, lock: Some(file) })
    }

    /// An owner that never writes and so needs no lock.
    pub(super) fn onlooker(folder: PathBuf) -> Self {
        Self { folder, own: uuid::Uuid::now_v7().to_string(), lock: None }
    }

    /// This process's id.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// A view of the same folder for the writer's thread.
    pub(super) fn view(&self) -> OwnersView {
        OwnersView { folder: self.folder.clone(), own: self.own.clone() }
    }

    /// Whether the owner's process lives.
    pub(super) fn alive(&self, owner: &str) -> bool {
        alive(&self.folder, &self.own, owner)
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        if self.lock.is_some() {
            drop(std::fs::remove_file(file_of(&self.folder, &self.own)));
        }
    }
}

/// Looks at owners without holding a lock itself.
pub(super) struct OwnersView {
    folder: PathBuf,
    own: String,
}

impl OwnersView {
    /// Whether the owner's process lives.
    pub(super) fn alive(&self, owner: &str) -> bool {
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

/// Whether somebody holds the lock on this file; removes it when nobody does.
fn held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match file.try_lock() {
        Ok(()) => {
            drop(std::fs::remove_file(path));
            false
        }
        // Where locks cannot be asked for, a run that may be alive is left alone.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "lock") {
            held(&path);
        }
    }
}
