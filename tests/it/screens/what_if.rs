//! Variations of calls: the next call under other settings, a repeated call, a race. Snapshots and requests.

use super::Stage;
use super::fixture::{self, MAIN};
use super::pictures::pictures;
use pleach::domain::base::{BranchId, Failure, FailureKind, Hash, RunId};
use pleach::domain::call::{Certainty, Limits, ModelInfo, PromptCost, RunCard};
use pleach::domain::conversation::{Branch, Node, Overrides, Role};
use pleach::domain::planning::{Alternative, Mode, MovedItem, PlanFigures, RowKind, WhatIf};
use pleach::engine::api::{
    Answer, BranchRequest, CallRequest, Draft, Event, ItemName, PlanRequest, ProgramRequest, ReplayedCall, Request,
    SessionEvent, TurnEvent, TurnRequest,
};
use pleach::tui::screens::picker::model::Picker;
use pleach::tui::screens::what_if::model::WhatIfScreen;
use std::sync::Arc;
use uuid::Uuid;

fn moved(turn: u32, title: &str, tokens: u32) -> MovedItem {
    MovedItem { kind: RowKind::Turn, title: title.into(), tokens, turn: Some(turn) }
}

fn figures(est: u32, micro: u64, same: u32, gained: Vec<MovedItem>, lost: Vec<MovedItem>) -> PlanFigures {
    let sum = |items: &[MovedItem]| (u32::try_from(items.len()).unwrap(), items.iter().map(|item| item.tokens).sum());
    PlanFigures {
        plan: Hash::of(&est.to_le_bytes()),
        est,
        certainty: Certainty::Estimated,
        room: 8_000,
        same: Some(same),
        cost: Some(PromptCost {
            micro,
            uncached_micro: micro * 2,
            cached: same,
            answer_most_micro: 4_800,
            certainty: Certainty::Estimated,
        }),
        items: 14,
        sums: [sum(&gained), sum(&lost)],
        gained,
        lost,
        changed: 1,
    }
}

pub(super) fn found(words: &str) -> Arc<WhatIf> {
    let way = |title: &str, overrides: Overrides, result: Result<PlanFigures, Failure>| Alternative {
        title: title.into(),
        overrides,
        result,
    };
    let lost = |count: u32| (1..=count).map(|turn| moved(turn, words, 300 + turn)).collect::<Vec<_>>();
    let blank = Overrides::default;
    Arc::new(WhatIf {
        branch: MAIN,
        present: Ok(figures(5_213, 900, 4_000, Vec::new(), Vec::new())),
        alternatives: vec![
            way(
                "mode Off",
                Overrides { mode: Some(Mode::Off), ..blank() },
                Ok(figures(3_001, 700, 1_200, Vec::new(), lost(7))),
            ),
            way(
                "mode Heavy",
                Overrides { mode: Some(Mode::Heavy), ..blank() },
                Ok(figures(7_411, 1_800, 1_200, lost(4), vec![moved(9, "日本語 works too.", 80)])),
            ),
            way(
                "policy window",
                Overrides { policy: Some("window".into()), ..blank() },
                Ok(figures(5_213, 900, 4_000, Vec::new(), Vec::new())),
            ),
            way(
                "model gpt-4.1",
                Overrides { model: Some("gpt-4.1".into()), ..blank() },
                Ok(figures(5_213, 10_426, 0, Vec::new(), Vec::new())),
            ),
            way(
                "budget 2,000",
                Overrides { budget: Some(2_000), ..blank() },
                Err(Failure::new(FailureKind::Blocked, format!("Too large for the budget. {words}"))),
            ),
        ],
    })
}

fn asked(request: &Request) -> bool {
    matches!(request, Request::Plan(PlanRequest::WhatIf { .. }))
}

#[test]
fn variants_are_shown_and_one_is_applied() {
    let mut stage = fixture::opened();
    stage.type_text("Why twice?").press("f7");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Plan(PlanRequest::WhatIf { branch: MAIN, draft, .. }) if &*draft.text == "Why twice?"))
    );
    pictures("whatif_loading", &mut stage);
    stage.reply(asked, Answer::WhatIf(found("Why does login fail after the refresh?")));
    stage.press("j j");
    pictures("whatif", &mut stage);
    stage.press("enter");
    let overrides = Overrides { mode: Some(Mode::Heavy), ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted));
    assert!(stage.model.layers.is_empty());
}

#[test]
fn variants_are_requested_again_once_if_a_listed_model_has_no_row() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let count = |stage: &Stage| stage.sent.iter().filter(|(_, r)| asked(r)).count();
    let lists = |request: &Request| matches!(request, Request::Program(ProgramRequest::Models { unready: false, .. }));
    let listed = |name: &str| {
        let info = ModelInfo { name: name.into(), ..fixture::settings().model };
        Answer::Models(vec![("own".to_owned(), Ok(vec![info]))])
    };
    stage.reply(lists, listed("gpt-4.1"));
    assert_eq!(count(&stage), 1, "the first answer is still expected");
    stage.reply(asked, Answer::WhatIf(found("x")));
    assert_eq!(count(&stage), 1, "the model has a row");
    stage.press("esc f7");
    stage.reply(asked, Answer::WhatIf(found("x"))).press("j j j j j");
    stage.reply(lists, listed("new-model"));
    assert_eq!(count(&stage), 3, "requested again");
    let mut more = WhatIf::clone(&found("x"));
    let new = Alternative {
        overrides: Overrides { model: Some("new-model".into()), ..Overrides::default() },
        ..more.alternatives[3].clone()
    };
    more.alternatives.insert(4, new);
    stage.reply(asked, Answer::WhatIf(Arc::new(more)));
    assert_eq!(count(&stage), 3, "but only once");
    let screen = stage.model.layers.top::<WhatIfScreen>().unwrap();
    assert_eq!((screen.cursor, screen.line(screen.cursor).unwrap().0), (6, "budget 2,000"), "the same settings");
}

#[test]
fn viewing_variants_changes_nothing() {
    let mut stage = fixture::opened();
    stage.press("f7");
    let overrides = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Branch(BranchRequest::Override { .. }))).count()
    };
    stage.press("enter");
    assert_eq!((overrides(&stage), stage.model.layers.len()), (0, 1), "there is nothing to apply yet");
    stage.reply(asked, Answer::WhatIf(found("x"))).press("enter");
    assert_eq!((overrides(&stage), stage.model.layers.len()), (0, 0), "unchanged");
    stage.press("f7 f7");
    assert!(stage.model.layers.is_empty(), "the same key closes it");
    stage.press("f7");
    let count = |stage: &Stage| stage.sent.iter().filter(|(_, r)| asked(r)).count();
    let before = count(&stage);
    let ticket = stage.sent.iter().rev().find(|(_, r)| asked(r)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Stale, "The branch changed.")) });
    assert_eq!(count(&stage), before + 1, "requested again");
}

pub(super) fn branch(n: u128, name: &str) -> Branch {
    let nodes = fixture::story();
    Branch {
        fork: Some(nodes[4].head.id),
        ..fixture::branch(BranchId(Uuid::from_u128(n)), name, nodes.get(4), Some(MAIN))
    }
}

/// A complete answer on a branch.
pub(super) fn answered(stage: &mut Stage, on: &Branch, n: u128, words: &str) -> RunCard {
    let story = fixture::story();
    let node: Node = fixture::text_node(n, Some(&story[4]), Role::Assistant, words);
    let card = RunCard { branch: on.id, ..fixture::run(n, &story[4], &node) };
    stage.bodies.insert(node.head.id, Arc::new(node.clone()));
    stage.event(Event::Session(SessionEvent::Nodes { session: on.session, heads: vec![node.head.clone()] }));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(Branch { head: Some(node.head.id), ..on.clone() }))));
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card.clone()))));
    stage.event(Event::Turn(TurnEvent::Closed { branch: on.id, draft: None, failure: None }));
    card
}

fn opens(stage: &mut Stage, on: &Branch, words: &str) {
    stage.event(Event::Turn(TurnEvent::Opened { branch: on.id, text: "".into(), after: on.head }));
    stage.event(Event::Turn(TurnEvent::Stream {
        branch: on.id,
        run: RunId(Uuid::from_u128(77)),
        text: words.into(),
        reasoning: String::new(),
        tokens: 12,
        certainty: Certainty::Estimated,
        cost_micro: None,
    }));
}

#[test]
fn replay_command_takes_a_turn() {
    let mut stage = fixture::opened();
    let run = fixture::run_id(1).to_string();
    for name in ["1", "last", &run] {
        stage.type_text(&format!("/replay {name}")).press("enter");
        let wanted = CallRequest::Replay { run: run.clone(), profile: None, model: None, without: None };
        assert_eq!(*stage.last(), Request::Call(wanted), "{name}");
        stage.sent.push((pleach::engine::api::Ticket(0), Request::Call(CallRequest::List)));
    }
    stage.type_text("/replay 9").press("enter");
    assert!(stage.screen(120, 35).contains("There is no turn 9 on this branch"));
}

#[test]
fn repeated_call_is_beside_the_stored_one() {
    let mut stage = fixture::opened();
    stage.press("shift-tab").press("tab tab");
    stage.model.focus = pleach::tui::model::focus::Focus::Conversation;
    stage.press("g Z");
    pictures("replay_question", &mut stage);
    stage.type_text("w");
    let plan = Arc::new(fixture::plan(&fixture::story()));
    let runs = Vec::new();
    stage.reply(
        |r| matches!(r, Request::Call(CallRequest::StoredPlan { .. })),
        Answer::StoredPlan { plan: plan.clone(), runs, code_set: None },
    );
    assert!(stage.screen(120, 35).contains("Replay the call without"));
    let start = stage.model.layers.top::<Picker>().and_then(Picker::selected).map(|entry| entry.label.clone());
    assert_eq!(start.as_deref(), Some("Never log tokens."), "the first item that can be marked");
    let atom = plan.rows.iter().find(|row| row.kind == RowKind::Turn).unwrap().atom;
    stage.press("down enter");
    let run = fixture::run_id(1).to_string();
    let wanted =
        Request::Call(CallRequest::Replay { run, profile: None, model: None, without: Some(ItemName::Atom(atom)) });
    assert_eq!(*stage.last(), wanted);
    let (scratch, story) = (branch(50, "replay-1"), fixture::story());
    let made = ReplayedCall {
        of: fixture::run(1, &story[0], &story[3]),
        run: fixture::run_id(2),
        branch: Box::new(scratch.clone()),
        exact: false,
        without: Some((atom, "Why does login fail after the refresh?".into())),
    };
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Replay { .. })), Answer::Replaying(Box::new(made)));
    opens(&mut stage, &scratch, "I cannot tell without");
    pictures("replay_coming", &mut stage);
    answered(&mut stage, &scratch, 40, "I cannot tell *without* what was said of the refresh.");
    pictures("replay", &mut stage);
    stage.press("m");
    let overrides = Overrides { mattered: vec![atom], ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted), "it goes to the branch of the stored call");
    stage.press("x");
    assert_eq!(*stage.last(), Request::Branch(BranchRequest::PutAway { branches: vec![scratch.id] }));
    assert!(stage.model.layers.is_empty());
}

#[test]
fn race_is_run_and_a_winner_kept() {
    let mut stage = fixture::opened();
    for line in ["/race mode:off What?", "/race mode:loud mode:off What?", "/race mode:off mode:heavy"] {
        stage.type_text(line).press("enter");
        assert!(!stage.sent.iter().any(|(_, r)| matches!(r, Request::Call(CallRequest::Race { .. }))), "{line}");
        assert!(stage.model.composer.is_empty(), "the next message does not continue it");
        stage.press("up");
        assert_eq!(stage.model.composer.first_line(), line, "it can be corrected");
        stage.press("ctrl-c");
    }
    stage.type_text("/race tokens:400 mode:off time:30 model:gpt-4.1,policy:window Why does it fail?").press("enter");
    let limits = Limits { tokens: Some(400), seconds: Some(30), ..Limits::default() };
    let arms = vec![
        Overrides { mode: Some(Mode::Off), ..Overrides::default() },
        Overrides { model: Some("gpt-4.1".into()), policy: Some("window".into()), ..Overrides::default() },
    ];
    let draft = Draft { text: "Why does it fail?".into(), ..Draft::default() };
    let race = Request::Call(CallRequest::Race { branch: MAIN, arms: arms.clone(), limits, draft });
    assert!(stage.sent.iter().any(|(_, request)| *request == race));
    let made = [branch(60, "race-1"), branch(61, "race-2")];
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), Answer::Race(made.to_vec()));
    let of = |request: &Request| match request {
        Request::Turn(TurnRequest::Ask { branch, draft, .. }) if &*draft.text == "Why does it fail?" => Some(*branch),
        _ => None,
    };
    let asks: Vec<BranchId> = stage.sent.iter().filter_map(|(_, request)| of(request)).collect();
    assert_eq!(asks, [made[0].id, made[1].id]);
    for on in &made {
        opens(&mut stage, on, "Because of");
    }
    stage.press("enter");
    assert_eq!(stage.model.layers.len(), 1, "answers are still streaming");
    answered(&mut stage, &made[0], 41, "Because of the *rotation*:\n\n- it comes first\n- the save comes second");
    answered(&mut stage, &made[1], 42, "It does not fail here. 日本語");
    pictures("race", &mut stage);
    stage.press("tab enter");
    assert!(stage.sent.iter().any(|(_, r)| *r == Request::Call(CallRequest::KeepOne { branch: made[1].id })));
    assert!(stage.sent.iter().any(|(_, r)| *r == Request::Branch(BranchRequest::Switch { branch: made[1].id })));
}
