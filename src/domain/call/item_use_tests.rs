//! Tests of totals of item use, and of the items that are reported.
//! Not for: evidence (`context::item_use`).

use super::*;
use crate::domain::base::ids::{BranchId, NodeId, RunId, SessionId};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::{Reason, Verdict};
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

#[test]
fn items_unused_in_five_turns_are_reported() {
    let rows = [
        row(1, RowKind::Note, Section::StickyPins, 100),
        row(2, RowKind::Card, Section::Retrieved, 300),
        row(3, RowKind::Turn, Section::Recent, 900),
        row(4, RowKind::Rules, Section::System, 400),
    ];
    let idle: Vec<ItemUse> = rows[..3].iter().map(|row| used(row, &[])).collect();
    let hit = vec![used(&rows[0], &[]), used(&rows[1], &[UseKind::Named])];
    let turns = |calls: &[(u128, &Vec<ItemUse>)]| {
        let calls: Vec<_> =
            calls.iter().map(|(turn, items)| (card(*turn), CallUses { rule: RULE, items: (*items).clone() })).collect();
        unused_turns(calls.iter().map(|(card, uses)| (card, uses)))
    };
    let five = turns(&[(9, &idle), (8, &idle), (7, &idle), (7, &idle), (6, &idle), (5, &idle), (4, &hit), (3, &idle)]);
    let found = unused(rows.iter(), &five);
    let reported: Vec<(&str, u32, u32)> =
        found.iter().map(|item| (item.title.as_str(), item.turns, item.tokens)).collect();
    assert_eq!(
        reported,
        [("item 2", 5, 300), ("item 1", 7, 100)],
        "rounds count once, a use ends the count, turns stay"
    );
    assert_eq!(found[0].to_text(), "sent in 5 turns, used in none; leaving it out saves about 300 tokens a call");
    let one_round = turns(&[(9, &idle), (8, &hit), (8, &idle), (7, &idle), (6, &idle), (5, &idle), (4, &idle)]);
    let titles: Vec<String> = unused(rows.iter(), &one_round).into_iter().map(|item| item.title).collect();
    assert_eq!(titles, ["item 1"], "what one round used, the turn used");
}

#[test]
fn instructions_and_the_question_are_not_items() {
    use RowKind as K;
    let of = |kind, section| counts(&row(1, kind, section, 1));
    assert!(of(K::Note, Section::StickyPins) && of(K::Turn, Section::Recent) && of(K::State, Section::State));
    assert!(!of(K::Text, Section::System) && !of(K::Rules, Section::Orientation));
    assert!(!of(K::Turn, Section::UserMessage) && !of(K::Skills, Section::System));
}
