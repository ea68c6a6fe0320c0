//! Differences between plans and whose act they were, on small plans made by hand.

use super::cause::{ChangesBetweenCalls, blame};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, SessionId};
use crate::domain::call::tokens::{Certainty, Encoding};
use crate::domain::conversation::mark::{Actor, Atom, Mark, MarkKind};
use crate::domain::conversation::message::Role;
use crate::domain::conversation::operation::{Change, Operation};
use crate::domain::conversation::transition::{ItemState, Subject, Transition};
use crate::domain::planning::diff::{CauseKind, DiffKind, ItemPlace, PlanDiff};
use crate::domain::planning::mode::Mode;
use crate::domain::planning::plan::{
    Basis, Budget, ContextPlan, Form, Item, Reason, Row, RowKind, Scores, Source, Verdict,
};
use crate::domain::planning::policy::{Layout, Section};
use crate::domain::planning::row_matching::{deltas, kinds, place, same_reason};
use proptest::prelude::*;
use uuid::Uuid;

pub(super) fn key(n: u32) -> Hash {
    Hash::of(format!("node {n}").as_bytes())
}

pub(super) fn turn(n: u32) -> Atom {
    Atom::Turn { user: key(n), tip: key(1_000 + n) }
}

pub(super) fn row(atom: Atom, verdict: Verdict, tokens: u32, reason: Reason) -> Row {
    let item = |key| Item {
        key,
        node: None,
        role: Role::User,
        form: Form::Full,
        tokens,
        title: String::new(),
        calls: 0,
        orphan: false,
    };
    let items = match atom {
        Atom::Turn { user, .. } => vec![item(user)],
        _ => Vec::new(),
    };
    Row {
        kind: if matches!(atom, Atom::Range { .. }) { RowKind::Range } else { RowKind::Turn },
        atom,
        verdict,
        reason,
        tokens,
        title: String::new(),
        source: Source::default(),
        pin: None,
        items,
        turns: 1,
        text: None,
        scores: Scores::default(),
    }
}

fn goes(n: u32, tokens: u32, reason: Reason) -> Row {
    row(turn(n), Verdict::In { section: Section::Recent }, tokens, reason)
}

fn out(n: u32, reason: Reason) -> Row {
    row(turn(n), Verdict::Out { needed: 0, remedy: None }, 50, reason)
}

pub(super) fn plan(rows: Vec<Row>) -> ContextPlan {
    let zero = Hash::default();
    ContextPlan {
        id: zero,
        basis: Basis { head: zero, marks: zero, draft: zero, wire: zero, frozen: zero },
        input_digest: zero,
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "p".into(),
        model: "m".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: Budget::work_out(8_000, None, None, None),
        est_total: rows.iter().filter(|row| row.included()).map(|row| row.tokens).sum(),
        framing: 0,
        tools: 0,
        tool_costs: Vec::new(),
        level_budgets: None,
        rows,
        anchor: None,
        retrieval_set_ids: Vec::new(),
        warnings: Vec::new(),
    }
}

const NONE: &dyn Fn(&Atom, Hash) -> bool = &|_, _| false;

fn caused(before: &ContextPlan, after: &ContextPlan, between: &ChangesBetweenCalls<'_>) -> Vec<(DiffKind, CauseKind)> {
    let (mut found, _) = deltas(before, after, NONE);
    blame(&mut found, before, after, between);
    found.iter().map(|delta| (delta.kind(), delta.causes.first().map_or(CauseKind::Turn, |cause| cause.by))).collect()
}

fn nothing() -> ChangesBetweenCalls<'static> {
    ChangesBetweenCalls { steps: &[], ops: &[], on_path: &|_| true, name: "main" }
}

fn step(by: Actor, from: ItemState, to: ItemState) -> (Atom, Transition) {
    // The turn had grown less when the step was taken.
    let item = Atom::Turn { user: key(1), tip: key(1) };
    let (reason, turn, branch) = ("decided by the person".to_owned(), None, None);
    (item, Transition { item: Subject::Item(item), from, to, reason, turn, branch, by, at: 5 })
}

#[test]
fn an_exclusion_is_the_persons_act() {
    let before = plan(vec![goes(1, 50, Reason::Recent), goes(2, 60, Reason::Recent)]);
    let after = plan(vec![goes(2, 60, Reason::Recent), out(1, Reason::UserExcluded { once: false })]);
    let steps = [step(Actor::User, ItemState::None, ItemState::Excluded)];
    let between = ChangesBetweenCalls { steps: &steps, ..nothing() };
    assert_eq!(caused(&before, &after, &between), [(DiffKind::Left, CauseKind::You)]);
    let (mut found, same) = deltas(&before, &after, NONE);
    blame(&mut found, &before, &after, &between);
    assert_eq!(found[0].causes[0].words, "You left it out.");
    assert_eq!((found[0].causes[0].at, found[0].tokens(), same), (Some(5), -50, (1, 60)));
}

#[test]
fn a_lease_that_ended_or_was_renewed_is_told_as_one() {
    let leased = |left| Reason::Leased { left, engine: true };
    let before = plan(vec![goes(1, 50, leased(1))]);
    let ended = plan(vec![out(1, Reason::OutsideWindow)]);
    let steps = [step(Actor::Engine, ItemState::Leased, ItemState::None)];
    assert_eq!(
        caused(&before, &ended, &ChangesBetweenCalls { steps: &steps, ..nothing() }),
        [(DiffKind::Left, CauseKind::Lease)]
    );
    let renewed = plan(vec![goes(1, 50, leased(4))]);
    assert_eq!(caused(&before, &renewed, &nothing()), [(DiffKind::Reason, CauseKind::Lease)]);
    // Counting down is no change.
    assert!(deltas(&renewed, &before, NONE).0.is_empty());
}

#[test]
fn settings_come_before_the_window() {
    let before = plan(vec![goes(1, 50, Reason::Recent), goes(2, 60, Reason::Recent)]);
    let after = || plan(vec![goes(2, 60, Reason::Recent), out(1, Reason::OutsideWindow)]);
    assert_eq!(caused(&before, &after(), &nothing()), [(DiffKind::Left, CauseKind::Window)]);
    let cut = ContextPlan { budget: Budget::work_out(8_000, None, None, Some(1_000)), ..after() };
    assert_eq!(caused(&before, &cut, &nothing()), [(DiffKind::Left, CauseKind::Budget)]);
    let off = ContextPlan { mode: Mode::Off, ..after() };
    assert_eq!(caused(&before, &off, &nothing()), [(DiffKind::Left, CauseKind::Mode)]);
    let other = ContextPlan { policy: "window".into(), ..after() };
    assert_eq!(caused(&before, &other, &nothing()), [(DiffKind::Left, CauseKind::Policy)]);
}

#[test]
fn summaries_and_paths_have_their_causes() {
    let before = plan(vec![goes(1, 50, Reason::Recent)]);
    let summed = plan(vec![out(1, Reason::Superseded { by: key(9) })]);
    let (session, branch) = (SessionId(Uuid::from_u128(1)), BranchId(Uuid::from_u128(2)));
    let change = Change::Capsules { branch, before: Vec::new(), after: vec![key(9)] };
    let ops = [Operation {
        seq: 1,
        session,
        what: "accepted the summary".into(),
        changes: vec![change],
        undone: false,
        at: 7,
    }];
    let between = ChangesBetweenCalls { ops: &ops, ..nothing() };
    assert_eq!(caused(&before, &summed, &between), [(DiffKind::Left, CauseKind::Summary)]);
    let elsewhere = ChangesBetweenCalls { on_path: &|_| false, name: "alt", ..nothing() };
    assert_eq!(caused(&before, &plan(Vec::new()), &elsewhere), [(DiffKind::Left, CauseKind::Branch)]);
}

#[test]
fn a_pin_is_found_in_the_operations_where_no_step_is() {
    let before = plan(vec![out(1, Reason::OutsideWindow)]);
    let after = plan(vec![goes(1, 50, Reason::Sticky)]);
    let mark = Mark {
        target: turn(1),
        kind: MarkKind::Sticky,
        by: Actor::User,
        note: None,
        inherited_from: None,
        revision: 1,
        counted: None,
        renewals: 0,
        origin: None,
        code: None,
    };
    let branch = BranchId(Uuid::from_u128(2));
    let change = Change::Mark { branch, target: turn(1), before: None, after: Some(Box::new(mark)) };
    let session = SessionId(Uuid::from_u128(1));
    let ops = [Operation { seq: 1, session, what: "Pinned".into(), changes: vec![change], undone: false, at: 7 }];
    let (mut found, _) = deltas(&before, &after, NONE);
    blame(&mut found, &before, &after, &ChangesBetweenCalls { ops: &ops, ..nothing() });
    assert_eq!((found[0].causes[0].by, found[0].causes[0].at), (CauseKind::You, Some(7)));
}

/// A row of what a project says of itself.
fn own(kind: RowKind, tokens: u32, goes: bool, reason: Reason) -> Row {
    let verdict =
        if goes { Verdict::In { section: Section::Orientation } } else { Verdict::Out { needed: 0, remedy: None } };
    let atom = Atom::Section { text: Hash::of(kind.name().as_bytes()) };
    Row { kind, ..row(atom, verdict, tokens, reason) }
}

fn told(before: Vec<Row>, after: &ContextPlan, between: &ChangesBetweenCalls<'_>) -> (CauseKind, String) {
    let before = plan(before);
    let (mut found, _) = deltas(&before, after, NONE);
    assert_eq!(found.len(), 1, "{found:#?}");
    blame(&mut found, &before, after, between);
    let cause = found[0].causes.first().unwrap_or_else(|| panic!("without a cause: {found:#?}"));
    (cause.by, cause.words.clone())
}

#[test]
fn rules_skills_and_summaries_of_parts_have_their_causes() {
    use RowKind::{Module, Rules, Skills};
    let rules = |changed| Reason::ProjectRules { folder: "src/".into(), changed, left: 0 };
    let module = |stands: &str| Reason::Module { by: "the user".into(), stands: stands.into() };
    let skills = |count| Reason::Skills { count };
    let goes = |kind, tokens, reason| vec![own(kind, tokens, true, reason)];
    let out = |kind, reason| vec![own(kind, 40, false, reason)];
    let stale = "stale: 1 new file since";
    let full = || Reason::Budget { free: 0 };
    let shut = || Reason::UserExcluded { once: false };
    let cases: Vec<(Vec<Row>, Vec<Row>, CauseKind, &str)> = vec![
        (vec![], goes(Rules, 40, rules(false)), CauseKind::Turn, "Its file was added"),
        (goes(Rules, 40, rules(false)), vec![], CauseKind::Turn, "Its file was deleted"),
        (goes(Rules, 40, rules(false)), goes(Rules, 50, rules(true)), CauseKind::You, "file changed"),
        (goes(Rules, 40, rules(false)), out(Rules, Reason::SwitchedOff), CauseKind::You, "settings"),
        (out(Rules, Reason::SwitchedOff), goes(Rules, 40, rules(false)), CauseKind::You, "include it again"),
        (goes(Rules, 40, rules(false)), out(Rules, shut()), CauseKind::You, ""),
        (out(Rules, shut()), goes(Rules, 40, rules(false)), CauseKind::You, "removed"),
        (goes(Rules, 40, rules(false)), out(Rules, full()), CauseKind::Budget, ""),
        (out(Rules, full()), goes(Rules, 40, rules(false)), CauseKind::Budget, "fits now"),
        (vec![], goes(Skills, 40, skills(1)), CauseKind::You, "There are skills"),
        (goes(Skills, 40, skills(1)), vec![], CauseKind::You, "no skills anymore"),
        (goes(Skills, 40, skills(1)), goes(Skills, 60, skills(2)), CauseKind::You, "A skill was added"),
        (vec![], goes(Module, 40, module("fresh")), CauseKind::You, "was written"),
        (goes(Module, 40, module("fresh")), vec![], CauseKind::You, "taken back"),
        (goes(Module, 40, module("fresh")), goes(Module, 44, module(stale)), CauseKind::You, "changed or added"),
        (goes(Module, 40, module("fresh")), goes(Module, 30, module("fresh")), CauseKind::You, "again or edited"),
        (goes(Module, 40, module(stale)), goes(Module, 38, module("fresh")), CauseKind::You, "again or edited"),
        (goes(Module, 40, module("fresh")), out(Module, Reason::BelowThreshold), CauseKind::Retrieval, ""),
        (out(Module, Reason::BelowThreshold), goes(Module, 40, module("fresh")), CauseKind::Retrieval, "closer"),
    ];
    for (before, after, by, words) in cases {
        let kept = format!("{:?} -> {:?}", before.first().map(|r| &r.reason), after.first().map(|r| &r.reason));
        let cause = told(before, &plan(after), &nothing());
        assert!(cause.0 == by && cause.1.contains(words), "{kept}: {cause:?}");
    }
    // The mode decides before anything else: summaries of parts go in Heavy alone.
    let light = |rows| ContextPlan { mode: Mode::Light, ..plan(rows) };
    let before = ContextPlan { mode: Mode::Heavy, ..plan(goes(Module, 40, module("fresh"))) };
    let after = light(vec![]);
    let (mut found, _) = deltas(&before, &after, NONE);
    blame(&mut found, &before, &after, &nothing());
    assert_eq!(found[0].causes[0].by, CauseKind::Mode);
}

#[test]
fn what_a_person_took_out_of_a_projects_rules_is_found_in_the_operations() {
    let goes = own(RowKind::Rules, 40, true, Reason::OwnRules { changed: false, left: 0 });
    let out = own(RowKind::Rules, 40, false, Reason::UserExcluded { once: true });
    let (session, branch) = (SessionId(Uuid::from_u128(1)), BranchId(Uuid::from_u128(2)));
    let change = Change::Mark { branch, target: goes.atom, before: None, after: None };
    let what = "left AGENTS.md out".to_owned();
    let ops = [Operation { seq: 1, session, what, changes: vec![change], undone: false, at: 9 }];
    let between = ChangesBetweenCalls { ops: &ops, ..nothing() };
    assert_eq!(
        told(vec![goes.clone()], &plan(vec![out.clone()]), &between),
        (CauseKind::You, "You: left AGENTS.md out.".into())
    );
    assert_eq!(told(vec![out], &plan(vec![goes]), &between).1, "You: left AGENTS.md out.");
}

#[test]
fn a_turn_inside_a_range_stays_out_with_it() {
    let range = row(
        Atom::Range { first: key(1), last: key(3) },
        Verdict::Out { needed: 0, remedy: None },
        150,
        Reason::OutsideWindow,
    );
    let covers = |_: &Atom, user: Hash| user == key(2);
    let after = plan(vec![range]);
    let stands = place(&after, &turn(2), &covers).unwrap();
    assert!(!stands.goes && stands.shared && stands.reason == Reason::OutsideWindow);
    assert!(place(&after, &turn(7), &covers).is_none());
    let before = plan(vec![goes(2, 60, Reason::Recent)]);
    let (found, _) = deltas(&before, &after, &covers);
    assert_eq!((found.len(), found[0].kind()), (1, DiffKind::Left));
    assert!(found[0].after.as_ref().is_some_and(|place| place.shared));
}

#[test]
fn a_message_in_its_turns_row_has_its_own_tokens_and_form() {
    let mut shared = goes(1, 50, Reason::Recent);
    let item = |n: u32, form, tokens| Item { key: key(n), form, tokens, ..shared.items[0].clone() };
    shared.items = vec![item(1, Form::Full, 30), item(2, Form::Elided, 15), item(3, Form::Gone, 0)];
    let plan = plan(vec![goes(9, 70, Reason::Recent), shared]);
    let at = |n: u32| place(&plan, &Atom::Message { node: key(n) }, NONE).map(|it| (it.goes, it.tokens, it.form));
    assert_eq!(at(2), Some((true, 15, Form::Elided)));
    assert_eq!(at(3), Some((false, 0, Form::Gone)));
    assert_eq!(at(4), None);
}

#[test]
fn reasons_are_the_same_but_for_what_changes_with_every_call() {
    let leased = |left, engine| Reason::Leased { left, engine };
    let excluded = |once| Reason::UserExcluded { once };
    let by = |n| Reason::Superseded { by: key(n) };
    let free = |free| Reason::Budget { free };
    for (before, after, same) in [
        (leased(3, true), leased(2, true), true),
        (leased(2, true), leased(3, true), false),
        (leased(2, true), leased(2, false), false),
        (excluded(true), excluded(true), true),
        (excluded(false), excluded(true), false),
        (by(1), by(1), true),
        (by(1), by(2), false),
        (free(1), free(2), true),
        (free(1), Reason::Recent, false),
    ] {
        assert_eq!(same_reason(&before, &after), same, "{before:?} {after:?}");
    }
}

#[test]
fn order_counts_and_only_what_left_its_place_is_told() {
    let rows = |order: &[u32]| plan(order.iter().map(|n| goes(*n, 10, Reason::Recent)).collect());
    let (found, same) = deltas(&rows(&[1, 2, 3, 4]), &rows(&[2, 3, 4, 1]), NONE);
    assert_eq!(found.iter().map(|d| (d.atom, d.kind())).collect::<Vec<_>>(), [(turn(1), DiffKind::Moved)]);
    assert_eq!(same, (3, 30));
}

fn rows() -> impl Strategy<Value = Vec<(u32, bool, u32)>> {
    proptest::collection::btree_map(0_u32..12, (any::<bool>(), 1_u32..90), 0..10).prop_flat_map(|rows| {
        let rows: Vec<(u32, bool, u32)> = rows.into_iter().map(|(n, (goes, tokens))| (n, goes, tokens)).collect();
        Just(rows).prop_shuffle()
    })
}

fn made(rows: &[(u32, bool, u32)]) -> ContextPlan {
    let of = |(n, into, tokens): &(u32, bool, u32)| {
        if *into { goes(*n, *tokens, Reason::Recent) } else { out(*n, Reason::OutsideWindow) }
    };
    plan(rows.iter().map(of).collect())
}

proptest! {
    /// What is told adds up: the tokens before, plus what every difference adds, are the tokens after. A plan differs in
    /// nothing from itself, and the way back tells the same items.
    #[test]
    fn differences_add_up(a in rows(), b in rows()) {
        let (before, after) = (made(&a), made(&b));
        let (found, _) = deltas(&before, &after, NONE);
        let added: i64 = found.iter().map(crate::domain::planning::diff::ItemDiff::tokens).sum();
        prop_assert_eq!(i64::from(before.est_total) + added, i64::from(after.est_total));
        prop_assert!(deltas(&before, &before, NONE).0.is_empty());
        let back = deltas(&after, &before, NONE).0;
        let count = |of: &[crate::domain::planning::diff::ItemDiff], kind| of.iter().filter(|d| d.kind() == kind).count();
        prop_assert_eq!(count(&found, DiffKind::Entered), count(&back, DiffKind::Left));
        prop_assert!(found.iter().all(|delta| !delta.kinds.is_empty()));
        for delta in &found {
            let (old, new): (Option<&ItemPlace>, Option<&ItemPlace>) = (delta.before.as_ref(), delta.after.as_ref());
            prop_assert!(kinds(old, new).iter().all(|kind| delta.kinds.contains(kind)));
        }
    }
}

#[test]
fn sums_are_by_kind() {
    let before = plan(vec![goes(1, 50, Reason::Recent)]);
    let after = plan(vec![goes(1, 20, Reason::Recent), goes(2, 60, Reason::Recent)]);
    let (deltas, (same, same_tokens)) = deltas(&before, &after, NONE);
    let call = |plan: &ContextPlan| crate::domain::planning::diff::CallRef {
        run: None,
        plan: plan.id,
        branch: None,
        name: String::new(),
        at: None,
        tokens: plan.est_total,
        budget: plan.budget.prompt,
        model: plan.model.clone(),
        cost_micro: None,
    };
    let diff = PlanDiff { before: call(&before), after: call(&after), settings: Vec::new(), deltas, same, same_tokens };
    assert_eq!((diff.sum(DiffKind::Entered), diff.sum(DiffKind::Shortened)), ((1, 60), (1, -30)));
    assert_eq!(diff.sum(DiffKind::Left), (0, 0));
}

/// Tool results are named only where some are sent shorter; anything else that shrinks is told as what it is.
#[test]
fn what_is_sent_shorter_is_named_for_what_it_is() {
    let code = |tokens| {
        let reason = Reason::Touchpoint { rank: 1, because: String::new() };
        let verdict = Verdict::In { section: Section::Retrieved };
        Row { kind: RowKind::Code, ..row(Atom::Section { text: key(7) }, verdict, tokens, reason) }
    };
    let cut = |form| {
        let mut row = goes(1, if form == Form::Full { 90 } else { 40 }, Reason::Recent);
        row.items.push(Item { role: Role::Tool, form, ..row.items[0].clone() });
        row
    };
    let table = [
        (code(90), code(40), CauseKind::Retrieval, "shorter piece of this code"),
        (cut(Form::Full), cut(Form::Cut(500)), CauseKind::Window, "tool results"),
        (goes(1, 90, Reason::Recent), goes(1, 40, Reason::Recent), CauseKind::Window, "Less of it"),
    ];
    for (old, new, by, words) in table {
        let (before, after) = (plan(vec![old]), plan(vec![new]));
        let (mut found, _) = deltas(&before, &after, NONE);
        blame(&mut found, &before, &after, &nothing());
        assert_eq!((found[0].kind(), found[0].causes[0].by), (DiffKind::Shortened, by));
        let said = &found[0].causes[0].words;
        assert!(said.contains(words) && said.contains("tool results") == (words == "tool results"), "{said}");
    }
}
