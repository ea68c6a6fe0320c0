//! Snapshots of the chat at five sizes.
//! Not for: the chat of a session without messages (`chat::start_page`).

use crate::screens::fixture::{self, MAIN, RETRY, run_id};
use crate::screens::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::{Certainty, RunCard};
use pleach::engine::api::{Event, ProgramEvent, TurnEvent};

#[test]
fn chat() {
    pictures("chat", &mut fixture::opened());
}

#[test]
fn chat_with_the_focus_on_a_message() {
    let mut stage = fixture::opened();
    stage.press("tab k k");
    pictures("conversation", &mut stage);
}

#[test]
fn streaming() {
    let mut stage = fixture::opened();
    let after = stage.model.branch().unwrap().head;
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "And why only sometimes?".into(), after }));
    stage.wait(3_000);
    stage.event(Event::Turn(TurnEvent::Stream {
        branch: MAIN,
        run: run_id(7),
        text: "Because the two requests race.\nThe slower one still carries the old token\n---STA".into(),
        reasoning: "race".into(),
        tokens: 18,
        certainty: Certainty::Estimated,
        cost_micro: Some(150),
    }));
    pictures("streaming", &mut stage);
}

#[test]
fn failed_turn_and_notice() {
    let mut stage = fixture::opened();
    let failure = Failure::new(FailureKind::Provider, "The server answered 401: the key is wrong.")
        .kept("Your message is back in the composer.")
        .todo("Check OPENAI_API_KEY, then Enter again.");
    let draft = pleach::engine::api::Draft { text: "And why only sometimes?".into(), ..Default::default() };
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    stage.event(Event::Program(ProgramEvent::Alarm(
        "The server counted 16,387 of the 160,689 tokens that were sent.".into(),
    )));
    pictures("failed", &mut stage);
}

#[test]
fn short_read() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    let short = pleach::domain::call::meter::ShortRead { read: 4_096, expected: 9_801 };
    let run = fixture::run(1, &story[0], &story[3]);
    stage.event(Event::Turn(TurnEvent::Run(Box::new(RunCard { short_read: Some(short), ..run }))));
    pictures("short_read", &mut stage);
}

#[test]
fn branches_and_tools() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: RETRY, text: "go".into(), after: None }));
    stage.press("ctrl-b j");
    pictures("branches", &mut stage);
    stage.press("ctrl-t");
    pictures("traces", &mut stage);
}
