//! Claims: the right to make calls on a branch. One program has it at a time; waiting programs get it in order of
//! arrival.
//! Not for: the fence of a run (`runs`), which works even without file locks.
//!
//! A claim is a lock on a file of the branch, which also names its owner. A waiting program has a numbered place in the
//! queue: a file that it keeps locked. It waits for the lock of the previous place, then for the claim itself. If a
//! program ends or is killed, the next program continues immediately.

use super::open::{owners_folder, path_with_suffix};
use super::private;
use crate::domain::base::BranchId;
use crate::store::Store;
use crate::store::types::OpenRun;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of checks whether a killed program's run has ended.
const CHECKS: usize = 100;
/// The pause between two checks of a run or a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// A program that owns a claim, as shown to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClaimOwner {
    /// Process id.
    pub process: u32,
    /// When it got the claim, in milliseconds since 1970.
    pub since: i64,
    /// Whether it is the workbench rather than the command line.
    pub workbench: bool,
}

/// The right to make calls on a branch. Dropping it releases the right.
pub struct Claim {
    /// Dropping it releases the lock. `None` if locks are not available.
    lock: Option<File>,
    path: PathBuf,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // Removed while the lock is held: the next owner sees that the file no longer exists and creates a new
            // file.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// A place in the queue for a branch. Dropping it releases the place.
struct QueuePlace {
    folder: PathBuf,
    branch: String,
    number: u64,
    _lock: File,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        drop(std::fs::remove_file(place_file(&self.folder, &self.branch, self.number)));
    }
}

impl Store {
    /// Claims a branch. If another program owns the claim, returns that program as the error (`None` if its name cannot
    /// be read, or if no program owns the claim and one waits for it).
    pub fn claim(&self, branch: BranchId, owner: &ClaimOwner) -> Result<Claim, Option<ClaimOwner>> {
        let path = self.claim_file(branch);
        if self.read_only() {
            return Ok(Claim { lock: None, path });
        }
        if is_awaited(&owners_folder(&self.0.path), &branch.to_string()) {
            return Err(read_owner(&path));
        }
        match open_locked(&path, try_lock) {
            Ok(Some(file)) => {
                self.await_end_of_runs(branch, &mut pause);
                Ok(write_owner(file, path, owner))
            }
            Ok(None) => Err(read_owner(&path)),
            Err(error) => Ok(without_lock(path, &error)),
        }
    }

    /// Waits in the queue for the claim on a branch until every earlier program has released it. Returns `None` once
    /// `is_canceled` returns true.
    pub fn await_claim(
        &self,
        branch: BranchId,
        is_canceled: &dyn Fn() -> bool,
        owner: impl FnOnce() -> ClaimOwner,
    ) -> Option<Claim> {
        let path = self.claim_file(branch);
        let place = self.enqueue(branch, is_canceled);
        if let Ok(Some(place)) = &place {
            place.wait(is_canceled);
        }
        match open_locked(&path, |file| wait_for_lock(file, is_canceled)) {
            Ok(Some(file)) => {
                self.await_end_of_runs(branch, &mut pause);
                Some(write_owner(file, path, &owner()))
            }
            Ok(None) => None,
            Err(error) => Some(without_lock(path, &error)),
        }
    }

    /// Waits until the previous holder of the claim has lost its other locks as well: the system releases the locks of
    /// a killed program one after another, and its open run must count as dead before another run is opened. Only a
    /// program with the claim opens runs, so this returns immediately otherwise. Calls `pause` between two checks.
    pub(in crate::store) fn await_end_of_runs(&self, branch: BranchId, pause: &mut dyn FnMut()) {
        let is_open =
            |run: &OpenRun| run.card.branch == branch && run.owner != self.owner() && self.owner_alive(&run.owner);
        for _ in 0..CHECKS {
            if !self.open_runs().is_ok_and(|runs| runs.iter().any(is_open)) {
                return;
            }
            pause();
        }
    }

    fn claim_file(&self, branch: BranchId) -> PathBuf {
        owners_folder(&self.0.path).join(format!("{branch}.asks"))
    }

    /// Returns the last place in the queue for a branch; `None` if that was canceled.
    fn enqueue(&self, branch: BranchId, is_canceled: &dyn Fn() -> bool) -> io::Result<Option<QueuePlace>> {
        let (folder, branch) = (owners_folder(&self.0.path), branch.to_string());
        // Under the store's opening lock, so that numbers are assigned in order.
        let gate = private::make_file(&path_with_suffix(&self.0.path, ".opening"))?;
        if !wait_for_lock(&gate, is_canceled)? {
            return Ok(None);
        }
        let number = places(&folder, &branch).last().map_or(1, |last| last + 1);
        let lock = private::make_file(&place_file(&folder, &branch, number))?;
        lock.lock()?;
        Ok(Some(QueuePlace { folder, branch, number, _lock: lock }))
    }
}

impl QueuePlace {
    /// Waits until there is no earlier place, or until the wait is canceled.
    fn wait(&self, is_canceled: &dyn Fn() -> bool) {
        while let Some(before) = places(&self.folder, &self.branch).into_iter().rfind(|place| *place < self.number) {
            let path = place_file(&self.folder, &self.branch, before);
            if let Ok(file) = File::open(&path) {
                match wait_for_lock(&file, is_canceled) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::error!(%error, "can't queue for the claim on a branch");
                        return;
                    }
                }
                // Its program ended, or got the claim. If a killed program left the file, this must not wait for it
                // again.
                drop(std::fs::remove_file(&path));
            }
        }
    }
}

fn pause() {
    std::thread::sleep(PAUSE);
}

fn place_file(folder: &Path, branch: &str, number: u64) -> PathBuf {
    folder.join(format!("{branch}.{number:012}.waits"))
}

/// Returns the numbers in the queue, in ascending order.
fn places(folder: &Path, branch: &str) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(branch)?.strip_prefix('.')?.strip_suffix(".waits")?.parse().ok();
    let mut found: Vec<u64> = entries.filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
    found.sort_unstable();
    found
}

/// Opens and locks a file; retries if the file was deleted before it was locked. Returns `None` if the lock is taken.
fn open_locked(path: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
    loop {
        let file = private::make_file(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        if is_same_file(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Returns whether a living program waits for the claim on a branch.
fn is_awaited(folder: &Path, branch: &str) -> bool {
    places(folder, branch).into_iter().any(|number| {
        let file = File::open(place_file(folder, branch, number));
        file.is_ok_and(|file| try_lock(&file).is_ok_and(|locked| !locked))
    })
}

/// Locks a file. Returns `false` if another one has the lock.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits until no other one has the lock. Returns `false` once the wait is canceled.
fn wait_for_lock(file: &File, is_canceled: &dyn Fn() -> bool) -> io::Result<bool> {
    while !is_canceled() {
        match try_lock(file) {
            Ok(false) => pause(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
    Ok(false)
}

/// Returns whether the open file is still the file at this path.
#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(open), Ok(current)) if same(&open, &current))
}

/// On other systems, an open file keeps its name.
#[cfg(not(unix))]
fn is_same_file(_file: &File, _path: &Path) -> bool {
    true
}

/// Returns the owner of a claim. Its name is written shortly after the lock is taken, so this retries a few times: the
/// lock is held for the whole turn, so this cannot wait for it.
fn read_owner(path: &Path) -> Option<ClaimOwner> {
    (0..20).find_map(|_| {
        let read = std::fs::read(path).ok()?;
        let found = serde_json::from_slice(&read).ok();
        if found.is_none() {
            pause();
        }
        found
    })
}

fn write_owner(mut file: File, path: PathBuf, owner: &ClaimOwner) -> Claim {
    let who = serde_json::to_vec(owner).unwrap_or_default();
    if let Err(error) = file.set_len(0).and_then(|()| file.write_all(&who)) {
        tracing::info!(%error, "can't write the owner of a claim");
    }
    Claim { lock: Some(file), path }
}

/// Returns a claim without a lock. Only the fence of the run protects the branch then.
fn without_lock(path: PathBuf, error: &io::Error) -> Claim {
    tracing::info!(%error, "a branch can't be claimed");
    Claim { lock: None, path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpenOptions;
    use uuid::Uuid;

    fn temporary() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions { path: folder.path().join("pleach.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        (folder, store)
    }

    fn owner() -> ClaimOwner {
        ClaimOwner { process: 1, since: 2, workbench: false }
    }

    #[test]
    fn a_wait_for_a_claim_ends_when_it_is_canceled() {
        let (_folder, store) = temporary();
        let branch = BranchId(Uuid::from_u128(1));
        let held = store.claim(branch, &owner()).ok().unwrap();
        let checks = std::cell::Cell::new(0);
        let canceled = || {
            checks.set(checks.get() + 1);
            checks.get() > 5
        };
        assert!(store.await_claim(branch, &canceled, owner).is_none());
        assert_eq!(store.claim(branch, &owner()).err().flatten(), Some(owner()));
        drop(held);
        assert!(store.await_claim(branch, &|| false, owner).is_some(), "the canceled wait left no place in the queue");
    }

    #[test]
    fn a_claim_that_another_one_waits_for_is_not_taken_before_it() {
        let (_folder, store) = temporary();
        let branch = BranchId(Uuid::from_u128(1));
        let place = store.enqueue(branch, &|| false).unwrap();
        assert!(store.claim(branch, &owner()).is_err());
        drop(place);
        assert!(store.claim(branch, &owner()).is_ok());
    }
}
