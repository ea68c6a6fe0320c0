//! Tests of the whole module, each with a real file in its own folder.

mod damage;
mod fences;
mod files;
mod find;
mod item_use;
mod many;
mod memory;
mod migrate;
mod plans;
mod purge;
mod roundtrip;
mod summaries;
mod unreadable_plans;

use super::types::Write;
use super::{OpenOptions, Opened, Store};
use crate::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use crate::domain::call::{RunCard, RunStatus};
use crate::domain::conversation::message::node_key;
use crate::domain::conversation::{Branch, Content, End, Node, NodeHead, Role};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// A temporary folder with the path of a store in it.
struct TempStore {
    folder: tempfile::TempDir,
}

impl TempStore {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data").join("pleach.db")
    }

    fn open(&self) -> Store {
        let Opened { store, notices } = open(&self.path());
        assert_eq!(notices, Vec::<String>::new());
        store
    }
}

fn open(path: &Path) -> Opened {
    Store::open(&OpenOptions { path: path.to_owned(), read_only: false }).unwrap()
}

/// A session with one branch whose head is its third node: question, answer, question.
struct SampleSession {
    session: SessionId,
    branch: BranchId,
    nodes: Vec<Node>,
}

fn node(parent: Option<&Node>, role: Role, content: Content) -> Node {
    let hash = content.hash();
    let words = content.plain_text();
    let head = NodeHead {
        id: NodeId(Uuid::now_v7()),
        key: node_key(parent.map(|p| p.head.key), role, Some(hash), 0, None),
        parent: parent.map(|p| p.head.id),
        ord: 0,
        role,
        end: End::Complete,
        at: 1_000,
        bytes: content.bytes(),
        calls: u16::try_from(content.calls().count()).unwrap(),
        hidden: false,
        imported: false,
        content: Some(hash),
        preview: NodeHead::preview_of(&words),
        model: (role == Role::Assistant).then(|| "m".to_owned()),
        name: None,
        lane: String::new(),
        external_id: None,
    };
    Node { head, content }
}

fn branch(session: SessionId, name: &str, head: Option<NodeId>) -> Branch {
    Branch::new(BranchId(Uuid::now_v7()), session, name, head, 5)
}

fn sample_session(store: &Store, words: [&str; 3]) -> SampleSession {
    let session = SessionId(Uuid::now_v7());
    let first = node(None, Role::User, Content::text(words[0]));
    let second = node(Some(&first), Role::Assistant, Content::text(words[1]));
    let third = node(Some(&second), Role::User, Content::text(words[2]));
    let main = branch(session, "main", Some(third.head.id));
    let id = main.id;
    let nodes = vec![first, second, third];
    store
        .write(vec![
            Write::PutSession { id: session, title: "A talk".into(), at: 10 },
            Write::PutNodes { session, nodes: nodes.clone() },
            Write::PutBranch(Box::new(main)),
        ])
        .unwrap();
    SampleSession { session, branch: id, nodes }
}

fn card(sample: &SampleSession, status: RunStatus) -> RunCard {
    RunCard {
        plan: Hash::of(b"plan"),
        request_digest: Hash::of(b"request"),
        profile: "p".into(),
        model: "m".into(),
        policy: "layered".into(),
        status,
        est_total: 7,
        attempts: 1,
        at: 20,
        ..RunCard::blank(RunId(Uuid::now_v7()), sample.session, sample.branch)
    }
}

#[test]
fn the_store_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync>() {}
    shared::<Store>();
}

/// Runs a function on the writer's own connection.
fn on_writer<T: Send + 'static>(
    store: &Store,
    work: impl FnOnce(&mut rusqlite::Connection) -> T + Send + 'static,
) -> T {
    store.0.writer.as_ref().unwrap().call(|conn| Ok(work(conn))).unwrap()
}

/// Returns whether a program that had this store open ended without closing it and the store has not been checked since.
fn ended_uncleanly(store: &Store) -> bool {
    !store.0.owners.unclean_ends().is_empty()
}

fn number(store: &Store, sql: &'static str) -> i64 {
    on_writer(store, move |conn| conn.query_row(sql, [], |row| row.get(0)).unwrap())
}

/// Asserts that the file is intact, its references exist, and the search index contains exactly the words of the
/// messages.
fn check_store(store: &Store) {
    on_writer(store, |conn| {
        for check in ["PRAGMA integrity_check", "PRAGMA quick_check"] {
            let result: String = conn.query_row(check, [], |row| row.get(0)).unwrap();
            assert_eq!(result, "ok", "{check}");
        }
        assert!(!conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
        conn.execute_batch(
            "DROP TABLE IF EXISTS temp.fresh;
             CREATE VIRTUAL TABLE temp.fresh USING fts5 (session, words, tokenize = 'unicode61 remove_diacritics 2');
             INSERT INTO temp.fresh (rowid, session, words)
               SELECT t.n, t.session, t.words FROM node_text AS t JOIN node ON node.n = t.n
               WHERE node.content IS NOT NULL;
             CREATE VIRTUAL TABLE IF NOT EXISTS temp.there USING fts5vocab (main, search, instance);
             CREATE VIRTUAL TABLE IF NOT EXISTS temp.wanted USING fts5vocab (temp, fresh, instance);",
        )
        .unwrap();
        for (one, other) in [("there", "wanted"), ("wanted", "there")] {
            let sql = format!("SELECT count(*) FROM (SELECT * FROM temp.{one} EXCEPT SELECT * FROM temp.{other})");
            let different: i64 = conn.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert_eq!(different, 0, "{one} {other}");
        }
        let sql = "SELECT (SELECT count(*) FROM search_docsize), (SELECT ifnull(sum(messages), 0) FROM session)";
        let (indexed, counted): (i64, i64) = conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(indexed, counted);
    });
}
