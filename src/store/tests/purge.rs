//! Deleted text is in no byte of the file or its log.

use super::{SampleSession, TempStore, card, check_store, node, number, on_writer, sample_session};
use crate::domain::base::{Hash, RunId};
use crate::domain::call::{Encoding, RunStatus};
use crate::domain::conversation::{Change, Content, End, NodeHead, Operation, Part, Role, StateVersion, Tag};
use crate::domain::tool::{ToolStatus, ToolTrace, trace};
use crate::store::Store;
use crate::store::types::{PassageVector, Write};
use std::path::Path;

const SECRET: &str = "xyzzyplughsecret";

/// Returns how often the secret occurs in the files of a folder, ignoring case (the search index folds it).
fn hits(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            count +=
                bytes.windows(SECRET.len()).filter(|window| window.eq_ignore_ascii_case(SECRET.as_bytes())).count();
        }
    }
    count
}

fn version(head: &NodeHead) -> StateVersion {
    StateVersion {
        text: format!("Goal: {SECRET}"),
        node: head.id,
        key: head.key,
        edited: false,
        branch: None,
        withdrawn: false,
        offered: false,
        version: 1,
        at: 1,
        pins: Vec::new(),
    }
}

fn trace(run: RunId) -> ToolTrace {
    let args = format!("{{\"path\":\"{SECRET}\"}}");
    ToolTrace { call_id: "c1".into(), run, status: None, ..trace::sample("read", &args, ToolStatus::Ok, SECRET) }
}

fn plan(key: Hash, title: &str) -> serde_json::Value {
    serde_json::json!({ "rows": [
        { "atom": { "atom": "turn", "user": key, "tip": key }, "title": format!("pw {SECRET}"),
          "items": [{ "key": key, "title": SECRET }, { "key": Hash::of(b"other"), "title": "stays" }] },
        { "atom": { "atom": "section", "text": Hash::of(b"draft") }, "title": title, "items": [] },
        { "atom": { "atom": "section", "text": Hash::of(b"system") }, "title": "system", "items": [] },
    ] })
}

#[test]
fn a_removed_message_leaves_no_trace() {
    let place = TempStore::new();
    let store = place.open();
    let message = format!("my password is {SECRET}, keep it");
    let sample = sample_session(&store, [&message, "I will", "thanks"]);
    let session = sample.session;
    let large = format!("{} {SECRET} ", "filler text ".repeat(1_000));
    let parts = vec![
        Part::Reply { call: "c1".into(), name: "read".into(), body: large },
        Part::Reasoning { text: format!("thinking of {SECRET}") },
    ];
    let extra = Some(serde_json::json!({ "note": SECRET }));
    let mut result = node(sample.nodes.last(), Role::Tool, Content { parts, extra });
    result.head.external_id = Some(format!("id-{SECRET}"));
    let run = card(&sample, RunStatus::Complete);
    let (first, key) = (&sample.nodes[0].head, Hash::of(message.as_bytes()));
    let plan = plan(first.key, &message).to_string();
    let (version, trace) = (version(&result.head), Box::new(trace(run.id)));
    let id = result.head.id;
    store
        .write(vec![
            Write::PutNodes { session, nodes: vec![result] },
            Write::PutRun(Box::new(run.clone())),
            Write::PutState { session, version },
            Write::PutTrace { session, trace },
            Write::PutPlan { id: run.plan, branch: sample.branch, body: plan },
            Write::PutCounts(vec![(key, Encoding::O200kBase, 5)]),
            Write::SetTitle { session, title: message.clone() },
        ])
        .unwrap();
    assert!(hits(place.path().parent().unwrap()) > 8);
    assert_eq!(store.search(SECRET, 10).unwrap().len(), 2);

    filler(&store, &sample);
    let nodes = vec![first.id, id];
    store.write(vec![Write::Tombstone { session, nodes: nodes.clone() }]).unwrap();
    assert_eq!(hits(place.path().parent().unwrap()), 0);

    let heads = store.heads(session).unwrap();
    assert_eq!(heads.len(), 404);
    assert_eq!((heads[0].key, heads[0].end, heads[0].content), (first.key, End::Removed, None));
    assert_eq!(heads[1].parent, Some(first.id));
    assert_eq!(store.nodes(&nodes).unwrap()[1].content, Content::default());
    assert!(store.search(SECRET, 10).unwrap().is_empty());
    assert!(store.states(session).unwrap().is_empty());
    assert_eq!(number(&store, "SELECT count(*) FROM body"), 0);
    assert!(store.counts(&[key], Encoding::O200kBase).unwrap().is_empty());
    let card = store.session(session).unwrap().unwrap();
    assert_eq!((card.messages, card.title.as_str()), (402, "untitled"));
    let body = store.plan_by_prefix(&run.plan.to_string()).unwrap().remove(0).1;
    assert!(body.contains("\"stays\"") && body.contains("\"system\"") && body.contains(&first.key.to_string()));
    check_store(&store);
    store.write(vec![Write::Tombstone { session, nodes }]).unwrap();
    assert_eq!(store.session(session).unwrap().unwrap().messages, 402);
}

/// Enough other messages for the index to merge its entries of the secret.
fn filler(store: &Store, sample: &SampleSession) {
    for group in 0..40 {
        let words = |n: u32| format!("filler {group} {n} {}", "lorem ipsum dolor sit amet ".repeat(20));
        let nodes = (0..10).map(|n| node(sample.nodes.first(), Role::Assistant, Content::text(words(n)))).collect();
        store.write(vec![Write::PutNodes { session: sample.session, nodes }]).unwrap();
    }
}

#[test]
fn deleting_a_session_keeps_texts_that_others_share() {
    let place = TempStore::new();
    let store = place.open();
    let one = sample_session(&store, [SECRET, "answer", "more"]);
    let two = sample_session(&store, ["kept", "answer", "more"]);
    let shared = "shared text ".repeat(1_000);
    for sample in [&one, &two] {
        let node = node(sample.nodes.last(), Role::Assistant, Content::text(&shared));
        let (run, session) = (card(sample, RunStatus::Complete), sample.session);
        let body = format!("{{\"rows\":[],\"for\":\"{}\"}}", run.plan);
        store
            .write(vec![
                Write::PutNodes { session, nodes: vec![node] },
                Write::PutPlan { id: run.plan, branch: sample.branch, body },
                Write::PutRun(Box::new(run)),
            ])
            .unwrap();
    }
    assert_eq!(number(&store, "SELECT refs FROM body"), 2);
    store.write(vec![Write::DeleteSession(one.session)]).unwrap();
    assert_eq!(hits(place.path().parent().unwrap()), 0);
    assert_eq!(number(&store, "SELECT refs FROM body"), 1);
    assert_eq!(number(&store, "SELECT count(*) FROM plan"), 1);
    assert!(store.heads(one.session).unwrap().is_empty() && store.session(one.session).unwrap().is_none());
    assert_eq!(store.heads(two.session).unwrap().len(), 4);
    check_store(&store);
    // A small session beside a large one is overwritten in the index; otherwise the index is rebuilt.
    filler(&store, &two);
    let three = sample_session(&store, [SECRET, "answer", SECRET]);
    store.write(vec![Write::DeleteSession(three.session)]).unwrap();
    assert_eq!(hits(place.path().parent().unwrap()), 0);
    check_store(&store);
    store.write(vec![Write::DeleteSession(two.session)]).unwrap();
    for table in ["node", "branch", "plan_run", "plan", "body", "search_docsize"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let remaining: i64 = on_writer(&store, move |conn| conn.query_row(&sql, [], |row| row.get(0)).unwrap());
        assert_eq!(remaining, 0, "{table}");
    }
}

#[test]
fn a_purge_waits_for_readers_and_reports_it() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, [&format!("the word is {SECRET}"), "I will", "thanks"]);
    let folder = place.path().parent().unwrap().to_owned();
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM node;").unwrap();
    assert!(!store.purge_pending());
    store.write(vec![Write::Tombstone { session: sample.session, nodes: vec![sample.nodes[0].head.id] }]).unwrap();
    assert!(store.purge_pending(), "another program still reads the log");
    assert!(hits(&folder) > 0);
    store.close();
    drop(store);
    let store = place.open();
    assert!(store.purge_pending(), "a later start sees the marker file");
    other.execute_batch("COMMIT").unwrap();
    // The writer truncates the log on its next job, or after a second without one.
    let began = std::time::Instant::now();
    while store.purge_pending() {
        assert!(began.elapsed() < std::time::Duration::from_mins(1), "the purge needs no further write");
        std::thread::yield_now();
    }
    assert_eq!(hits(&folder), 0);
}

#[test]
fn a_removal_that_was_decided_in_its_transaction_leaves_no_trace() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, [&format!("the word is {SECRET}"), "I will", "thanks"]);
    let (session, nodes) = (sample.session, vec![sample.nodes[0].head.id]);
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM node;").unwrap();
    store.decide(move |_| Ok((vec![Write::Tombstone { session, nodes }], ()))).unwrap();
    assert!(store.purge_pending(), "another program still reads the log");
    other.execute_batch("COMMIT").unwrap();
    store.close();
    assert!(!store.purge_pending());
    assert_eq!(hits(place.path().parent().unwrap()), 0);
}

#[test]
fn posted_values_of_a_removed_text_are_not_stored_after_it() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, [SECRET, "answer", "more"]);
    let (session, key) = (sample.session, Hash::of(SECRET.as_bytes()));
    let limit = |spare: i64| {
        on_writer(&store, move |conn| {
            let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
            conn.query_row(&format!("PRAGMA max_page_count = {}", pages + spare), [], |_| Ok(())).unwrap();
        });
    };
    limit(50);
    let put = |value: &str| Write::SetValue { key: "note".into(), value: Some(value.repeat(1_000_000)) };
    store.post(vec![Write::PutCounts(vec![(key, Encoding::O200kBase, 5)]), put("n")]);
    let vector = PassageVector { node: sample.nodes[0].head.id, key, code: vec![7; 1_000_000] };
    store.post(vec![Write::PutEmbeddings { model: "m".into(), vectors: vec![vector] }]);
    store
        .write(vec![
            Write::DropEmbeddings(vec![key]),
            Write::Tombstone { session, nodes: vec![sample.nodes[0].head.id] },
        ])
        .unwrap();
    assert!(store.post_delay().is_some(), "the other posted write is kept");
    limit(1_000_000);
    store.close();
    assert!(store.setting("note").unwrap().is_some());
    assert!(store.counts(&[key], Encoding::O200kBase).unwrap().is_empty());
    assert!(store.embeddings("m", &[key]).unwrap().is_empty());
}

/// A vector that is posted between the removal of its message and the moment at which its thread hears of it.
#[test]
fn vectors_of_removed_messages_are_not_stored() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, [SECRET, "answer", "more"]);
    let keys = [SECRET, "answer"].map(|text| Hash::of(text.as_bytes()));
    let vector = |at: usize| PassageVector { node: sample.nodes[at].head.id, key: keys[at], code: vec![7] };
    let removal = Write::Tombstone { session: sample.session, nodes: vec![sample.nodes[0].head.id] };
    store.write(vec![Write::DropEmbeddings(vec![keys[0]]), removal]).unwrap();
    store.post(vec![Write::PutEmbeddings { model: "m".into(), vectors: vec![vector(0), vector(1)] }]);
    store.close();
    assert_eq!(store.embeddings("m", &keys).unwrap(), [(keys[1], vec![7])].into());
}

#[test]
fn an_index_with_removed_words_is_rejected() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, [SECRET, "answer", "more"]);
    let session = sample.session;
    let keys: Vec<Hash> = sample.nodes.iter().map(|node| node.head.key).collect();
    let put = |before: Option<Hash>, keys: &[Hash]| {
        let (keys, body) = (keys.to_vec(), vec![1, 2, 3]);
        store.write(vec![Write::PutIndexTail { session, before, keys, body }]).unwrap();
        store.index_tail(session).unwrap()
    };
    assert_eq!(put(Some(Hash::of(b"another")), &keys), None, "it continues no stored segment");
    assert_eq!(put(None, &keys), Some((None, vec![1, 2, 3])));
    store.write(vec![Write::Tombstone { session, nodes: vec![sample.nodes[0].head.id] }]).unwrap();
    assert_eq!(store.index_tail(session).unwrap(), None, "it is deleted with the message");
    assert_eq!(put(None, &keys), None, "a program with the old messages can't store it again");
    assert!(put(None, &keys[1..]).is_some());
    let seal = |keys: &[Hash]| {
        let (digest, keys, header) = (Hash::of(b"segment"), keys.to_vec(), SECRET.as_bytes().to_vec());
        let lists = Vec::new();
        store
            .write(vec![Write::PutIndexSegment { session, segment: 0, before: None, digest, keys, header, lists }])
            .unwrap();
        store.index_segments(session).unwrap().len()
    };
    assert_eq!([seal(&keys), seal(&keys[1..])], [0, 1], "nor a sealed segment");
    store.write(vec![Write::DeleteSession(session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM shelf_tail"), 0);
}

#[test]
fn operations_forget_exactly_the_removed_text() {
    let place = TempStore::new();
    let store = place.open();
    let message = format!("my password is {SECRET}, keep it");
    let sample = sample_session(&store, [&message, "I will", "thanks"]);
    let session = sample.session;
    let [removed, kept] = [0, 1].map(|at| sample.nodes[at].head.key);
    let tag = |node: Hash, label: &str| {
        let after = Some(Tag { node, label: label.into(), favorite: true });
        Change::Tag { session, node, before: None, after }
    };
    let title = |before: &str, after: &str| Change::Title { before: before.into(), after: after.into() };
    let changes = vec![tag(removed, "start"), tag(kept, "promise"), tag(kept, &message), title("A talk", &message)];
    let act = Operation { seq: 0, session, what: format!("renamed to {message}"), changes, undone: false, at: 1 };
    store.write(vec![Write::PutOperation(Box::new(act))]).unwrap();
    store.write(vec![Write::Tombstone { session, nodes: vec![sample.nodes[0].head.id] }]).unwrap();
    assert_eq!(hits(place.path().parent().unwrap()), 0);
    assert_eq!(store.ops(session).unwrap()[0].changes, [tag(kept, "promise"), title("A talk", "untitled")]);
}

#[test]
fn segments_of_an_index_follow_one_another() {
    let place = TempStore::new();
    let store = place.open();
    let session = sample_session(&store, ["question", "answer", "more"]).session;
    let digest = |name: &str| Hash::of(name.as_bytes());
    let put = |segment: u32, before: Option<&str>, name: &str| {
        let (before, digest) = (before.map(digest), digest(name));
        let (keys, header, lists) = (Vec::new(), name.as_bytes().to_vec(), vec![(7, name.as_bytes().to_vec())]);
        store.write(vec![Write::PutIndexSegment { session, segment, before, digest, keys, header, lists }]).unwrap();
        let known = store.index_segments(session).unwrap();
        assert_eq!(store.postings(session, &[7]).unwrap().len(), known.len());
        known.iter().map(|(_, header)| String::from_utf8(header.clone()).unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(put(1, Some("a"), "b"), "", "no segment precedes it");
    assert_eq!(put(1, None, "b"), "", "only the first has no predecessor");
    assert_eq!(put(0, Some("b"), "a"), "", "the first has no predecessor");
    assert_eq!(put(0, None, "a"), "a");
    assert_eq!(put(0, None, "other"), "a", "the number is taken");
    assert_eq!(put(1, Some("other"), "b"), "a", "another segment precedes it");
    assert_eq!(put(1, Some("a"), "b"), "a b");
}
