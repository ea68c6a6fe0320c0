//! Answers side by side: races with their limits, and repeated calls. Snapshots and requests.
//! Not for: plans under other settings without answers (`what_if`).

use super::Stage;
use super::fixture::{self, MAIN, NOON, SESSION};
use super::pictures::pictures;
use pleach::domain::base::ids::RaceId;
use pleach::domain::base::{BranchId, Failure, FailureKind, Hash, RunId};
use pleach::domain::call::{BranchRun, Certainty, Config, Limit, Limits, ModelInfo, RaceUsage, RunCard, RunStatus};
use pleach::domain::conversation::{Branch, Node, Overrides, Role};
use pleach::domain::planning::{Mode, RowKind};
use pleach::engine::api::{
    Answer, BranchRequest, CallAnswer, CallRequest, Draft, Event, ItemName, ProgramAnswer, ProgramRequest,
    ReplayedCall, Request, SessionEvent, TurnEvent, TurnRequest,
};
use pleach::tui::screens::picker::model::Picker;
use std::sync::Arc;
use uuid::Uuid;

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
        CallAnswer::StoredPlan { plan: plan.clone(), runs, code_set: None },
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
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Replay { .. })), CallAnswer::Replaying(Box::new(made)));
    opens(&mut stage, &scratch, "I cannot tell without");
    pictures("replay_coming", &mut stage);
    answered(&mut stage, &scratch, 40, "I cannot tell *without* what was said of the refresh.");
    pictures("replay", &mut stage);
    stage.press("m");
    let overrides = Overrides { important: vec![atom], ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted), "it goes to the branch of the stored call");
    stage.press("x");
    assert_eq!(*stage.last(), Request::Branch(BranchRequest::ArchiveAll { branches: vec![scratch.id] }));
    assert!(stage.model.layers.is_empty());
}

#[test]
fn race_is_run_and_a_winner_kept() {
    let mut stage = fixture::opened();
    for line in [
        "/race mode:off What?",
        "/race mode:loud mode:off What?",
        "/race mode:off,x What?",
        "/race mode:off mode:heavy",
    ] {
        stage.type_text(line).press("enter");
        assert!(!stage.sent.iter().any(|(_, r)| matches!(r, Request::Call(CallRequest::Race { .. }))), "{line}");
        assert!(stage.model.composer.is_empty(), "the next message does not continue it");
        stage.press("up");
        assert_eq!(stage.model.composer.first_line(), line, "it can be corrected");
        stage.press("ctrl-c");
    }
    stage.type_text("/race tokens:400 mode:off time:30 model:gpt-4.1,policy:window Why does it fail?").press("enter");
    let limits = Limits { tokens: Some(400), seconds: Some(30), ..Limits::default() };
    let variants = vec![
        Overrides { mode: Some(Mode::Off), ..Overrides::default() },
        Overrides { model: Some("gpt-4.1".into()), policy: Some("window".into()), ..Overrides::default() },
    ];
    let draft = Draft { text: "Why does it fail?".into(), ..Draft::default() };
    let race = Request::Call(CallRequest::Race { branch: MAIN, variants: variants.clone(), limits, draft });
    assert!(stage.sent.iter().any(|(_, request)| *request == race));
    let made = [branch(60, "race-1"), branch(61, "race-2")];
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), CallAnswer::Race(made.to_vec()));
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

fn record(branch: BranchId, limits: Limits, stopped: Option<Limit>) -> Event {
    let config = Config {
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        policy: "layered".into(),
        layout: "classic".into(),
        mode: Mode::Off,
        budget: 8_000,
        max_output: 3_000,
        overrides: Overrides::default(),
    };
    Event::Turn(TurnEvent::BranchRun(Box::new(BranchRun {
        race: RaceId(Uuid::from_u128(1)),
        branch,
        from: MAIN,
        place: 0,
        config,
        limits,
        runs: Vec::new(),
        spent: RaceUsage::default(),
        stopped,
        ended: stopped.map(|_| RunStatus::Cancelled),
        at: NOON,
    })))
}

#[test]
fn race_shows_its_limits() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    stage.type_text("/race tokens:400 mode:off time:30 mode:heavy Why does it fail?").press("enter");
    let limits = Limits { tokens: Some(400), seconds: Some(30), ..Limits::default() };
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Call(CallRequest::Race { limits: found, .. }) if *found == limits))
    );
    let arm = |n, name| Branch {
        fork: Some(story[4].head.id),
        ..fixture::branch(BranchId(Uuid::from_u128(n)), name, story.get(4), Some(MAIN))
    };
    let made = vec![arm(60, "race-1"), arm(61, "race-2")];
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), CallAnswer::Race(made.clone()));
    for on in &made {
        stage.event(record(on.id, limits, None));
        stage.event(Event::Turn(TurnEvent::Opened { branch: on.id, text: "".into(), after: on.head }));
    }
    let node = fixture::text_node(41, Some(&story[4]), Role::Assistant, "Because of");
    let card = RunCard { branch: made[0].id, request_digest: Hash::of(b"x"), ..fixture::run(41, &story[4], &node) };
    stage.bodies.insert(node.head.id, Arc::new(node.clone()));
    stage.event(Event::Session(SessionEvent::Nodes { session: SESSION, heads: vec![node.head.clone()] }));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(Branch { head: Some(node.head.id), ..made[0].clone() }))));
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    stage.event(record(made[0].id, limits, Some(Limit::Tokens)));
    stage.event(Event::Turn(TurnEvent::Closed { branch: made[0].id, draft: None, failure: None }));
    pictures("race_limits", &mut stage);
    assert!(!stage.model.session.as_ref().unwrap().unread.contains(&made[0].id), "seen when it arrives");
}

/// Answers the request of the list of models with three models of one server.
fn list_models(stage: &mut Stage) {
    let own = fixture::settings().model;
    let other = |name: &str| ModelInfo { name: name.into(), ..own.clone() };
    let found = vec![own.clone(), other("gpt-4.1"), other("gpt-4.1-nano")];
    let answer = Answer::Program(ProgramAnswer::Models(vec![("openai".into(), Ok(found))]));
    stage.reply(|r| matches!(r, Request::Program(ProgramRequest::Models { .. })), answer);
}

/// The models of the races that were requested, with the texts.
fn races(stage: &Stage) -> Vec<(Vec<String>, String)> {
    let race = |request: &Request| match request {
        Request::Call(CallRequest::Race { variants, draft, .. }) => {
            Some((variants.iter().filter_map(|variant| variant.model.clone()).collect(), draft.text.to_string()))
        }
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| race(request)).collect()
}

/// Without settings, a race asks which models get the question: typed as a command, or with the key.
#[test]
fn models_of_a_race_are_chosen_from_a_list() {
    for (text, keys) in [("/race Why does it fail?", "enter"), ("Why does it fail?", "ctrl-x k")] {
        let mut stage = fixture::opened();
        stage.type_text(text).press(keys);
        list_models(&mut stage);
        let screen = stage.screen(100, 30);
        assert!(screen.contains("[x] ● gpt-4.1-mini") && screen.contains("[ ]   gpt-4.1 "), "{screen}");
        assert!(screen.contains("Space choose two or more") && !screen.contains("Enter ask"), "{screen}");
        stage.press("enter");
        assert!(stage.screen(100, 30).contains("A race needs two or more models"), "one model is no race");
        stage.press("esc esc");
        assert_eq!(stage.model.composer.first_line(), text, "the text is kept");
        assert!(races(&stage).is_empty());
        stage.press(keys);
        list_models(&mut stage);
        stage.type_text("nano ");
        assert!(stage.screen(100, 30).contains("[x]   gpt-4.1-nano"), "a space chooses the entry that was found");
        assert!(stage.screen(100, 30).contains("Enter ask 2 models"));
        stage.press("enter");
        let wanted = ["gpt-4.1-mini", "gpt-4.1-nano"].map(str::to_owned).to_vec();
        assert_eq!(races(&stage), [(wanted, "Why does it fail?".to_owned())]);
        assert!(stage.model.composer.is_empty());
    }
    let mut stage = fixture::opened();
    stage.press("ctrl-x k");
    assert_eq!(stage.model.composer.first_line(), "/race ");
    stage.type_text("Why does it fail?").press("ctrl-x k");
    list_models(&mut stage);
    pictures("race_models", &mut stage);
}

/// A race that the engine refuses gives the line back, unless something else was typed meanwhile.
#[test]
fn refused_race_returns_to_the_composer() {
    let refuse = |stage: &mut Stage| {
        let is_race = |r: &Request| matches!(r, Request::Call(CallRequest::Race { .. }));
        let ticket = stage.sent.iter().rev().find(|(_, request)| is_race(request)).unwrap().0;
        let failure = Failure::new(FailureKind::User, "The request does not fit with policy window.");
        stage.event(Event::Answer { ticket, result: Err(failure) });
        assert!(stage.screen(120, 35).contains("The request does not fit"), "the reason is shown");
    };
    let line = "/race mode:off mode:heavy Why does it fail?";
    let mut stage = fixture::opened();
    stage.type_text(line).press("enter");
    assert!(stage.model.composer.is_empty());
    refuse(&mut stage);
    assert_eq!(stage.model.composer.first_line(), line);
    stage.press("enter").type_text("And now?");
    refuse(&mut stage);
    assert_eq!(stage.model.composer.first_line(), "And now?");
    let mut stage = fixture::opened();
    stage.type_text("Why does it fail?").press("ctrl-x k");
    list_models(&mut stage);
    stage.type_text("nano ").press("enter");
    refuse(&mut stage);
    assert_eq!(stage.model.composer.first_line(), "Why does it fail?");
}

#[test]
fn failed_branch_of_a_race_says_where_the_message_is() {
    let mut stage = fixture::opened();
    stage.type_text("/race mode:off mode:heavy Why does it fail?").press("enter");
    let made = [branch(60, "race-1"), branch(61, "race-2")];
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), CallAnswer::Race(made.to_vec()));
    let draft = Draft { text: "Why does it fail?".into(), ..Draft::default() };
    let failure = Failure::new(FailureKind::Provider, "The server refused the call (404): no such model.")
        .kept("Your message is back in the composer.");
    let closed = TurnEvent::Closed { branch: made[1].id, draft: Some(draft), failure: Some(failure) };
    stage.event(Event::Turn(closed));
    let is_first = |r: &Request| matches!(r, Request::Turn(TurnRequest::Ask { branch, .. }) if *branch == made[0].id);
    let ticket = stage.sent.iter().rev().find(|(_, request)| is_first(request)).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Config, "No such profile.")) });
    let screen = stage.screen(160, 35);
    for name in ["race-1", "race-2"] {
        assert!(screen.contains(&format!("Your message is in the composer of {name}")), "{screen}");
    }
    assert!(!screen.contains("back in the composer"), "{screen}");
    for branch in &made {
        assert_eq!(&*stage.model.composer.unsent_on(branch.id), "Why does it fail?");
    }
}
