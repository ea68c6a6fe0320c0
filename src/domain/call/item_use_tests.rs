//! Tests of totals of item use, and of the items that are reported.
//! Not for: evidence (`context::item_use`).

use super::*;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::{Reason, Verdict};
use uuid::Uuid;

fn row(n: u8, kind: RowKind, section: Section, tokens: u32) -> Row {
    let atom = Atom::Section { text: Hash::of(&[n]) };
    Row { tokens, title: format!("item {n}"), ..Row::new(atom, kind, Verdict::In { section }, Reason::Sticky) }
}

fn used(row: &Row, by: &[UseKind]) -> ItemUse {
    let section = row.section().unwrap_or(Section::Recent);
    ItemUse { item: row.atom.key(), section, tokens: row.tokens, by: by.to_vec() }
}

fn card(turn: u128) -> RunCard {
    let id = Uuid::from_u128(turn);
    RunCard { user: Some(NodeId(id)), mode: Mode::Heavy, ..RunCard::blank(RunId(id), SessionId(id), BranchId(id)) }
}

#[test]
fn sums_are_those_of_the_items() {
    let (note, code) = (row(1, RowKind::Note, Section::StickyPins, 100), row(2, RowKind::Code, Section::Retrieved, 30));
    let call = |by: &[UseKind]| CallUses { rule: RULE, items: vec![used(&note, by), used(&code, &[])] };
    let mut totals = UseTotals::default();
    totals.add("levels", &call(&[]));
    totals.add("adaptive", &call(&[UseKind::Quoted, UseKind::Named]));
    totals.add("levels", &call(&[UseKind::Quoted]));
    let count = |shown, used, shown_tokens, used_tokens| UseCount { shown, used, shown_tokens, used_tokens };
    assert_eq!((totals.calls, totals.all), (3, count(6, 2, 390, 200)));
    assert_eq!(
        totals.by_section,
        [(Section::StickyPins, count(3, 2, 300, 200)), (Section::Retrieved, count(3, 0, 90, 0))]
    );
    let policies = [("adaptive".to_owned(), 1, count(2, 1, 130, 100)), ("levels".to_owned(), 2, count(4, 1, 260, 100))];
    assert_eq!(totals.by_policy, policies);
    assert_eq!(totals.all.to_text(), "2 of 6 items used");
    assert_eq!(call(&[UseKind::Quoted, UseKind::Edited]).items[0].to_text(), "used: quoted, edited");
}

/// Returns the title, turns, and tokens of the items that are reported after these calls, given newest first as the
/// number of the turn and its items.
fn reported(rows: [&[Row]; 2], marks: &[Mark], calls: &[(u128, &Vec<ItemUse>)]) -> Vec<(String, u32, u32)> {
    let calls: Vec<_> =
        calls.iter().map(|(turn, items)| (card(*turn), CallUses { rule: RULE, items: (*items).clone() })).collect();
    let turns = unused_turns(calls.iter().map(|(card, uses)| (card, uses)));
    let found = unused(rows[0].iter(), rows[1].iter(), marks, &turns);
    found.into_iter().map(|item| (item.title, item.unused.turns, item.tokens)).collect()
}

#[test]
fn unused_items_are_reported() {
    let rows = [
        row(1, RowKind::Note, Section::StickyPins, 100),
        row(2, RowKind::Card, Section::Retrieved, 300),
        row(3, RowKind::Turn, Section::Recent, 900),
        row(4, RowKind::Rules, Section::System, 400),
        row(5, RowKind::Code, Section::Orientation, 250),
    ];
    let named = |found: &[(&str, u32, u32)]| -> Vec<(String, u32, u32)> {
        found.iter().map(|(title, turns, tokens)| ((*title).to_owned(), *turns, *tokens)).collect()
    };
    let idle: Vec<ItemUse> = [0, 1, 2, 4].map(|at: usize| used(&rows[at], &[])).into();
    let hit = vec![used(&rows[0], &[]), used(&rows[1], &[UseKind::Named])];
    let report = |calls: &[(u128, &Vec<ItemUse>)]| reported([&rows, &[]], &[], calls);
    let five = [(9, &idle), (8, &idle), (7, &idle), (7, &idle), (6, &idle), (5, &idle), (4, &hit), (3, &idle)];
    assert_eq!(
        report(&five),
        named(&[("item 2", 5, 300), ("item 5", 6, 250), ("item 1", 7, 100)]),
        "rounds count once, a use ends the count, turns stay"
    );
    let one_round = [(9, &idle), (8, &hit), (8, &idle), (7, &idle), (6, &idle), (5, &idle), (4, &idle)];
    let never = named(&[("item 5", 6, 250), ("item 1", 6, 100)]);
    assert_eq!(report(&one_round), never, "what one round used, the turn used");
    assert_eq!(report(&[(9, &idle), (8, &idle)]), [], "two turns show nothing");
    assert_eq!(report(&[(9, &idle), (8, &idle), (7, &idle)]).len(), 3, "three show what was never used");
}

#[test]
fn the_report_says_whether_an_item_was_ever_used() {
    let item = |used_before| UnusedItem {
        atom: Atom::code_map(),
        kind: RowKind::Code,
        title: "map".into(),
        pinned: false,
        unused: UnusedTurns { turns: 7, used_before },
        tokens: 300,
    };
    assert_eq!(item(false).to_text(), "sent in 7 turns, used in none; leaving it out saves about 300 tokens a call");
    assert_eq!(item(true).to_text(), "not used in its last 7 turns; leaving it out saves about 300 tokens a call");
}

/// A search finds code only for a question, so the next request has no rows of it before a question is typed.
#[test]
fn items_of_the_last_call_are_reported() {
    let code = row(1, RowKind::Code, Section::Retrieved, 80);
    let note = Row { pin: Some(MarkKind::Sticky), ..row(2, RowKind::Note, Section::StickyPins, 60) };
    let idle = vec![used(&code, &[]), used(&note, &[])];
    let calls = [(9, &idle), (8, &idle), (7, &idle)];
    let last = [code.clone(), note];
    assert_eq!(reported([&[], &last], &[], &calls), [("item 1".to_owned(), 3, 80)], "the note is no longer pinned");
    assert_eq!(reported([&last, &last], &[], &calls).len(), 2, "each once");
    let mark = serde_json::json!({"target": code.atom, "kind": {"kind": "exclude"}, "by": "user", "revision": 1});
    let mark: Mark = serde_json::from_value(mark).unwrap();
    assert_eq!(reported([&[], &last], &[mark], &calls), [], "it is left out already");
}

#[test]
fn instructions_and_the_question_are_not_items() {
    use RowKind as K;
    let of = |kind, section| counts(&row(1, kind, section, 1));
    assert!(of(K::Note, Section::StickyPins) && of(K::Turn, Section::Recent) && of(K::State, Section::State));
    assert!(!of(K::Text, Section::System) && !of(K::Rules, Section::Orientation));
    assert!(!of(K::Turn, Section::UserMessage) && !of(K::Skills, Section::System));
}
