//! Questions: when one is asked, what it says, and what each choice does.
//! Not for: approving tool calls (`approval`).

use super::Stage;
use super::chat::keys::asked;
use super::chat::sending::{ask, asks};
use super::chat::writing::answering;
use super::fixture::{self, MAIN, node_id};
use super::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::conversation::{Actor, Atom, Mark, MarkKind, Role};
use pleach::domain::summary::SummaryAuthor;
use pleach::engine::api::{
    Act, Answer, BranchRequest, DraftKind, Event, ItemName, ProgramEvent, Request, SessionAnswer, SessionEvent,
    SessionRequest, ToolRequest, TurnEvent, TurnRequest,
};
use pleach::tui::msg::{Done, Msg};

#[test]
fn busy_question() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    stage.press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    let failure = Failure::new(FailureKind::Busy, "An answer is still arriving on this branch.");
    stage.event(Event::Answer { ticket, result: Err(failure) });
    pictures("busy", &mut stage);
}

/// A question that does not fit scrolls and keeps its choices.
#[test]
fn a_question_in_a_small_terminal_shows_its_start_and_its_choices() {
    let mut stage = fixture::opened_with_themes();
    stage.type_text("/trust-folder").press("enter");
    pictures("trust", &mut stage);
    let screen = stage.screen(40, 12);
    for words in ["Trust this folder?", "/home/me/project", "The model may then", "n  no", "y  yes", "PgDn"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let mut seen = screen;
    for _ in 0..4 {
        seen.push_str(&stage.press("pagedown").screen(40, 12));
    }
    for words in ["AGENTS.md", "settings", "unless", "back", "y  yes"] {
        assert!(seen.contains(words), "{words} in {seen}");
    }
    stage.press("y");
    assert!(matches!(stage.last(), Request::Tool(ToolRequest::Trust { trusted: true })), "{:?}", stage.last());
}

#[test]
fn busy_offers_a_fork_or_waiting() {
    let mut stage = fixture::opened();
    stage.type_text("next").press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "q".into(), after: None }));
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Busy, "busy")) });
    stage.press("w");
    let before = asks(&stage);
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    assert_eq!(asks(&stage), before + 1);
    assert_eq!(&*ask(&stage).0.text, "next");
}

#[test]
fn deleting_a_session_asks_first() {
    let mut stage = fixture::opened();
    stage.press("f3");
    stage.reply(
        |r| matches!(r, Request::Session(SessionRequest::List)),
        SessionAnswer::Sessions(vec![fixture::card("old")]),
    );
    stage.press("alt-d enter");
    assert!(
        !stage.sent.iter().any(|(_, r)| matches!(r, Request::Session(SessionRequest::Delete { .. }))),
        "the first choice is no"
    );
    stage.press("alt-d y");
    assert!(stage.sent.iter().any(|(_, r)| matches!(r, Request::Session(SessionRequest::Delete { .. }))));
}

#[test]
fn regenerating_an_earlier_answer_asks_first() {
    let mut stage = fixture::opened();
    stage.press("tab g R");
    assert_eq!(asked(&stage), []);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Regenerate an earlier answer?"), "{screen}");
    assert!(screen.contains("Enter choose  Esc close"), "{screen}");
    assert!(screen.contains("The 4 messages after the question are"), "{screen}");
    stage.press("enter");
    assert_eq!(asked(&stage), [], "the first choice does nothing");
    stage.press("R y");
    assert_eq!(asked(&stage), [(String::new(), DraftKind::Regenerate(node_id(1)))]);
    let mut stage = fixture::opened();
    stage.press("tab R");
    assert_eq!(asked(&stage), [(String::new(), DraftKind::Regenerate(node_id(5)))], "the last one does not ask");
    let mut stage = fixture::opened();
    stage.type_text("/regenerate 1").press("enter");
    assert!(stage.screen(120, 35).contains("Regenerate an earlier answer?") || asked(&stage).is_empty());
}

/// Quitting while the store cannot be written says what would be lost, and saves it where there is room.
#[test]
fn quitting_with_a_full_disk_asks_first() {
    let mut stage = answering();
    stage.type_text("half a thought").wait(2_000);
    stage.reply(|r| matches!(r, Request::Branch(BranchRequest::KeepDraft { .. })), Answer::Done(String::new()));
    stage.event(Event::Program(ProgramEvent::StorageFailure(Some("The store can't be written (no room).".into()))));
    assert!(stage.screen(100, 30).contains("The store can't be written"));
    stage.press("ctrl-x q");
    let screen = stage.screen(120, 30);
    assert!(screen.contains("the question on main: 1 word (user)"), "{screen}");
    assert!(screen.contains("the answer on main: 5 words (assistant)"), "{screen}");
    assert!(!screen.contains("your message"), "the store has the draft: {screen}");
    stage.press("n").type_text(" more").wait(2_000);
    let ticket =
        stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Branch(BranchRequest::KeepDraft { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Store, "The store can't grow.")) });
    let tries = |stage: &Stage| {
        stage.sent.iter().filter(|(_, r)| matches!(r, Request::Branch(BranchRequest::KeepDraft { .. }))).count()
    };
    let before = tries(&stage);
    stage.wait(2_000);
    assert_eq!(tries(&stage), before + 1, "a refused draft is tried again");
    let ticket =
        stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Branch(BranchRequest::KeepDraft { .. }))).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::new(FailureKind::Store, "The store can't grow.")) });
    stage.press("ctrl-x q s").type_text("x").press("enter");
    let file = stage.kept.last().unwrap().clone();
    assert!(file.starts_with("x\n{\"role\":\"user\",\"content\":\"Why?\""), "{file}");
    assert!(file.contains("Because the two requests race.") && file.contains("half a thought more"), "{file}");
    assert!(!stage.model.quit);
    stage.msg(Msg::Done(Done::Saved("x".into(), Err("No space left on device".into()))));
    assert!(stage.screen(120, 30).contains("That file could not be written: No space left on device"));
    stage.press("enter").msg(Msg::Done(Done::Saved("x".into(), Ok(()))));
    assert!(stage.model.quit);

    let mut stage = answering();
    stage.event(Event::Program(ProgramEvent::StorageFailure(Some("The store can't be written (no room).".into()))));
    stage.event(Event::Program(ProgramEvent::StorageFailure(None)));
    let screen = stage.screen(100, 30);
    assert!(screen.contains("Disk space is available again") && !screen.contains("can't be written"), "{screen}");
    stage.press("ctrl-x q");
    assert!(stage.model.quit, "and nothing is asked");
}

/// Without a state block in any answer, the workbench offers to have the model write one.
#[test]
fn a_missing_state_block_is_offered() {
    let mut stage = fixture::opened();
    stage.type_text("/context rebuild").press("enter");
    let restores = |request: &Request| {
        matches!(request, Request::Branch(BranchRequest::RebuildState { by: SummaryAuthor::Extractive, .. }))
    };
    let ticket = stage.sent.iter().rev().find(|(_, request)| restores(request)).map(|(ticket, _)| *ticket).unwrap();
    let none = Failure::user("No answer on this branch has a state block.");
    stage.event(Event::Answer { ticket, result: Err(none) });
    let question = stage.screen(80, 24);
    assert!(question.contains("Have the model write a state block?"), "{question}");
    assert!(question.contains("No answer on this branch has a state block."), "{question}");
    stage.press("y");
    assert!(stage.screen(80, 24).contains("The model is writing the state block"));
    let writes = |request: &Request| {
        matches!(request, Request::Branch(BranchRequest::RebuildState { by: SummaryAuthor::Model, .. }))
    };
    stage.reply(writes, Answer::Done("Had the model write the state block. u undoes it.".into()));
    assert!(!stage.screen(80, 24).contains("is writing"));
}

/// Opening a session with an imported system prompt asks what to do with it, at the start of the program too; the answer
/// is a mark, so undo reverts it. Whoever decides later is not asked again before the program starts again.
#[test]
#[allow(clippy::too_many_lines, reason = "one journey from its first key to its last")]
fn an_imported_system_prompt_is_asked_about_until_it_is_decided() {
    let opens = |request: &Request| matches!(request, Request::Session(SessionRequest::Open { .. }));
    let started = |marks: Vec<Mark>| {
        let mut one = fixture::text_node(1, None, Role::System, "You help a backend team. Be concrete.");
        one.head.imported = true;
        let two = fixture::text_node(2, Some(&one), Role::User, "hello");
        let three = fixture::text_node(3, Some(&two), Role::Assistant, "hello there");
        let mut main = fixture::branch(MAIN, "main", Some(&three), None);
        main.marks = marks;
        let nodes = vec![one, two, three];
        let view = fixture::view(&nodes, vec![main]);
        let atom = Atom::Message { node: nodes[0].head.key };
        let mut stage = Stage::new();
        stage.bodies = nodes.iter().cloned().map(|node| (node.head.id, std::sync::Arc::new(node))).collect();
        stage.reply(opens, SessionAnswer::Opened(std::sync::Arc::new(view.clone())));
        stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(fixture::settings()) }));
        (stage, view, atom)
    };
    let switch = |stage: &mut Stage, view: &pleach::engine::api::SessionView| {
        stage.type_text("/open other").press("enter");
        stage.reply(opens, SessionAnswer::Opened(std::sync::Arc::new(view.clone())));
        stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(fixture::settings()) }));
    };
    let (mut stage, first, atom) = started(Vec::new());
    let decided = |kind| {
        let act = Act::Set { kind, toggle: false };
        Request::Branch(BranchRequest::Mark { branch: MAIN, items: vec![ItemName::Atom(atom)], act })
    };
    let has_marked =
        |stage: &Stage| stage.sent.iter().any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Mark { .. })));
    let asks =
        |stage: &Stage| stage.model.status.shown().is_some_and(|shown| shown.text.contains("imported system prompt"));
    stage.type_text("yes, x");
    assert!(asks(&stage) && stage.model.layers.is_empty() && !has_marked(&stage), "typed letters are no answer");
    assert_eq!(&*stage.model.composer.text(), "yes, x");
    stage.press("alt-y y");
    assert_eq!(*stage.last(), decided(MarkKind::Sticky));
    assert_eq!(&*stage.model.composer.text(), "yes, x");
    let (mut stage, ..) = started(Vec::new());
    stage.press("alt-y x");
    assert_eq!(*stage.last(), decided(MarkKind::Exclude));
    let (mut stage, ..) = started(Vec::new());
    stage.press("alt-y enter");
    assert!(stage.model.layers.is_empty() && *stage.last() != decided(MarkKind::Sticky), "Enter alone decides nothing");
    let mut other = first.clone();
    other.card.id = pleach::domain::base::ids::SessionId(uuid::Uuid::from_u128(99));
    switch(&mut stage, &other);
    stage.press("alt-y");
    let screen = stage.screen(80, 24);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!("imported_instructions_80x24", screen);
    });
    stage.press("enter");
    for known in [&first, &other] {
        switch(&mut stage, known);
        assert!(!asks(&stage), "it was asked about since the program began");
    }
    for kind in [MarkKind::Sticky, MarkKind::Exclude] {
        let (note, inherited_from, counted, origin, code) = (None, None, None, None, None);
        let (by, revision, renewals) = (Actor::User, 1, 0);
        let mark = Mark { target: atom, kind, by, note, inherited_from, revision, counted, renewals, origin, code };
        assert!(!asks(&started(vec![mark]).0), "{kind:?} is a decision");
    }
}
