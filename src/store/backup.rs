//! Copies of the store beside it, made while it is in use.
//! Not for: getting one back (`damage`).

use super::open::beside;
use super::types::StoreError;
use super::{Store, private};
use crate::domain::damage::BackupCard;
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
        files(&self.0.path)
    }
}

/// The copies beside a store, oldest first.
fn files(path: &Path) -> Vec<PathBuf> {
    let first = beside(path, ".backup-");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| path.with_file_name(entry.file_name()))
        .filter(|file| starts_with(file, &first) && date(file).is_some())
        .collect();
    found.sort_unstable();
    found
}

/// When a copy was made, from its name: other files that SQLite may have put beside it have none.
fn date(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stamp = name.rsplit_once(".backup-")?.1;
    let at = jiff::civil::DateTime::strptime("%Y-%m-%dT%H%M%SZ", stamp).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// The copies beside a store as a person hears of them, newest first.
pub(super) fn cards(path: &Path) -> Vec<BackupCard> {
    let card = |file: PathBuf| {
        let bytes = std::fs::metadata(&file).ok()?.len();
        Some(BackupCard { path: file.display().to_string(), at: date(&file)?, bytes })
    };
    files(path).into_iter().rev().filter_map(card).collect()
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
