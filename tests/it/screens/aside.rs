//! Side questions: streaming, kept as a branch, and dropped.
//! Not for: side questions in the call history (`calls`).

use super::Stage;
use super::fixture::{self, MAIN};
use super::pictures::pictures;
use pleach::domain::base::{BranchId, RunId};
use pleach::domain::call::RunCard;
use pleach::engine::api::{Answer, AsideView, BranchAnswer, Event, Request, TurnEvent, TurnRequest};
use uuid::Uuid;

/// A side question and its answer with a text.
pub(super) fn beside(words: &str, over: bool) -> Event {
    let story = fixture::story();
    match aside(words, over.then(|| fixture::run(1, &story[0], &story[3]))) {
        Event::Turn(TurnEvent::Aside(view)) => {
            Event::Turn(TurnEvent::Aside(Box::new(AsideView { question: words.into(), ..*view })))
        }
        other => other,
    }
}

pub(crate) fn aside(text: &str, card: Option<RunCard>) -> Event {
    Event::Turn(TurnEvent::Aside(Box::new(AsideView {
        run: RunId(Uuid::from_u128(7_000)),
        branch: MAIN,
        question: "What does *rotate* mean here?".into(),
        text: text.into(),
        tokens: 12,
        cost_micro: Some(900),
        card: card.map(Box::new),
        failure: None,
    })))
}

#[test]
fn side_question_is_dropped_or_kept() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    stage.type_text("/aside What does *rotate* mean here?").press("enter");
    assert!(
        matches!(stage.last(), Request::Turn(TurnRequest::Aside { branch: MAIN, text }) if &**text == "What does *rotate* mean here?")
    );
    let run = RunId(Uuid::from_u128(7_000));
    stage.event(aside("To *rotate* a tok", None));
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Aside { .. })), Answer::Asked { run });
    pictures("aside_coming", &mut stage);
    stage.press("b");
    assert!(
        !stage.sent.iter().any(|(_, r)| matches!(r, Request::Turn(TurnRequest::KeepAside { .. }))),
        "it is still streaming"
    );
    let answer_text = "To *rotate* a token is to replace it with a fresh one:\n\n- the old one ends\n- 日本語\n\n---STATE---\nx\n---END STATE---";
    let card = RunCard { id: run, user: None, answer: None, aside: true, ..fixture::run(1, &story[0], &story[3]) };
    stage.event(aside(answer_text, Some(card)));
    pictures("aside", &mut stage);
    stage.press("y");
    assert!(!stage.copied[0].contains("STATE"));
    stage.press("b");
    assert_eq!(*stage.last(), Request::Turn(TurnRequest::KeepAside { run }));
    let kept = fixture::branch(BranchId(Uuid::from_u128(70)), "aside-1", Some(&story[5]), Some(MAIN));
    stage.reply(
        |r| matches!(r, Request::Turn(TurnRequest::KeepAside { .. })),
        BranchAnswer::Branch(Box::new(kept.clone())),
    );
    assert_eq!(stage.model.session.as_ref().unwrap().current, kept.id);
    assert!(stage.model.layers.is_empty());

    stage.type_text("/aside And?").press("enter esc");
    let drops = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Turn(TurnRequest::DropAside { .. }))).count()
    };
    assert_eq!(drops(&stage), 0, "its call has not started");
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Aside { .. })), Answer::Asked { run });
    assert_eq!(drops(&stage), 1, "dropped as soon as it starts");
    stage.type_text("/aside And?").press("enter");
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Aside { .. })), Answer::Asked { run }).press("esc");
    assert!(drops(&stage) == 2 && stage.model.layers.is_empty());
    assert!(
        !stage.sent.iter().any(|(_, r)| matches!(r, Request::Turn(TurnRequest::Cancel { .. }))),
        "nothing else is stopped"
    );
}
