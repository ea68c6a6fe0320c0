//! A temporary folder for a workspace's commands: for their temporary files, and for copies of settings that they may
//! read.
//! Not for: the text of the copies (`credentials`), or removing the folder (`locked_folder`).

use crate::tools::locked_folder::{self, LockedFolder};
use std::io;
use std::path::PathBuf;

const NAME_PREFIX: &str = "pleach-";

/// The temporary folder. It is removed on drop. Commands can neither read nor write the file that locks it.
#[derive(Debug)]
pub(crate) struct Scratch(LockedFolder);

impl Scratch {
    pub(crate) fn new() -> io::Result<Self> {
        let made = Self(LockedFolder::new(NAME_PREFIX)?);
        locked_folder::create_private(&made.temporary())?;
        locked_folder::create_private(&made.settings())?;
        Ok(made)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.temporary().is_dir() && self.settings().is_dir()
    }

    /// Returns the folder that commands can write.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// Returns the folder that commands can only read.
    pub(crate) fn settings(&self) -> PathBuf {
        self.0.path().join("settings")
    }
}

/// Removes folders left behind by programs that ended without removing them.
pub(crate) fn clear() {
    locked_folder::clear(NAME_PREFIX);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn scratch_needs_both_folders() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.0.path().to_owned();
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
