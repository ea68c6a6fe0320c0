//! The right to ask on a branch: one program has it at a time, and those that wait get it in the order in which they came.
//! Not for: the fence of a run (`runs`), which holds whether locks work or not.
//!
//! A claim is a lock on a file of the branch that also says who holds it. A program that waits has a numbered place: a
//! file that it keeps locked. It sleeps on the lock of the place before its own, and then on the claim itself, so that a
//! program that ends or is killed lets the next one go on at once.

use super::open::{beside, owners_folder};
use super::private;
use crate::domain::base::ids::BranchId;
use crate::store::Store;
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a program that asks is known to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClaimOwner {
    /// Its process id.
    pub process: u32,
    /// Since when it has had the claim, in milliseconds since 1970.
    pub since: i64,
    /// It is the workbench, and not the command line.
    pub workbench: bool,
}

/// The right to ask on a branch, until it is dropped.
pub struct Claim {
    /// The lock goes with it. None where locks do not work.
    lock: Option<File>,
    path: PathBuf,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // While the lock is held: whoever gets it next sees that the file is gone and makes a new one.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// A place in the line of a branch, until it is dropped.
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
    /// Takes the right to ask on a branch; where another program has it, who that is (as far as it can be read).
    pub fn claim(&self, branch: BranchId, asker: &ClaimOwner) -> Result<Claim, Option<ClaimOwner>> {
        let path = self.claim_file(branch);
        if self.read_only() {
            return Ok(Claim { lock: None, path });
        }
        match locked(&path, |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }) {
            Ok(Some(file)) => Ok(signed(file, path, asker)),
            Ok(None) => Err(who(&path)),
            Err(error) => Ok(unlocked(path, &error)),
        }
    }

    /// Waits in line for the right to ask on a branch. Blocks until every program before has had it and given it back.
    pub fn await_claim(&self, branch: BranchId, asker: impl FnOnce() -> ClaimOwner) -> Claim {
        let path = self.claim_file(branch);
        let place = self.line_up(branch);
        if let Ok(place) = &place {
            place.wait();
        }
        match locked(&path, |file| sleep_on(file).map(|()| true)) {
            Ok(file) => file
                .map_or_else(|| Claim { lock: None, path: path.clone() }, |file| signed(file, path.clone(), &asker())),
            Err(error) => unlocked(path, &error),
        }
    }

    fn claim_file(&self, branch: BranchId) -> PathBuf {
        owners_folder(&self.0.path).join(format!("{branch}.asks"))
    }

    fn line_up(&self, branch: BranchId) -> io::Result<QueuePlace> {
        let (folder, branch) = (owners_folder(&self.0.path), branch.to_string());
        // Under the store's opening lock, so that numbers are given out one after the other.
        let gate = private::make_file(&beside(&self.0.path, ".opening"))?;
        sleep_on(&gate)?;
        let number = places(&folder, &branch).last().map_or(1, |last| last + 1);
        let lock = private::make_file(&place_file(&folder, &branch, number))?;
        lock.lock()?;
        Ok(QueuePlace { folder, branch, number, _lock: lock })
    }
}

impl QueuePlace {
    /// Sleeps until nobody is in line before it.
    fn wait(&self) {
        while let Some(before) = places(&self.folder, &self.branch).into_iter().rfind(|place| *place < self.number) {
            let path = place_file(&self.folder, &self.branch, before);
            if let Ok(file) = File::open(&path) {
                if let Err(error) = sleep_on(&file) {
                    tracing::error!(%error, "the line of a branch cannot be waited in");
                    return;
                }
                // Its program is gone or had its turn; a file that a killed one left would be waited for again.
                drop(std::fs::remove_file(&path));
            }
        }
    }
}

fn place_file(folder: &Path, branch: &str, number: u64) -> PathBuf {
    folder.join(format!("{branch}.{number:012}.waits"))
}

/// The numbers of those in line, in order.
fn places(folder: &Path, branch: &str) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| name.strip_prefix(branch)?.strip_prefix('.')?.strip_suffix(".waits")?.parse().ok();
    let mut found: Vec<u64> = entries.filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
    found.sort_unstable();
    found
}

/// Opens a file and locks it; again where it was removed before the lock was had. None where the lock was refused.
fn locked(path: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<File>> {
    loop {
        let file = private::make_file(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        if is_at(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Blocks until nobody else has the lock.
fn sleep_on(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Whether this very file still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(held), Ok(named)) if same(&held, &named))
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// Who holds a claim. One that was taken just now is signed in a moment: this looks a few times, because nothing can be
/// slept on for that (its lock is held until the whole turn is over, and no part of this is in the database).
fn who(path: &Path) -> Option<ClaimOwner> {
    (0..20).find_map(|_| {
        let read = std::fs::read(path).ok()?;
        let found = serde_json::from_slice(&read).ok();
        if found.is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        found
    })
}

/// Writes into the file who holds it.
fn signed(mut file: File, path: PathBuf, asker: &ClaimOwner) -> Claim {
    let who = serde_json::to_vec(asker).unwrap_or_default();
    if let Err(error) = file.set_len(0).and_then(|()| file.write_all(&who)) {
        tracing::info!(%error, "who asks on a branch could not be written down");
    }
    Claim { lock: Some(file), path }
}

/// Where locks do not work, only the fence of the run is left.
fn unlocked(path: PathBuf, error: &io::Error) -> Claim {
    tracing::info!(%error, "a branch cannot be claimed");
    Claim { lock: None, path }
}
