//! Memories and transitions read back unchanged, and are deleted with their sources.

use super::{SampleSession, TempStore, number, sample_session};
use crate::domain::base::ids::MemoryId;
use crate::domain::base::{Hash, SessionId};
use crate::domain::conversation::memory::Origin;
use crate::domain::conversation::{
    Actor, Atom, Change, ItemState, Memory, MemoryKind, MemoryStatus, Operation, Scope, Subject, Transition,
};
use crate::store::Store;
use crate::store::types::{StoreError, Write};
use uuid::Uuid;

fn memory(sample: &SampleSession, text: &str, scope: Scope, status: MemoryStatus) -> Memory {
    Memory {
        id: MemoryId(Uuid::now_v7()),
        kind: MemoryKind::Fact,
        text: text.into(),
        scope,
        lane: String::new(),
        source: Origin { session: Some(sample.session), node: Some(sample.nodes[1].head.key), by: Actor::Model },
        status,
        version: 1,
        created_at: 5,
        updated_at: 5,
    }
}

fn put(store: &Store, memory: &Memory) {
    store.write(vec![Write::PutMemory { memory: Box::new(memory.clone()), expect: None }]).unwrap();
}

fn texts(store: &Store, session: Option<SessionId>) -> Vec<String> {
    store.memories(session).unwrap().into_iter().map(|memory| memory.text).collect()
}

#[test]
fn memories_read_back_and_are_compared_by_version() {
    let place = TempStore::new();
    let store = place.open();
    let (one, two) = (sample_session(&store, ["a", "b", "c"]), sample_session(&store, ["d", "e", "f"]));
    let own = memory(&one, "own", Scope::Session(one.session), MemoryStatus::Suggested);
    let shared = memory(&one, "shared", Scope::All, MemoryStatus::Confirmed);
    let before = store.memory_clock().unwrap();
    put(&store, &own);
    put(&store, &shared);
    assert_ne!(store.memory_clock().unwrap(), before);
    assert_eq!(store.memories(Some(one.session)).unwrap(), [own.clone(), shared.clone()]);
    assert_eq!(texts(&store, Some(two.session)), ["shared"]);
    assert_eq!(texts(&store, None), ["shared"]);
    let twice = store.write(vec![Write::PutMemory { memory: Box::new(own.clone()), expect: None }]);
    assert!(matches!(twice, Err(StoreError::Moved)));
    let wide = Memory { scope: Scope::All, version: 2, ..own.clone() };
    let change = |expect| Write::PutMemory { memory: Box::new(wide.clone()), expect };
    assert!(matches!(store.write(vec![change(Some(7))]), Err(StoreError::Moved)));
    store.write(vec![change(Some(1))]).unwrap();
    assert_eq!(texts(&store, Some(two.session)), ["own", "shared"]);
    assert!(matches!(store.write(vec![Write::DeleteMemory { id: own.id, expect: 1 }]), Err(StoreError::Moved)));
    store.write(vec![Write::DeleteMemory { id: own.id, expect: 2 }]).unwrap();
    assert_eq!(store.memory(own.id).unwrap(), None);
    super::check_store(&store);
}

fn operation(session: SessionId, memory: &Memory) -> Write {
    let change = Change::Memory { before: None, after: Some(Box::new(memory.clone())) };
    Write::PutOperation(Box::new(Operation {
        seq: 0,
        session,
        what: "noted a memory".into(),
        changes: vec![change],
        undone: false,
        at: 1,
    }))
}

#[test]
fn an_unconfirmed_memory_is_deleted_with_its_message() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "the answer with the number", "c"]);
    let scope = Scope::Session(sample.session);
    for (text, status) in [
        ("suggested words", MemoryStatus::Suggested),
        ("dismissed words", MemoryStatus::Dismissed),
        ("confirmed words", MemoryStatus::Confirmed),
    ] {
        let made = memory(&sample, text, scope, status);
        put(&store, &made);
        store.write(vec![operation(sample.session, &made)]).unwrap();
    }
    let mut elsewhere = memory(&sample, "of another message", scope, MemoryStatus::Suggested);
    elsewhere.source.node = Some(Hash::of(b"other"));
    put(&store, &elsewhere);
    let nodes = vec![sample.nodes[1].head.id];
    store.write(vec![Write::Tombstone { session: sample.session, nodes }]).unwrap();
    assert_eq!(texts(&store, Some(sample.session)), ["confirmed words", "of another message"]);
    assert_eq!(store.ops(sample.session).unwrap(), []);
    assert_eq!(number(&store, "SELECT count(*) FROM operation WHERE body LIKE '%words%'"), 0);
}

#[test]
fn deleting_a_session_deletes_its_memories() {
    let place = TempStore::new();
    let store = place.open();
    let (one, two) = (sample_session(&store, ["a", "b", "c"]), sample_session(&store, ["d", "e", "f"]));
    let scoped = memory(&one, "held by one session", Scope::Session(one.session), MemoryStatus::Confirmed);
    let open = memory(&one, "never confirmed", Scope::All, MemoryStatus::Suggested);
    let kept = memory(&one, "kept", Scope::All, MemoryStatus::Confirmed);
    for made in [&scoped, &open, &kept] {
        put(&store, made);
    }
    store.write(vec![operation(two.session, &open)]).unwrap();
    let step = Transition {
        item: Subject::Item(Atom::Message { node: one.nodes[0].head.key }),
        from: ItemState::None,
        to: ItemState::Suggested,
        reason: "named by the model".into(),
        turn: Some(one.nodes[1].head.key),
        branch: Some(one.branch),
        by: Actor::Model,
        at: 7,
    };
    let write = Write::PutTransition { session: one.session, transition: Box::new(step.clone()) };
    store.write(vec![write]).unwrap();
    assert_eq!(store.transitions(one.session).unwrap(), [step]);
    store.write(vec![Write::DeleteSession(one.session)]).unwrap();
    assert_eq!(texts(&store, Some(two.session)), ["kept"]);
    assert_eq!(store.memories(None).unwrap()[0].source, Origin { session: None, node: None, by: Actor::Model });
    assert_eq!(store.ops(two.session).unwrap(), []);
    assert_eq!(number(&store, "SELECT count(*) FROM transition"), 0);
    super::check_store(&store);
}
