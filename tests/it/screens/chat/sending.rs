//! Sending a message: the plan it is sent with, waiting calls, streaming, failures, and drafts.
//! Not for: queued messages (`chat::writing`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, run_id};
use pleach::domain::base::{Failure, FailureKind, Hash, RunId};
use pleach::domain::call::Certainty;
use pleach::domain::conversation::Role;
use pleach::domain::planning::SearchChoice;
use pleach::engine::api::{
    Answer, Draft, DraftKind, Event, IndexingEvent, PlanAnswer, PlanRequest, Request, SessionEvent, TurnEvent,
    TurnRequest,
};
use pleach::tui::msg::{Input, Msg};

/// The draft that was sent last, and the plan that it named.
pub(crate) fn ask(stage: &Stage) -> (Draft, Option<Hash>) {
    let found = stage.sent.iter().rev().find_map(|(_, request)| match request {
        Request::Turn(TurnRequest::Ask { draft, plan, .. }) => Some((draft.clone(), *plan)),
        _ => None,
    });
    found.unwrap()
}

/// How many drafts were sent.
pub(crate) fn asks(stage: &Stage) -> usize {
    stage.sent.iter().filter(|(_, request)| matches!(request, Request::Turn(TurnRequest::Ask { .. }))).count()
}

fn planned(stage: &mut Stage) {
    let plan = fixture::plan(&fixture::story());
    stage
        .reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), PlanAnswer::Planned(fixture::planned(plan)));
}

#[test]
fn enter_sends_the_displayed_plan() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    planned(&mut stage);
    stage.press("enter");
    let (draft, plan) = ask(&stage);
    assert_eq!(&*draft.text, "hello");
    assert_eq!(plan, Some(Hash::of(b"plan")));
    assert!(stage.screen(100, 30).contains("hello"), "the draft is kept until it is sent");
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(5) });
    assert!(stage.model.composer.is_empty());
}

#[test]
fn enter_without_a_plan_names_none() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    planned(&mut stage);
    stage.type_text("!").press("enter");
    assert_eq!(ask(&stage).1, None);
    stage.press("enter");
    assert_eq!(asks(&stage), 1, "the same draft is not sent twice");
}

#[test]
fn waiting_call_is_shown_and_second_enter_sends() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter").wait(200).press("enter");
    assert_eq!(asks(&stage), 1, "a quick second Enter is ignored");
    assert!(!stage.screen(120, 30).contains("Not sent yet"));
    stage.wait(101);
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Not sent yet") && screen.contains("Esc cancels"), "{screen}");
    stage.event(Event::Indexing(IndexingEvent::Messages { done: 1_200, total: 10_000 }));
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Not sent yet: indexing older messages, 1,200 of 10,000."), "{screen}");
    let first = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.press("enter");
    assert_eq!(asks(&stage), 2);
    assert_eq!(ask(&stage).0.search, SearchChoice::Never);
    stage.event(Event::Answer { ticket: first, result: Err(Failure::user("Stopped before anything was sent.")) });
    stage.wait(400).press("enter");
    assert_eq!(asks(&stage), 2, "nothing is left to skip");
    assert!(!stage.screen(120, 30).contains("Stopped before"));
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(5) });
    assert!(stage.model.composer.is_empty());
    assert!(!stage.screen(120, 30).contains("Not sent yet"));
}

/// Answers the last draft that was sent as the engine does for a call that was withdrawn.
pub(crate) fn withdrawn(stage: &mut Stage) {
    let stopped = Failure::user("Stopped before anything was sent.").kept("Your draft is kept.");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(stopped) });
}

#[test]
fn esc_withdraws_a_waiting_call() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter").wait(301).press("esc");
    assert!(matches!(stage.sent.last(), Some((_, Request::Turn(TurnRequest::Cancel { .. })))));
    withdrawn(&mut stage);
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Stopped before anything was sent") && screen.contains("hello"), "{screen}");
    assert!(!screen.contains("Not sent yet"), "{screen}");
}

#[test]
fn stale_plan_is_reported_and_the_draft_kept() {
    let mut stage = fixture::opened();
    stage.type_text("hello").press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Stale, "changed")) });
    let screen = stage.screen(120, 30);
    assert!(screen.contains("The plan changed") && screen.contains("hello"), "{screen}");
}

#[test]
fn drafts_stay_with_their_branch() {
    let mut stage = fixture::opened();
    stage.type_text("for main").press("ctrl-b j enter");
    assert!(stage.model.composer.is_empty());
    stage.type_text("for retry").press("ctrl-b k enter");
    assert_eq!(stage.model.composer.first_line(), "for main");
}

#[test]
fn turn_is_streamed_committed_and_shown_once() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    let after = Some(story[5].head.id);
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "Unique question".into(), after }));
    let words = |text: &str| {
        Event::Turn(TurnEvent::Stream {
            branch: MAIN,
            run: run_id(8),
            text: text.into(),
            reasoning: String::new(),
            tokens: 3,
            certainty: Certainty::Estimated,
            cost_micro: None,
        })
    };
    stage.event(words("Unique ans")).event(words("wer\nmore"));
    let screen = stage.screen(100, 40);
    assert_eq!(screen.matches("Unique question").count(), 1, "{screen}");
    assert!(screen.contains("Unique answer") && screen.contains("answering"));
    let user = fixture::text_node(20, Some(&story[5]), Role::User, "Unique question");
    let answer = fixture::text_node(21, Some(&user), Role::Assistant, "Unique answer\nmore");
    for node in [&user, &answer] {
        stage.bodies.insert(node.head.id, std::sync::Arc::new(node.clone()));
    }
    let heads = vec![user.head.clone(), answer.head.clone()];
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads }));
    let branch = fixture::branch(MAIN, "main", Some(&answer), None);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    let screen = stage.screen(100, 40);
    assert_eq!(screen.matches("Unique question").count(), 1, "{screen}");
    assert_eq!(screen.matches("Unique answer").count(), 1, "{screen}");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    assert_eq!(stage.screen(100, 40).matches("Unique answer").count(), 1);
}

#[test]
fn failed_draft_is_restored() {
    let mut stage = fixture::opened();
    let draft = Draft { text: "try me".into(), kind: DraftKind::Message, ..Draft::default() };
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: draft.text.clone(), after: None }));
    let failure = Failure::new(FailureKind::Provider, "The connection was refused.");
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    assert_eq!(stage.model.composer.first_line(), "try me");
    assert!(stage.screen(100, 30).contains("refused"));
}

#[test]
fn ten_megabyte_paste_is_folded_and_sent_completely() {
    let mut stage = fixture::opened();
    let text = "all of it, line by line\r\n".repeat(420_000);
    stage.msg(Msg::Input(Input::Paste(text.clone())));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("[pasted 420,000 lines"), "{screen}");
    stage.press("enter");
    assert_eq!(&*ask(&stage).0.text, text.replace("\r\n", "\n"));
}

#[test]
fn earlier_runs_are_recognized() {
    let mut stage = fixture::opened();
    let unknown = RunId(uuid::Uuid::from_u128(424_242));
    let mut card = fixture::run(1, &fixture::story()[0], &fixture::story()[3]);
    card.id = unknown;
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    stage
        .event(Event::Answer { ticket: pleach::engine::api::Ticket(999), result: Ok(Answer::Done("stranger".into())) });
    assert!(!stage.screen(100, 30).contains("stranger"));
}
