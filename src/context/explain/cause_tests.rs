//! Differences between plans and their causes, on small plans.

use super::cause::{ChangesBetweenCalls, set_causes};
use crate::domain::base::{BranchId, Hash, SessionId};
use crate::domain::call::{Certainty, Encoding};
use crate::domain::conversation::{
    Actor, Atom, Change, ItemState, Mark, MarkKind, Operation, Role, Subject, Transition,
};
use crate::domain::planning::row_matching::{deltas, kinds, place, same_reason, settings};
use crate::domain::planning::{
    Basis, Budget, CauseKind, ContextPlan, DiffKind, Form, Item, ItemPlace, Layout, Mode, PlanDiff, Reason, Row,
    RowKind, Section, Source, Verdict,
};
use proptest::prelude::*;
use uuid::Uuid;

pub(in crate::context) fn key(n: u32) -> Hash {
    Hash::of(format!("node {n}").as_bytes())
}

pub(in crate::context) fn turn(n: u32) -> Atom {
    Atom::Turn { user: key(n), tip: key(1_000 + n) }
}

pub(in crate::context) fn row(atom: Atom, verdict: Verdict, tokens: u32, reason: Reason) -> Row {
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
    let kind = if matches!(atom, Atom::Range { .. }) { RowKind::Range } else { RowKind::Turn };
    Row { tokens, items, turns: 1, ..Row::new(atom, kind, verdict, reason) }
}

fn sent(n: u32, tokens: u32, reason: Reason) -> Row {
    row(turn(n), Verdict::In { section: Section::Recent }, tokens, reason)
}

fn out(n: u32, reason: Reason) -> Row {
    row(turn(n), Verdict::Out { needed: 0, remedy: None }, 50, reason)
}

pub(in crate::context) fn plan(rows: Vec<Row>) -> ContextPlan {
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
        budget: Budget::compute(8_000, None, None, None),
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
    set_causes(&mut found, before, after, between);
    found.iter().map(|delta| (delta.kind(), delta.causes.first().map_or(CauseKind::Turn, |cause| cause.by))).collect()
}

fn nothing() -> ChangesBetweenCalls<'static> {
    ChangesBetweenCalls { steps: &[], ops: &[], on_path: &|_| true, name: "main" }
}

fn step(by: Actor, from: ItemState, to: ItemState) -> (Atom, Transition) {
    // The turn had fewer messages at the time of the transition.
    let item = Atom::Turn { user: key(1), tip: key(1) };
    let (reason, turn, branch) = ("decided by the person".to_owned(), None, None);
    (item, Transition { item: Subject::Item(item), from, to, reason, turn, branch, by, at: 5 })
}

#[test]
fn an_exclusion_is_caused_by_the_person() {
    let before = plan(vec![sent(1, 50, Reason::Recent), sent(2, 60, Reason::Recent)]);
    let after = plan(vec![sent(2, 60, Reason::Recent), out(1, Reason::UserExcluded { once: false })]);
    let steps = [step(Actor::User, ItemState::None, ItemState::Excluded)];
    let between = ChangesBetweenCalls { steps: &steps, ..nothing() };
    assert_eq!(caused(&before, &after, &between), [(DiffKind::Left, CauseKind::You)]);
    let (mut found, same) = deltas(&before, &after, NONE);
    set_causes(&mut found, &before, &after, &between);
    assert_eq!(found[0].causes[0].words, "You left it out.");
    assert_eq!((found[0].causes[0].at, found[0].tokens(), same), (Some(5), -50, (1, 60)));
}

#[test]
fn ended_and_renewed_leases_are_named() {
    let leased = |left| Reason::Leased { left, engine: true };
    let before = plan(vec![sent(1, 50, leased(1))]);
    let ended = plan(vec![out(1, Reason::OutsideWindow)]);
    let steps = [step(Actor::Engine, ItemState::Leased, ItemState::None)];
    assert_eq!(
        caused(&before, &ended, &ChangesBetweenCalls { steps: &steps, ..nothing() }),
        [(DiffKind::Left, CauseKind::Lease)]
    );
    let renewed = plan(vec![sent(1, 50, leased(4))]);
    assert_eq!(caused(&before, &renewed, &nothing()), [(DiffKind::Reason, CauseKind::Lease)]);
    // Counting down is no difference.
    assert!(deltas(&renewed, &before, NONE).0.is_empty());
}

#[test]
fn settings_come_before_the_window() {
    let before = plan(vec![sent(1, 50, Reason::Recent), sent(2, 60, Reason::Recent)]);
    let after = || plan(vec![sent(2, 60, Reason::Recent), out(1, Reason::OutsideWindow)]);
    assert_eq!(caused(&before, &after(), &nothing()), [(DiffKind::Left, CauseKind::Window)]);
    let cut = ContextPlan { budget: Budget::compute(8_000, None, None, Some(1_000)), ..after() };
    assert_eq!(caused(&before, &cut, &nothing()), [(DiffKind::Left, CauseKind::Budget)]);
    let off = ContextPlan { mode: Mode::Off, ..after() };
    assert_eq!(caused(&before, &off, &nothing()), [(DiffKind::Left, CauseKind::Mode)]);
    let other = ContextPlan { policy: "window".into(), ..after() };
    assert_eq!(caused(&before, &other, &nothing()), [(DiffKind::Left, CauseKind::Policy)]);
}

/// Results of the turn's own tools change the budget, but no setting.
#[test]
fn a_smaller_budget_leaves_out_code_and_a_larger_one_brings_it_back() {
    let found = || plan(vec![own(RowKind::Code, 40, true, Reason::Touchpoint { rank: 7, because: String::new() })]);
    let left = || plan(vec![own(RowKind::Code, 40, false, Reason::Allowance { tokens: 500 })]);
    let small = || ContextPlan { budget: Budget::compute(8_000, None, None, Some(1_000)), ..left() };
    for (before, after, kind, by) in [
        (found(), left(), DiffKind::Left, CauseKind::Retrieval),
        (found(), small(), DiffKind::Left, CauseKind::Budget),
        (left(), found(), DiffKind::Entered, CauseKind::Retrieval),
        (small(), found(), DiffKind::Entered, CauseKind::Budget),
        (found(), ContextPlan { mode: Mode::Heavy, ..left() }, DiffKind::Left, CauseKind::Mode),
    ] {
        assert_eq!(caused(&before, &after, &nothing()), [(kind, by)]);
    }
}

/// Only the best of the results that do not fit have rows.
#[test]
fn a_smaller_budget_is_the_cause_for_results_without_a_row() {
    let touchpoint = Reason::Touchpoint { rank: 7, because: String::new() };
    let heading = own(RowKind::Search, 9, true, Reason::CodeSearched { among: 3 });
    let card = own(RowKind::Card, 20, true, Reason::Retrieved { rank: 1 });
    let before = plan(vec![heading, card, own(RowKind::Code, 40, true, touchpoint)]);
    let other = Atom::Section { text: key(9) };
    let cut = Row { atom: other, ..own(RowKind::Code, 40, false, Reason::Allowance { tokens: 90 }) };
    let small = |rows| ContextPlan { budget: Budget::compute(8_000, None, None, Some(1_000)), ..plan(rows) };
    for (after, by) in [
        (small(vec![cut.clone()]), CauseKind::Budget),
        (plan(vec![cut]), CauseKind::Retrieval),
        (small(Vec::new()), CauseKind::Retrieval),
    ] {
        let (mut found, _) = deltas(&before, &after, NONE);
        set_causes(&mut found, &before, &after, &nothing());
        let removed: Vec<CauseKind> =
            found.iter().filter(|one| one.after.is_none()).map(|one| one.causes[0].by).collect();
        assert_eq!(removed, [by; 3]);
    }
}

#[test]
fn items_that_a_person_marked_are_not_attached_by_the_mode() {
    let found = Row {
        verdict: Verdict::In { section: Section::Retrieved },
        ..own(RowKind::Card, 30, true, Reason::Retrieved { rank: 1 })
    };
    let pinned =
        |reason| Row { verdict: Verdict::In { section: Section::StickyPins }, ..own(RowKind::Note, 10, true, reason) };
    let lease = |engine| pinned(Reason::Leased { left: 2, engine });
    let call = plan(vec![found, pinned(Reason::Sticky), lease(false), lease(true)]);
    assert_eq!(call.attached(), (2, 40), "the card and the program's lease");
}

#[test]
fn a_smaller_budget_shortens_code() {
    let sent =
        |tokens| plan(vec![own(RowKind::Code, tokens, true, Reason::Touchpoint { rank: 1, because: String::new() })]);
    let small = ContextPlan { budget: Budget::compute(8_000, None, None, Some(1_000)), ..sent(30) };
    assert_eq!(caused(&sent(40), &sent(30), &nothing()), [(DiffKind::Shortened, CauseKind::Retrieval)]);
    assert_eq!(caused(&sent(40), &small, &nothing()), [(DiffKind::Shortened, CauseKind::Budget)]);
}

#[test]
fn results_of_tools_are_not_a_setting() {
    let capped = |results, rows| {
        let budget = Budget::compute(64_000, None, None, Some(4_000)).with_results(results);
        ContextPlan { budget, ..plan(rows) }
    };
    let before = || vec![sent(1, 50, Reason::Recent)];
    let cause = |(old, new), reason: Reason| {
        let (before, after) = (capped(old, before()), capped(new, vec![out(1, reason)]));
        assert_eq!(settings(&before, &after), []);
        let (mut found, _) = deltas(&before, &after, NONE);
        set_causes(&mut found, &before, &after, &nothing());
        (found[0].causes[0].by, found[0].causes[0].words.clone())
    };
    let window = |change| cause(change, Reason::OutsideWindow);
    assert_eq!([window((0, 900)).0, window((900, 0)).0], [CauseKind::Window; 2]);
    let (grew, shrank) = (cause((0, 900), Reason::Budget { free: 0 }), cause((900, 0), Reason::Budget { free: 0 }));
    assert_eq!((grew.0, shrank.0), (CauseKind::Budget, CauseKind::Budget));
    assert!(grew.1.ends_with("The text that precedes this item in the request grew."), "{}", grew.1);
    assert!(shrank.1.ends_with("no longer add to the budget."), "{}", shrank.1);
}

#[test]
fn summaries_and_paths_have_their_causes() {
    let before = plan(vec![sent(1, 50, Reason::Recent)]);
    let summed = plan(vec![out(1, Reason::Superseded { by: key(9), turns: None })]);
    let (session, branch) = (SessionId(Uuid::from_u128(1)), BranchId(Uuid::from_u128(2)));
    let change = Change::Summaries { branch, before: Vec::new(), after: vec![key(9)] };
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
fn a_pin_without_transition_is_found_in_the_operations() {
    let before = plan(vec![out(1, Reason::OutsideWindow)]);
    let after = plan(vec![sent(1, 50, Reason::Sticky)]);
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
    set_causes(&mut found, &before, &after, &ChangesBetweenCalls { ops: &ops, ..nothing() });
    assert_eq!((found[0].causes[0].by, found[0].causes[0].at), (CauseKind::You, Some(7)));
}

/// Returns a row of a project's own text.
fn own(kind: RowKind, tokens: u32, sent: bool, reason: Reason) -> Row {
    let verdict =
        if sent { Verdict::In { section: Section::Orientation } } else { Verdict::Out { needed: 0, remedy: None } };
    let atom = Atom::Section { text: Hash::of(kind.name().as_bytes()) };
    Row { kind, ..row(atom, verdict, tokens, reason) }
}

fn single_cause(before: Vec<Row>, after: &ContextPlan, between: &ChangesBetweenCalls<'_>) -> (CauseKind, String) {
    let before = plan(before);
    let (mut found, _) = deltas(&before, after, NONE);
    assert_eq!(found.len(), 1, "{found:#?}");
    set_causes(&mut found, &before, after, between);
    let cause = found[0].causes.first().unwrap_or_else(|| panic!("without a cause: {found:#?}"));
    (cause.by, cause.words.clone())
}

#[test]
fn rules_skills_and_module_summaries_have_causes() {
    use RowKind::{Module, Rules, Skills};
    let rules = |changed| Reason::ProjectRules { folder: "src/".into(), changed, left: 0 };
    let module = |staleness: &str| Reason::Module { by: "the user".into(), staleness: staleness.into() };
    let skills = |count| Reason::Skills { count };
    let sent = |kind, tokens, reason| vec![own(kind, tokens, true, reason)];
    let out = |kind, reason| vec![own(kind, 40, false, reason)];
    let stale = "stale: 1 new file since";
    let full = || Reason::Budget { free: 0 };
    let shut = || Reason::UserExcluded { once: false };
    let cases: Vec<(Vec<Row>, Vec<Row>, CauseKind, &str)> = vec![
        (vec![], sent(Rules, 40, rules(false)), CauseKind::Turn, "Its file was added"),
        (sent(Rules, 40, rules(false)), vec![], CauseKind::Turn, "Its file was deleted"),
        (sent(Rules, 40, rules(false)), sent(Rules, 50, rules(true)), CauseKind::You, "file changed"),
        (sent(Rules, 40, rules(false)), out(Rules, Reason::SwitchedOff), CauseKind::You, "settings"),
        (out(Rules, Reason::SwitchedOff), sent(Rules, 40, rules(false)), CauseKind::You, "include it again"),
        (sent(Rules, 40, rules(false)), out(Rules, shut()), CauseKind::You, ""),
        (out(Rules, shut()), sent(Rules, 40, rules(false)), CauseKind::You, "removed"),
        (sent(Rules, 40, rules(false)), out(Rules, full()), CauseKind::Budget, ""),
        (out(Rules, full()), sent(Rules, 40, rules(false)), CauseKind::Budget, "fits now"),
        (vec![], sent(Skills, 40, skills(1)), CauseKind::You, "There are skills"),
        (sent(Skills, 40, skills(1)), vec![], CauseKind::You, "no skills anymore"),
        (sent(Skills, 40, skills(1)), sent(Skills, 60, skills(2)), CauseKind::You, "A skill was added"),
        (vec![], sent(Module, 40, module("fresh")), CauseKind::You, "was written"),
        (sent(Module, 40, module("fresh")), vec![], CauseKind::You, "undone"),
        (sent(Module, 40, module("fresh")), sent(Module, 44, module(stale)), CauseKind::You, "changed or added"),
        (sent(Module, 40, module("fresh")), sent(Module, 30, module("fresh")), CauseKind::You, "rewritten or edited"),
        (sent(Module, 40, module(stale)), sent(Module, 38, module("fresh")), CauseKind::You, "rewritten or edited"),
        (sent(Module, 40, module("fresh")), out(Module, Reason::BelowThreshold), CauseKind::Retrieval, ""),
        (out(Module, Reason::BelowThreshold), sent(Module, 40, module("fresh")), CauseKind::Retrieval, "closer"),
    ];
    for (before, after, by, words) in cases {
        let kept = format!("{:?} -> {:?}", before.first().map(|r| &r.reason), after.first().map(|r| &r.reason));
        let cause = single_cause(before, &plan(after), &nothing());
        assert!(cause.0 == by && cause.1.contains(words), "{kept}: {cause:?}");
    }
    // The mode decides first: module summaries are sent only in Heavy.
    let heavy = ContextPlan { mode: Mode::Heavy, ..plan(sent(Module, 40, module("fresh"))) };
    assert_eq!(caused(&heavy, &plan(vec![]), &nothing()), [(DiffKind::Left, CauseKind::Mode)]);
}

#[test]
fn excluded_rules_are_found_in_the_operations() {
    let sent = own(RowKind::Rules, 40, true, Reason::OwnRules { changed: false, left: 0 });
    let out = own(RowKind::Rules, 40, false, Reason::UserExcluded { once: true });
    let (session, branch) = (SessionId(Uuid::from_u128(1)), BranchId(Uuid::from_u128(2)));
    let change = Change::Mark { branch, target: sent.atom, before: None, after: None };
    let what = "left AGENTS.md out".to_owned();
    let ops = [Operation { seq: 1, session, what, changes: vec![change], undone: false, at: 9 }];
    let between = ChangesBetweenCalls { ops: &ops, ..nothing() };
    assert_eq!(
        single_cause(vec![sent.clone()], &plan(vec![out.clone()]), &between),
        (CauseKind::You, "You: left AGENTS.md out.".into())
    );
    assert_eq!(single_cause(vec![out], &plan(vec![sent]), &between).1, "You: left AGENTS.md out.");
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
    let found = place(&after, &turn(2), &covers).unwrap();
    assert!(!found.included && found.shared && found.reason == Reason::OutsideWindow);
    assert!(place(&after, &turn(7), &covers).is_none());
    let before = plan(vec![sent(2, 60, Reason::Recent)]);
    let (found, _) = deltas(&before, &after, &covers);
    assert_eq!((found.len(), found[0].kind()), (1, DiffKind::Left));
    assert!(found[0].after.as_ref().is_some_and(|place| place.shared));
}

#[test]
fn a_message_in_its_turns_row_has_its_own_tokens_and_form() {
    let mut shared = sent(1, 50, Reason::Recent);
    let item = |n: u32, form, tokens| Item { key: key(n), form, tokens, ..shared.items[0].clone() };
    shared.items = vec![item(1, Form::Full, 30), item(2, Form::Elided, 15), item(3, Form::Gone, 0)];
    let plan = plan(vec![sent(9, 70, Reason::Recent), shared]);
    let at = |n: u32| place(&plan, &Atom::Message { node: key(n) }, NONE).map(|it| (it.included, it.tokens, it.form));
    assert_eq!(at(2), Some((true, 15, Form::Elided)));
    assert_eq!(at(3), Some((false, 0, Form::Gone)));
    assert_eq!(at(4), None);
}

#[test]
fn reasons_are_equal_except_for_changing_numbers() {
    let leased = |left, engine| Reason::Leased { left, engine };
    let excluded = |once| Reason::UserExcluded { once };
    let by = |n| Reason::Superseded { by: key(n), turns: None };
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
fn only_rows_that_changed_order_are_moved() {
    let rows = |order: &[u32]| plan(order.iter().map(|n| sent(*n, 10, Reason::Recent)).collect());
    let (found, same) = deltas(&rows(&[1, 2, 3, 4]), &rows(&[2, 3, 4, 1]), NONE);
    assert_eq!(found.iter().map(|d| (d.atom, d.kind())).collect::<Vec<_>>(), [(turn(1), DiffKind::Moved)]);
    assert_eq!(same, (3, 30));
}

fn rows() -> impl Strategy<Value = Vec<(u32, bool, u32)>> {
    proptest::collection::btree_map(0_u32..12, (any::<bool>(), 1_u32..90), 0..10).prop_flat_map(|rows| {
        let rows: Vec<(u32, bool, u32)> = rows.into_iter().map(|(n, (sent, tokens))| (n, sent, tokens)).collect();
        Just(rows).prop_shuffle()
    })
}

fn made(rows: &[(u32, bool, u32)]) -> ContextPlan {
    let of = |(n, into, tokens): &(u32, bool, u32)| {
        if *into { sent(*n, *tokens, Reason::Recent) } else { out(*n, Reason::OutsideWindow) }
    };
    plan(rows.iter().map(of).collect())
}

proptest! {
    /// Differences add up: the tokens before plus the change of every difference are the tokens after. A plan has no
    /// difference from itself, and the reverse diff names the same items.
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
    let before = plan(vec![sent(1, 50, Reason::Recent)]);
    let after = plan(vec![sent(1, 20, Reason::Recent), sent(2, 60, Reason::Recent)]);
    let (deltas, (same, same_tokens)) = deltas(&before, &after, NONE);
    let call = |plan: &ContextPlan| crate::domain::planning::diff::CallRef {
        run: None,
        plan: plan.id,
        branch: None,
        name: String::new(),
        at: None,
        tokens: plan.est_total,
        budget: plan.budget.prompt,
        safety: plan.budget.safety,
        model: plan.model.clone(),
        cost_micro: None,
    };
    let diff = PlanDiff { before: call(&before), after: call(&after), settings: Vec::new(), deltas, same, same_tokens };
    assert_eq!((diff.sum(DiffKind::Entered), diff.sum(DiffKind::Shortened)), ((1, 60), (1, -30)));
    assert_eq!(diff.sum(DiffKind::Left), (0, 0));
}

/// Shortened tool results are reported as such; anything else that shrinks is reported by what it is.
#[test]
fn shortening_is_named_precisely() {
    let code = |tokens| {
        let reason = Reason::Touchpoint { rank: 1, because: String::new() };
        let verdict = Verdict::In { section: Section::Retrieved };
        Row { kind: RowKind::Code, ..row(Atom::Section { text: key(7) }, verdict, tokens, reason) }
    };
    let cut = |form| {
        let mut row = sent(1, if form == Form::Full { 90 } else { 40 }, Reason::Recent);
        row.items.push(Item { role: Role::Tool, form, ..row.items[0].clone() });
        row
    };
    let table = [
        (code(90), code(40), CauseKind::Retrieval, "shorter piece of this code"),
        (cut(Form::Full), cut(Form::Cut(500)), CauseKind::Window, "tool results"),
        (sent(1, 90, Reason::Recent), sent(1, 40, Reason::Recent), CauseKind::Window, "Less of this item"),
    ];
    for (old, new, by, words) in table {
        let (before, after) = (plan(vec![old]), plan(vec![new]));
        let (mut found, _) = deltas(&before, &after, NONE);
        set_causes(&mut found, &before, &after, &nothing());
        assert_eq!((found[0].kind(), found[0].causes[0].by), (DiffKind::Shortened, by));
        let sentence = &found[0].causes[0].words;
        assert!(
            sentence.contains(words) && sentence.contains("tool results") == (words == "tool results"),
            "{sentence}"
        );
    }
}

/// Turns at their places, with or without a match in the other plan.
#[test]
fn places_count_included_rows_from_one() {
    let made = plan(vec![
        out(1, Reason::Hidden),
        sent(2, 10, Reason::Recent),
        out(3, Reason::Hidden),
        sent(4, 20, Reason::Open),
    ]);
    let at = |n: u32| place(&made, &turn(n), NONE).map(|place| (place.included, place.at, place.tokens));
    assert_eq!(at(1), Some((false, None, 50)));
    assert_eq!((at(2), at(3)), (Some((true, Some(1), 10)), Some((false, None, 50))));
    assert_eq!((at(4), at(5)), (Some((true, Some(2), 20)), None));
    let (found, same) = deltas(&made, &plan(vec![sent(4, 20, Reason::Open), sent(2, 10, Reason::Recent)]), NONE);
    assert_eq!(same, (1, 10));
    let moves: Vec<_> = found
        .iter()
        .map(|one| (one.kind(), one.before.as_ref().and_then(|p| p.at), one.after.as_ref().and_then(|p| p.at)))
        .collect();
    assert_eq!(moves, [(DiffKind::Moved, Some(2), Some(1))]);
}

/// The program's blocks match a block of the same kind and section; other texts do not match.
#[test]
fn blocks_with_other_text_match() {
    use crate::domain::planning::diff::ItemDiff;
    use DiffKind::{Changed, Entered, Left, Lengthened, Shortened};
    let block = |kind, n: u32, section, tokens| {
        let verdict = Verdict::In { section };
        Row { kind, text: Some(key(n)), ..row(Atom::Section { text: key(n) }, verdict, tokens, Reason::Summary) }
    };
    let (lane, session) = (Section::LaneSummary, Section::SessionSummary);
    let kinds_of = |before: Vec<Row>, after: Vec<Row>| {
        let (found, same) = deltas(&plan(before), &plan(after), NONE);
        (found.iter().map(ItemDiff::kind).collect::<Vec<_>>(), same)
    };
    for kind in [RowKind::Text, RowKind::State, RowKind::Summary, RowKind::Search] {
        let of = |n, tokens| vec![block(kind, n, lane, tokens)];
        assert_eq!(kinds_of(of(1, 5), of(2, 9)), (vec![Lengthened], (0, 0)), "{kind:?}");
        assert_eq!(kinds_of(of(1, 9), of(2, 5)), (vec![Shortened], (0, 0)), "{kind:?}");
        assert_eq!(kinds_of(of(1, 5), of(2, 5)), (vec![Changed], (0, 0)), "{kind:?}");
        assert_eq!(kinds_of(of(1, 5), of(1, 5)), (vec![], (1, 5)), "{kind:?}");
        assert_eq!(kinds_of(of(1, 5), vec![block(kind, 2, session, 5)]), (vec![Entered, Left], (0, 0)), "{kind:?}");
    }
    let note = |n| vec![block(RowKind::Note, n, lane, 5)];
    assert_eq!(kinds_of(note(1), note(2)), (vec![Entered, Left], (0, 0)));
    let two = vec![block(RowKind::Text, 1, lane, 5), block(RowKind::Text, 2, lane, 6)];
    let other = vec![block(RowKind::Text, 2, lane, 6), block(RowKind::Text, 3, lane, 5)];
    assert_eq!(kinds_of(two, other).1, (0, 0), "the one that stayed has another place");
}

#[test]
fn figures_of_two_plans_side_by_side() {
    use crate::domain::planning::what_if::PlanFigures;
    let card = |n: u32, number: u32, kind, tokens| {
        let section = if kind == RowKind::Card { Section::Retrieved } else { Section::Recent };
        let atom = if kind == RowKind::Card { Atom::Message { node: key(n) } } else { turn(n) };
        let source = Source { turn: Some(number), ..Source::default() };
        Row { kind, source, ..row(atom, Verdict::In { section }, tokens, Reason::Recent) }
    };
    let search = Row {
        kind: RowKind::Search,
        ..row(Atom::Section { text: key(99) }, Verdict::In { section: Section::Retrieved }, 7, Reason::Summary)
    };
    let present = plan(vec![
        card(1, 1, RowKind::Turn, 10),
        card(2, 2, RowKind::Turn, 20),
        out(3, Reason::Hidden),
        search.clone(),
    ]);
    let mut short = card(2, 2, RowKind::Turn, 12);
    short.items[0].form = Form::Elided;
    let other =
        plan(vec![card(1, 1, RowKind::Card, 4), short, card(3, 3, RowKind::Turn, 30), card(4, 4, RowKind::Turn, 40)]);
    let figures = PlanFigures::of(&other, &present, Some(500), None);
    let names = |of: &[crate::domain::planning::what_if::MovedItem]| {
        of.iter().map(|one| (one.turn, one.tokens)).collect::<Vec<_>>()
    };
    assert_eq!((names(&figures.gained), names(&figures.lost)), (vec![(Some(3), 30), (Some(4), 40)], vec![]));
    assert_eq!((figures.sums, figures.items, figures.changed), ([(2, 70), (0, 0)], 4, 2));
    assert_eq!((figures.est, figures.same), (86, Some(86)), "no more is the same than there is");
    assert_eq!(figures.same_text(), "100%");
    let back = PlanFigures::of(&present, &other, Some(10), None);
    assert_eq!(
        (names(&back.lost), back.sums, back.items, back.changed),
        (vec![(Some(3), 30), (Some(4), 40)], [(0, 0), (2, 70)], 2, 2)
    );
    assert_eq!((back.est, back.same_text().as_str()), (37, "27%"));
    let itself = PlanFigures::of(&present, &present, None, None);
    assert_eq!((itself.sums, itself.changed, itself.same_text().as_str()), ([(0, 0); 2], 0, "?"));
    assert_eq!(PlanFigures::of(&plan(vec![]), &plan(vec![]), Some(5), None).same_text(), "0%");
    let many = plan((0..250).map(|n| card(n + 10, n + 10, RowKind::Turn, 1)).collect());
    let figures = PlanFigures::of(&many, &present, None, None);
    assert_eq!((figures.gained.len(), figures.sums), (200, [(250, 250), (2, 30)]));
}

#[test]
fn every_changed_setting_is_listed() {
    let before = plan(vec![]);
    assert!(settings(&before, &before).is_empty());
    let after = ContextPlan {
        model: "n".into(),
        profile: "q".into(),
        policy_version: 2,
        mode: Mode::Off,
        layout: Layout::CacheFriendly,
        budget: Budget::compute(128_000, None, None, None),
        tools: 1_200,
        ..plan(vec![])
    };
    let changes: Vec<String> =
        settings(&before, &after).iter().map(|one| format!("{} {} {}", one.name, one.before, one.after)).collect();
    assert_eq!(
        changes,
        [
            "model m n",
            "profile p q",
            "policy layered v1 layered v2",
            "mode Light Off",
            "layout classic cache_friendly",
            "budget 5,744 120,064",
            "tools 0 1,200",
        ]
    );
    let cause = ContextPlan { policy_version: 2, ..plan(vec![out(1, Reason::OutsideWindow)]) };
    let (_, sentence) = single_cause(vec![sent(1, 50, Reason::Recent)], &cause, &nothing());
    assert_eq!(sentence, "The policy is layered v2; it was layered v1.");
}
