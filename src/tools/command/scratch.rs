//! A temporary folder for a workspace's commands: for their temporary files, and for copies of settings that they may
//! read.
//! Not for: the text of the copies (`credentials`).

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME_PREFIX: &str = "pleach-";
/// The name of a file that is locked while the program runs. Commands can neither read nor write it.
const LOCK_FILE: &str = "lock";
/// The age after which a folder without a lock, made by an earlier version, counts as abandoned.
const ABANDONED_AFTER: Duration = Duration::from_hours(24);

/// The temporary folder. It is removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        let place = std::env::temp_dir().canonicalize()?;
        let name = format!("{NAME_PREFIX}{}", uuid::Uuid::now_v7().simple());
        // The folder gets its final name only after it is locked, so that no other program removes it.
        let (early, path) = (place.join(format!(".{name}")), place.join(name));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&early)?;
        let lock = File::create_new(early.join(LOCK_FILE))?;
        lock.lock()?;
        make(&early.join("tmp"))?;
        make(&early.join("settings"))?;
        fs::rename(&early, &path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.temporary().is_dir() && self.settings().is_dir()
    }

    /// Returns the folder that commands can write.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Returns the folder that commands can only read.
    pub(crate) fn settings(&self) -> PathBuf {
        self.path.join("settings")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders left behind by programs that ended without removing them.
pub(crate) fn clear() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| has_scratch_name(path)) {
        let own = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if !own {
            continue;
        }
        match File::open(path.join(LOCK_FILE)) {
            // Hold the lock until everything is removed.
            Ok(lock) if lock.try_lock().is_ok() => drop((fs::remove_dir_all(&path), lock)),
            Err(_) if is_old(&path) => drop(fs::remove_dir_all(&path)),
            Ok(_) | Err(_) => {}
        }
    }
}

fn has_scratch_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(NAME_PREFIX));
    name.is_some_and(|id| id.len() == 32 && uuid::Uuid::try_parse(id).is_ok())
}

fn is_old(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_folders_are_removed() {
        let place = std::env::temp_dir().canonicalize().unwrap();
        let make = |name: String| {
            let path = place.join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let id = || uuid::Uuid::now_v7().simple().to_string();
        let (left, other) = (make(format!("{NAME_PREFIX}{}", id())), make(format!("{NAME_PREFIX}{}x", id())));
        let early = make(format!("{NAME_PREFIX}{}", id()));
        for path in [&left, &other] {
            File::create_new(path.join(LOCK_FILE)).unwrap();
        }
        let own = Scratch::new().unwrap();
        clear();
        assert!(!left.exists(), "no program holds its lock");
        assert!(other.exists() && early.exists() && own.is_there(), "another name, too recent, locked");
        for path in [other, early] {
            fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn names_and_ages_of_abandoned_folders() {
        let id = uuid::Uuid::now_v7();
        for (name, is) in [
            (format!("/tmp/{NAME_PREFIX}{}", id.simple()), true),
            (format!("/tmp/{NAME_PREFIX}{id}"), false),
            (format!("/tmp/{NAME_PREFIX}{}x", &id.simple().to_string()[1..]), false),
            (format!("/tmp/.{NAME_PREFIX}{}", id.simple()), false),
            (format!("/tmp/{}", id.simple()), false),
        ] {
            assert_eq!(has_scratch_name(Path::new(&name)), is, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(!is_old(&path) && !is_old(Path::new("/nowhere/at/all")));
        let before = std::time::SystemTime::now() - ABANDONED_AFTER;
        file.set_modified(before - Duration::from_mins(1)).unwrap();
        assert!(is_old(&path));
        file.set_modified(before + Duration::from_mins(1)).unwrap();
        assert!(!is_old(&path));
    }

    #[test]
    fn scratch_needs_both_folders() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path.clone();
        assert!(
            scratch.is_there()
                && scratch.temporary() == path.join("tmp")
                && scratch.settings() == path.join("settings")
        );
        fs::remove_dir(scratch.settings()).unwrap();
        assert!(!scratch.is_there());
        fs::create_dir(scratch.settings()).unwrap();
        fs::remove_dir(scratch.temporary()).unwrap();
        assert!(!scratch.is_there());
        drop(scratch);
        assert!(!path.exists());
    }
}
