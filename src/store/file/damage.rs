//! Damaged stores: detects damage, and moves the file aside once a person agrees.
//! Not for: asking the person. No file is changed before `set_aside` is called, and none is ever deleted.

use super::open::{check, lock_gate, owners_folder, path_with_suffix, read_tables};
use super::owners::Owners;
use super::pool::reader;
use super::{backup, check as whole, examine, private, salvage};
use crate::domain::base::{BackupCard, Damage, RepairResult, StartWith};
use crate::domain::conversation::Transcript;
use crate::store::types::StoreError;
use crate::store::{schema, sql};
use rusqlite::Connection;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The reason given for an intact database of another program.
pub(crate) const FOREIGN: &str = "it is another program's database";

/// Returns the damage of a store's file. Returns `None` if the file is intact, or if it is empty or missing and has no
/// backups. With `thorough`, reads the whole file, which takes seconds for a large file. Changes nothing.
///
/// # Errors
/// If the file cannot be opened, belongs to another program, or was written by a newer version.
pub fn find_damage(path: &Path, thorough: bool) -> Result<Option<Damage>, StoreError> {
    let damage = |why| Damage { path: path.display().to_string(), why, backups: backup::cards(path) };
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(missing_content(path).map(damage));
    }
    let result = reader(path, false).and_then(|conn| {
        check(&conn).and_then(|()| read_tables(&conn))?;
        if thorough { first_fault(&conn) } else { Ok(None) }
    });
    let why = match result {
        Ok(found) => found,
        Err(StoreError::Corrupt { why, .. }) if why != FOREIGN => Some(why),
        Err(error) => return Err(sql::with_path(error, path)),
    };
    Ok(why.map(damage))
}

/// Returns why a file without content counts as damaged: its backups show that a store existed here. Returns `None` if
/// it does not.
pub(crate) fn missing_content(path: &Path) -> Option<String> {
    let how = match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => return None,
        Ok(_) => "its file is empty",
        Err(error) if error.kind() == io::ErrorKind::NotFound => "its file is missing",
        Err(_) => return None,
    };
    (!backup::cards(path).is_empty()).then(|| format!("{how}, although there is a backup of it"))
}

/// Returns the first fault of a store: of its pages, otherwise of its content.
fn first_fault(conn: &Connection) -> Result<Option<String>, StoreError> {
    match whole::quick(conn)? {
        Some(why) => Ok(Some(why)),
        None => Ok(examine::examine(conn)?.faults.into_iter().next()),
    }
}

/// Returns the number of stored plans that can't be read. They do not count as damage, because they can be deleted
/// where they are. Changes nothing.
pub fn unreadable_plans(path: &Path) -> Result<usize, StoreError> {
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(0);
    }
    let found = reader(path, false).and_then(|conn| examine::unreadable_plans(&conn));
    found.map(|plans| plans.len()).map_err(|error| sql::with_path(error, path))
}

/// Moves a damaged store and its log to `<name>.corrupt-<time>`, and replaces it with the newest good backup or an
/// empty store.
///
/// # Errors
/// If the file is intact, another program has it open, no backup is good, or the files cannot be moved. Then nothing
/// changes.
pub fn set_aside(path: &Path, start: StartWith) -> Result<RepairResult, StoreError> {
    let failed = |error: io::Error| StoreError::Open { path: path.display().to_string(), why: error.to_string() };
    let refused = |why: &str| StoreError::Open { path: path.display().to_string(), why: why.into() };
    let gate = private::make_file(&path_with_suffix(path, ".opening")).map_err(failed)?;
    lock_gate(&gate, &mut Vec::new());
    if Owners::any_alive(&owners_folder(path)) {
        return Err(refused("another pleach process has the store open; close it first"));
    }
    if find_damage(path, true)?.is_none() {
        return Err(refused("the store can be read now; nothing was changed"));
    }
    let part = path_with_suffix(path, ".restoring");
    let from = match start {
        StartWith::Empty => {
            create_empty(&part).map_err(|error| sql::with_path(error, &part))?;
            None
        }
        StartWith::Backup => {
            let found = newest_good(path).ok_or_else(|| refused("none of its backups can be read"))?;
            copy(Path::new(&found.path), &part).map_err(failed)?;
            Some(found)
        }
    };
    let moved_to = free_name(path, "corrupt", "");
    let missing = !path.exists();
    if !missing {
        std::fs::hard_link(path, &moved_to).or_else(|_| std::fs::rename(path, &moved_to)).map_err(failed)?;
    }
    // Moves the log before the file: a new file must never have another file's log next to it.
    for end in ["-wal", "-shm", "-journal"] {
        if path_with_suffix(path, end).exists() {
            std::fs::rename(path_with_suffix(path, end), path_with_suffix(&moved_to, end)).map_err(failed)?;
        }
    }
    std::fs::rename(&part, path).map_err(failed)?;
    let moved = if missing { String::new() } else { moved_to.display().to_string() };
    Ok(RepairResult { moved, from, salvaged: None })
}

/// Returns everything readable in a damaged store, session by session. Unreadable content is omitted. Returns nothing
/// if the file is no longer a database.
pub fn salvage(path: &Path) -> Vec<Transcript> {
    reader(path, false).map(|conn| salvage::read(&conn)).unwrap_or_default()
}

/// Writes salvaged lines to a file next to the store that only its owner can read. Returns its path.
pub fn keep_salvaged(path: &Path, lines: &str) -> Result<String, StoreError> {
    let file = free_name(path, "salvaged", ".jsonl");
    let written = private::make_file(&file).and_then(|mut to| to.write_all(lines.as_bytes()));
    written.map_err(|error| StoreError::Open { path: file.display().to_string(), why: error.to_string() })?;
    Ok(file.display().to_string())
}

/// Creates a store without content. An empty file next to backups would be reported as damage again.
fn create_empty(part: &Path) -> Result<(), StoreError> {
    let unopened = |error: io::Error| StoreError::Open { path: String::new(), why: error.to_string() };
    private::make_empty(part).map_err(unopened)?;
    let conn = Connection::open(part)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    conn.close().map_err(|(_, error)| error.into())
}

/// Returns the newest backup that is a complete store with a known schema.
fn newest_good(path: &Path) -> Option<BackupCard> {
    backup::cards(path).into_iter().find(|card| {
        let conn = reader(Path::new(&card.path), true);
        conn.is_ok_and(|conn| check(&conn).is_ok() && matches!(first_fault(&conn), Ok(None)))
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = private::make_empty(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.sync_all()
}

fn free_name(path: &Path, what: &str, end: &str) -> PathBuf {
    let stamp = backup::stamp();
    let mut name = path_with_suffix(path, &format!(".{what}-{stamp}{end}"));
    let mut count = 1;
    while name.exists() {
        count += 1;
        name = path_with_suffix(path, &format!(".{what}-{stamp}-{count}{end}"));
    }
    name
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_missing_if_only_its_backup_is_left() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store.db");
        assert_eq!(missing_content(&path), None, "no store and no backup");
        std::fs::write(path_with_suffix(&path, ".backup-2020-01-01T000000Z"), "copy").unwrap();
        assert!(missing_content(&path).unwrap().contains("missing"));
        std::fs::write(&path, "").unwrap();
        assert!(missing_content(&path).unwrap().contains("empty"));
        std::fs::write(&path, "text").unwrap();
        assert_eq!(missing_content(&path), None);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(missing_content(&path), None, "a file that can't be read is not missing");
    }
}
