//! Two processes on one store: compare-and-swap, fences, owners, and the number that reveals writes of other processes.

use super::{SampleSession, TempStore, card, node, sample_session};
use crate::domain::call::{RunCard, RunStatus};
use crate::domain::conversation::{Actor, Atom, Content, Mark, MarkKind, Role};
use crate::store::Store;
use crate::store::types::{OpenRun, StoreError, Write};

fn open_run(store: &Store, sample: &SampleSession) -> (RunCard, Write) {
    let head = Some(sample.nodes[2].head.id);
    let card = card(sample, RunStatus::Open);
    let run = OpenRun { card: card.clone(), owner: store.owner().to_owned(), after: head, head, user: None };
    (card, Write::OpenRun(Box::new(run)))
}

#[test]
fn a_moved_head_is_not_overwritten() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let [first, second, third] = [0, 1, 2].map(|at| Some(sample.nodes[at].head.id));
    let go = |expect, head| store.write(vec![Write::MoveHead { branch: sample.branch, expect, head }]);
    go(third, second).unwrap();
    assert!(matches!(go(third, first), Err(StoreError::Moved)));
    assert!(matches!(go(None, first), Err(StoreError::Moved)));
    let branch = store.branches(sample.session).unwrap().remove(0);
    assert_eq!((branch.head, branch.seq), (second, 1));
    go(second, None).unwrap();
    go(None, first).unwrap();
    assert_eq!(store.branches(sample.session).unwrap()[0].seq, 3);
}

#[test]
fn a_changed_mark_is_not_overwritten() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let target = Atom::Message { node: sample.nodes[0].head.key };
    let mark = |revision| Mark {
        target,
        kind: MarkKind::Sticky,
        by: Actor::User,
        note: None,
        inherited_from: None,
        revision,
        counted: None,
        renewals: 0,
        origin: None,
        code: None,
    };
    let put = |expect, mark| store.write(vec![Write::PutMark { branch: sample.branch, target, expect, mark }]);
    assert!(matches!(put(Some(1), Some(mark(2))), Err(StoreError::Moved)));
    put(None, Some(mark(1))).unwrap();
    assert!(matches!(put(None, Some(mark(1))), Err(StoreError::Moved)));
    put(Some(1), Some(mark(2))).unwrap();
    assert!(matches!(put(Some(1), None), Err(StoreError::Moved)));
    assert_eq!(store.branches(sample.session).unwrap()[0].marks, [mark(2)]);
}

#[test]
fn one_open_run_per_branch_while_its_owner_is_alive() {
    let place = TempStore::new();
    let (store, other) = (place.open(), place.open());
    let sample = sample_session(&store, ["a", "b", "c"]);
    let (_, write) = open_run(&store, &sample);
    store.write(vec![write]).unwrap();
    assert!(other.owner_alive(store.owner()) && store.owner_alive(store.owner()));
    assert!(matches!(other.write(vec![open_run(&other, &sample).1]), Err(StoreError::Busy)));
    assert!(matches!(store.write(vec![open_run(&store, &sample).1]), Err(StoreError::Busy)));
    let nodes = vec![sample.nodes[0].head.id];
    let result = other.write(vec![Write::Tombstone { session: sample.session, nodes }]);
    assert!(matches!(result, Err(StoreError::Busy)));
    assert!(matches!(other.write(vec![Write::DeleteSession(sample.session)]), Err(StoreError::Busy)));
    let dead = store.owner().to_owned();
    drop(store);
    assert!(!other.owner_alive(&dead));
    assert_eq!(other.open_runs().unwrap()[0].owner, dead);
    other.write(vec![open_run(&other, &sample).1]).unwrap();
    assert!(!other.owner_alive("../../etc/passwd"));
}

/// A killed program may lose its claim before it counts as dead.
#[test]
fn a_claim_waits_until_the_run_before_is_dead() {
    let place = TempStore::new();
    let (store, other) = (place.open(), place.open());
    let sample = sample_session(&store, ["a", "b", "c"]);
    store.write(vec![open_run(&store, &sample).1]).unwrap();
    let dying = store.owner().to_owned();
    let (mut store, mut pauses) = (Some(store), 0);
    other.await_end_of_runs(sample.branch, &mut || {
        assert!(other.owner_alive(&dying) == store.is_some());
        pauses += 1;
        store = store.take().filter(|_| pauses < 3);
    });
    assert_eq!((pauses, other.owner_alive(&dying)), (3, false));
    let own = other.owner().to_owned();
    other.write(vec![open_run(&other, &sample).1]).unwrap();
    other.await_end_of_runs(sample.branch, &mut || panic!("its own run is no reason to wait"));
    assert!(other.owner_alive(&own));
}

#[test]
fn a_run_opens_only_where_its_plan_was_made() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let (expect, head) = (Some(sample.nodes[2].head.id), Some(sample.nodes[0].head.id));
    store.write(vec![Write::MoveHead { branch: sample.branch, expect, head }]).unwrap();
    assert!(matches!(store.write(vec![open_run(&store, &sample).1]), Err(StoreError::Moved)));
    assert!(store.open_runs().unwrap().is_empty());
}

#[test]
fn a_late_end_writes_nothing() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let (mut card, write) = open_run(&store, &sample);
    store.write(vec![write]).unwrap();
    card.status = RunStatus::Interrupted;
    store.write(vec![Write::CloseRun(Box::new(card.clone()))]).unwrap();
    let late = node(sample.nodes.last(), Role::Assistant, Content::text("late"));
    card.status = RunStatus::Complete;
    let result = store
        .write(vec![Write::PutNodes { session: sample.session, nodes: vec![late] }, Write::CloseRun(Box::new(card))]);
    assert!(matches!(result, Err(StoreError::Moved)));
    assert_eq!(store.heads(sample.session).unwrap().len(), 3);
    assert_eq!(store.runs(sample.session).unwrap()[0].status, RunStatus::Interrupted);
}

#[test]
fn only_others_change_the_data_version() {
    let place = TempStore::new();
    let (store, other) = (place.open(), place.open());
    let before = store.data_version().unwrap();
    let sample = sample_session(&store, ["a", "b", "c"]);
    assert_eq!(store.data_version().unwrap(), before);
    other.write(vec![Write::SetTitle { session: sample.session, title: "elsewhere".into() }]).unwrap();
    assert_ne!(store.data_version().unwrap(), before);
    assert_eq!(store.session(sample.session).unwrap().unwrap().title, "elsewhere");
}

#[test]
fn a_post_that_can_never_succeed_does_not_block_others() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let title = |text: &str| vec![Write::SetTitle { session: sample.session, title: text.into() }];
    let nowhere = crate::domain::base::ids::BranchId(uuid::Uuid::now_v7());
    store.post(title("first"));
    store.post(vec![Write::UseBranch(nowhere)]);
    store.post(title("last"));
    store.close();
    assert_eq!(store.session(sample.session).unwrap().unwrap().title, "last");
    assert!(store.write(title("after")).is_err());
}
