//! Stored plans that can't be read: they are named and dropped, and stop neither new calls nor removals.

use super::plans::{SECRET, call, id, is_in_any_file, older_store, plan, read};
use super::{SampleSession, TempStore, check_store, number, on_writer, open, sample_session};
use crate::domain::base::Hash;
use crate::store::Store;
use crate::store::file::damage::{find_damage, unreadable_plans};
use crate::store::types::{StoreError, Write};
use serde_json::json;

fn change(store: &Store, sql: &'static str) {
    on_writer(store, move |conn| conn.execute_batch(sql).unwrap());
}

/// A store with a group of ten plans. The plans at places 5 to 7 depend on the one at place 4.
fn ten_plans(place: &TempStore) -> (Store, SampleSession) {
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    (900..910).for_each(|turn| call(&store, &sample, id(turn), plan(turn, 5, "said")));
    assert_eq!(number(&store, "SELECT count(DISTINCT \"group\") FROM plan"), 1);
    (store, sample)
}

fn assert_unreadable(store: &Store, id: Hash) {
    let error = store.plan_by_prefix(&id.to_string()).unwrap_err();
    assert!(matches!(error, StoreError::Plan(_)), "{error}");
}

#[test]
fn they_are_named_and_dropped_and_the_rest_stays() {
    for (damage, lost) in [
        ("UPDATE plan SET body = randomblob(50)", 900..910),
        ("UPDATE plan SET body = x''", 900..910),
        ("UPDATE plan SET body = randomblob(50) WHERE place = 0", 900..910),
        ("DELETE FROM plan WHERE place = 0", 901..910),
        ("UPDATE plan SET body = randomblob(50) WHERE place = 4", 904..908),
        ("DELETE FROM plan WHERE place = 4", 905..908),
    ] {
        let place = TempStore::new();
        let (store, sample) = ten_plans(&place);
        assert_eq!(store.examine().unwrap().plan_fault(), None);
        change(&store, damage);
        let seen = store.examine().unwrap();
        assert_eq!(seen.plans, lost.clone().map(id).collect::<Vec<_>>(), "{damage}");
        let fault = seen.plan_fault().unwrap();
        let first = id(lost.start).short();
        assert!(fault.contains(&first) && fault.contains("all messages are intact"), "{fault}");
        lost.clone().for_each(|turn| assert_unreadable(&store, id(turn)));
        assert_eq!(find_damage(&place.path(), true).unwrap(), None, "{damage}: the store need not be moved");
        assert_eq!(unreadable_plans(&place.path()).unwrap(), lost.clone().count());

        assert_eq!(store.drop_unreadable_plans().unwrap(), lost.clone().count(), "{damage}");
        let rest = number(&store, "SELECT count(*) FROM plan");
        let readable = (900..910).filter(|turn| !store.plan_by_prefix(&id(*turn).to_string()).unwrap().is_empty());
        let readable: Vec<u64> =
            readable.inspect(|turn| assert_eq!(read(&store, id(*turn)), plan(*turn, 5, "said"))).collect();
        assert_eq!(i64::try_from(readable.len()).unwrap(), rest, "{damage}: {readable:?}");
        let seen = store.examine().unwrap();
        assert!(seen.plans.is_empty() && seen.faults.is_empty(), "{damage}");
        assert_eq!(
            seen.notes,
            [format!("{} calls have no stored plan: their requests can't be shown or replayed", 10 - rest)]
        );
        (910..930).for_each(|turn| call(&store, &sample, id(turn), plan(turn, 5, "said")));
        (910..930).for_each(|turn| assert_eq!(read(&store, id(turn)), plan(turn, 5, "said"), "{damage}"));
        assert_eq!(store.examine().unwrap().plans, [], "{damage}");
    }
}

#[test]
fn calls_go_on_after_them_in_a_group_of_their_own() {
    for damage in ["UPDATE plan SET body = randomblob(50)", "UPDATE plan SET body = randomblob(50) WHERE place = 0"] {
        let place = TempStore::new();
        let (store, sample) = ten_plans(&place);
        change(&store, damage);
        (910..920).for_each(|turn| call(&store, &sample, id(turn), plan(turn, 5, "said")));
        (910..920).for_each(|turn| assert_eq!(read(&store, id(turn)), plan(turn, 5, "said")));
        assert_eq!(number(&store, "SELECT count(DISTINCT \"group\") FROM plan"), 2, "{damage}");
        assert_eq!(store.examine().unwrap().plans.len(), 10, "{damage}");
    }
}

#[test]
fn a_removal_drops_them_because_they_may_hold_the_text() {
    for damage in [
        "UPDATE plan SET body = CAST('xyzzyplughsecret' AS BLOB) WHERE place = 0",
        "UPDATE plan SET body = CAST('xyzzyplughsecret' AS BLOB) WHERE place = 4",
    ] {
        let place = TempStore::new();
        let message = format!("my password is {SECRET}, keep it");
        let store = place.open();
        let (one, other) = (sample_session(&store, [&message, "b", "c"]), sample_session(&store, ["d", "e", "f"]));
        let key = one.nodes[0].head.key;
        let row = json!({ "atom": { "user": key }, "title": message, "items": [{ "key": key, "title": message }] });
        let quote = |turn: u64| {
            let mut made: serde_json::Value = serde_json::from_str(&plan(turn, 5, "said")).unwrap();
            made["rows"].as_array_mut().unwrap().push(row.clone());
            made.to_string()
        };
        (900..910).for_each(|turn| call(&store, &one, id(turn), quote(turn)));
        change(&store, damage);
        call(&store, &other, id(950), plan(950, 5, "said"));
        store.write(vec![Write::Tombstone { session: one.session, nodes: vec![one.nodes[0].head.id] }]).unwrap();
        assert!(!is_in_any_file(place.path().parent().unwrap(), SECRET.as_bytes()), "{damage}");
        assert_eq!(read(&store, id(950)), plan(950, 5, "said"));
        let seen = store.examine().unwrap();
        assert_eq!((seen.plans, seen.faults), (Vec::new(), Vec::new()), "{damage}");
        for turn in 900..910 {
            let found = store.plan_by_prefix(&id(turn).to_string()).unwrap();
            assert!(found.iter().all(|(_, text)| *text == quote(turn).replace(&message, "")), "{damage}: {turn}");
        }
        check_store(&store);
    }
}

#[test]
fn a_session_that_shares_one_can_be_deleted() {
    let place = TempStore::new();
    let (store, one) = ten_plans(&place);
    let two = sample_session(&store, ["d", "e", "f"]);
    (900..910).for_each(|turn| call(&store, &two, id(turn), "{}".into()));
    change(&store, "UPDATE plan SET body = randomblob(50) WHERE place = 4");
    store.write(vec![Write::DeleteSession(one.session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM plan"), 6);
    assert_eq!(read(&store, id(903)), plan(903, 5, "said"));
}

#[test]
fn plans_of_an_older_version_are_named_and_dropped_too() {
    let place = TempStore::new();
    let (path, plans) = older_store(&place);
    let store = open(&path).store;
    change(&store, "UPDATE plan_text SET body = CAST(x'ff80' AS TEXT) WHERE n = (SELECT min(n) FROM plan_text)");
    assert_eq!(store.examine().unwrap().plans, [plans[0].0]);
    assert_eq!(store.drop_unreadable_plans().unwrap(), 1);
    assert_eq!(store.unconverted_plans().unwrap().1, plans.len() as u64 - 1);
    assert_eq!(read(&store, plans[1].0), plans[1].1);
}

#[test]
fn a_missing_fork_is_noted() {
    let place = TempStore::new();
    let store = place.open();
    sample_session(&store, ["a", "b", "c"]);
    change(&store, "UPDATE branch SET fork = zeroblob(16)");
    let seen = store.examine().unwrap();
    assert_eq!(seen.faults, [""; 0]);
    assert_eq!(seen.notes, ["the message at which branch main in \"A talk\" was forked is missing"]);
}
