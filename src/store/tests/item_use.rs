//! Item uses of calls: stored beside the call's card, deleted with its session, absent in older stores.

use super::{TempStore, card, number, sample_session};
use crate::domain::base::Hash;
use crate::domain::call::item_use::RULE;
use crate::domain::call::{CallUses, ItemUse, RunStatus, UseKind};
use crate::domain::planning::Section;
use crate::store::file::open::open_with;
use crate::store::schema::STEPS;
use crate::store::types::Write;
use crate::store::{OpenOptions, Store};

fn uses() -> CallUses {
    let item = |n: u8, by: &[UseKind]| {
        let section = if n == 1 { Section::StickyPins } else { Section::Retrieved };
        ItemUse { item: Hash::of(&[n]), section, tokens: 100, by: by.to_vec() }
    };
    CallUses { rule: RULE, items: vec![item(1, &[UseKind::Quoted, UseKind::Named]), item(2, &[])] }
}

fn uses_in(store: &Store) -> i64 {
    number(store, "SELECT count(*) FROM plan_run WHERE uses IS NOT NULL")
}

#[test]
fn uses_are_stored_with_the_card_and_deleted_with_the_session() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let (one, two) = (card(&sample, RunStatus::Complete), card(&sample, RunStatus::Complete));
    for run in [&one, &two] {
        store.write(vec![Write::PutRun(Box::new(run.clone()))]).unwrap();
    }
    assert_eq!((store.uses_of(one.id).unwrap(), store.uses(sample.session, 9).unwrap().len()), (None, 0));
    store.write(vec![Write::PutUses { run: one.id, uses: uses() }]).unwrap();
    assert_eq!(store.uses_of(one.id).unwrap(), Some(uses()));
    let all = store.uses(sample.session, 9).unwrap();
    assert_eq!((all.len(), all.get(&one.id)), (1, Some(&uses())));
    let cards = store.runs(sample.session).unwrap();
    let mut known = one.clone();
    known.uses = Some(uses().count());
    assert_eq!(cards, [known, two], "the rest of the card is unchanged");
    let nodes = vec![sample.nodes[0].head.id];
    store.write(vec![Write::Tombstone { session: sample.session, nodes }]).unwrap();
    assert_eq!(store.uses_of(one.id).unwrap(), Some(uses()), "uses contain no text, so they stay");
    store.write(vec![Write::DeleteSession(sample.session)]).unwrap();
    assert_eq!((uses_in(&store), store.uses_of(one.id).unwrap()), (0, None));
    let unknown = Write::PutUses { run: one.id, uses: uses() };
    store.write(vec![unknown]).unwrap();
    assert_eq!(uses_in(&store), 0, "uses of a deleted call are ignored");
}

#[test]
fn an_older_store_has_no_uses_and_can_store_them() {
    let place = TempStore::new();
    let options = OpenOptions { path: place.path(), read_only: false };
    let store = open_with(&options, None, &STEPS[..3]).unwrap().store;
    let sample = sample_session(&store, ["a", "b", "c"]);
    let run = card(&sample, RunStatus::Complete);
    store.write(vec![Write::PutRun(Box::new(run.clone()))]).unwrap();
    store.close();
    drop(store);
    let store = super::open(&place.path()).store;
    assert_eq!(store.runs(sample.session).unwrap(), std::slice::from_ref(&run));
    assert_eq!((store.uses_of(run.id).unwrap(), uses_in(&store)), (None, 0));
    store.write(vec![Write::PutUses { run: run.id, uses: uses() }]).unwrap();
    assert_eq!(store.uses_of(run.id).unwrap(), Some(uses()));
}
