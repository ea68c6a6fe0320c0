//! Copies of the store beside it, made while it is in use.
//! Not for: getting one back; a person does that by putting it in the store's place.

use super::open::beside;
use super::types::StoreError;
use super::{Store, private};
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many are kept.
const KEPT: usize = 3;
const PAGES: i32 = 4_096;

impl Store {
    /// Makes a copy beside the store, at most one a day, and keeps the last three.
    pub fn backup(&self) -> Result<(), StoreError> {
        if self.read_only() {
            return Err(StoreError::ReadOnly);
        }
        let stamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
        let day = stamp.split('T').next().unwrap_or_default();
        let target = beside(&self.0.path, &format!(".backup-{stamp}"));
        let today = beside(&self.0.path, &format!(".backup-{day}"));
        let made = self.backups();
        if made.iter().any(|file| starts_with(file, &today)) {
            return Ok(());
        }
        self.read(|conn| copy(conn, &target))?;
        for old in self.backups().iter().rev().skip(KEPT) {
            std::fs::remove_file(old).map_err(|error| failed(old, &error))?;
        }
        Ok(())
    }

    /// The copies there are, oldest first. A message that is removed from the store is still in those made before.
    pub fn backups(&self) -> Vec<PathBuf> {
        let first = beside(&self.0.path, ".backup-");
        let folder = self.0.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .map(|entry| self.0.path.with_file_name(entry.file_name()))
            .filter(|file| starts_with(file, &first) && file.extension().is_none_or(|end| end != "part"))
            .collect();
        found.sort_unstable();
        found
    }
}

fn starts_with(file: &Path, first: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().starts_with(first.as_os_str().as_encoded_bytes())
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Sql(format!("the copy {} could not be made or replaced: {error}", path.display()))
}

/// Copies a whole database to a file, which appears under its name only when it is complete.
pub(super) fn copy(from: &Connection, target: &Path) -> Result<(), StoreError> {
    let part = beside(target, ".part");
    private::make_file(&part).and_then(|file| file.set_len(0)).map_err(|error| failed(&part, &error))?;
    let mut to = Connection::open(&part)?;
    Backup::new(from, &mut to)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    // A copy stands alone: no log beside it.
    to.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    to.close().map_err(|(_, error)| error)?;
    std::fs::rename(&part, target).map_err(|error| failed(target, &error))
}
