//! The call history, differences between two calls, and an item's history: snapshots and requests.
//! Not for: branches side by side (`compare`).

use super::Stage;
use super::fixture::{self, MAIN, NOON, run_id};
use super::pictures::pictures;
use pleach::domain::base::{Failure, Hash};
use pleach::domain::call::{RunCard, UseCount};
use pleach::domain::conversation::{Atom, ItemState};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{
    CallRef, Cause, CauseKind, DiffKind, Form, HistoryStep, ItemDiff, ItemHistory, ItemInCall, ItemPlace, PlanDiff,
    RowKind, Section, SettingDiff,
};
use pleach::engine::api::{
    CallAnswer, CallRequest, CallSelector, Event, ItemName, PlanAnswer, PlanRequest, Request, TurnEvent,
};

pub(super) fn turn(n: u8) -> Atom {
    Atom::Turn { user: Hash::of(&[n]), tip: Hash::of(&[n, n]) }
}

fn place(section: Option<Section>, tokens: u32, reason: Reason) -> ItemPlace {
    ItemPlace { included: section.is_some(), section, at: None, tokens, form: Form::Full, reason, shared: false }
}

fn cause(by: CauseKind, words: &str) -> Cause {
    Cause { by, words: words.into(), at: Some(NOON) }
}

fn delta(n: u8, kind: DiffKind, title: &str, places: (Option<ItemPlace>, Option<ItemPlace>), cause: Cause) -> ItemDiff {
    ItemDiff {
        atom: turn(n),
        row: RowKind::Turn,
        title: title.into(),
        turn: Some(u32::from(n)),
        kinds: vec![kind],
        before: places.0,
        after: places.1,
        causes: vec![cause],
    }
}

fn call(n: u128, tokens: u32) -> CallRef {
    CallRef {
        run: Some(run_id(n)),
        plan: Hash::of(b"plan"),
        branch: Some(MAIN),
        name: "main".into(),
        at: Some(NOON + i64::try_from(n).unwrap() * 60_000),
        tokens,
        budget: 7_000,
        safety: 1_000,
        model: "gpt-4.1-mini".into(),
        cost_micro: Some(900),
    }
}

pub(super) fn plan_diff(words: &str) -> Box<PlanDiff> {
    let recent = || place(Some(Section::Recent), 412, Reason::Recent);
    let excluded = place(None, 412, Reason::UserExcluded { once: false });
    let leased = place(Some(Section::LeasedPins), 96, Reason::Leased { left: 4, engine: true });
    let deltas = vec![
        delta(
            2,
            DiffKind::Entered,
            "日本語: the port",
            (None, Some(leased)),
            cause(CauseKind::Lease, "The program leased it."),
        ),
        delta(1, DiffKind::Left, words, (Some(recent()), Some(excluded)), cause(CauseKind::You, "You left it out.")),
    ];
    let values = ["Light", "Off"].map(str::to_owned);
    let [before, after] = values.clone();
    let setting = SettingDiff { name: "mode", before, after, shown: values };
    Box::new(PlanDiff {
        before: call(1, 1_204),
        after: call(2, 888),
        settings: vec![setting],
        deltas,
        same: 4,
        same_tokens: 700,
    })
}

fn history(words: &str) -> Box<ItemHistory> {
    let stay =
        |calls, place, causes| ItemInCall { from: call(1, 9), to: call(2, 9), calls, place: Some(place), causes };
    let out = place(None, 412, Reason::UserExcluded { once: false });
    Box::new(ItemHistory {
        atom: turn(1),
        title: words.into(),
        turn: Some(1),
        stays: vec![
            stay(3, place(Some(Section::Recent), 412, Reason::Recent), Vec::new()),
            stay(1, out, vec![cause(CauseKind::You, "You left it out.")]),
        ],
        older: 0,
        steps: vec![HistoryStep { at: NOON, to: ItemState::Excluded, words: "You left it out.".into() }],
    })
}

pub(super) fn listed() -> Stage {
    let mut stage = fixture::opened();
    let nodes = fixture::story();
    stage.press("f9");
    let runs = vec![fixture::run(1, &nodes[0], &nodes[3]), fixture::run(2, &nodes[4], &nodes[5])];
    stage.reply(|request| matches!(request, Request::Call(CallRequest::List)), CallAnswer::Runs(runs));
    stage
}

#[test]
fn a_side_question_is_titled() {
    let (mut stage, nodes) = (listed(), fixture::story());
    let aside = RunCard { user: None, answer: None, aside: true, ..fixture::run(3, &nodes[4], &nodes[5]) };
    stage.event(Event::Turn(TurnEvent::Run(Box::new(aside))));
    assert!(stage.screen(120, 35).contains("Side question"));
}

#[test]
fn calls_show_used_items() {
    let mut stage = listed();
    assert!(!stage.screen(120, 35).contains("shown"), "unknown uses show nothing");
    let nodes = fixture::story();
    let mut card = fixture::run(2, &nodes[4], &nodes[5]);
    card.uses = Some(UseCount { shown: 12, used: 3, shown_tokens: 4_100, used_tokens: 900 });
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    pictures("calls_used", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("3 of 12 items used") && screen.contains("v request"), "{screen}");
}

fn diffs(stage: &Stage) -> Vec<(Option<CallSelector>, CallSelector)> {
    let of = |request: &Request| match request {
        Request::Call(CallRequest::DiffPlans { before, after }) => Some((before.clone(), after.clone())),
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

fn id(n: u128) -> CallSelector {
    CallSelector::Named(run_id(n).to_string())
}

#[test]
fn two_calls_are_compared() {
    let mut stage = listed();
    pictures("calls", &mut stage);
    stage.press("enter");
    assert_eq!(diffs(&stage), [(None, id(2))], "the newest call is first and is compared with the previous one");
    stage.reply(
        |r| matches!(r, Request::Call(CallRequest::DiffPlans { .. })),
        CallAnswer::Diff(plan_diff("Why does it fail?\u{202e}")),
    );
    pictures("call_diff", &mut stage);
    stage.press("j enter");
    let why = Request::Plan(PlanRequest::Why { branch: MAIN, item: ItemName::Atom(turn(1)), most: None });
    assert_eq!(stage.sent.last().map(|(_, request)| request), Some(&why));
    stage.reply(
        |r| matches!(r, Request::Plan(PlanRequest::Why { most: None, .. })),
        PlanAnswer::History(history("Why does it fail?\u{202e}")),
    );
    pictures("item_history", &mut stage);
    stage.press("esc esc space j enter");
    assert_eq!(diffs(&stage).last(), Some(&(Some(id(1)), id(2))), "the marked call against the selected one");
    let ticket = stage.sent.last().unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::user("The plan of that call was deleted.")) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Call history"), "the empty screen closes: {screen}");
}

/// The calls that are marked, newest first.
fn marked(stage: &mut Stage) -> Vec<bool> {
    let screen = stage.screen(120, 35);
    let calls = screen.lines().filter(|line| line.contains("2026-11-22")).take(3);
    calls.map(|line| line.trim_start_matches(['│', ' ']).starts_with('●')).collect()
}

#[test]
fn two_marked_calls_are_compared_and_a_third_replaces_the_older_mark() {
    let (mut stage, nodes) = (listed(), fixture::story());
    stage.event(Event::Turn(TurnEvent::Run(Box::new(fixture::run(3, &nodes[4], &nodes[5])))));
    let footer = |stage: &mut Stage, words: &str| {
        let screen = stage.screen(120, 35);
        assert!(screen.contains(words), "{words}: {screen}");
    };
    stage.press("home");
    footer(&mut stage, "compare with the previous call");
    stage.press("space");
    footer(&mut stage, "compare with the previous call");
    stage.press("j");
    footer(&mut stage, "compare with the marked call");
    stage.press("space");
    footer(&mut stage, "compare the two marked calls");
    assert_eq!(marked(&mut stage), [true, true, false]);
    stage.press("j enter");
    assert_eq!(diffs(&stage).last(), Some(&(Some(id(2)), id(3))), "wherever the cursor is");
    stage.press("esc space");
    assert_eq!(marked(&mut stage), [false, true, true]);
    stage.press("space enter");
    assert_eq!(diffs(&stage).last(), Some(&(Some(id(1)), id(2))), "a mark is removed by the same key");
}

#[test]
fn calls_of_one_minute_have_different_names() {
    let title = |apart: i64| {
        let mut stage = fixture::opened();
        stage.press("ctrl-o D");
        let mut diff = plan_diff("Why does it fail?");
        diff.after.at = diff.before.at.map(|at| at + apart);
        stage.reply(|request| matches!(request, Request::Call(CallRequest::DiffPlans { .. })), CallAnswer::Diff(diff));
        let screen = stage.screen(120, 35);
        screen.lines().find(|line| line.contains("What changed")).unwrap_or_default().to_owned()
    };
    let times = |title: &str| title.split("main ").skip(1).map(|rest| rest[..8].to_owned()).collect::<Vec<_>>();
    let apart = times(&title(7_000));
    assert!(apart.len() == 2 && apart[0] != apart[1], "{apart:?}");
    assert!(title(0).contains("(earlier)") && title(0).contains("(later)"), "{}", title(0));
}

#[test]
fn the_groups_of_a_comparison_add_up_to_its_difference() {
    for (before, after, row) in [(1_204, 888, None), (1_204, 912, Some("+24")), (1_204, 880, Some("-8"))] {
        let mut stage = listed();
        stage.press("enter");
        let mut diff = plan_diff("Why does it fail?");
        (diff.before.tokens, diff.after.tokens) = (before, after);
        stage.reply(|r| matches!(r, Request::Call(CallRequest::DiffPlans { .. })), CallAnswer::Diff(diff));
        let screen = stage.screen(120, 35);
        let line = screen.lines().find(|line| line.contains("message overhead and tools"));
        assert_eq!(line.is_some(), row.is_some(), "{screen}");
        assert!(line.zip(row).is_none_or(|(line, row)| line.contains(row)), "{screen}");
    }
}

#[test]
fn next_call_is_compared_with_the_last() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o D");
    assert_eq!(diffs(&stage), [(Some(CallSelector::Last(MAIN)), CallSelector::Next(MAIN))]);
}

#[test]
fn edited_calls_are_marked() {
    let mut stage = fixture::opened();
    let nodes = fixture::story();
    let mut run = fixture::run(1, &nodes[0], &nodes[3]);
    run.edited = true;
    stage.event(Event::Turn(TurnEvent::Run(Box::new(run.clone()))));
    assert!(stage.screen(160, 50).contains("edited by hand"), "under the message");
    stage.press("f9");
    stage.reply(|request| matches!(request, Request::Call(CallRequest::List)), CallAnswer::Runs(vec![run]));
    assert!(stage.screen(120, 35).contains("(edited by hand)"), "in the list of calls");
}
