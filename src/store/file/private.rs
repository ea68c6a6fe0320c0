//! Files and folders that only their owner can read.
//! Not for: locks or SQLite. On systems without Unix modes, the permissions of the folder apply.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Creates a folder and its parents with access for the owner only. An existing folder is left unchanged.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path)
}

/// Opens a file for reading and writing. If it is missing, creates it with access for the owner only.
pub(crate) fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// Makes an empty file, with access for the owner only if it is new.
pub(crate) fn make_empty(path: &Path) -> io::Result<File> {
    let file = make_file(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Removes the permissions of other users from one of our files.
#[cfg(unix)]
pub(crate) fn tighten(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = std::fs::metadata(path)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(permissions.mode() & 0o700);
        std::fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn tighten(_: &Path) -> io::Result<()> {
    Ok(())
}
