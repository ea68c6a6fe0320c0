//! A folder for a workspace's commands: temporary files, and copies of settings that they may read.
//! Not for: what stands in the copies (`credentials`).

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAME: &str = "pleach-";
/// Locked while the program lives. Commands can neither write nor read it.
const LOCK: &str = "lock";
/// After this time a folder that nobody ever locked, as earlier versions made them, is nobody's any more.
const ABANDONED: Duration = Duration::from_hours(24);

/// The folder, there until this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        let place = std::env::temp_dir().canonicalize()?;
        let name = format!("{NAME}{}", uuid::Uuid::now_v7().simple());
        // It gets its name only once it is locked, so that nobody clears it away before.
        let (early, path) = (place.join(format!(".{name}")), place.join(name));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&early)?;
        let lock = File::create_new(early.join(LOCK))?;
        lock.lock()?;
        make(&early.join("tmp"))?;
        make(&early.join("settings"))?;
        fs::rename(&early, &path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.temporary().is_dir() && self.settings().is_dir()
    }

    /// Where commands write.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Which they only read.
    pub(crate) fn settings(&self) -> PathBuf {
        self.path.join("settings")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Clears away the folders of programs that have ended without doing it.
pub(crate) fn clear() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_named_so(path)) {
        let own = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir() && meta.uid() == geteuid().as_raw());
        if !own {
            continue;
        }
        match File::open(path.join(LOCK)) {
            // The lock is held until all is gone.
            Ok(lock) if lock.try_lock().is_ok() => drop((fs::remove_dir_all(&path), lock)),
            Err(_) if is_old(&path) => drop(fs::remove_dir_all(&path)),
            Ok(_) | Err(_) => {}
        }
    }
}

fn is_named_so(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(NAME));
    name.is_some_and(|id| id.len() == 32 && uuid::Uuid::try_parse(id).is_ok())
}

fn is_old(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > ABANDONED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_program_left_behind_is_cleared_away() {
        let place = std::env::temp_dir().canonicalize().unwrap();
        let make = |name: String| {
            let path = place.join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let id = || uuid::Uuid::now_v7().simple().to_string();
        let (left, other) = (make(format!("{NAME}{}", id())), make(format!("{NAME}{}x", id())));
        let early = make(format!("{NAME}{}", id()));
        for path in [&left, &other] {
            File::create_new(path.join(LOCK)).unwrap();
        }
        let own = Scratch::new().unwrap();
        clear();
        assert!(!left.exists(), "nobody holds its lock");
        assert!(other.exists() && early.exists() && own.is_there(), "not named so, just made, held");
        for path in [other, early] {
            fs::remove_dir_all(path).unwrap();
        }
    }

    #[test]
    fn names_and_ages_of_what_may_be_cleared_away() {
        let id = uuid::Uuid::now_v7();
        for (name, is) in [
            (format!("/tmp/{NAME}{}", id.simple()), true),
            (format!("/tmp/{NAME}{id}"), false),
            (format!("/tmp/{NAME}{}x", &id.simple().to_string()[1..]), false),
            (format!("/tmp/.{NAME}{}", id.simple()), false),
            (format!("/tmp/{}", id.simple()), false),
        ] {
            assert_eq!(is_named_so(Path::new(&name)), is, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(!is_old(&path) && !is_old(Path::new("/nowhere/at/all")));
        let before = std::time::SystemTime::now() - ABANDONED;
        file.set_modified(before - Duration::from_mins(1)).unwrap();
        assert!(is_old(&path));
        file.set_modified(before + Duration::from_mins(1)).unwrap();
        assert!(!is_old(&path));
    }

    #[test]
    fn it_is_there_with_both_of_its_parts() {
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
