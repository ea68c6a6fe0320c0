//! The panel of the next request: when plans are requested, the meter, and the cached prefix.
//! Not for: the rows of the request (`request`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use crate::screens::pictures::picture;
use pleach::domain::base::Hash;
use pleach::domain::call::PromptCost;
use pleach::domain::planning::plan::Warning;
use pleach::domain::planning::{Blocked, ContextPlan, Milli, Task};
use pleach::engine::api::{Answer, Event, PlanRequest, Planned, Request, TurnEvent};
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
    assert!(stage.screen(120, 30).contains("5,213 of 8,000"), "an older generation changes nothing");
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
            Answer::Planned(fixture::planned(plan.clone())),
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
    let Planned::Plan { plan, request_digest, bytes, calibration, cost, breaks, code_set, .. } =
        fixture::planned(fixture::plan(&fixture::story()))
    else {
        panic!()
    };
    let cost = cost.map(|cost| PromptCost { micro: cost.uncached_micro - saves, ..cost });
    let planned =
        Planned::Plan { plan, request_digest, bytes, calibration, cost, breaks, code_set, same_prefix: Some(tokens) };
    stage.type_text("x").wait(100);
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), Answer::Planned(planned));
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

#[test]
fn meter_shows_the_excess() {
    let mut stage = fixture::opened();
    let nodes = fixture::story();
    let plan = fixture::plan(&nodes);
    let blocked = Blocked {
        basis: plan.basis,
        needed: 9_600,
        budget: plan.budget,
        choices: Vec::new(),
        rows: plan.included().cloned().collect(),
        left_out: Vec::new(),
    };
    stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned: Planned::Blocked(Arc::new(blocked)) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("! Over budget") && screen.contains("1,600") && screen.contains("120%"), "{screen}");
    picture("meter_over", (120, 35), &mut stage);
}
