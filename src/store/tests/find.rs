//! Finding messages across all sessions.

use super::{TempStore, branch, node, sample_session};
use crate::domain::conversation::{Content, Part, Role, SearchFilter, Tag};
use crate::store::Store;
use crate::store::types::Write;
use std::cell::Cell;

fn found(store: &Store, line: &str) -> Vec<String> {
    let hits = store.find(&SearchFilter::read(line, 0), 100, &|| false).unwrap();
    hits.into_iter().map(|hit| hit.pieces.into_iter().map(|(_, text)| text).collect()).collect()
}

#[test]
fn words_and_filters_must_all_match_newest_first() {
    let place = TempStore::new();
    let store = place.open();
    let bees = sample_session(&store, ["how do bees dance", "bees dance in circles", "and wasps"]);
    let _other = sample_session(&store, ["bees again", "they waggle", "thanks"]);
    assert_eq!(found(&store, "bees"), ["bees again", "bees dance in circles", "how do bees dance"]);
    assert_eq!(found(&store, "bee"), found(&store, "bees"), "the last word may be unfinished");
    assert_eq!(found(&store, "bee "), [""; 0]);
    assert_eq!(found(&store, "dance bees role:user"), ["how do bees dance"]);
    assert_eq!(found(&store, "\"dance in\""), ["bees dance in circles"]);
    assert_eq!(found(&store, "bees model:M role:assistant"), ["bees dance in circles"]);
    assert_eq!(found(&store, "model:other"), [""; 0]);
    let named = vec![Write::SetTitle { session: bees.session, title: "Of Bees".into() }];
    store.write(named).unwrap();
    assert_eq!(found(&store, "session:bees circles").len(), 1);
    assert_eq!(found(&store, "session:bees waggle").len(), 0);
    assert_eq!(found(&store, "session:nowhere waggle").len(), 0);
    assert_eq!(found(&store, "waggle session:nowhere").len(), 0, "with a complete last word");
    assert_eq!(found(&store, "session:bees role:user"), ["and wasps", "how do bees dance"]);
    assert_eq!(found(&store, "before:1970-01-01"), [""; 0]);
    assert_eq!(found(&store, "after:1970 wasps").len(), 1);
    assert_eq!(found(&store, ""), [""; 0]);
}

#[test]
fn branches_and_tools() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["ask", "answer", "more"]);
    let call = Part::Call { id: "1".into(), name: "Grep_files".into(), args: "{}".into() };
    let side = node(Some(&sample.nodes[1]), Role::Assistant, Content { parts: vec![call], extra: None });
    let tip = node(Some(&side), Role::User, Content::text("beside"));
    let try_two = branch(sample.session, "Try Two", Some(tip.head.id));
    let nodes = vec![side, tip];
    let (session, put) = (sample.session, Write::PutBranch(Box::new(try_two)));
    store.write(vec![Write::PutNodes { session, nodes }, put]).unwrap();
    assert_eq!(found(&store, "branch:\"try two\" role:user"), ["beside", "ask"]);
    assert_eq!(found(&store, "branch:main role:user"), ["more", "ask"]);
    assert_eq!(found(&store, "tool:grep").len(), 1);
    assert_eq!(found(&store, "tool:grep branch:main").len(), 0);
}

/// One message with a label, one that is only a favorite, one with another label.
#[test]
fn names_of_messages() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["one", "two", "three"]);
    let tags = [("Bee Dance", false), ("", true), ("wasps", false)];
    for (named, (label, favorite)) in sample.nodes.iter().zip(tags) {
        let node = named.head.key;
        let tag = Some(Tag { node, label: label.into(), favorite });
        store.write(vec![Write::PutTag { session: sample.session, node, expect: None, tag }]).unwrap();
    }
    assert_eq!(found(&store, "label:bee"), ["one"]);
    assert_eq!(found(&store, "label:\"bee d\" role:user"), ["one"]);
    assert_eq!(found(&store, "label:s role:assistant"), [""; 0]);
    assert_eq!(found(&store, "label:a"), ["three", "one"]);
}

#[test]
fn matches_are_marked_and_old_searches_are_canceled() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a Bee and a \u{1}bee\u{2}", "b", "c"]);
    let hits = store.find(&SearchFilter::read("bee", 0), 10, &|| false).unwrap();
    assert!(hits[0].pieces.contains(&(true, "Bee".into())), "{:?}", hits[0].pieces);
    assert_eq!(hits[0].session, sample.session);
    let mut nodes = Vec::new();
    for n in 0..2_000 {
        let next = node(nodes.last(), Role::User, Content::text(format!("bee number {n}")));
        nodes.push(next);
    }
    let long = Write::PutBranch(Box::new(branch(sample.session, "long", nodes.last().map(|node| node.head.id))));
    store.write(vec![Write::PutNodes { session: sample.session, nodes }, long]).unwrap();
    let checks = Cell::new(0);
    let stop = || checks.replace(checks.get() + 1) >= 1;
    let hits = store.find(&SearchFilter::read("bee role:tool", 0), 10, &stop).unwrap();
    assert_eq!((hits.len(), checks.get()), (0, 2), "it stops at the second check");
    checks.set(1);
    let hits = store.find(&SearchFilter::read("branch:long role:tool", 0), 10, &stop).unwrap();
    assert_eq!((hits.len(), checks.get()), (0, 3), "once on the branch's path, and once among the messages");
    assert_eq!(store.find(&SearchFilter::read("bee", 0), 7, &|| false).unwrap().len(), 7);
}

/// Whether messages are scanned or the index is used, the result is the same.
#[test]
fn an_unfinished_word_is_found_by_scan_and_by_index() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["the Waggle of Élodie", "b", "c"]);
    let mut nodes = Vec::new();
    for n in 0..5_100 {
        nodes.push(node(nodes.last(), Role::User, Content::text(format!("Número {n} naïvely"))));
    }
    store.write(vec![Write::PutNodes { session: sample.session, nodes }]).unwrap();
    let count = |line: &str, limit: usize| store.find(&SearchFilter::read(line, 0), limit, &|| false).unwrap().len();
    assert_eq!(count("wagg", 9), 1, "beyond the scanned messages");
    assert_eq!(count("the wagg", 9), 1, "few messages contain the complete words");
    assert_eq!(count("elod", 9), 1);
    for open in ["num", "NÚM", "naïv", "naive"] {
        assert_eq!(count(open, 9), 9, "{open}");
        assert_eq!(count(open, 9_000), 5_100, "{open}");
    }
    assert_eq!(count("5099 num", 9), 1);
    assert_eq!(count("num role:assistant", 9), 0);
    assert_eq!(count("umero", 9), 0, "only the beginning of a word matches");
}
