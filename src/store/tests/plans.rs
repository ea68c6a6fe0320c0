//! Stored plans: small, read back unchanged, through removals, deleted sessions and older versions; and the backups.

use super::{SampleSession, TempStore, card, check_store, number, on_writer, open, sample_session};
use crate::domain::base::damage::BackupOutcome::{Deleted, Kept, Rewritten};
use crate::domain::base::{BackupAct, Hash};
use crate::domain::call::{RunCard, RunStatus};
use crate::store::Store;
use crate::store::file::open::path_with_suffix;
use crate::store::types::Write;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub(super) const SECRET: &str = "xyzzyplughsecret";

/// A plan like those of a long conversation: a window of turns, a hundred older ones, a range; little repeats.
pub(super) fn plan(turn: u64, window: u64, title: &str) -> String {
    let row = |n: u64| {
        let [user, tip, node] = &KEYS[usize::try_from(n).unwrap()];
        let (verdict, why) = if turn - n < window {
            (r#"{"verdict":"in","section":"recent"}"#, r#"{"why":"recent"}"#.to_owned())
        } else {
            (r#"{"verdict":"out"}"#, format!(r#"{{"why":"budget","free":{}}}"#, turn % 977))
        };
        let (tokens, at) = (80 + n % 50, 1_790_000_000_000 + n * 1_000);
        let item = |key: &str| {
            format!(r#"{{"key":"{key}","node":"{node}","tokens":{tokens},"title":"{title} {}"}}"#, &key[..60])
        };
        format!(
            r#"{{"atom":{{"user":"{user}","tip":"{tip}"}},"verdict":{verdict},"reason":{why},"title":"{title} {}","source":{{"turn":{n},"at":{at}}},"items":[{},{}]}}"#,
            &user[..60],
            item(user),
            item(tip)
        )
    };
    let rows: Vec<String> = (turn.saturating_sub(window + 100)..=turn).map(row).collect();
    let (id, system) = (key("plan", turn), "You are kind. ".repeat(100));
    format!(r#"{{"id":"{id}","rows":[{}],"texts":{{"system":"{system}"}}}}"#, rows.join(","))
}

fn key(what: &str, n: u64) -> String {
    Hash::of(format!("{what}{n}").as_bytes()).to_string()
}

/// The keys of the messages of each turn, and the beginning of the turn's id.
static KEYS: LazyLock<Vec<[String; 3]>> =
    LazyLock::new(|| (0..1_128).map(|n| [key("user", n), key("tip", n), key("id", n)[..32].to_owned()]).collect());

pub(super) fn id(turn: u64) -> Hash {
    Hash::of(&turn.to_le_bytes())
}

/// Stores a call with its plan.
pub(super) fn call(store: &Store, sample: &SampleSession, id: Hash, body: String) {
    let run = RunCard {
        id: crate::domain::base::ids::RunId(uuid::Uuid::now_v7()),
        plan: id,
        ..card(sample, RunStatus::Complete)
    };
    let put = Write::PutPlan { id, branch: sample.branch, body };
    store.write(vec![put, Write::PutRun(Box::new(run))]).unwrap();
}

pub(super) fn read(store: &Store, id: Hash) -> String {
    let found = store.plan_by_prefix(&id.to_string()).unwrap();
    assert_eq!(found.len(), 1);
    found.into_iter().next().unwrap().1
}

#[test]
fn a_turn_takes_few_bytes_in_a_long_conversation() {
    for (window, most) in [(60, 8_000), (400, 20_000)] {
        let place = TempStore::new();
        let store = place.open();
        let sample = sample_session(&store, ["a", "b", "c"]);
        let mut taken = Vec::new();
        for turn in 1_000..1_128 {
            call(&store, &sample, id(turn), plan(turn, window, "said"));
            taken.push(number(&store, "SELECT length(body) FROM plan ORDER BY n DESC LIMIT 1"));
        }
        let mean = |part: &[i64]| part.iter().sum::<i64>() / 64;
        let (early, late) = (mean(&taken[..64]), mean(&taken[64..]));
        assert!(early <= most && late <= most && late <= early * 11 / 10, "{early} and {late} bytes a turn");
        assert_eq!(read(&store, id(1_063)), plan(1_063, window, "said"));
    }
}

pub(super) fn is_in_any_file(folder: &Path, bytes: &[u8]) -> bool {
    let files = std::fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_file());
    files.map(|entry| std::fs::read(entry.path()).unwrap()).any(|file| file.windows(bytes.len()).any(|at| at == bytes))
}

#[test]
fn a_removed_title_is_removed_from_dependent_plans() {
    let place = TempStore::new();
    let store = place.open();
    let message = format!("my password is {SECRET}, keep it");
    let sample = sample_session(&store, [&message, "b", "c"]);
    let key = sample.nodes[0].head.key;
    let quote = |turn: u64| {
        let mut made: serde_json::Value = serde_json::from_str(&plan(turn, 5, "said")).unwrap();
        let row = json!({ "atom": { "user": key }, "title": message, "items": [{ "key": key, "title": message }] });
        made["rows"].as_array_mut().unwrap().push(row);
        made.to_string()
    };
    // Plans that name it alternate with others, so that changed ones are dictionaries of unchanged ones.
    let text = |turn: u64| if turn.is_multiple_of(3) { quote(turn) } else { plan(turn, 5, "said") };
    (900..1_000).for_each(|turn| call(&store, &sample, id(turn), text(turn)));
    store.write(vec![Write::Tombstone { session: sample.session, nodes: vec![sample.nodes[0].head.id] }]).unwrap();
    for turn in 900..1_000 {
        let now = read(&store, id(turn));
        assert!(!now.contains(SECRET));
        if turn % 3 == 0 {
            assert_eq!(now, quote(turn).replace(&message, ""));
        } else {
            assert_eq!(now, text(turn));
        }
    }
    check_store(&store);
}

#[test]
fn a_plan_of_two_sessions_survives_deleting_one() {
    let place = TempStore::new();
    let store = place.open();
    let (one, two) = (sample_session(&store, ["a", "b", "c"]), sample_session(&store, ["d", "e", "f"]));
    (900..1_000).for_each(|turn| call(&store, &one, id(turn), plan(turn, 5, "said")));
    (0..50).for_each(|at| call(&store, &two, id(900 + at * 2), plan(0, 5, "another text is not taken")));
    store.write(vec![Write::DeleteSession(one.session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM plan"), 50);
    (0..50).for_each(|at| assert_eq!(read(&store, id(900 + at * 2)), plan(900 + at * 2, 5, "said")));
    store.write(vec![Write::DeleteSession(two.session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM plan"), 0);
}

/// A store written by the version before the current schema, with its plans.
pub(super) fn older_store(place: &TempStore) -> (PathBuf, Vec<(Hash, String)>) {
    let packed =
        std::fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-v2.db.zst")).unwrap();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    std::fs::write(place.path(), zstd::stream::decode_all(packed).unwrap()).unwrap();
    let conn = rusqlite::Connection::open(place.path()).unwrap();
    assert_eq!(conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    let mut query = conn.prepare("SELECT id, body FROM plan").unwrap();
    let plans = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap();
    (place.path(), plans)
}

#[test]
fn plans_of_an_older_store_read_the_same_during_conversion() {
    let place = TempStore::new();
    let (path, plans) = older_store(&place);
    assert!(plans.len() > 4);
    let mut store = open(&path).store;
    let same = |store: &Store| plans.iter().for_each(|(id, text)| assert_eq!(&read(store, *id), text));
    same(&store);
    let mut steps = 0;
    while store.convert_plans().unwrap() > 0 {
        same(&store);
        // Converted plans stay converted, whenever a program ends.
        store = open(&path).store;
        steps += 1;
    }
    same(&store);
    assert!(steps <= plans.len());
    assert_eq!(store.unconverted_plans().unwrap(), (0, plans.len() as u64));
    let (small, large) =
        (number(&store, "SELECT sum(length(body)) FROM plan"), number(&store, "SELECT sum(size) FROM plan"));
    assert!(small * 3 < large, "{small} of {large}");
    let session = store.sessions().unwrap()[0].id;
    check_store(&store);
    store.write(vec![Write::DeleteSession(session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM plan"), 0);
}

#[test]
fn an_older_store_is_converted_in_the_background() {
    let place = TempStore::new();
    let (path, _) = older_store(&place);
    let conn = rusqlite::Connection::open(&path).unwrap();
    let large = "SELECT randomblob(32), (SELECT group_concat(body, '') FROM plan) || n FROM generate_series";
    conn.execute_batch(&format!(
        "WITH RECURSIVE generate_series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM generate_series WHERE n < 300)
           INSERT INTO plan (id, body) {large}"
    ))
    .unwrap();
    drop(conn);
    let before = std::fs::metadata(&path).unwrap().len();
    // Closing the store waits until the work on it stops; the next start resumes it.
    let store = open(&path).store;
    let (sender, receiver) = std::sync::mpsc::channel();
    store.start_conversion(move |sentence| sender.send(sentence).unwrap());
    store.close();
    assert_eq!(receiver.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
    drop(store);
    let store = open(&path).store;
    let (sender, receiver) = std::sync::mpsc::channel();
    store.start_conversion(move |sentence| sender.send(sentence).unwrap());
    let reports: Vec<String> = receiver.iter().collect();
    assert!(reports.last().is_some_and(|line| line.contains("smaller format")), "{reports:?}");
    assert_eq!(store.unconverted_plans().unwrap().0, 0);
    assert!(std::fs::metadata(&path).unwrap().len() * 4 < before);
    check_store(&store);
}

#[test]
fn only_the_newest_of_the_kept_backups_has_plans() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    call(&store, &sample, id(1_000), plan(1_000, 5, "said"));
    let yesterday = path_with_suffix(&place.path(), ".backup-2020-01-01T000000Z");
    store.backup(2).unwrap();
    std::fs::rename(&store.backups()[0], &yesterday).unwrap();
    std::fs::write(path_with_suffix(&place.path(), ".backup-2020-01-02T000000Z.part"), "half").unwrap();
    std::fs::write(path_with_suffix(&place.path(), ".before-schema-2"), "older").unwrap();
    store.backup(2).unwrap();
    let plans = |path: &Path| {
        let conn = rusqlite::Connection::open(path).unwrap();
        conn.query_row("SELECT count(*) FROM plan", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let made = store.backups();
    assert_eq!(made.iter().map(|file| plans(file)).collect::<Vec<_>>(), [0, 1], "only the newest contains plans");
    assert!(path_with_suffix(&place.path(), ".before-schema-2").exists());
    store.backup(1).unwrap();
    assert_eq!(store.backups(), made[1..]);
    assert!(!path_with_suffix(&place.path(), ".before-schema-2").exists(), "a newer backup exists");
    store.backup(0).unwrap();
    assert!(store.backups().is_empty());
    store.close();
    drop(store);
    place.open();
    assert!(
        !path_with_suffix(&place.path(), ".backup-2020-01-02T000000Z.part").exists(),
        "the unfinished backup is removed"
    );
}

#[test]
fn a_backup_that_cannot_be_read_is_reported_or_deleted() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["a", "b", "c"]);
    store.backup(2).unwrap();
    std::fs::write(&store.backups()[0], "no database").unwrap();
    for (act, outcome, left) in
        [(BackupAct::List, Kept, 1), (BackupAct::Rewrite, Kept, 1), (BackupAct::Delete, Deleted, 0)]
    {
        let held = store.copies(act).unwrap();
        assert_eq!((held.len(), held[0].outcome, held[0].fault.is_some()), (1, outcome, left == 1), "{held:?}");
        assert_eq!(store.backups().len(), left);
    }
}

#[test]
fn removed_text_can_be_removed_from_backups() {
    for act in [BackupAct::Rewrite, BackupAct::Delete] {
        let place = TempStore::new();
        let store = place.open();
        let (one, two) = (sample_session(&store, [SECRET, "b", "c"]), sample_session(&store, [SECRET, "e", "f"]));
        let three = sample_session(&store, ["kept", "b", "c"]);
        store.backup(3).unwrap();
        // As after a start without a backup: nothing was removed.
        on_writer(&store, move |conn| {
            conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            conn.execute("DELETE FROM session WHERE id = ?1", [three.session]).unwrap();
        });
        let contents_after = |act| {
            let all = store.copies(act).unwrap();
            assert!(all.iter().all(|copy| copy.fault.is_none()), "{all:?}");
            all.iter().map(|copy| (copy.removed, copy.outcome, copy.older)).collect::<Vec<_>>()
        };
        let older = path_with_suffix(&place.path(), ".before-schema-2");
        std::fs::copy(&store.backups()[0], &older).unwrap();
        let kept = [(0, Kept, false), (0, Kept, true)];
        assert_eq!(contents_after(act), kept, "a backup without removed content is unchanged");
        store.write(vec![Write::Tombstone { session: one.session, nodes: vec![one.nodes[0].head.id] }]).unwrap();
        store.write(vec![Write::DeleteSession(two.session)]).unwrap();
        let folder = place.path().parent().unwrap().to_owned();
        assert!(is_in_any_file(&folder, SECRET.as_bytes()), "the backup contains it");
        assert_eq!(contents_after(BackupAct::List), [(2, Kept, false), (2, Kept, true)]);
        let outcome = if act == BackupAct::Rewrite { Rewritten } else { Deleted };
        assert_eq!(
            contents_after(act),
            [(0, outcome, false), (0, Deleted, true)],
            "a backup from before a schema change can't be rewritten"
        );
        assert_eq!(contents_after(act), if act == BackupAct::Rewrite { vec![kept[0]] } else { vec![] });
        assert!(!is_in_any_file(&folder, SECRET.as_bytes()));
        for file in store.backups() {
            let copy = place.folder.path().join("restored").join("pleach.db");
            std::fs::create_dir(copy.parent().unwrap()).unwrap();
            std::fs::copy(file, &copy).unwrap();
            let copy = open(&copy).store;
            assert_eq!(copy.heads(one.session).unwrap().len(), 3);
            assert_eq!(copy.sessions().unwrap().len(), 2, "content that nobody removed is unchanged");
        }
    }
}
