//! Tests of the automatic leases and suggestions: arithmetic, caps, refusals, and that `off` creates none.

use super::*;
use crate::domain::base::Hash;
use crate::domain::base::cases::cases;
use proptest::prelude::*;

fn touch(text: &str) -> Touch {
    Touch {
        item: Hash::default(),
        user: text.contains('u'),
        model: text.contains('m'),
        plan: text.contains('p'),
        found: text.contains('f'),
        hop: text.contains('h'),
        against: text.contains('x'),
    }
}

/// Parses `"u . pf"`: what touched the item, newest turn first.
fn item(tokens: u32, held: ItemMarks, seen: &str) -> Item {
    Item { tokens, inside: false, held, refused: false, seen: seen.split(' ').map(touch).collect() }
}

const NONE: &[Option<ClusterId>] = &[];

fn context<'a>(spec: &'a Activation, clusters: &'a [Option<ClusterId>]) -> DecisionContext<'a> {
    DecisionContext { spec, creates: true, cap: 2_048, taken: 0, clusters, inherited: &[] }
}

fn changes(items: &[Item], context: &DecisionContext<'_>) -> Vec<(usize, ItemChange)> {
    decide(items, context).into_iter().map(|step| (step.item, step.to)).collect()
}

fn active(seen: &str) -> i32 {
    activation(&item(1, ItemMarks::Free, seen).seen, NONE, &Activation::default()).0
}

#[test]
fn activation_is_the_formula() {
    assert_eq!(
        [active("u"), active("m"), active("p"), active("f"), active("h"), active("umpfh")],
        [1_000, 600, 200, 400, 300, 2_500]
    );
    assert_eq!([active(". u"), active(". . u"), active("u u")], [700, 490, 1_700]);
    assert_eq!(active("umpf umpf umpf umpf umpf umpf umpf umpf umpf umpf"), 7_126, "below 10, it settles at 7.33");
    assert_eq!([active("x"), active("ux"), active("um x"), active("x um")], [0, 0, 900, 120]);
    let spec = Activation { user: Milli(9_000), ..Activation::default() };
    assert_eq!(activation(&item(1, ItemMarks::Free, "u u u").seen, NONE, &spec).0, 10_000);
}

#[test]
fn sent_and_found_items_are_not_promoted() {
    let always = ["pf"; 200].join(" ");
    let value = active(&always);
    assert!((1_900..2_000).contains(&value), "{value}");
    assert_eq!(active(&["p"; 200].join(" ")).clamp(600, 667), active(&["p"; 200].join(" ")));
}

#[test]
fn a_reference_is_kept_for_one_call_and_the_second_is_leased() {
    let spec = Activation::default();
    let context = context(&spec, NONE);
    assert_eq!(changes(&[item(100, ItemMarks::Free, "m")], &context), [(0, ItemChange::Ephemeral)]);
    assert_eq!(changes(&[item(100, ItemMarks::Free, "m . . . u")], &context), [(0, ItemChange::Lease)]);
    assert_eq!(
        changes(&[item(100, ItemMarks::Free, "m . . . . u")], &context),
        [(0, ItemChange::Ephemeral)],
        "six turns apart"
    );
    assert_eq!(changes(&[item(100, ItemMarks::Free, ". u u")], &context), [], "nobody spoke of it now");
    assert_eq!(changes(&[item(100, ItemMarks::Free, "pf")], &context), []);
    assert_eq!(changes(&[item(100, ItemMarks::Free, "umpf")], &context), [(0, ItemChange::Lease)], "by its activation");
    let inside = Item { inside: true, ..item(100, ItemMarks::Free, "u u") };
    assert_eq!(changes(&[inside], &context), [], "what the window holds needs no pin");
}

#[test]
fn leases_are_renewed_and_the_third_renewal_suggests() {
    let spec = Activation::default();
    let context = context(&spec, NONE);
    let leased = |renewals, seen: &str| [item(100, ItemMarks::Leased { renewals }, seen)];
    assert_eq!(changes(&leased(0, "u"), &context), [(0, ItemChange::Renew)]);
    assert_eq!(changes(&leased(0, "pf"), &context), [], "being sent is no reference");
    assert_eq!(changes(&leased(2, "m"), &context), [(0, ItemChange::Renew), (0, ItemChange::Suggest)]);
    assert_eq!(changes(&leased(3, "m"), &context), [(0, ItemChange::Renew)], "it is suggested once");
}

#[test]
fn a_full_cap_ends_only_idle_leases() {
    let spec = Activation::default();
    let wants = item(1_000, ItemMarks::Free, "u u");
    let leased = |seen: &str| item(1_500, ItemMarks::Leased { renewals: 0 }, seen);
    let idle = [leased(". . . . . . . . . . . . ."), wants.clone()];
    assert_eq!(changes(&idle, &context(&spec, NONE)), [(0, ItemChange::End), (1, ItemChange::Lease)]);
    let busy = [leased(". u"), wants.clone()];
    assert_eq!(changes(&busy, &context(&spec, NONE)), [], "and for one call there is no room either");
    let few = Activation { leases: 1, ..spec };
    let small = DecisionContext { cap: 9_000, ..context(&few, NONE) };
    assert_eq!(changes(&busy, &small), [(1, ItemChange::Ephemeral)]);
    let persons = DecisionContext { taken: 1_500, ..context(&spec, NONE) };
    assert_eq!(changes(&[wants], &persons), [], "a person's leases count in the cap");
}

#[test]
fn two_questions_of_another_subject_end_a_lease() {
    let spec = Activation::default();
    let subject = |ids: &[u32]| ids.iter().map(|id| Some(ClusterId(*id))).collect::<Vec<_>>();
    let items = [item(100, ItemMarks::Leased { renewals: 0 }, ". . u")];
    let ends = |clusters: &[u32]| changes(&items, &context(&spec, &subject(clusters)));
    assert_eq!(ends(&[2, 2, 1]), [(0, ItemChange::End)]);
    assert_eq!(ends(&[3, 2, 1]), [(0, ItemChange::End)]);
    assert_eq!(ends(&[2, 1, 1]), [], "one is no change yet");
    assert_eq!(ends(&[1, 2, 1]), []);
    let without = Activation { clusters: false, ..spec };
    assert_eq!(changes(&items, &context(&without, &subject(&[2, 2, 1]))), []);
    let found = item(1, ItemMarks::Free, ". f").seen;
    assert_eq!(activation(&found, &subject(&[1, 1]), &spec).0, 280);
    assert_eq!(activation(&found, &subject(&[2, 1]), &spec).0, 0, "found for another subject");
}

/// "go on" after one question of another subject is no second one.
#[test]
fn questions_that_name_nothing_end_no_lease() {
    let spec = Activation::default();
    let ends = |seen: &str, subjects: &[(u32, bool)]| {
        let clusters: Vec<_> = subjects.iter().map(|(id, _)| Some(ClusterId(*id))).collect();
        let inherited: Vec<bool> = subjects.iter().map(|(_, inherited)| *inherited).collect();
        let context = DecisionContext { inherited: &inherited, ..context(&spec, &clusters) };
        !changes(&[item(100, ItemMarks::Leased { renewals: 0 }, seen)], &context).is_empty()
    };
    assert!(!ends(". . u", &[(2, true), (2, false), (1, false)]));
    assert!(!ends(". . . u", &[(2, true), (2, true), (2, false), (1, false)]));
    assert!(
        ends(". . . u", &[(3, false), (2, true), (2, false), (1, false)]),
        "the second question on another subject"
    );
    assert!(ends(". . . u", &[(2, true), (2, false), (2, false), (1, false)]));
    assert!(!ends(". u . .", &[(2, false), (2, true), (2, false), (1, false)]), "it was named between the two");
}

fn any_item() -> impl Strategy<Value = Item> {
    let touch = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let touch = touch.prop_map(|(user, model, plan, found, hop, against)| Touch {
        item: Hash::default(),
        user,
        model,
        plan,
        found,
        hop,
        against,
    });
    let marks = prop_oneof![
        3 => Just(ItemMarks::Free),
        2 => (0_u32..5).prop_map(|renewals| ItemMarks::Leased { renewals }),
        1 => Just(ItemMarks::Person),
    ];
    let flags = (any::<bool>(), any::<bool>());
    (prop_oneof![1_u32..6, 1_u32..1_500], flags, marks, proptest::collection::vec(touch, 0..20))
        .prop_map(|(tokens, (inside, refused), marks, seen)| Item { tokens, inside, held: marks, refused, seen })
}

proptest! {
    #![proptest_config(cases(200))]
    #[test]
    fn laws_of_the_decision(
        items in proptest::collection::vec(any_item(), 0..24),
        clusters in proptest::collection::vec(proptest::option::of((1_u32..4).prop_map(ClusterId)), 0..20),
        cap in prop_oneof![0_u32..30, 0_u32..4_000],
        taken in prop_oneof![0_u32..6, 0_u32..1_000],
        leases in 0_u32..6,
        ephemeral in 0_u32..4,
    ) {
        let spec = Activation { leases, ephemeral, ..Activation::default() };
        let context = DecisionContext { spec: &spec, creates: true, cap, taken, clusters: &clusters, inherited: &[] };
        let steps = decide(&items, &context);
        prop_assert_eq!(&steps, &decide(&items, &context), "the same every time");
        let off = Activation { on: false, ..spec };
        let silent = DecisionContext { spec: &off, ..context };
        prop_assert_eq!(decide(&items, &silent), Vec::new());
        let silent = DecisionContext { creates: false, ..context };
        prop_assert_eq!(decide(&items, &silent), Vec::new());
        let count = |to: ItemChange| steps.iter().filter(|step| step.to == to).count();
        let leased_before = items.iter().filter(|item| matches!(item.held, ItemMarks::Leased { .. })).count();
        prop_assert!(count(ItemChange::Ephemeral) <= ephemeral as usize);
        if count(ItemChange::Lease) > 0 {
            prop_assert!(leased_before - count(ItemChange::End) + count(ItemChange::Lease) <= leases as usize);
        }
        let ended = |at: usize| steps.iter().any(|step| step.item == at && step.to == ItemChange::End);
        let old: u32 = (0..items.len())
            .filter(|at| matches!(items[*at].held, ItemMarks::Leased { .. }) && !ended(*at))
            .map(|at| items[at].tokens)
            .sum();
        let made = |to: ItemChange| steps.iter().filter(|step| step.to == to).map(|step| items[step.item].tokens).sum::<u32>();
        let fresh = made(ItemChange::Lease) + made(ItemChange::Ephemeral);
        prop_assert!(fresh == 0 || taken + old + fresh <= cap, "{taken} + {old} + {fresh} > {cap}");
        // No item is left out while there is room for it.
        let swapped = steps.iter().any(|step| matches!(step.why, ChangeReason::AboveLimit(_)));
        for (at, item) in items.iter().enumerate() {
            let got = |to: ItemChange| steps.iter().any(|step| step.item == at && step.to == to);
            let now = item.seen.first().copied().unwrap_or_default();
            if item.held != ItemMarks::Free || item.inside || item.refused || got(ItemChange::Lease) {
                continue;
            }
            let turns = item.seen.iter().take(spec.within as usize).filter(|touch| touch.refers()).count();
            let value = activation(&item.seen, &clusters, &spec).0;
            let wanted = now.refers() && turns >= spec.turns as usize
                || (now.refers() || now.found) && value >= spec.promote.0;
            let full = leased_before - count(ItemChange::End) + count(ItemChange::Lease) >= leases as usize;
            prop_assert!(!wanted || swapped || full || taken + old + made(ItemChange::Lease) + item.tokens > cap, "{at}");
            let rest = count(ItemChange::Ephemeral) == ephemeral as usize || taken + old + fresh + item.tokens > cap;
            prop_assert!(!now.refers() || got(ItemChange::Ephemeral) || rest, "{at}");
        }
        for step in &steps {
            let item = &items[step.item];
            prop_assert!(item.held != ItemMarks::Person, "a person's mark is theirs");
            match step.to {
                ItemChange::Lease | ItemChange::Ephemeral => {
                    prop_assert!(item.held == ItemMarks::Free && !item.refused && !item.inside);
                    prop_assert!(item.seen[0].refers() || (step.to == ItemChange::Lease && item.seen[0].found));
                }
                ItemChange::Renew | ItemChange::Suggest => prop_assert!(item.seen[0].refers()),
                ItemChange::End => {
                    let leased = matches!(item.held, ItemMarks::Leased { .. });
                    prop_assert!(leased);
                }
            }
            let of = steps.iter().filter(|other| other.item == step.item && other.to != ItemChange::Suggest).count();
            prop_assert_eq!(of, 1);
        }
    }
}
