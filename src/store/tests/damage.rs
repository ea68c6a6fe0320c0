//! Damage: how it is described, moving files aside with consent, salvage, and checks after an unclean end.

use super::{TempStore, ended_uncleanly, node, open, sample_session};
use crate::domain::base::StartWith;
use crate::domain::conversation::{Content, Role};
use crate::store::Store;
use crate::store::file::damage::{find_damage, keep_salvaged, salvage, set_aside};
use crate::store::file::open::path_with_suffix;
use crate::store::types::{StoreError, Write};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// Corrupts one page of a table: its root, or the last of its leaves.
fn corrupt_page(path: &Path, table: &str, leaf: bool) {
    let conn = Connection::open(path).unwrap();
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
    let root = number(&format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'"));
    let size = usize::try_from(number("PRAGMA page_size")).unwrap();
    drop(conn);
    let mut bytes = std::fs::read(path).unwrap();
    let start = (usize::try_from(root).unwrap() - 1) * size;
    let page = if leaf {
        assert_eq!(bytes[start], 5, "the root of {table} has children");
        let cell = start + usize::from(u16::from_be_bytes([bytes[start + 14], bytes[start + 15]]));
        u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap())
    } else {
        root
    };
    let start = (usize::try_from(page).unwrap() - 1) * size;
    bytes[start..start + size].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(path, bytes).unwrap();
}

fn truncate(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn overwrite_header(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..100].fill(0);
    std::fs::write(path, bytes).unwrap();
}

/// A closed store with two sessions, optionally with a backup of the first one.
fn closed_store(place: &TempStore, backup: bool) -> PathBuf {
    let store = place.open();
    sample_session(&store, ["one", "two", "three"]);
    if backup {
        store.backup(3).unwrap();
    }
    sample_session(&store, ["four", "five", "six"]);
    store.close();
    place.path()
}

#[test]
fn a_damaged_store_is_unchanged_until_it_is_moved_completely() {
    let root: fn(&Path) = |path| corrupt_page(path, "session", false);
    for (name, damage_file) in [("flipped", root), ("cut", truncate), ("without a header", overwrite_header)] {
        for backup in [true, false] {
            let place = TempStore::new();
            let path = closed_store(&place, backup);
            assert_eq!(find_damage(&path, true).unwrap(), None);
            damage_file(&path);
            let bytes = std::fs::read(&path).unwrap();
            let error = crate::store::Store::open(&crate::store::OpenOptions { path: path.clone(), read_only: false });
            assert!(matches!(error.err(), Some(StoreError::Corrupt { .. })), "{name}");
            let found = find_damage(&path, false).unwrap().unwrap();
            assert_eq!(found.backups.len(), usize::from(backup));
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}: the check changes nothing");

            if !backup {
                assert!(set_aside(&path, StartWith::Backup).is_err(), "there is no backup");
                assert_eq!(std::fs::read(&path).unwrap(), bytes);
            }
            let start = if backup { StartWith::Backup } else { StartWith::Empty };
            let mended = set_aside(&path, start).unwrap();
            assert_eq!(std::fs::read(&mended.moved).unwrap(), bytes, "{name}: moved as it was");
            assert_eq!(mended.from.is_some(), backup);
            let sessions = open(&path).store.sessions().unwrap().len();
            assert_eq!(sessions, usize::from(backup), "{name}: the backup had one of the two sessions");
            assert!(set_aside(&path, start).is_err(), "an intact store is not moved");
        }
    }
}

#[test]
fn a_store_is_moved_with_its_log() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["one", "two", "three"]);
    // Only its header: a complete log would replace the damaged pages.
    let wal = std::fs::read(place.path().with_file_name("pleach.db-wal")).unwrap()[..32].to_vec();
    let elsewhere = TempStore::new();
    std::fs::create_dir_all(elsewhere.path().parent().unwrap()).unwrap();
    std::fs::write(elsewhere.path(), vec![9; 8_192]).unwrap();
    std::fs::write(elsewhere.path().with_file_name("pleach.db-wal"), &wal).unwrap();
    let mended = set_aside(&elsewhere.path(), StartWith::Empty).unwrap();
    assert_eq!(std::fs::read(format!("{}-wal", mended.moved)).unwrap(), wal);
    assert!(
        open(&elsewhere.path()).store.sessions().unwrap().is_empty()
            && !elsewhere.path().with_file_name("pleach.db-wal").exists()
    );
}

#[test]
fn a_store_in_use_is_not_moved() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["one", "two", "three"]);
    overwrite_header(&place.path());
    let error = set_aside(&place.path(), StartWith::Empty).unwrap_err();
    assert!(error.to_string().contains("another pleach process has the store open"), "{error}");
    assert!(place.path().exists());
}

#[test]
fn a_damaged_backup_is_skipped() {
    let place = TempStore::new();
    let path = closed_store(&place, true);
    let newer = path.with_file_name("pleach.db.backup-2999-01-01T000000Z");
    std::fs::write(&newer, "no database").unwrap();
    overwrite_header(&path);
    assert!(find_damage(&path, false).unwrap().unwrap().backups[0].at.starts_with("2999-01-01"));
    let mended = set_aside(&path, StartWith::Backup).unwrap();
    assert!(!mended.from.unwrap().at.starts_with("2999"));
    assert_eq!(open(&path).store.sessions().unwrap().len(), 1);
    assert!(newer.exists(), "and nothing is deleted");
}

/// A store with a conversation of several pages, and its number of messages.
fn long_conversation(place: &TempStore) -> (Store, usize) {
    let store = place.open();
    let sample = sample_session(&store, ["first", "second", "third"]);
    let (mut last, mut all) = (sample.nodes[2].clone(), 3);
    for n in 0..200 {
        let next = node(Some(&last), Role::User, Content::text(format!("message {n} {}", "words ".repeat(60))));
        store.write(vec![Write::PutNodes { session: sample.session, nodes: vec![next.clone()] }]).unwrap();
        (last, all) = (next, all + 1);
    }
    (store, all)
}

#[test]
fn a_backup_of_damaged_pages_replaces_no_backup() {
    let place = TempStore::new();
    let (store, _) = long_conversation(&place);
    store.backup(1).unwrap();
    let yesterday = path_with_suffix(&place.path(), ".backup-2020-01-01T000000Z");
    std::fs::rename(&store.backups()[0], &yesterday).unwrap();
    store.close();
    drop(store);
    corrupt_page(&place.path(), "node", true);
    let store = place.open();
    assert!(matches!(store.backup(1), Err(StoreError::Corrupt { .. })));
    assert_eq!(store.backups(), [yesterday]);
}

#[test]
fn readable_messages_are_salvaged() {
    let place = TempStore::new();
    let (store, all) = long_conversation(&place);
    store.close();
    corrupt_page(&place.path(), "node", true);
    let found = salvage(&place.path());
    let [only] = found.as_slice() else { panic!("{} sessions", found.len()) };
    assert_eq!(only.title, "A talk");
    let count = only.records.len();
    assert!(count < all && count > all * 8 / 10, "{count} of {all}");
    let known: Vec<&String> = only.records.iter().map(|record| &record.id).collect();
    assert!(only.records.iter().skip(1).all(|r| known.contains(&r.parent.as_ref().unwrap())), "every parent exists");
    let file = keep_salvaged(&place.path(), "line\n").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "line\n");
    overwrite_header(&place.path());
    assert!(salvage(&place.path()).is_empty());
}

#[test]
fn an_empty_store_beside_a_backup_counts_as_damaged() {
    for (missing, start) in
        [(true, StartWith::Backup), (true, StartWith::Empty), (false, StartWith::Backup), (false, StartWith::Empty)]
    {
        let place = TempStore::new();
        let path = closed_store(&place, true);
        if missing { std::fs::remove_file(&path) } else { std::fs::write(&path, "") }.unwrap();
        let opened = crate::store::Store::open(&crate::store::OpenOptions { path: path.clone(), read_only: false });
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("although there is a backup of it"), "{error}");
        assert_eq!(path.exists(), !missing, "no file is created");
        assert_eq!(find_damage(&path, false).unwrap().unwrap().backups.len(), 1);
        let mended = set_aside(&path, start).unwrap();
        assert_eq!(mended.moved.is_empty(), missing);
        for _ in 0..2 {
            let sessions = open(&path).store.sessions().unwrap().len();
            assert_eq!(sessions, usize::from(start == StartWith::Backup), "and it opens again");
        }
        assert_eq!(find_damage(&path, true).unwrap(), None);
    }
    let place = TempStore::new();
    let path = closed_store(&place, false);
    std::fs::write(&path, "").unwrap();
    assert_eq!(open(&path).store.sessions().unwrap().len(), 0, "without a backup it counts as new");
}

/// Damage that SQLite's own check does not detect.
#[test]
fn content_on_intact_pages_is_examined() {
    for (damage_file, fault) in [
        ("DROP TABLE tag", "the table tag is missing"),
        ("DROP INDEX node_by_parent", "the index node_by_parent is missing"),
        ("DROP VIEW node_text", "the view node_text is missing"),
        ("ALTER TABLE tag ADD COLUMN more TEXT", "the table tag differs from the schema"),
        (
            "DROP INDEX branch_by_head; CREATE INDEX branch_by_head ON branch (name)",
            "the index branch_by_head differs from the schema",
        ),
        ("UPDATE branch SET head = zeroblob(16)", "the head of branch"),
        ("UPDATE node SET parent = zeroblob(16) WHERE parent IS NOT NULL", "the parent of a message is missing"),
        ("UPDATE node SET parent = id WHERE parent IS NULL", "have no path to a first message"),
        ("UPDATE node SET parts = replace(parts, 'one', 'own')", "does not match its hash"),
        ("DELETE FROM body", "the text of a message is missing"),
        ("UPDATE body SET text = text || '!'", "does not match its hash"),
        ("DELETE FROM session", "the session of branch"),
    ] {
        let place = TempStore::new();
        let store = place.open();
        sample_session(&store, ["one", &"two ".repeat(2_000), "three"]);
        let seen = store.examine().unwrap();
        assert_eq!((seen.faults.as_slice(), seen.messages, seen.branches), ([].as_slice(), 3, 1));
        assert_eq!(seen.contents, 4, "three messages and a large text");
        store.close();
        let conn = Connection::open(place.path()).unwrap();
        conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage_file}")).unwrap();
        drop(conn);
        let found = find_damage(&place.path(), true).unwrap().unwrap_or_else(|| panic!("{damage_file}: not found"));
        assert!(found.why.contains(fault), "{damage_file}: {}", found.why);
        assert!(!set_aside(&place.path(), StartWith::Empty).unwrap().moved.is_empty(), "{damage_file}");
    }
}

/// Leaves the store as a killed program does: with an unlocked lock file.
fn unclean_end(place: &TempStore) -> PathBuf {
    let owners = place.path().with_file_name("owners");
    let file = owners.join(format!("{}.lock", uuid::Uuid::now_v7()));
    std::fs::write(&file, "").unwrap();
    file
}

#[test]
fn only_an_unclean_end_starts_a_check() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["one", "two", "three"]);
    assert!(!ended_uncleanly(&store));
    let other = place.open();
    assert!(!ended_uncleanly(&other), "another program has the store open");
    drop(other);
    store.close();
    assert!(!ended_uncleanly(&place.open()));
    unclean_end(&place);
    let store = place.open();
    assert!(ended_uncleanly(&store));
    assert!(ended_uncleanly(&place.open()), "until the store was checked");
    let (sender, receiver) = channel();
    store.check_after_crash(move |sentence| sender.send(sentence).unwrap());
    assert!(receiver.recv().is_err(), "an intact file is not reported");
    store.close();
    assert!(!ended_uncleanly(&place.open()), "the store was checked");
}

#[test]
fn damage_after_an_unclean_end_is_reported() {
    let place = TempStore::new();
    let path = closed_store(&place, false);
    let fill = place.open();
    (0..40).for_each(|_| drop(sample_session(&fill, ["lorem ipsum", "dolor sit", "amet"])));
    fill.close();
    corrupt_page(&path, "node", true);
    unclean_end(&place);
    let store = place.open();
    let (sender, receiver) = channel();
    store.check_after_crash(move |sentence| sender.send(sentence).unwrap());
    let sentence = receiver.recv().unwrap();
    assert!(sentence.contains("damaged") && sentence.contains("doctor --repair"), "{sentence}");
    assert!(ended_uncleanly(&store), "the next start reports it again");
    assert!(store.quick_check().unwrap().is_some());
}
