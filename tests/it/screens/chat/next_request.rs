//! The panel of the next request: when plans are requested, the meter, and the cached prefix.
//! Not for: the rows of the request (`request`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use crate::screens::pictures::picture;
use pleach::domain::base::{Failure, FailureKind, Hash};
use pleach::domain::call::PromptCost;
use pleach::domain::conversation::{Atom, MarkKind, Node};
use pleach::domain::planning::{Blocked, ContextPlan, Milli, Row, RowKind, Section, Task, Verdict};
use pleach::domain::planning::{BlockedRemedy, Reason, Warning};
use pleach::engine::api::{
    Act, BranchRequest, Event, ItemName, PlanAnswer, PlanRequest, Planned, Request, TurnEvent, TurnRequest,
};
use pleach::tui::model::focus::Focus;
use pleach::tui::screens::request::model::RequestScreen;
use pleach::tui::theme::Theme;
use ratatui::style::Modifier;
use std::sync::Arc;

#[test]
fn plans_are_requested_after_a_pause() {
    let mut stage = fixture::opened();
    let before = stage.sent.len();
    stage.type_text("abc");
    assert_eq!(stage.sent.len(), before);
    stage.wait(60);
    let Request::Plan(PlanRequest::Replan { generation, draft, .. }) = stage.last().clone() else { panic!() };
    assert_eq!(&*draft.text, "abc");
    let mut old = fixture::plan(&fixture::story());
    old.est_total = 1;
    stage.event(Event::Planned { branch: MAIN, generation: generation - 1, planned: fixture::planned(old) });
    assert!(stage.screen(120, 30).contains("5,213 of 9,000"), "an older generation changes nothing");
}

/// Without Unicode, an item that is included and one that is left out have the signs of the request screen.
#[test]
fn ascii_signs_tell_included_from_left_out() {
    let mut stage = fixture::opened();
    stage.theme = Theme::built_in("none", true);
    let screen = stage.screen(200, 50);
    for row in [". Why does login", "- An older turn", "x Left out"] {
        assert!(screen.contains(row), "{row}: {screen}");
    }
    assert!(!screen.contains("- Why does login"), "{screen}");
}

#[test]
fn changed_window_size_is_announced_once() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    let mut plan = fixture::plan(&fixture::story());
    plan.warnings = vec![Warning::WindowAdjusted {
        tokens: 10_000,
        complexity: Milli(600),
        task: Task::Debugging,
        times: Milli(2_000),
        limited: false,
    }];
    let reply = |stage: &mut Stage, plan: &ContextPlan| {
        stage.reply(
            |r| matches!(r, Request::Plan(PlanRequest::Replan { .. })),
            PlanAnswer::Planned(fixture::planned(plan.clone())),
        );
    };
    reply(&mut stage, &plan);
    let status_text =
        |stage: &Stage| stage.model.status.shown().map(|status_text| status_text.text.clone()).unwrap_or_default();
    assert!(status_text(&stage).starts_with("Adjusted context window to 10,000 tokens (complexity: 0.6, debugging"));
    while stage.model.status.dismiss() {}
    stage.type_text(" there").wait(100);
    plan.id = Hash::of(b"the next");
    reply(&mut stage, &plan);
    assert_eq!(status_text(&stage), "", "not repeated with every key");
}

/// The next plan shares a number of tokens with the last call, which saves an amount.
fn reusing(stage: &mut Stage, tokens: u32, saves: u64) {
    let Planned::Plan { plan, request_digest, bytes, calibration, cost, breaks, code_set, state_request, .. } =
        fixture::planned(fixture::plan(&fixture::story()))
    else {
        panic!()
    };
    let cost = cost.map(|cost| PromptCost { micro: cost.uncached_micro - saves, ..cost });
    let planned = Planned::Plan {
        plan,
        request_digest,
        bytes,
        calibration,
        cost,
        breaks,
        code_set,
        state_request,
        same_prefix: Some(tokens),
    };
    stage.type_text("x").wait(100);
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), PlanAnswer::Planned(planned));
}

#[test]
fn acts_report_their_effect_on_the_cache() {
    let mut stage = fixture::opened();
    reusing(&mut stage, 4_800, 1_800);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("Cached prefix") && screen.contains("92%"), "{screen}");
    reusing(&mut stage, 1_000, 400);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("19%, was 92% +$0.0014"), "{screen}");
    reusing(&mut stage, 4_800, 1_800);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("92%") && !screen.contains("was"), "taken back: {screen}");
    reusing(&mut stage, 4_600, 1_700);
    let screen = stage.screen(160, 40);
    assert!(screen.contains("88%") && !screen.contains("was"), "a fall of 4 points is not notable: {screen}");
    reusing(&mut stage, 1_000, 400);
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "x".into(), after: None }));
    reusing(&mut stage, 1_000, 400);
    let screen = stage.screen(160, 40);
    assert!(!screen.contains(", was "), "it counts from the last call: {screen}");
}

/// A request that exceeds its budget, with a larger budget as the remedy.
pub(super) fn too_large() -> Blocked {
    let plan = fixture::plan(&fixture::story());
    Blocked {
        basis: plan.basis,
        needed: 9_600,
        budget: plan.budget,
        choices: vec![BlockedRemedy::LargerBudget { at_least: 10_600 }],
        rows: plan.included().cloned().collect(),
        left_out: Vec::new(),
    }
}

#[test]
fn first_choice_of_a_request_that_is_too_large_changes_nothing() {
    let mut stage = fixture::opened();
    stage.type_text("Why?").press("enter");
    stage.event(Event::Planned {
        branch: MAIN,
        generation: u64::MAX,
        planned: Planned::Blocked(Arc::new(too_large())),
    });
    let is_ask = |r: &Request| matches!(r, Request::Turn(TurnRequest::Ask { .. }));
    let ticket = stage.sent.iter().rev().find(|(_, r)| is_ask(r)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Blocked, "Too large.")) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Too large for the budget") && screen.contains("raise the budget"), "{screen}");
    let sent = stage.sent.len();
    stage.press("enter");
    assert!(stage.model.layers.is_empty() && stage.sent.len() == sent, "Enter closes the question");
}

/// A lease that is left out is named beside the reason that nothing is sent, in the panel and above the composer.
#[test]
fn marks_are_named_while_the_request_does_not_fit() {
    let mut stage = fixture::opened();
    let mut blocked = too_large();
    let mut lease = fixture::plan(&fixture::story()).rows.pop().unwrap();
    lease.pin = Some(MarkKind::leased(3));
    lease.verdict = Verdict::Out { needed: 900, remedy: None };
    lease.reason = Reason::Budget { free: 0 };
    blocked.left_out.push(lease);
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: Planned::Blocked(Arc::new(blocked)) });
    let screen = stage.screen(120, 35);
    assert_eq!(screen.matches("1 lease left out: over budget").count(), 2, "{screen}");
    assert!(screen.contains("the request does not fit"), "{screen}");
}

/// On a low screen, the panel drops figures before warnings.
#[test]
fn warnings_stay_in_a_low_panel() {
    let mut stage = fixture::opened();
    let mut plan = fixture::plan(&fixture::story());
    plan.warnings = vec![Warning::WindowAssumed { tokens: 8_192 }];
    let words: String = plan.warnings[0].sentence().split(' ').take(3).collect::<Vec<_>>().join(" ");
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: fixture::planned(plan) });
    for height in 14..40 {
        let screen = stage.screen(120, height);
        let has_panel = screen.contains("Next request") && screen.contains("Instructions");
        assert!(!has_panel || screen.contains(&words), "{height}: {screen}");
    }
}

#[test]
fn left_out_turns_add_up() {
    let mut stage = fixture::opened();
    let mut plan = fixture::plan(&fixture::story());
    let out = plan.rows.last().unwrap().clone();
    for (at, turns) in [(0_u8, 1), (1, 1), (2, 40), (3, 60), (4, 1), (5, 1), (6, 25)] {
        let kind = if turns > 1 { RowKind::Range } else { RowKind::Turn };
        let atom = Atom::Section { text: Hash::of(&[b'r', at]) };
        plan.rows.push(Row { atom, kind, turns, title: format!("{turns} turns"), ..out.clone() });
    }
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: fixture::planned(plan) });
    let mut listed_in_part = 0;
    for height in 30..50 {
        let screen = stage.screen(120, height);
        let rows: Vec<&str> = screen.lines().filter_map(|line| line.rsplit(['│', '┃']).next()).collect();
        let start = rows.iter().position(|row| row.contains("Left out 130")).expect(&screen);
        let listed: Vec<&str> = rows[start + 1..].iter().copied().take_while(|row| row.starts_with("   ")).collect();
        let number = |word: &str| word.trim_start_matches('…').parse::<u64>().ok();
        let is_number = |row: &&str| row.contains("turns") || row.contains(" more");
        let count = |row: &&str| row.split_whitespace().find_map(number).filter(|_| is_number(row)).unwrap_or(1);
        let shown: u64 = listed.iter().map(count).sum();
        assert!(shown == 0 || shown == 130, "{shown} of 130 at {height} rows:\n{screen}");
        listed_in_part += usize::from(listed.iter().any(|row| row.contains(" more")));
    }
    assert!(listed_in_part > 0, "at some height, only a part is listed");
}

#[test]
fn summary_names_a_lane_only_where_there_are_lanes() {
    let mut nodes = fixture::story();
    let screen = |nodes: Vec<Node>| {
        let branches = vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)];
        let view = fixture::view(&nodes, branches);
        let mut stage = fixture::open(nodes.clone(), view);
        let mut plan = fixture::plan(&nodes);
        plan.rows.push(fixture::row(b"sum", Section::LaneSummary, 77, "summary of turns 1–4", Reason::Summary));
        stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: fixture::planned(plan) });
        stage.screen(120, 40)
    };
    let without = screen(nodes.clone());
    assert!(without.contains("Summary 1") && !without.contains("Lane summary"), "{without}");
    for node in &mut nodes {
        node.head.lane = "auth".into();
    }
    let with = screen(nodes);
    assert!(with.contains("Lane summary 1"), "{with}");
}

#[test]
fn meter_shows_the_excess() {
    let mut stage = fixture::opened();
    let blocked = Blocked { choices: Vec::new(), ..too_large() };
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: Planned::Blocked(Arc::new(blocked)) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("! Does not fit") && screen.contains("1,600") && screen.contains("106%"), "{screen}");
    picture("meter_over", (120, 35), &mut stage);
}

/// The screen with the panel focused, and `more` turns that are left out.
fn focused(more: u8) -> Stage {
    let mut stage = fixture::opened();
    let mut plan = fixture::plan(&fixture::story());
    let out = plan.rows.last().unwrap().clone();
    for at in 0..more {
        let atom = Atom::Turn { user: Hash::of(&[b'u', at]), tip: Hash::of(&[b't', at]) };
        plan.rows.push(Row { atom, title: format!("turn number {at}"), ..out.clone() });
    }
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: fixture::planned(plan) });
    stage.model.focus = Focus::Context;
    stage
}

/// The row that is drawn as selected in the panel.
fn selected(stage: &mut Stage, (width, height): (u16, u16)) -> String {
    let buf = stage.buffer(width, height);
    let reversed = |x: u16, y: u16| buf[(x, y)].modifier.contains(Modifier::REVERSED);
    let first = width - width / 4;
    let rows = (3..height - 3).filter(|y| (first..width).any(|x| reversed(x, *y)));
    let rows: Vec<String> = rows.map(|y| (first..width).map(|x| buf[(x, y)].symbol()).collect()).collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows[0].trim().to_owned()
}

#[test]
fn the_focused_panel_has_a_cursor_that_stays_visible() {
    let mut stage = focused(60);
    let size = (120, 35);
    assert!(selected(&mut stage, size).contains("Never log tokens."));
    stage.press("down");
    assert!(selected(&mut stage, size).contains("Why does login"));
    for (keys, title) in [("j j", "An older turn"), ("end", "turn number 59"), ("k", "turn number 58"), ("g", "Never")]
    {
        stage.press(keys);
        let row = selected(&mut stage, size);
        assert!(row.contains(title), "{keys}: {row}");
    }
    stage.press("pagedown");
    let page = selected(&mut stage, size);
    assert!(page.contains("turn number "), "{page}");
    stage.press("pageup");
    assert!(selected(&mut stage, size).contains("Never"));
    stage.press("G up up");
    let mut plan = fixture::plan(&fixture::story());
    plan.id = Hash::of(b"shorter");
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: fixture::planned(plan) });
    assert!(selected(&mut stage, size).contains("An older turn"), "the last item, if the selected one is gone");
    let screen = stage.screen(120, 35);
    assert!(
        screen.contains("p pin  x leave out  i include once  P lease  f fork  Enter open  Esc type"),
        "the footer names what the keys do here: {screen}"
    );
    let mut stage = focused(60);
    stage.press("pagedown");
    picture("next_request_focused", size, &mut stage);
}

#[test]
fn letters_in_the_panel_act_on_the_selected_item() {
    let nodes = fixture::story();
    let turn = Atom::Turn { user: nodes[0].head.key, tip: nodes[3].head.key };
    let acts = [
        ("p", Act::Set { kind: MarkKind::Sticky, toggle: true }),
        ("x", Act::Set { kind: MarkKind::Exclude, toggle: true }),
        ("i", Act::Set { kind: MarkKind::IncludeOnce, toggle: true }),
        ("P", Act::Lease { toggle: true }),
    ];
    for (key, act) in acts {
        let mut stage = focused(0);
        stage.press("down").press(key);
        let in_panel = stage.last().clone();
        assert_eq!(
            in_panel,
            Request::Branch(BranchRequest::Mark { branch: MAIN, items: vec![ItemName::Atom(turn)], act })
        );
        stage.press("enter").press(key);
        assert!(stage.model.layers.on::<RequestScreen>(), "Enter opens the list");
        let marks = stage.sent.iter().filter(|(_, r)| *r == in_panel).count();
        assert_eq!(marks, 2, "the list opens on the item, and {key} does the same there");
    }
    let mut stage = focused(0);
    stage.press("down f");
    let Request::Branch(BranchRequest::Fork { at, .. }) = stage.last() else { panic!("{:?}", stage.last()) };
    assert_eq!(*at, Some(nodes[3].head.id), "the end of the turn");
    let mut stage = focused(0);
    let before = stage.sent.len();
    stage.press("f");
    assert!(stage.screen(120, 35).contains("Select the message to fork from."));
    assert_eq!(stage.sent.len(), before, "a note has no message");
}

/// A suggested pin is an item of the panel, which `d` dismisses and `p` pins, as in the list.
#[test]
fn a_suggested_pin_is_dismissed_in_the_panel() {
    let mut stage = focused(0);
    stage.press("down down");
    assert!(selected(&mut stage, (120, 35)).contains("The error message of t"));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("p pin  d dismiss"), "{screen}");
    stage.press("d");
    let item = ItemName::Atom(Atom::Section { text: Hash::of(b"sug") });
    assert_eq!(*stage.last(), Request::Branch(BranchRequest::Dismiss { branch: MAIN, item }));
    let sent = stage.sent.len();
    stage.press("down d");
    assert_eq!(stage.sent.len(), sent, "another item is no suggestion");
    assert!(stage.screen(120, 35).contains("Only suggested pins can be dismissed here."));
    stage.model.focus = Focus::Composer;
    stage.type_text("half a thought");
    stage.model.focus = Focus::Context;
    stage.press("up d");
    assert!(stage.screen(120, 35).contains("Again to do it, Esc to type."), "a letter beside an unsent message");
}

#[test]
fn a_letter_in_the_panel_beside_an_unsent_message_asks_once() {
    let mut stage = focused(0);
    stage.model.focus = Focus::Composer;
    stage.type_text("half a thought").wait(100);
    stage.model.focus = Focus::Context;
    let marks = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Branch(BranchRequest::Mark { .. }))).count()
    };
    stage.press("down x");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("x here leaves out this turn. Again to do it, Esc to type."), "{screen}");
    assert_eq!(marks(&stage), 0);
    stage.press("x");
    assert_eq!(marks(&stage), 1);
}

#[test]
fn a_click_selects_an_item_of_the_panel_and_a_second_one_opens_it() {
    let mut stage = focused(60);
    stage.model.focus = Focus::Composer;
    stage.model.facts.mouse = true;
    let at = super::panels::find(&mut stage, "An older turn");
    super::panels::click(&mut stage, at);
    assert_eq!(stage.model.focus, Focus::Context);
    assert!(selected(&mut stage, (120, 35)).contains("An older turn"));
    super::panels::click(&mut stage, at);
    let Some(overlay) = stage.model.layers.top::<RequestScreen>() else { panic!() };
    assert!(overlay.selected().is_some_and(|(row, _)| row.title.contains("An older turn")));
}
