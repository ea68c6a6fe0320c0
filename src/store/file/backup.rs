//! Makes backups next to the store while it is in use.
//! Not for: restoring a backup (`damage`).

use super::open::path_with_suffix;
use super::private;
use crate::domain::base::BackupCard;
use crate::store::Store;
use crate::store::sql::all_rows;
use crate::store::types::StoreError;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PAGES: i32 = 4_096;

/// The format of times in the names of files.
const STAMP: &str = "%Y-%m-%dT%H%M%SZ";

/// Returns the current time for the name of a file.
pub(crate) fn stamp() -> String {
    jiff::Timestamp::now().strftime(STAMP).to_string()
}

impl Store {
    /// Makes a backup next to the store, at most one per day, and keeps the newest `kept`. Older backups are deleted
    /// only after the pages of the new one were checked. Only the newest backup contains the plans of calls, which are
    /// most of a store; they are removed from older ones. A backup made before a schema change is deleted once `kept`
    /// newer ones exist.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the store's pages are damaged; then all older backups are kept.
    pub fn backup(&self, kept: usize) -> Result<(), StoreError> {
        if self.read_only() {
            return Err(StoreError::ReadOnly);
        }
        let stamp = stamp();
        let day = stamp.split('T').next().unwrap_or_default();
        let target = path_with_suffix(&self.0.path, &format!(".backup-{stamp}"));
        let today = path_with_suffix(&self.0.path, &format!(".backup-{day}"));
        let before = self.backups();
        if kept > 0 && !before.iter().any(|file| starts_with(file, &today)) {
            self.read(|conn| copy(conn, &target))?;
            verify_copy(&target)?;
            for old in &before {
                if let Err(error) = without_plans(old) {
                    tracing::info!(%error, file = %old.display(), "the plans in an older backup stay");
                }
            }
        }
        for old in self.backups().iter().rev().skip(kept) {
            std::fs::remove_file(old).map_err(|error| failed(old, &error))?;
        }
        for old in before_schema(&self.0.path) {
            let since = modified(&old).map(jiff::Timestamp::as_second);
            if self.backups().iter().filter(|file| date_of(file).map(jiff::Timestamp::as_second) >= since).count()
                >= kept
            {
                std::fs::remove_file(&old).map_err(|error| failed(&old, &error))?;
            }
        }
        Ok(())
    }

    /// Returns the existing backups, oldest first. A message that is removed from the store is still in earlier
    /// backups.
    pub fn backups(&self) -> Vec<PathBuf> {
        files(&self.0.path)
    }
}

/// Checks a new backup and deletes it if it is damaged: in that case, the store is damaged too, and an older backup is
/// better.
fn verify_copy(copy: &Path) -> Result<(), StoreError> {
    let Some(why) = super::check::quick(&super::pool::reader(copy, true)?)? else { return Ok(()) };
    std::fs::remove_file(copy).map_err(|error| failed(copy, &error))?;
    Err(StoreError::Corrupt { path: copy.display().to_string(), why })
}

/// Returns the files next to a store whose names begin with the store's name and `end`, sorted by name.
fn files_with_suffix(path: &Path, end: &str) -> Vec<PathBuf> {
    let first = path_with_suffix(path, end);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| path.with_file_name(entry.file_name())).filter(|file| starts_with(file, &first)).collect();
    found.sort_unstable();
    found
}

/// Returns the backups next to a store, oldest first.
fn files(path: &Path) -> Vec<PathBuf> {
    files_with_suffix(path, ".backup-").into_iter().filter(|file| date_of(file).is_some()).collect()
}

/// Returns the backups that were made before a schema change.
pub(crate) fn before_schema(path: &Path) -> Vec<PathBuf> {
    let number = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.rsplit_once('-').is_some_and(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
    };
    files_with_suffix(path, ".before-schema-").into_iter().filter(number).collect()
}

/// Deletes unfinished backups. Call it only while no other process can be making a backup.
pub(crate) fn remove_parts(path: &Path) {
    for file in [".backup-", ".before-schema-", ".restoring"].iter().flat_map(|end| files_with_suffix(path, end)) {
        let name = file.to_string_lossy();
        let suffixes = [".part", ".part-journal", ".part-wal", ".part-shm", ".restoring"];
        if suffixes.iter().any(|end| name.ends_with(end))
            && let Err(error) = std::fs::remove_file(&file)
        {
            tracing::warn!(%error, file = %file.display(), "part of a backup could not be removed");
        }
    }
}

fn modified(file: &Path) -> Option<jiff::Timestamp> {
    let at = std::fs::metadata(file).and_then(|file| file.modified()).ok()?;
    jiff::Timestamp::try_from(at).ok()
}

/// Deletes the stored plans from a backup.
fn without_plans(file: &Path) -> Result<(), StoreError> {
    let old = super::pool::reader(file, true)?;
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('plan', 'plan_text')";
    let tables: Vec<String> = all_rows(&old, tables, [], |row| row.get(0))?;
    let has_rows =
        |table: &String| old.prepare(&format!("SELECT 1 FROM {table}")).and_then(|mut query| query.exists([]));
    let has_rows: Vec<bool> = tables.iter().map(has_rows).collect::<Result<_, _>>()?;
    if !has_rows.contains(&true) {
        return Ok(());
    }
    edit_copy(file, |conn| tables.iter().try_for_each(|table| Ok(conn.execute_batch(&format!("DELETE FROM {table}"))?)))
}

/// Changes a backup in a temporary copy, which replaces it when complete.
pub(crate) fn edit_copy(
    file: &Path,
    change: impl FnOnce(&mut Connection) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let part = path_with_suffix(file, ".part");
    copy(&super::pool::reader(file, true)?, &part)?;
    let mut conn = super::open::connect(&part, None)?;
    // The file is rewritten completely at the end, so deleted content need not be overwritten before.
    conn.execute_batch("PRAGMA secure_delete = OFF")?;
    change(&mut conn)?;
    let clean = path_with_suffix(file, ".clean.part");
    private::make_empty(&clean).map_err(|error| failed(&clean, &error))?;
    conn.execute("VACUUM INTO ?1", [clean.to_string_lossy()])?;
    conn.close().map_err(|(_, error)| error)?;
    let moved = std::fs::rename(&clean, file).and_then(|()| std::fs::remove_file(&part));
    moved.map_err(|error| failed(file, &error))
}

/// Returns the time a backup was made, from its name, or `None` for other files that SQLite may create next to it.
fn date_of(file: &Path) -> Option<jiff::Timestamp> {
    let name = file.file_name()?.to_str()?;
    let stamp = name.rsplit_once(".backup-")?.1;
    let at = jiff::civil::DateTime::strptime(STAMP, stamp).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

fn card(file: &Path, at: jiff::Timestamp) -> Option<BackupCard> {
    let bytes = std::fs::metadata(file).ok()?.len();
    Some(BackupCard { path: file.display().to_string(), at: at.strftime("%Y-%m-%d %H:%M UTC").to_string(), bytes })
}

/// Returns cards of the backups next to a store, newest first.
pub(crate) fn cards(path: &Path) -> Vec<BackupCard> {
    files(path).iter().rev().filter_map(|file| card(file, date_of(file)?)).collect()
}

/// Returns the card of a backup without a date in its name, with the file's modification time instead.
pub(crate) fn undated(file: &Path) -> Option<BackupCard> {
    card(file, modified(file)?)
}

fn starts_with(file: &Path, first: &Path) -> bool {
    file.as_os_str().as_encoded_bytes().starts_with(first.as_os_str().as_encoded_bytes())
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Sql(format!("the copy {} could not be made or replaced: {error}", path.display()))
}

/// Copies a whole database to a file, which gets its name only when it is complete.
pub(crate) fn copy(from: &Connection, target: &Path) -> Result<(), StoreError> {
    let part = path_with_suffix(target, ".part");
    private::make_empty(&part).map_err(|error| failed(&part, &error))?;
    let mut to = Connection::open(&part)?;
    Backup::new(from, &mut to)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    // A backup must be a single file without a log next to it.
    to.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    to.close().map_err(|(_, error)| error)?;
    std::fs::rename(&part, target).map_err(|error| failed(target, &error))
}
