//! The place where a file is written: the descriptor of its folder, which is reached from the root without following
//! links, and the file's name. Reads the file, and replaces it atomically if its content is as expected.
//! Not for: deciding which text is written.

use crate::domain::base::Hash;
use crate::tools::{ToolFailure, Workspace, shown, stop};
use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum size of a file that is changed or written, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 20;

/// The place of a file, which need not exist.
pub(crate) struct Place {
    folder: Dir,
    name: OsString,
    path: PathBuf,
}

/// The content and metadata of a file.
pub(crate) struct Current {
    pub(crate) text: Arc<str>,
    mode: Permissions,
}

impl Place {
    /// Opens the folder of a file. Returns `None` if a folder is missing and `make` is false.
    pub(crate) fn find(space: &Workspace, path: &Path, make: bool) -> Result<Option<Self>, ToolFailure> {
        let Some(name) = path.file_name() else {
            return Err(ToolFailure::Failed("The path names no file.".into()));
        };
        let kept = space.protected_places();
        let mut folder = space.root.try_clone().map_err(|error| stop(path, &error))?;
        let mut so_far = PathBuf::new();
        for step in path.parent().into_iter().flatten() {
            so_far.push(step);
            refuse_protected(step, &so_far)?;
            folder = match enter(&folder, step) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !make => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Another process may have created it at the same time.
                    let created = folder.create_dir(step);
                    enter(&folder, step).map_err(|error| stop(&so_far, &created.err().unwrap_or(error)))?
                }
                Err(error) => return Err(step_error(&folder, step, &so_far, &error)),
                Ok(inner) => inner,
            };
            kept.check(&folder.dir_metadata().map_err(|error| stop(&so_far, &error))?, &so_far)?;
        }
        refuse_protected(name, path)?;
        if let Ok(meta) = folder.symlink_metadata(name) {
            kept.check(&meta, path)?;
        }
        Ok(Some(Self { folder, name: name.to_owned(), path: path.to_owned() }))
    }

    /// Reads the file. Returns `None` if it does not exist.
    pub(crate) fn current(&self) -> Result<Option<Current>, ToolFailure> {
        let path = shown(&self.path);
        let file = match open_plain(&self.folder, &self.name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(step_error(&self.folder, &self.name, &self.path, &error)),
        };
        let meta = file.metadata().map_err(|error| stop(&self.path, &error))?;
        if meta.is_dir() {
            return Err(ToolFailure::Failed(format!("{path} is a folder.")));
        }
        if !meta.is_file() {
            return Err(ToolFailure::Refused(format!(
                "{path} is a pipe, a socket, or a device; only regular files are changed."
            )));
        }
        let bytes =
            if meta.len() <= MAX_FILE_BYTES { whole(file).map_err(|error| stop(&self.path, &error))? } else { None };
        let Some(bytes) = bytes else {
            let most = MAX_FILE_BYTES >> 20;
            return Err(ToolFailure::Failed(format!(
                "{path} has {} bytes; only files up to {most} MB are changed.",
                meta.len()
            )));
        };
        if bytes.contains(&0) {
            return Err(ToolFailure::Failed(format!("{path} is not a text file; it was not changed.")));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Current { text: text.into(), mode: meta.permissions() })),
            Err(_) => Err(ToolFailure::Failed(format!("{path} is not UTF-8; it was not changed."))),
        }
    }

    /// Writes a text atomically if the file's hash is still `expected`; `None` means a file that does not exist.
    pub(crate) fn put(&self, expected: Option<Hash>, text: &str) -> Result<(), ToolFailure> {
        let now = self.expect(expected)?;
        if now.as_ref().is_some_and(|now| now.mode.readonly()) {
            return Err(ToolFailure::Failed(format!("{} is read-only; it was not changed.", shown(&self.path))));
        }
        let temporary = OsString::from(format!(".pleach-{}.tmp", uuid::Uuid::now_v7().simple()));
        let done = self.fill(&temporary, now.as_ref(), text).map_err(|error| stop(&self.path, &error)).and_then(|()| {
            self.expect(expected)?;
            self.move_into_place(&temporary, now.is_some()).map_err(|error| stop(&self.path, &error))
        });
        if done.is_err() || now.is_none() {
            // Remove the temporary name, which remains if the file was linked or the write failed.
            let _ = self.folder.remove_file(&temporary);
        }
        done
    }

    /// Removes the file if its hash is still `expected`.
    pub(crate) fn remove(&self, expected: Option<Hash>) -> Result<(), ToolFailure> {
        match self.expect(expected)? {
            None => Ok(()),
            Some(_) => self.folder.remove_file(&self.name).map_err(|error| stop(&self.path, &error)),
        }
    }

    fn expect(&self, expected: Option<Hash>) -> Result<Option<Current>, ToolFailure> {
        let now = self.current()?;
        if now.as_ref().map(|now| Hash::of(now.text.as_bytes())) == expected {
            return Ok(now);
        }
        let what = match (expected, &now) {
            (None, _) => "was created in the meantime",
            (_, None) => "no longer exists",
            _ => "has changed since this edit was prepared",
        };
        Err(ToolFailure::Failed(format!("{} {what}, so nothing was written.", shown(&self.path))))
    }

    /// Writes the new text to a temporary file next to the target.
    fn fill(&self, name: &OsStr, now: Option<&Current>, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if now.is_some() {
            use cap_std::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = self.folder.open_with(name, &options)?;
        file.write_all(text.as_bytes())?;
        if let Some(now) = now {
            file.set_permissions(now.mode.clone())?;
        }
        file.sync_all()
    }

    /// Moves the temporary file into place. A new file is hard-linked, which fails if the name is already in use.
    fn move_into_place(&self, temporary: &OsStr, replace: bool) -> io::Result<()> {
        if !replace {
            match self.folder.hard_link(temporary, &self.folder, &self.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) => return Ok(()),
                // The file system has no hard links.
                Err(_) if self.folder.symlink_metadata(&self.name).is_ok() => {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Err(_) => {}
            }
        }
        self.folder.rename(temporary, &self.folder, &self.name)
    }
}

/// Reads all bytes of a file, which can grow meanwhile. Returns `None` if there are too many.
fn whole(file: impl io::Read) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_FILE_BYTES).then_some(bytes))
}

/// Refuses names that are never written: git's data, and this program's own settings file of a folder.
fn refuse_protected(name: &OsStr, path: &Path) -> Result<(), ToolFailure> {
    let name = name.to_string_lossy();
    for (own, whose) in [(".git", "part of git's data"), (".pleach.toml", "one of pleach's own files")] {
        if name.eq_ignore_ascii_case(own) {
            return Err(ToolFailure::Refused(format!("{} is {whose}; it is never written.", shown(path))));
        }
    }
    Ok(())
}

/// Returns the reason why a folder or a file could not be opened. A link is reported as a link.
fn step_error(folder: &Dir, step: &OsStr, path: &Path, error: &io::Error) -> ToolFailure {
    match folder.symlink_metadata(step) {
        Ok(meta) if meta.is_symlink() => ToolFailure::Refused(format!(
            "{} is a link; files are written only by their own path inside the workspace.",
            shown(path)
        )),
        _ => stop(path, error),
    }
}

#[cfg(unix)]
fn enter(folder: &Dir, step: &OsStr) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(folder, step, flags, Mode::empty())?;
    Ok(Dir::from_std_file(inner.into()))
}

#[cfg(unix)]
fn open_plain(folder: &Dir, name: &OsStr) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    Ok(File::from_std(file.into()))
}

#[cfg(not(unix))]
fn enter(folder: &Dir, step: &OsStr) -> io::Result<Dir> {
    no_link(folder, step)?;
    folder.open_dir(step)
}

#[cfg(not(unix))]
fn open_plain(folder: &Dir, name: &OsStr) -> io::Result<File> {
    no_link(folder, name)?;
    folder.open(name)
}

#[cfg(not(unix))]
fn no_link(folder: &Dir, name: &OsStr) -> io::Result<()> {
    let link = folder.symlink_metadata(name)?.is_symlink();
    if link { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_file_is_not_read_in_part() {
        for (holds, taken) in
            [(0, Some(0)), (MAX_FILE_BYTES, Some(MAX_FILE_BYTES)), (MAX_FILE_BYTES + 1, None), (u64::MAX, None)]
        {
            let bytes = whole(io::repeat(b'x').take(holds)).unwrap();
            assert_eq!(bytes.map(|bytes| bytes.len() as u64), taken, "{holds}");
        }
    }
}
