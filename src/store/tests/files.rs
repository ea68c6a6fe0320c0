//! Files: modes, foreign files, damage, full disks, read-only places.

use super::{TempStore, card, open, sample_session};
use crate::domain::base::BackupAct;
use crate::domain::call::RunStatus;
use crate::store::file::open::{open_with, path_with_suffix, without_writing};
use crate::store::types::{OpenRun, StoreError, Write};
use crate::store::{OpenOptions, Store};
use rusqlite::Connection;
use std::path::Path;

fn try_open(path: &Path) -> Result<crate::store::Opened, StoreError> {
    Store::open(&OpenOptions { path: path.to_owned(), read_only: false })
}

fn refused(path: &Path) -> StoreError {
    let before = std::fs::read(path).unwrap();
    let error = try_open(path).err().expect("it must be refused");
    assert_eq!(std::fs::read(path).unwrap(), before, "the file was changed");
    error
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["a", "b", "c"]);
    store.backup(3).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = place.path().parent().unwrap().to_owned();
    assert_eq!(mode(&folder), 0o700);
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap().flatten() {
        let wanted = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&entry.path()), wanted, "{:?}", entry.path());
        seen += 1;
    }
    assert!(seen >= 6, "database, log, index, lock, backup and owners, not {seen}");
    drop(store);
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    place.open();
    assert_eq!(mode(&place.path()), 0o600);
}

#[test]
fn a_newer_schema_is_refused() {
    let place = TempStore::new();
    drop(place.open());
    Connection::open(place.path()).unwrap().pragma_update(None, "user_version", 77).unwrap();
    assert!(
        matches!(refused(&place.path()), StoreError::Newer { found: 77, known, .. } if known == crate::store::schema::known())
    );
    let read_only = Store::open(&OpenOptions { path: place.path(), read_only: true });
    assert!(matches!(read_only.err(), Some(StoreError::Newer { .. })));
}

#[test]
fn foreign_files_are_refused() {
    let place = TempStore::new();
    let folder = place.folder.path();
    let text = folder.join("notes.txt");
    std::fs::write(&text, "these are my notes, no database at all ".repeat(20)).unwrap();
    assert!(matches!(refused(&text), StoreError::Corrupt { .. }));
    let other = folder.join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let error = refused(&other);
    assert!(matches!(&error, StoreError::Corrupt { path, .. } if path.ends_with("other.db")), "{error}");
}

#[test]
fn damage_is_refused() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["a", "b", "c"]);
    store.close();
    drop(store);
    let whole = std::fs::read(place.path()).unwrap();
    std::fs::write(place.path(), &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(refused(&place.path()), StoreError::Corrupt { .. }));
    let mut headless = whole.clone();
    headless[..100].fill(0);
    std::fs::write(place.path(), headless).unwrap();
    assert!(matches!(refused(&place.path()), StoreError::Corrupt { .. }));
    std::fs::write(place.path(), whole).unwrap();
    assert_eq!(place.open().sessions().unwrap().len(), 1);
}

#[test]
fn read_only_reads_and_refuses_writes() {
    let place = TempStore::new();
    let missing = Store::open(&OpenOptions { path: place.path(), read_only: true });
    assert!(matches!(missing.err(), Some(StoreError::Open { .. })));
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let reader = Store::open(&OpenOptions { path: place.path(), read_only: true }).unwrap().store;
    assert!(reader.read_only() && !store.read_only());
    assert_eq!(reader.heads(sample.session).unwrap().len(), 3);
    let before = reader.data_version().unwrap();
    let title = || vec![Write::SetTitle { session: sample.session, title: "t".into() }];
    store.write(title()).unwrap();
    assert_ne!(reader.data_version().unwrap(), before);
    assert!(matches!(reader.write(title()), Err(StoreError::ReadOnly)));
    assert!(matches!(reader.backup(3), Err(StoreError::ReadOnly)));
    store.backup(3).unwrap();
    assert_eq!(reader.copies(BackupAct::List).unwrap().len(), 1);
    for act in [BackupAct::Rewrite, BackupAct::Delete] {
        assert!(matches!(reader.copies(act), Err(StoreError::ReadOnly)));
    }
    reader.post(title());
    assert!(reader.owner_alive(store.owner()));
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_opened_for_reading() {
    use std::os::unix::fs::PermissionsExt;
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    drop(store);
    let folder = place.path().parent().unwrap().to_owned();
    let set = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o500);
    let root = std::fs::write(folder.join("probe"), "").is_ok();
    let opened = try_open(&place.path()).unwrap();
    let read = opened.store.heads(sample.session).unwrap();
    set(0o700);
    // Root can write everywhere.
    assert_eq!(opened.store.read_only(), !root);
    assert_eq!(opened.notices.len(), usize::from(!root));
    assert_eq!(read.len(), 3);
}

#[test]
fn a_refused_write_at_opening_falls_back_to_read_only() {
    let place = TempStore::new();
    let why = std::io::Error::from(std::io::ErrorKind::ReadOnlyFilesystem);
    let missing = without_writing(&place.path(), &why, Vec::new());
    assert!(matches!(missing.err(), Some(StoreError::Open { .. })));
    let sample = sample_session(&place.open(), ["a", "b", "c"]);
    let opened = without_writing(&place.path(), &why, Vec::new()).unwrap();
    assert!(opened.store.read_only() && opened.notices[0].contains("read-only because"));
    assert_eq!(opened.store.heads(sample.session).unwrap().len(), 3);
    assert!(matches!(opened.store.write(vec![Write::UseSession(sample.session)]), Err(StoreError::ReadOnly)));
}

#[test]
fn a_read_only_file_is_opened_immutable() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    store.close();
    let pool = crate::store::file::pool::Pool::new(place.path(), true);
    let count = pool.with(|conn| Ok(conn.query_row("SELECT count(*) FROM node", [], |row| row.get::<_, i64>(0))?));
    assert_eq!(count.unwrap(), 3);
    assert_eq!(store.heads(sample.session).unwrap().len(), 3);
}

#[cfg(unix)]
#[test]
fn without_wal_the_store_works_with_a_notice() {
    let place = TempStore::new();
    let options = OpenOptions { path: place.path(), read_only: false };
    let opened = open_with(&options, Some("unix-dotfile"), crate::store::schema::STEPS).unwrap();
    assert_eq!(opened.notices.len(), 1);
    assert!(opened.notices[0].contains("WAL mode is not available") && opened.notices[0].contains("truncate"));
    let (mode, synchronous): (String, i64) = super::on_writer(&opened.store, |conn| {
        let one = |pragma: &str| conn.query_row(pragma, [], |row| row.get(0));
        (one("PRAGMA journal_mode").unwrap(), conn.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap())
    });
    assert_eq!((mode.as_str(), synchronous), ("truncate", 2));
    let sample = sample_session(&opened.store, ["a", "b", "c"]);
    opened.store.close();
    assert_eq!(opened.store.heads(sample.session).unwrap().len(), 3);
}

#[test]
fn a_full_disk_is_survived() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let head = Some(sample.nodes[2].head.id);
    let card = card(&sample, RunStatus::Open);
    let run = OpenRun { card: card.clone(), owner: store.owner().to_owned(), after: head, head, user: None };
    store.write(vec![Write::OpenRun(Box::new(run))]).unwrap();
    let limit = |pages: i64| {
        super::on_writer(&store, move |conn| {
            conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0)).unwrap()
        })
    };
    limit(1);
    let chunk = |seq| Write::PutChunk { run: card.id, seq, body: vec![7; 50_000] };
    store.post(vec![chunk(0)]);
    store.post(vec![chunk(1)]);
    let value = Some("v".repeat(100_000));
    let result = store.write(vec![Write::SetValue { key: "big".into(), value: value.clone() }]);
    assert!(matches!(result, Err(StoreError::Full(_))), "{result:?}");
    assert!(store.chunks(card.id).unwrap().is_empty());
    assert!(store.post_delay().is_some_and(|why| why.contains("can't grow")), "{:?}", store.post_delay());
    assert_eq!(store.heads(sample.session).unwrap().len(), 3);
    limit(1_000_000);
    // Without further writes, queued ones are retried automatically.
    let began = std::time::Instant::now();
    while store.post_delay().is_some() {
        assert!(
            began.elapsed() < std::time::Duration::from_mins(1),
            "queued writes are written after the disk has space again"
        );
        std::thread::yield_now();
    }
    assert_eq!(store.chunks(card.id).unwrap().len(), 2);
    store.write(vec![Write::SetValue { key: "big".into(), value: value.clone() }]).unwrap();
    assert_eq!(store.setting("big").unwrap(), value);
    assert_eq!(store.chunks(card.id).unwrap().len(), 2);
}

#[test]
fn backups_are_stores_and_are_made_once_a_day() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    for day in ["2020-01-01", "2020-01-02", "2020-01-03"] {
        std::fs::write(path_with_suffix(&place.path(), &format!(".backup-{day}T000000Z")), "old").unwrap();
    }
    store.backup(3).unwrap();
    store.backup(3).unwrap();
    let made = store.backups();
    assert_eq!(made.len(), 3);
    assert!(made[0].to_string_lossy().contains("2020-01-02"));
    let copy = place.folder.path().join("restored").join("pleach.db");
    std::fs::create_dir(copy.parent().unwrap()).unwrap();
    std::fs::copy(&made[2], &copy).unwrap();
    assert_eq!(open(&copy).store.heads(sample.session).unwrap().len(), 3);
}
