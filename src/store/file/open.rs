//! Opens the store: creates and locks its files, checks its kind, and falls back to read-only if it cannot be written.
//! Not for: the tables (`schema`).

use super::check::RunningCheck;
use super::convert::Conversion;
use super::damage::{FOREIGN, missing_content};
use super::owners::Owners;
use super::pool::{LOCK_TIMEOUT, Pool, reader};
use super::writer::Writer;
use super::{backup, private};
use crate::store::types::StoreError;
use crate::store::{Inner, Store, schema, sql};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The file.
    pub path: PathBuf,
    /// Whether to change nothing, not even the schema.
    pub read_only: bool,
}

/// An open store and its notices.
pub struct Opened {
    pub store: Store,
    /// Sentences for the user, for example about a fallback.
    pub notices: Vec<String>,
}

/// Why a store was not opened for writing.
enum OpenFailure {
    /// The system denies writing here; reading may work.
    NoWriting(io::Error),
    /// It cannot be opened at all.
    Failed(StoreError),
}

impl From<StoreError> for OpenFailure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ReadOnly => Self::NoWriting(io::ErrorKind::ReadOnlyFilesystem.into()),
            other => Self::Failed(other),
        }
    }
}

impl Store {
    /// Opens the store, and creates it if it is missing (its folder with mode 0700, its files with 0600). If it cannot
    /// be written, it is opened read-only, with a notice.
    ///
    /// # Errors
    /// If the file is not a store of this program or was written by a newer version. The file stays unchanged.
    pub fn open(options: &OpenOptions) -> Result<Opened, StoreError> {
        open_with(options, None, schema::STEPS).map_err(|error| sql::with_path(error, &options.path))
    }
}

/// Opens a store with these schema steps, through another SQLite VFS if `vfs` names one.
pub(crate) fn open_with(options: &OpenOptions, vfs: Option<&str>, steps: &[&str]) -> Result<Opened, StoreError> {
    let mut notices = Vec::new();
    if options.read_only {
        return open_read_only(&options.path, notices);
    }
    match open_for_writing(&options.path, vfs, steps, &mut notices) {
        Ok(store) => Ok(Opened { store, notices }),
        Err(OpenFailure::Failed(error)) => Err(error),
        Err(OpenFailure::NoWriting(why)) => without_writing(&options.path, &why, notices),
    }
}

/// Opens read-only, with a notice, if the system denies writing.
pub(crate) fn without_writing(path: &Path, why: &io::Error, mut notices: Vec<String>) -> Result<Opened, StoreError> {
    if !path.is_file() {
        return Err(StoreError::Open { path: String::new(), why: why.to_string() });
    }
    notices.push(format!(
        "The store was opened read-only because {} can't be written ({why}). Nothing you do will be saved.",
        path.display()
    ));
    open_read_only(path, notices)
}

/// Returns the path with `end` appended to its file name.
pub(crate) fn path_with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

pub(crate) fn owners_folder(path: &Path) -> PathBuf {
    path.with_file_name("owners")
}

fn open_failure(error: io::Error) -> OpenFailure {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => OpenFailure::NoWriting(error),
        _ => OpenFailure::Failed(StoreError::Open { path: String::new(), why: error.to_string() }),
    }
}

/// Opens for writing under an exclusive lock, so that two programs never migrate at once.
fn open_for_writing(
    path: &Path,
    vfs: Option<&str>,
    steps: &[&str],
    notices: &mut Vec<String>,
) -> Result<Store, OpenFailure> {
    if let Some(folder) = path.parent() {
        private::make_dir(folder).map_err(open_failure)?;
    }
    let gate = private::make_file(&path_with_suffix(path, ".opening")).map_err(open_failure)?;
    lock_gate(&gate, notices);
    if let Some(why) = missing_content(path) {
        return Err(OpenFailure::Failed(StoreError::Corrupt { path: String::new(), why }));
    }
    // Created before SQLite opens it: the log and its index get the file's mode.
    let size = private::make_file(path).and_then(|file| file.metadata()).map_err(open_failure)?.len();
    if size > 0 {
        probe(path, schema::version(steps))?;
        private::tighten(path).map_err(open_failure)?;
    }
    let alone = !Owners::any_alive(&owners_folder(path));
    if alone {
        backup::remove_parts(path);
    }
    let owners = Owners::join(owners_folder(path)).map_err(open_failure)?;
    let mut conn = connect(path, vfs)?;
    conn.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(StoreError::from)?;
    let logged = write_ahead(&conn, notices);
    upgrade(&mut conn, path, steps, alone)?;
    let pool = Pool::new(path.to_owned(), false);
    let writer = Writer::start(conn, owners.view.clone(), !logged, path)?;
    Ok(store(path, pool, Some(writer), owners))
}

pub(crate) fn lock_gate(gate: &File, notices: &mut Vec<String>) {
    if let Err(error) = gate.lock() {
        notices.push(format!(
            "File locks do not work here ({error}); do not open this store in two programs at the same time."
        ));
    }
}

/// Inspects an existing file before anything in it can change.
fn probe(path: &Path, known: i64) -> Result<(), StoreError> {
    let result = reader(path, false).and_then(|conn| check_for(&conn, known).and_then(|()| read_tables(&conn)));
    match result {
        // A rollback journal left by a crash needs a writable connection first; SQLite then rolls it back.
        Err(StoreError::ReadOnly) => Ok(()),
        other => other,
    }
}

/// Reads the start of every table, so that damage there is found before anything is written.
pub(crate) fn read_tables(conn: &Connection) -> Result<(), StoreError> {
    let mut query = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")?;
    for name in query.query_map([], |row| row.get::<_, String>(0))? {
        let name = name?.replace('"', "\"\"");
        conn.prepare(&format!("SELECT 1 FROM \"{name}\" NOT INDEXED LIMIT 1"))?.exists([])?;
    }
    Ok(())
}

/// Checks that the file is a store that this version can read.
pub(crate) fn check(conn: &Connection) -> Result<(), StoreError> {
    check_for(conn, schema::known())
}

fn check_for(conn: &Connection, known: i64) -> Result<(), StoreError> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application = sql::pragma(conn, "application_id")?;
    if application != schema::APPLICATION_ID && (application != 0 || tables > 0) {
        return Err(StoreError::Corrupt { path: String::new(), why: FOREIGN.into() });
    }
    let found = sql::pragma(conn, "user_version")?;
    if found > known {
        let path = conn.path().unwrap_or_default().to_owned();
        return Err(StoreError::Newer { path, found, known });
    }
    Ok(())
}

/// Opens a connection that can write.
pub(crate) fn connect(path: &Path, vfs: Option<&str>) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    conn.busy_timeout(LOCK_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(128);
    conn.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(conn)
}

/// Requests a write-ahead log. Without one, every commit is synced instead. Returns whether the log is used.
fn write_ahead(conn: &Connection, notices: &mut Vec<String>) -> bool {
    let mode = |wanted: &str| conn.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get::<_, String>(0));
    let logged = mode("WAL").is_ok_and(|answer| answer == "wal");
    if !logged {
        let used = mode("TRUNCATE").unwrap_or_else(|error| error.to_string());
        notices.push(format!(
            "WAL mode is not available here; the store uses a rollback journal ({used}) instead, which is safe but \
                slower."
        ));
    }
    let synchronous = if logged { "NORMAL" } else { "FULL" };
    if let Err(error) = conn.pragma_update(None, "synchronous", synchronous) {
        tracing::error!(%error, "the store's synchronous mode could not be set");
    }
    logged
}

/// Migrates the schema, after a backup if the store has content. Fails while another program has the store open,
/// because an older program would continue to write in its own format.
fn upgrade(conn: &mut Connection, path: &Path, steps: &[&str], alone: bool) -> Result<(), StoreError> {
    let known = schema::version(steps);
    check_for(conn, known)?;
    let found = sql::pragma(conn, "user_version")?;
    if found > 0 && found < known {
        if !alone {
            let why = "its format must be upgraded, and another pleach process has the store open; close it first";
            return Err(StoreError::Open { path: String::new(), why: why.into() });
        }
        backup::copy(conn, &path_with_suffix(path, &format!(".before-schema-{known}")))?;
    }
    schema::migrate(conn, steps)
}

fn open_read_only(path: &Path, mut notices: Vec<String>) -> Result<Opened, StoreError> {
    if !path.is_file() {
        return Err(StoreError::Open { path: String::new(), why: "the file does not exist".into() });
    }
    // The log's index cannot be created in a read-only folder; the file is then read without it.
    let immutable = matches!(
        reader(path, false).and_then(|conn| check(&conn)),
        Err(StoreError::Open { .. } | StoreError::ReadOnly)
    );
    let conn = reader(path, immutable)?;
    check(&conn)?;
    let found = sql::pragma(&conn, "user_version")?;
    if found < schema::known() {
        let why = "its format is older than this version's, and a read-only store can't be upgraded".into();
        return Err(StoreError::Open { path: String::new(), why });
    }
    let unmerged = std::fs::metadata(path_with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if immutable && unmerged {
        notices.push("The newest changes are in a log that can't be read here; they are not shown.".into());
    }
    let pool = Pool::new(path.to_owned(), immutable);
    let owners = Owners::without_lock(owners_folder(path));
    Ok(Opened { store: store(path, pool, None, owners), notices })
}

fn store(path: &Path, pool: Pool, writer: Option<Writer>, owners: Owners) -> Store {
    let (check, conversion) = (RunningCheck::default(), Conversion::default());
    Store(Arc::new(Inner { path: path.to_owned(), pool, writer, owners, check, conversion }))
}
