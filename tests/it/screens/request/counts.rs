//! The overlay's counts of left-out items, the titles of its rows, its detail pane, and a request that does not fit.
//! Not for: the other actions of the overlay (`overlay`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use pleach::domain::base::Hash;
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{Blocked, BlockedRemedy, ContextPlan, RowKind, Section, Verdict, Warning};
use pleach::engine::api::{Answer, Event, PlanRequest, Planned, Request};

/// One count: the title of the overlay, its separator, and the panel.
#[test]
fn left_out_items_are_counted_alike_everywhere() {
    let mut stage = fixture::opened();
    let mut whole = fixture::plan(&fixture::story());
    whole.id = Hash::of(b"with cards and a range");
    let turn = whole.rows[6].clone();
    let mut card = turn.clone();
    (card.kind, card.verdict, card.tokens) = (RowKind::Card, Verdict::In { section: Section::Retrieved }, 70);
    (card.atom, card.title) = (Atom::Section { text: Hash::of(b"card") }, "The lease ends".into());
    (card.reason, card.items) = (Reason::Retrieved { rank: 1 }, Vec::new());
    let mut range = turn.clone();
    (range.kind, range.turns, range.tokens, range.source.turn) = (RowKind::Range, 12, 3_000, Some(20));
    range.atom = Atom::Range { first: Hash::of(b"first"), last: Hash::of(b"last") };
    (range.title, range.items) = ("12 older turns".into(), Vec::new());
    whole.rows.insert(0, card);
    whole.rows.push(range);
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(whole) });
    let screen = stage.screen(140, 50);
    assert!(screen.contains("Left out 12"), "the panel: {screen}");
    stage.press("ctrl-o");
    let screen = stage.screen(140, 50);
    assert!(screen.contains("12 left out") && screen.contains("Left out 12, 3,000 tokens"), "{screen}");
    assert!(screen.contains("1 card included") && screen.matches("1 An older turn about").count() == 1, "{screen}");
    let place = |words: &str| screen.find(words).unwrap();
    assert!(place("An older turn about") < place("The lease ends"), "a card stands under its turn: {screen}");
    assert!(place("The lease ends") < place("Left out 12"), "{screen}");
}

#[test]
fn a_request_that_does_not_fit_lists_what_is_required_and_what_is_left_out() {
    let mut stage = fixture::opened();
    let plan = fixture::plan(&fixture::story());
    let blocked = Blocked {
        basis: plan.basis,
        needed: 9_600,
        budget: plan.budget,
        choices: vec![BlockedRemedy::LargerBudget { at_least: 11_000 }, BlockedRemedy::FewerTools { frees: 700 }],
        rows: plan.included().cloned().collect(),
        left_out: plan.excluded().cloned().collect(),
    };
    let planned = Planned::Blocked(std::sync::Arc::new(blocked));
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned });
    stage.press("ctrl-o");
    let screen = stage.screen(120, 35);
    for words in [
        "5 required, 1 left out",
        "9,600 of 9,000, does not fit",
        "106%",
        "Required items are 1,600 tokens over budget. Nothing is sent until they fit.",
        "budget 9,000 of this model's",
        "Left out 1, 900 tokens",
        "Tool definitions",
        "Message overhead",
        "raise the budget to 11,000 tokens or more (])",
    ] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let small = stage.screen(80, 24);
    assert!(
        small.contains("over budget. Nothing is sent until they fit.") && small.contains("budget 9,000"),
        "{small}"
    );
    assert!(!stage.sent.iter().any(|(_, request)| matches!(request, Request::Plan(PlanRequest::RowText { .. }))));
}

/// The panel and the composer's edge each warn once of a marked item that is not sent, with the reason; not of one whose
/// content another item already sends. The panel tells of an inactive mark in its own words.
#[test]
fn a_missing_lease_is_told_once_with_its_reason() {
    let cases = [
        (Reason::Budget { free: 12 }, 2, "1 lease left out: over budget"),
        (Reason::ModeOff, 2, "1 lease left out: mode off"),
        (Reason::OffPath, 0, "1 mark inactive: its message"),
        (Reason::Duplicate, 0, ""),
    ];
    for (reason, times, words) in cases {
        let mut stage = fixture::opened();
        let mut plan = fixture::plan(&fixture::story());
        plan.id = Hash::of(format!("{reason:?}").as_bytes());
        let mut row = plan.rows[6].clone();
        (row.kind, row.atom) = (RowKind::Code, Atom::Section { text: Hash::of(b"code") });
        (row.verdict, row.pin) = (Verdict::Out { needed: 0, remedy: None }, Some(MarkKind::Ephemeral));
        let (title, why) = (row.title.clone(), reason.sentence());
        plan.warnings.push(Warning::DecisionLeftOut { title, tokens: row.tokens, why });
        row.reason = reason;
        plan.rows.push(row);
        let generation = stage.model.plan.generation;
        stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(plan) });
        let screen = stage.screen(140, 50);
        assert_eq!(screen.matches("lease left out").count(), times, "{words}: {screen}");
        assert!(screen.contains(words) && !screen.contains("although you"), "{words}: {screen}");
        let narrow = stage.screen(80, 24);
        assert!(narrow.contains(words), "at the composer's edge where there is no panel: {words}: {narrow}");
    }
}

/// The overlay's line of warnings counts all marked items that are left out, and names their turns.
#[test]
fn the_overlay_counts_the_marked_items_that_are_left_out() {
    let mut stage = shown(|plan| {
        for turn in 1..=3 {
            let mut row = plan.rows[6].clone();
            row.atom = Atom::Section { text: Hash::of(&[turn]) };
            (row.verdict, row.pin) =
                (Verdict::Out { needed: 0, remedy: None }, Some(MarkKind::Leased { turns: 3.into() }));
            (row.reason, row.source.turn) = (Reason::Budget { free: 12 }, Some(u32::from(turn)));
            let (title, why) = ("A long title of a turn. ".repeat(9), row.reason.sentence());
            plan.warnings.push(Warning::DecisionLeftOut { title, tokens: row.tokens, why });
            plan.rows.push(row);
        }
    });
    stage.press("ctrl-o");
    for size in [(80, 24), (120, 35), (200, 50)] {
        let screen = stage.screen(size.0, size.1);
        assert!(screen.contains("3 leases left out: over budget (turns 3, 2, 1)."), "{screen}");
        assert!(!screen.contains("although you"), "{screen}");
    }
}

/// Shows a plan that differs from the fixture's.
fn shown(change: impl FnOnce(&mut ContextPlan)) -> Stage {
    let mut stage = fixture::opened();
    let mut plan = fixture::plan(&fixture::story());
    plan.id = Hash::of(b"another plan");
    change(&mut plan);
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(plan) });
    stage
}

/// The panel and the overlay have the same sign for an item that a limit forced out, and another one for other items.
#[test]
fn items_forced_out_have_one_sign() {
    for (reason, forced) in [(Reason::Budget { free: 12 }, true), (Reason::ModeOff, false)] {
        let mut stage = shown(|plan| {
            let mut row = plan.rows[6].clone();
            (row.verdict, row.pin) = (Verdict::Out { needed: 0, remedy: None }, None);
            (row.atom, row.reason) = (Atom::Message { node: Hash::of(b"out") }, reason.clone());
            row.title = "forced words".into();
            plan.rows.push(row);
        });
        for overlay in [false, true] {
            if overlay {
                stage.press("ctrl-o");
            }
            let screen = stage.screen(140, 50);
            let line = screen.lines().find(|line| line.contains("forced words")).unwrap_or_else(|| panic!("{screen}"));
            assert_eq!(line.split("forced words").next().unwrap().contains("! "), forced, "{line}");
        }
    }
}

/// An imported message without a text has a row in the plan, but nothing to show.
#[test]
fn rows_of_empty_hidden_messages_are_neither_shown_nor_counted() {
    let mut stage = shown(|plan| {
        let mut blank = plan.rows[6].clone();
        blank.atom = Atom::Message { node: Hash::of(b"blank") };
        (blank.kind, blank.reason, blank.tokens) = (RowKind::Message, Reason::Hidden, 8);
        (blank.title, blank.items, blank.source.turn) = (String::new(), Vec::new(), None);
        plan.rows.push(blank);
    });
    let panel = stage.screen(140, 50);
    assert!(panel.contains("Left out 1 ") && !panel.contains("Hidden in the"), "{panel}");
    let list = stage.press("ctrl-o").screen(140, 50);
    assert!(list.contains("1 left out") && list.contains("Left out 1, 900 tokens"), "{list}");
    assert!(!list.contains("hidden"), "{list}");
}

#[test]
fn titles_of_rows_have_no_markup() {
    let mut stage = shown(|plan| {
        plan.rows[2].kind = RowKind::Note;
        plan.rows[2].title = "Never log **tokens** or `keys`".into();
        plan.rows[3].title = "## Why does `refresh` fail".into();
    });
    let panel = stage.screen(140, 50);
    stage.press("ctrl-o j j");
    let list = stage.screen(140, 50);
    for screen in [panel, list] {
        assert!(screen.contains("Never log tokens or keys") && screen.contains("Why does refresh fail"), "{screen}");
        assert!(!screen.contains("**tokens") && !screen.contains("`refresh`"), "{screen}");
    }
}

#[test]
fn the_detail_pane_names_the_key_that_shows_more() {
    for size in [(80, 24), (140, 30)] {
        let mut stage = fixture::opened();
        stage.press("ctrl-o").screen(size.0, size.1);
        let text = "A line.\n\n".repeat(39) + "The last line.\n";
        let asked = |request: &Request| matches!(request, Request::Plan(PlanRequest::RowText { .. }));
        stage.reply(asked, Answer::Text(text.as_str().into()));
        let screen = stage.screen(size.0, size.1);
        assert!(screen.contains("─ J ") && screen.contains(" more ─"), "{screen}");
        for _ in 0..40 {
            stage.press("J").screen(size.0, size.1);
        }
        let screen = stage.screen(size.0, size.1);
        assert!(!screen.contains("─ J ") && screen.contains("The last line."), "nothing more: {screen}");
    }
}

/// The tokens of a message that is not typed yet would look like its number.
#[test]
fn a_message_without_tokens_has_no_number() {
    let mut stage = shown(|plan| {
        (plan.rows[4].tokens, plan.rows[4].title) = (0, String::new());
    });
    let panel = stage.screen(140, 50);
    assert!(!panel.contains("Your message"), "{panel}");
    let list = stage.press("ctrl-o").screen(140, 50);
    let heading = list.lines().find(|line| line.contains("Your message")).unwrap();
    let heading = heading.split('│').next().unwrap();
    assert!(!heading.contains('0') && list.contains("(nothing typed yet)"), "{list}");
}
