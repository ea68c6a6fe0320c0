//! A store that cannot be read: finding that out, and moving it aside once a person agreed.
//! Not for: asking the person. Nothing here changes a file before `set_aside` is called, and nothing is ever deleted.

use super::open::{beside, check, lock_gate, owners_folder, roots};
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

/// Said of a database that is well, but not ours.
pub(crate) const STRANGER: &str = "it is another program's database";

/// What is wrong with a store's file; nothing where it is well, or where it is empty or missing and there is no backup of
/// it. With `thorough` all of it is read, which takes seconds for a large one. Changes nothing.
///
/// # Errors
/// Where the file cannot be opened at all, is another program's, or was written by a newer program.
pub fn look(path: &Path, thorough: bool) -> Result<Option<Damage>, StoreError> {
    let damage = |why| Damage { path: path.display().to_string(), why, backups: backup::cards(path) };
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(vanished(path).map(damage));
    }
    let seen = reader(path, false).and_then(|conn| {
        check(&conn).and_then(|()| roots(&conn))?;
        if thorough { faulty(&conn) } else { Ok(None) }
    });
    let why = match seen {
        Ok(found) => found,
        Err(StoreError::Corrupt { why, .. }) if why != STRANGER => Some(why),
        Err(error) => return Err(sql::named(error, path)),
    };
    Ok(why.map(damage))
}

/// Why a file without content is damage: there are backups of a store that stood here.
pub(crate) fn vanished(path: &Path) -> Option<String> {
    let how = match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => return None,
        Ok(_) => "its file is empty",
        Err(error) if error.kind() == io::ErrorKind::NotFound => "its file is missing",
        Err(_) => return None,
    };
    (!backup::cards(path).is_empty()).then(|| format!("{how}, although there is a backup of it"))
}

/// The first fault of a whole store: of its pages, else of what stands on them.
fn faulty(conn: &Connection) -> Result<Option<String>, StoreError> {
    match whole::quick(conn)? {
        Some(why) => Ok(Some(why)),
        None => Ok(examine::examine(conn)?.faults.into_iter().next()),
    }
}

/// Moves a damaged store with its log to `<name>.corrupt-<time>`, and puts the newest good backup, or nothing, in its
/// place. Refused where the file reads well, or another program has it open.
///
/// # Errors
/// Where that is so, where no backup is good, or where the files cannot be moved; then the store stands as it stood.
pub fn set_aside(path: &Path, start: StartWith) -> Result<RepairResult, StoreError> {
    let failed = |error: io::Error| StoreError::Open { path: path.display().to_string(), why: error.to_string() };
    let refused = |why: &str| StoreError::Open { path: path.display().to_string(), why: why.into() };
    let gate = private::make_file(&beside(path, ".opening")).map_err(failed)?;
    lock_gate(&gate, &mut Vec::new());
    if Owners::anyone(&owners_folder(path)) {
        return Err(refused("another pleach has the store open; close it first"));
    }
    if look(path, true)?.is_none() {
        return Err(refused("the store can be read now; nothing was changed"));
    }
    let part = beside(path, ".restoring");
    let from = match start {
        StartWith::Empty => {
            begin(&part).map_err(|error| sql::named(error, &part))?;
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
    // The log before the file: another file's log must never be found beside the new one.
    for end in ["-wal", "-shm", "-journal"] {
        if beside(path, end).exists() {
            std::fs::rename(beside(path, end), beside(&aside, end)).map_err(failed)?;
        }
    }
    std::fs::rename(&part, path).map_err(failed)?;
    let moved = if missing { String::new() } else { aside.display().to_string() };
    Ok(RepairResult { moved, from, salvaged: None })
}

/// Everything in a damaged store that can still be read, session by session. Best effort: what cannot be read is left
/// out, and where the file is no database any more there is nothing.
#[must_use]
pub fn salvage(path: &Path) -> Vec<Transcript> {
    reader(path, false).map(|conn| salvage::read(&conn)).unwrap_or_default()
}

/// Writes what was salvaged beside the store, for its owner only; gives the file's path.
///
/// # Errors
/// Where it cannot be written.
pub fn keep_salvaged(path: &Path, lines: &str) -> Result<String, StoreError> {
    let file = free_name(path, "salvaged", ".jsonl");
    let written = private::make_file(&file).and_then(|mut to| to.write_all(lines.as_bytes()));
    written.map_err(|error| StoreError::Open { path: file.display().to_string(), why: error.to_string() })?;
    Ok(file.display().to_string())
}

/// A store without anything in it, but ours: an empty file beside backups would be asked about again.
fn begin(part: &Path) -> Result<(), StoreError> {
    let file = private::make_file(part).and_then(|file| file.set_len(0));
    file.map_err(|error| StoreError::Open { path: String::new(), why: error.to_string() })?;
    let conn = Connection::open(part)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    conn.close().map_err(|(_, error)| error.into())
}

/// The newest backup that is a whole store of a schema that this program knows.
fn newest_good(path: &Path) -> Option<BackupCard> {
    backup::cards(path).into_iter().find(|card| {
        let conn = reader(Path::new(&card.path), true);
        conn.is_ok_and(|conn| check(&conn).is_ok() && matches!(faulty(&conn), Ok(None)))
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
        assert_eq!(vanished(&path), None, "there never was one");
        std::fs::write(beside(&path, ".backup-2020-01-01T000000Z"), "copy").unwrap();
        assert!(vanished(&path).unwrap().contains("missing"));
        std::fs::write(&path, "").unwrap();
        assert!(vanished(&path).unwrap().contains("empty"));
        std::fs::write(&path, "text").unwrap();
        assert_eq!(vanished(&path), None);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(vanished(&path), None, "what cannot be read is not missing");
    }
}
