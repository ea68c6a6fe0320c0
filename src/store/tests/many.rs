//! Concurrent threads, other processes, and queries that do not scan.

use super::{TempStore, node, on_writer, sample_session};
use crate::domain::call::Encoding;
use crate::domain::conversation::{Content, Role};
use crate::store::types::Write;
use std::io::{BufRead, Write as _};

#[test]
fn eight_windows_write_without_an_error() {
    let place = TempStore::new();
    let path = place.path();
    std::thread::scope(|scope| {
        for window in 0..8 {
            let path = path.clone();
            scope.spawn(move || {
                let store = super::open(&path).store;
                let sample = sample_session(&store, ["a", "b", "c"]);
                let mut last = sample.nodes[2].clone();
                for turn in 0..25 {
                    let next = node(Some(&last), Role::Assistant, Content::text(format!("{window} {turn}")));
                    let (expect, head) = (Some(last.head.id), Some(next.head.id));
                    store
                        .write(vec![
                            Write::PutNodes { session: sample.session, nodes: vec![next.clone()] },
                            Write::MoveHead { branch: sample.branch, expect, head },
                        ])
                        .unwrap();
                    assert_eq!(store.heads(sample.session).unwrap().len(), 4 + turn);
                    last = next;
                }
            });
        }
    });
    let store = place.open();
    let cards = store.sessions().unwrap();
    assert_eq!((cards.len(), cards.iter().map(|c| c.messages).sum::<u64>()), (8, 8 * 28));
    assert_eq!(super::number(&store, "SELECT count(*) FROM search_docsize"), 8 * 28);
    super::check_store(&store);
}

/// Runs in its own process: opens the store and prints its owner's id. On `write`, writes turn after turn and reports
/// each commit; otherwise exits when its input ends.
#[test]
#[ignore = "a process that other tests start"]
fn child() {
    let path = std::path::PathBuf::from(std::env::var_os("PLEACH_TEST_STORE").unwrap());
    let store = super::open(&path).store;
    println!("\nowner={}", store.owner());
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
    if word != "write\n" {
        std::process::abort();
    }
    loop {
        sample_session(&store, ["a", "b", "c"]);
        println!("committed");
    }
}

/// Starts `child` on a store; returns its owner's id and its further output by line.
fn start(path: &std::path::Path) -> (std::process::Child, String, impl Iterator<Item = String> + use<>) {
    use std::process::{Command, Stdio};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::many::child", "--ignored", "--nocapture"])
        .env("PLEACH_TEST_STORE", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let owner = lines.find_map(|line| line.strip_prefix("owner=").map(str::to_owned)).unwrap();
    (child, owner, lines)
}

#[test]
fn an_owner_dies_with_its_process() {
    let place = TempStore::new();
    let store = place.open();
    let (mut child, owner, _lines) = start(&place.path());
    assert_ne!(owner, store.owner());
    assert!(store.owner_alive(&owner));
    drop(child.stdin.take());
    child.wait().unwrap();
    let file = place.path().with_file_name("owners").join(format!("{owner}.lock"));
    assert!(file.exists(), "an abort leaves the file");
    assert!(!store.owner_alive(&owner));
    assert!(!file.exists(), "the stale file is removed");
}

#[test]
fn committed_writes_survive_a_kill() {
    let place = TempStore::new();
    let mut committed = 0;
    for kill in 1..=6 {
        let (mut child, _owner, mut lines) = start(&place.path());
        child.stdin.as_mut().unwrap().write_all(b"write\n").unwrap();
        committed += lines.by_ref().take(kill * 7).filter(|line| line.contains("committed")).count();
        child.kill().unwrap();
        child.wait().unwrap();
        committed += lines.filter(|line| line == "committed").count();
        let store = place.open();
        super::check_store(&store);
        let cards = store.sessions().unwrap();
        // The last transaction may have been committed without being reported.
        assert!((committed..=committed + 1).contains(&cards.len()), "{committed} reported, {} stored", cards.len());
        assert!(cards.iter().all(|card| (card.messages, card.branches) == (3, 1)));
        committed = cards.len();
    }
    assert!(committed >= 6 * 7);
}

#[test]
fn hot_reads_never_scan() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let inner = "(SELECT n FROM session WHERE id = x'00')";
    let queries = [
        format!("SELECT id, key FROM node WHERE session = {inner} ORDER BY n"),
        "SELECT id, parts FROM node WHERE id = x'00'".into(),
        format!("SELECT id FROM node WHERE session = {inner} AND external_id = 'a' ORDER BY n"),
        format!("SELECT card FROM plan_run WHERE session = {inner} ORDER BY n"),
        "SELECT card FROM plan_run WHERE id BETWEEN x'00' AND x'01' ORDER BY id LIMIT 2".into(),
        "SELECT card FROM plan_run WHERE plan = x'00' ORDER BY n".into(),
        "SELECT owner FROM plan_run WHERE branch = 1 AND open = 1".into(),
        "SELECT tokens FROM token_count WHERE key = x'00' AND encoding = 'a'".into(),
        format!("SELECT body FROM tool_trace WHERE session = {inner} ORDER BY n DESC LIMIT 5"),
        format!("SELECT seq FROM operation WHERE session = {inner} ORDER BY seq"),
        format!("SELECT name FROM branch WHERE session = {inner} ORDER BY n"),
        "SELECT body FROM stream_chunk WHERE run = (SELECT n FROM plan_run WHERE id = x'00') ORDER BY seq".into(),
        "SELECT id FROM session WHERE used > 0 ORDER BY used DESC, n DESC LIMIT 1".into(),
        "SELECT text FROM body WHERE hash = x'00'".into(),
    ];
    for sql in queries {
        let steps: Vec<String> = on_writer(&store, move |conn| {
            let mut query = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let rows = query.query_map([], |row| row.get::<_, String>(3)).unwrap();
            rows.map(|step| format!("{} [{sql}]", step.unwrap())).collect()
        });
        assert!(!steps.is_empty());
        for step in steps {
            assert!(!step.starts_with("SCAN") && !step.contains("TEMP B-TREE"), "{step}");
        }
    }
    let open = on_writer(&store, |conn| {
        let mut query = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", crate::store::tables::runs::OPEN_RUNS)).unwrap();
        query.query_map([], |row| row.get::<_, String>(3)).unwrap().collect::<Result<Vec<_>, _>>().unwrap()
    });
    assert_eq!(open[0], "SCAN plan_run USING INDEX plan_run_open", "only the open runs are read");
    assert!(store.counts(&[sample.nodes[0].head.key], Encoding::O200kBase).unwrap().is_empty());
}
