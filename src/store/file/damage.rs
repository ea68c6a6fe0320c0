//! Damaged stores: detecting damage, and moving the file aside once a person agreed.
//! Not for: asking the person. No file is changed before `set_aside` is called, and none is ever deleted.

use super::open::{beside, check, lock_gate, owners_folder, read_tables};
use super::owners::Owners;
use super::pool::reader;
use super::{backup, check as whole, examine, private, salvage};
use crate::domain::base::damage::{BackupCard, Damage, RepairResult, StartWith};
use crate::domain::conversation::record::Transcript;
use crate::store::types::StoreError;
use crate::store::{schema, sql};
use rusqlite::Connection;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The reason given for an intact database of another program.
pub(crate) const FOREIGN: &str = "it is another program's database";

/// The damage of a store's file; `None` if the file is intact, or is empty or missing without any backup of it. With
/// `thorough`, reads the whole file, which takes seconds for a large one. Changes nothing.
///
/// # Errors
/// If the file cannot be opened, belongs to another program, or was written by a newer version.
pub fn find_damage(path: &Path, thorough: bool) -> Result<Option<Damage>, StoreError> {
    let damage = |why| Damage { path: path.display().to_string(), why, backups: backup::cards(path) };
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(missing_content(path).map(damage));
    }
    let seen = reader(path, false).and_then(|conn| {
        check(&conn).and_then(|()| read_tables(&conn))?;
        if thorough { first_fault(&conn) } else { Ok(None) }
    });
    let why = match seen {
        Ok(found) => found,
        Err(StoreError::Corrupt { why, .. }) if why != FOREIGN => Some(why),
        Err(error) => return Err(sql::named(error, path)),
    };
    Ok(why.map(damage))
}

/// Why a file without content is damaged: backups show that a store existed here.
pub(crate) fn missing_content(path: &Path) -> Option<String> {
    let how = match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => return None,
        Ok(_) => "its file is empty",
        Err(error) if error.kind() == io::ErrorKind::NotFound => "its file is missing",
        Err(_) => return None,
    };
    (!backup::cards(path).is_empty()).then(|| format!("{how}, although there is a backup of it"))
}

/// The first fault of a whole store: of its pages, otherwise of its content.
fn first_fault(conn: &Connection) -> Result<Option<String>, StoreError> {
    match whole::quick(conn)? {
        Some(why) => Ok(Some(why)),
        None => Ok(examine::examine(conn)?.faults.into_iter().next()),
    }
}

/// Moves a damaged store and its log to `<name>.corrupt-<time>` and replaces it with the newest good backup or nothing.
///
/// # Errors
/// If the file is intact, another program has it open, no backup is good, or the files cannot be moved. Nothing changes
/// then.
pub fn set_aside(path: &Path, start: StartWith) -> Result<RepairResult, StoreError> {
    let failed = |error: io::Error| StoreError::Open { path: path.display().to_string(), why: error.to_string() };
    let refused = |why: &str| StoreError::Open { path: path.display().to_string(), why: why.into() };
    let gate = private::make_file(&beside(path, ".opening")).map_err(failed)?;
    lock_gate(&gate, &mut Vec::new());
    if Owners::any_alive(&owners_folder(path)) {
        return Err(refused("another pleach process has the store open; close it first"));
    }
    if find_damage(path, true)?.is_none() {
        return Err(refused("the store can be read now; nothing was changed"));
    }
    let part = beside(path, ".restoring");
    let from = match start {
        StartWith::Empty => {
            create_empty(&part).map_err(|error| sql::named(error, &part))?;
            None
        }
        StartWith::Backup => {
            let found = newest_good(path).ok_or_else(|| refused("none of its backups can be read"))?;
            copy(Path::new(&found.path), &part).map_err(failed)?;
            Some(found)
        }
    };
    let aside = free_name(path, "corrupt", "");
    let missing = !path.exists();
    if !missing {
        std::fs::hard_link(path, &aside).or_else(|_| std::fs::rename(path, &aside)).map_err(failed)?;
    }
    // The log before the file: the new file must never find another file's log beside it.
    for end in ["-wal", "-shm", "-journal"] {
        if beside(path, end).exists() {
            std::fs::rename(beside(path, end), beside(&aside, end)).map_err(failed)?;
        }
    }
    std::fs::rename(&part, path).map_err(failed)?;
    let moved = if missing { String::new() } else { aside.display().to_string() };
    Ok(RepairResult { moved, from, salvaged: None })
}

/// Everything readable in a damaged store, session by session. Unreadable content is omitted; a file that is no longer
/// a database yields nothing.
#[must_use]
pub fn salvage(path: &Path) -> Vec<Transcript> {
    reader(path, false).map(|conn| salvage::read(&conn)).unwrap_or_default()
}

/// Writes salvaged lines beside the store, readable by its owner only. Returns the path.
///
/// # Errors
/// If the file cannot be written.
pub fn keep_salvaged(path: &Path, lines: &str) -> Result<String, StoreError> {
    let file = free_name(path, "salvaged", ".jsonl");
    let written = private::make_file(&file).and_then(|mut to| to.write_all(lines.as_bytes()));
    written.map_err(|error| StoreError::Open { path: file.display().to_string(), why: error.to_string() })?;
    Ok(file.display().to_string())
}

/// Creates a store without content. An empty file beside backups would be reported as damage again.
fn create_empty(part: &Path) -> Result<(), StoreError> {
    let file = private::make_file(part).and_then(|file| file.set_len(0));
    file.map_err(|error| StoreError::Open { path: String::new(), why: error.to_string() })?;
    let conn = Connection::open(part)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    conn.close().map_err(|(_, error)| error.into())
}

/// The newest backup that is a complete store with a known schema.
fn newest_good(path: &Path) -> Option<BackupCard> {
    backup::cards(path).into_iter().find(|card| {
        let conn = reader(Path::new(&card.path), true);
        conn.is_ok_and(|conn| check(&conn).is_ok() && matches!(first_fault(&conn), Ok(None)))
    })
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = private::make_file(to)?;
    target.set_len(0)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.sync_all()
}

fn free_name(path: &Path, what: &str, end: &str) -> PathBuf {
    let stamp = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let mut name = beside(path, &format!(".{what}-{stamp}{end}"));
    let mut count = 1;
    while name.exists() {
        count += 1;
        name = beside(path, &format!(".{what}-{stamp}-{count}{end}"));
    }
    name
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_store_vanished_where_only_its_backup_is_left() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store.db");
        assert_eq!(missing_content(&path), None, "there never was one");
        std::fs::write(beside(&path, ".backup-2020-01-01T000000Z"), "copy").unwrap();
        assert!(missing_content(&path).unwrap().contains("missing"));
        std::fs::write(&path, "").unwrap();
        assert!(missing_content(&path).unwrap().contains("empty"));
        std::fs::write(&path, "text").unwrap();
        assert_eq!(missing_content(&path), None);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(missing_content(&path), None, "what cannot be read is not missing");
    }
}
