//! Migrations: a stored file of every released schema, a backup first, all or nothing under kill -9.

use super::{TempStore, check_store, ended_uncleanly, number, open, sample_session};
use crate::store::file::open::open_with;
use crate::store::schema::{STEPS, known};
use crate::store::types::StoreError;
use crate::store::{OpenOptions, Opened, Store};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A step after the newest schema: it changes existing rows and adds a table.
const PLANTED: &str = "CREATE TABLE planted (n INTEGER PRIMARY KEY, node BLOB NOT NULL) STRICT;
     INSERT INTO planted (node) SELECT id FROM node;
     ALTER TABLE session ADD COLUMN planted INTEGER NOT NULL DEFAULT 7;";

/// The same with so many rows that it never finishes during the test.
const ENDLESS: &str = "CREATE TABLE planted (n INTEGER PRIMARY KEY, node BLOB NOT NULL) STRICT;
     ALTER TABLE session ADD COLUMN planted INTEGER NOT NULL DEFAULT 7;
     WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count)
       INSERT INTO planted (node) SELECT randomblob(400) FROM count;";

fn with(path: &Path, planted: &'static str) -> Result<Opened, StoreError> {
    let steps: Vec<&str> = STEPS.iter().copied().chain([planted]).collect();
    open_with(&OpenOptions { path: path.to_owned(), read_only: false }, None, &steps)
}

fn version(path: &Path) -> i64 {
    let conn = Connection::open(path).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn backup_of(path: &Path, to: i64) -> PathBuf {
    path.with_file_name(format!("pleach.db.before-schema-{to}"))
}

/// A store with schema 1 that holds `TALK`, in pages of 512 bytes.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-v1.db")
}

/// A working copy of the fixture.
fn golden(place: &TempStore) -> PathBuf {
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    std::fs::copy(fixture(), place.path()).unwrap();
    place.path()
}

fn talk(store: &Store) -> Vec<String> {
    let session = store.sessions().unwrap()[0].id;
    let ids: Vec<_> = store.heads(session).unwrap().iter().map(|head| head.id).collect();
    store.nodes(&ids).unwrap().iter().map(|node| node.content.plain_text()).collect()
}

const TALK: [&str; 3] = ["How do bees dance?", "In a figure of eight.", "And wasps?"];

#[test]
fn the_fixture_of_schema_1_opens() {
    assert!(std::fs::metadata(fixture()).unwrap().len() <= 100 * 1_024);
    let place = TempStore::new();
    let path = golden(&place);
    assert_eq!(version(&path), 1);
    let store = open(&path).store;
    assert_eq!(talk(&store), TALK);
    assert_eq!(store.search("bees", 10).unwrap().len(), 1);
    sample_session(&store, ["it", "can be", "written"]);
    check_store(&store);
    assert_eq!(version(&path), known());
}

#[test]
fn an_older_store_is_migrated_after_a_backup() {
    let place = TempStore::new();
    let path = golden(&place);
    let to = known() + 1;
    let store = with(&path, PLANTED).unwrap().store;
    assert_eq!(talk(&store), TALK);
    assert_eq!(number(&store, "SELECT count(*) FROM planted"), 3);
    assert_eq!(number(&store, "SELECT planted FROM session"), 7);
    store.close();
    assert_eq!(version(&path), to);
    assert_eq!(version(&backup_of(&path, to)), 1);
    assert!(matches!(Store::open(&OpenOptions { path: path.clone(), read_only: false }).err(),
        Some(StoreError::Newer { found, known: ours, .. }) if found == to && ours == known()));
    std::fs::remove_file(backup_of(&path, to)).unwrap();
    with(&path, PLANTED).unwrap();
    assert!(!backup_of(&path, to).exists(), "no migration, no backup");
}

#[test]
fn a_failed_migration_leaves_the_old_store() {
    let place = TempStore::new();
    let path = golden(&place);
    drop(open(&path));
    let before = version(&path);
    let failed = with(&path, "CREATE TABLE planted (n); INSERT INTO nowhere VALUES (1);");
    assert!(failed.is_err());
    assert_eq!(version(&path), before);
    let store = open(&path).store;
    assert_eq!(talk(&store), TALK);
    assert_eq!(number(&store, "SELECT count(*) FROM sqlite_schema WHERE name = 'planted'"), 0);
}

#[test]
fn no_migration_while_another_process_has_the_store_open() {
    let place = TempStore::new();
    let path = golden(&place);
    let other = open(&path).store;
    let before = version(&path);
    let refused = with(&path, PLANTED).err().unwrap().to_string();
    assert!(refused.contains("close it first"), "{refused}");
    assert_eq!((version(&path), talk(&other)), (before, TALK.map(String::from).to_vec()));
    drop(other);
    assert_eq!(talk(&with(&path, PLANTED).unwrap().store), TALK);
}

/// Runs in its own process: migrates until it is killed.
#[test]
#[ignore = "a process that another test starts"]
fn child() {
    let path = PathBuf::from(std::env::var_os("PLEACH_TEST_STORE").unwrap());
    drop(with(&path, ENDLESS));
}

#[test]
fn a_kill_during_migration_leaves_the_old_store() {
    let place = TempStore::new();
    let path = golden(&place);
    drop(open(&path));
    let before = version(&path);
    let wal = path.with_file_name("pleach.db-wal");
    for kill in 1..=4_u64 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::migrate::child", "--ignored"])
            .env("PLEACH_TEST_STORE", &path)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        // The log contains this much of the step: the migration is in progress.
        while !std::fs::metadata(&wal).is_ok_and(|log| log.len() > kill * 700_000) {
            assert!(began.elapsed() < Duration::from_mins(1), "the migration has started");
            assert!(child.try_wait().unwrap().is_none(), "the migration does not end");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(version(&backup_of(&path, known() + 1)), before, "the backup was made before");
        let store = open(&path).store;
        assert!(ended_uncleanly(&store));
        assert_eq!(talk(&store), TALK);
        assert_eq!(number(&store, "SELECT count(*) FROM sqlite_schema WHERE name = 'planted'"), 0);
        check_store(&store);
        store.close();
        assert_eq!(version(&path), before);
    }
    let store = with(&path, PLANTED).unwrap().store;
    assert_eq!(number(&store, "SELECT count(*) FROM planted"), 3);
}
