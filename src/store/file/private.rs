//! Files and folders that only their owner can read.
//! Not for: locks or SQLite. On systems without Unix modes, the permissions of the folder apply.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

pub(crate) use mode::tighten;

/// Creates a folder and its parents with access for the owner only. An existing folder is left unchanged.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    mode::dir(&mut builder);
    builder.create(path)
}

/// Opens a file for reading and writing. If it is missing, creates it with access for the owner only.
pub(crate) fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    mode::file(&mut options);
    options.open(path)
}

#[cfg(unix)]
mod mode {
    use std::fs::{DirBuilder, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    pub(crate) fn dir(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    pub(crate) fn file(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    /// Removes the permissions of other users from one of our files.
    pub(crate) fn tighten(path: &Path) -> io::Result<()> {
        let mode = std::fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700))?;
        }
        Ok(())
    }
}

#[cfg(not(unix))]
mod mode {
    use std::fs::{DirBuilder, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(crate) fn dir(_: &mut DirBuilder) {}

    pub(crate) fn file(_: &mut OpenOptions) {}

    pub(crate) fn tighten(_: &Path) -> io::Result<()> {
        Ok(())
    }
}
