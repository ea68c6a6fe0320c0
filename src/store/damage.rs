//! A store that cannot be read: finding that out, and moving it aside once a person agreed.
//! Not for: asking the person. Nothing here changes a file before `set_aside` is called, and nothing is ever deleted.

use super::open::{beside, check, lock_gate, owners_folder, roots};
use super::owners::Owners;
use super::pool::reader;
use super::types::StoreError;
use super::{backup, check as whole, private, salvage, sql};
use crate::domain::damage::{BackupCard, Damage, Mended, StartWith};
use crate::domain::record::Transcript;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Said of a database that is well, but not ours.
pub(super) const STRANGER: &str = "it is another program's database";

/// What is wrong with a store's file; nothing where it is well, empty or missing. With `thorough` all of it is read,
/// which takes seconds for a large one. Changes nothing.
///
/// # Errors
/// Where the file cannot be opened at all, is another program's, or was written by a newer program.
pub fn look(path: &Path, thorough: bool) -> Result<Option<Damage>, StoreError> {
    if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Ok(None);
    }
    let seen = reader(path, false).and_then(|conn| {
        check(&conn).and_then(|()| roots(&conn))?;
        if thorough { whole::quick(&conn) } else { Ok(None) }
    });
    let why = match seen {
        Ok(found) => found,
        Err(StoreError::Corrupt { why, .. }) if why != STRANGER => Some(why),
        Err(error) => return Err(sql::named(error, path)),
    };
    Ok(why.map(|why| Damage { path: path.display().to_string(), why, backups: backup::cards(path) }))
}

/// Moves a damaged store with its log to `<name>.corrupt-<time>`, and puts the newest good backup, or nothing, in its
/// place. Refused where the file reads well, or another program has it open.
///
/// # Errors
/// Where that is so, where no backup is good, or where the files cannot be moved; then the store stands as it stood.
pub fn set_aside(path: &Path, start: StartWith) -> Result<Mended, StoreError> {
    let failed = |error: io::Error| StoreError::Open { path: path.display().to_string(), why: error.to_string() };
    let refused = |why: &str| StoreError::Open { path: path.display().to_string(), why: why.into() };
    let gate = private::make_file(&beside(path, ".opening")).map_err(failed)?;
    lock_gate(&gate, &mut Vec::new());
    if Owners::anyone(&owners_folder(path)) {
        return Err(refused("another pleach has it open; close that one first"));
    }
    if look(path, true)?.is_none() {
        return Err(refused("it reads well now; nothing was changed"));
    }
    let from = match start {
        StartWith::Empty => None,
        StartWith::Backup => {
            let found = newest_good(path).ok_or_else(|| refused("none of its backups can be read either"))?;
            let part = beside(path, ".restoring");
            copy(Path::new(&found.path), &part).map_err(failed)?;
            Some((found, part))
        }
    };
    let aside = free_name(path, "corrupt", "");
    std::fs::hard_link(path, &aside).or_else(|_| std::fs::rename(path, &aside)).map_err(failed)?;
    // The log before the file: another file's log must never be found beside the new one.
    for end in ["-wal", "-shm", "-journal"] {
        if beside(path, end).exists() {
            std::fs::rename(beside(path, end), beside(&aside, end)).map_err(failed)?;
        }
    }
    let from = match from {
        Some((found, part)) => std::fs::rename(&part, path).map(|()| Some(found)),
        None if path.exists() => std::fs::remove_file(path).map(|()| None),
        None => Ok(None),
    };
    Ok(Mended { moved: aside.display().to_string(), from: from.map_err(failed)?, salvaged: None })
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

/// The newest backup that is a whole store of a schema that this program knows.
fn newest_good(path: &Path) -> Option<BackupCard> {
    backup::cards(path).into_iter().find(|card| {
        let conn = reader(Path::new(&card.path), true);
        conn.is_ok_and(|conn| check(&conn).is_ok() && matches!(whole::quick(&conn), Ok(None)))
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
