//! Temporary folders. A program removes its folders when it ends; a later start removes the folders of killed programs.
//! A file in each folder is locked while its program runs.
//! Not for: the contents of the folders (`command::scratch`, `engine::startup`).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the locked file.
const LOCK_FILE: &str = "lock";
/// The age after which a folder without a lock, made by an earlier version, counts as abandoned.
const ABANDONED_AFTER: Duration = Duration::from_hours(24);

/// A folder among the system's temporary files that only its owner can open. It is removed on drop.
#[derive(Debug)]
pub struct LockedFolder {
    path: PathBuf,
    _lock: File,
}

impl LockedFolder {
    /// Creates a folder whose name is a prefix and an id.
    pub fn new(prefix: &str) -> io::Result<Self> {
        let place = std::env::temp_dir().canonicalize()?;
        let name = format!("{prefix}{}", uuid::Uuid::now_v7().simple());
        // The folder gets its final name only after it is locked, so that no other program removes it.
        let (early, path) = (place.join(format!(".{name}")), place.join(name));
        create_private(&early)?;
        let lock = File::create_new(early.join(LOCK_FILE))?;
        lock.lock()?;
        fs::rename(&early, &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Creates a folder that only its owner can open.
pub fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes folders with a prefix whose programs ended without removing them.
pub fn clear(prefix: &str) {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    let named = entries.flatten().map(|entry| entry.path()).filter(|path| has_name(path, prefix));
    for path in named.filter(|path| is_own_folder(path)) {
        match File::open(path.join(LOCK_FILE)) {
            // Hold the lock until everything is removed.
            Ok(lock) if lock.try_lock().is_ok() => drop((remove(&path), lock)),
            Err(_) if is_old(&path) => remove(&path),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Removes a folder with everything in it, except entries that cannot be removed.
fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        #[cfg(target_os = "linux")]
        let _ = open_folders(rustix::fs::CWD, path);
        let _ = fs::remove_dir_all(path);
    }
}

/// Gives the owner permission to list and change a folder and all folders in it. Follows no links, even if a running
/// program replaces a folder with a link.
#[cfg(target_os = "linux")]
fn open_folders(parent: std::os::fd::BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<()> {
    use rustix::fs::{Dir, Mode, OFlags, chmod, openat};
    use std::os::fd::{AsFd as _, AsRawFd as _};
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Such a descriptor needs no permission of the folder itself. The mode is set through it, not through the name.
    let found = openat(parent, name, folder | OFlags::PATH, Mode::empty())?;
    chmod(format!("/proc/self/fd/{}", found.as_raw_fd()), Mode::RWXU)?;
    let opened = openat(&found, c".", folder | OFlags::RDONLY, Mode::empty())?;
    for entry in Dir::read_from(&opened)?.flatten() {
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            // An entry that is not a folder is refused here.
            let _ = open_folders(opened.as_fd(), entry.file_name());
        }
    }
    Ok(())
}

fn is_own_folder(path: &Path) -> bool {
    #[cfg(unix)]
    let own = |meta: &fs::Metadata| std::os::unix::fs::MetadataExt::uid(meta) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let own = |_: &fs::Metadata| true;
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && own(&meta))
}

/// Returns whether a folder's name is a prefix and an id, in the current format or in an earlier version's format.
fn has_name(path: &Path, prefix: &str) -> bool {
    let id = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(prefix));
    id.is_some_and(|id| matches!(id.len(), 32 | 36) && uuid::Uuid::try_parse(id).is_ok())
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
        let prefix = "pleach-test-";
        let place = std::env::temp_dir().canonicalize().unwrap();
        let make = |name: String| {
            let path = place.join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let id = || uuid::Uuid::now_v7().simple().to_string();
        let (left, other) = (make(format!("{prefix}{}", id())), make(format!("{prefix}{}x", id())));
        let early = make(format!("{prefix}{}", id()));
        for path in [&left, &other] {
            File::create_new(path.join(LOCK_FILE)).unwrap();
        }
        fs::write(left.join("demo.db"), "x").unwrap();
        let own = LockedFolder::new(prefix).unwrap();
        clear(prefix);
        assert!(!left.exists(), "no program holds its lock");
        assert!(other.exists() && early.exists() && own.path().exists(), "another name, too recent, locked");
        for path in [other, early] {
            fs::remove_dir_all(path).unwrap();
        }
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
    }

    #[test]
    fn names_and_ages_of_abandoned_folders() {
        let id = uuid::Uuid::now_v7();
        for (name, prefix, is) in [
            (format!("/tmp/pleach-{}", id.simple()), "pleach-", true),
            (format!("/tmp/pleach-{id}"), "pleach-", true),
            (format!("/tmp/pleach-demo-{id}"), "pleach-", false),
            (format!("/tmp/pleach-demo-{id}"), "pleach-demo-", true),
            (format!("/tmp/pleach-{{{id}}}"), "pleach-", false),
            (format!("/tmp/pleach-{}x", &id.simple().to_string()[1..]), "pleach-", false),
            (format!("/tmp/.pleach-{}", id.simple()), "pleach-", false),
            (format!("/tmp/{}", id.simple()), "pleach-", false),
        ] {
            assert_eq!(has_name(Path::new(&name), prefix), is, "{name}");
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

    #[cfg(target_os = "linux")]
    #[test]
    fn closed_folders_are_opened_and_removed_without_following_links() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let close = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let (outside, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let top = place.path().join("top");
        let deep = top.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        symlink(outside.path(), deep.join("link")).unwrap();
        close(&deep.join("file"), 0o400);
        close(outside.path(), 0o500);
        for path in [&deep, &top.join("a"), &top] {
            close(path, 0o000);
        }
        open_folders(rustix::fs::CWD, &top).unwrap();
        assert_eq!([&top, &top.join("a"), &deep].map(|path| mode(path)), [0o700; 3]);
        assert_eq!((mode(outside.path()), mode(&deep.join("file"))), (0o500, 0o400), "only folders, and no links");
        assert!(open_folders(rustix::fs::CWD, deep.join("link")).is_err() && mode(outside.path()) == 0o500);
        close(&deep, 0o000);
        close(&top, 0o000);
        remove(&top);
        assert!(!top.exists() && outside.path().exists());
        close(outside.path(), 0o700);
    }
}
