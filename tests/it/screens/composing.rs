//! The composer: drafts that survive restarts, message history, the external editor, notices, and the line of keys.

use super::fixture::{self, MAIN, RETRY};
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::conversation::{Actor, Atom, Mark, MarkKind, Role};
use pleach::domain::summary::SummaryAuthor;
use pleach::engine::api::{
    Act, Answer, BranchRequest, Event, FileList, ItemName, PlanRequest, ProgramEvent, Request, SessionEvent,
    SessionRequest, ToolRequest,
};
use pleach::tui::msg::{Done, Msg, ProcessMsg};

fn kept(stage: &super::Stage) -> Vec<String> {
    let texts = stage.sent.iter().filter_map(|(_, request)| match request {
        Request::Branch(BranchRequest::KeepDraft { branch, text }) if *branch == MAIN => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn drafts_are_saved_after_a_pause_and_deleted_when_empty() {
    let mut stage = fixture::opened();
    stage.wait(5_000);
    assert_eq!(kept(&stage), [""; 0], "nothing typed, nothing saved");
    stage.type_text("half a thou").wait(500);
    assert_eq!(kept(&stage), [""; 0]);
    stage.wait(600).wait(5_000);
    assert_eq!(kept(&stage), ["half a thou"], "saved once");
    stage.press("ctrl-c").wait(1_100);
    assert_eq!(kept(&stage), ["half a thou", ""]);
    stage.type_text("left behind").press("ctrl-b").press("j enter");
    assert_eq!(stage.model.session.as_ref().unwrap().current, RETRY);
    assert_eq!(kept(&stage).last().map(String::as_str), Some("left behind"), "switching branches saves it at once");
}

#[test]
fn quitting_saves_the_draft() {
    let mut stage = fixture::opened();
    stage.type_text("unsent").msg(Msg::Process(ProcessMsg::Signal(15)));
    assert_eq!(kept(&stage), ["unsent"]);
}

#[test]
fn saved_draft_returns_after_a_restart() {
    let nodes = fixture::story();
    let branches = vec![fixture::branch(MAIN, "main", nodes.last(), None), fixture::branch(RETRY, "retry", None, None)];
    let mut view = fixture::view(&nodes, branches);
    let long = "many words ".repeat(500);
    view.drafts = vec![(MAIN, "where I was".into()), (RETRY, long.clone().into())];
    let mut stage = fixture::open(nodes, view);
    assert_eq!(stage.model.composer.first_line(), "where I was");
    stage.press("ctrl-b").press("j enter");
    assert!(stage.model.composer.first_line().starts_with("[pasted"), "a long message is folded like a paste");
    assert_eq!(&*stage.model.composer.text(), long);
    stage.wait(5_000);
    assert!(!stage.sent.iter().any(|(_, request)| matches!(request, Request::Branch(BranchRequest::KeepDraft { .. }))));
}

#[test]
fn up_key_brings_earlier_messages() {
    let mut stage = fixture::opened();
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "And with two tabs open? 日本語 works too.");
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "Why does login fail after the refresh?");
    stage.press("down down");
    assert!(stage.model.composer.is_empty());
    stage.type_text("one").press("up");
    assert_eq!(stage.model.composer.first_line(), "one", "first to the start of the line");
}

#[test]
fn message_is_edited_in_the_external_editor() {
    let mut stage = fixture::opened();
    stage.type_text("first").press("ctrl-g");
    assert_eq!(stage.composed, ["first"]);
    stage.msg(Msg::Done(Done::Edited(Ok("first\nand second\n".into()))));
    assert_eq!(&*stage.model.composer.text(), "first\nand second");
    stage.msg(Msg::Done(Done::Edited(Err("The editor \"x\" failed: exit 1.".into()))));
    assert!(stage.screen(100, 30).contains("failed: exit 1"));
    assert_eq!(&*stage.model.composer.text(), "first\nand second");
    stage.reply(|request| matches!(request, Request::Plan(PlanRequest::Replan { .. })), Answer::Done(String::new()));
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
        let mut stage = super::Stage::new();
        stage.bodies = nodes.iter().cloned().map(|node| (node.head.id, std::sync::Arc::new(node))).collect();
        stage.reply(opens, Answer::Opened(std::sync::Arc::new(view.clone())));
        stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(fixture::settings()) }));
        (stage, view, atom)
    };
    let switch = |stage: &mut super::Stage, view: &pleach::engine::api::SessionView| {
        stage.type_text("/open other").press("enter");
        stage.reply(opens, Answer::Opened(std::sync::Arc::new(view.clone())));
        stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(fixture::settings()) }));
    };
    let (mut stage, first, atom) = started(Vec::new());
    let decided = |kind| {
        let act = Act::Set { kind, toggle: false };
        Request::Branch(BranchRequest::Mark { branch: MAIN, items: vec![ItemName::Atom(atom)], act })
    };
    let has_marked =
        |stage: &super::Stage| stage.sent.iter().any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Mark { .. })));
    let asks = |stage: &super::Stage| {
        stage.model.status.shown().is_some_and(|shown| shown.text.contains("imported system prompt"))
    };
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

/// The answer to F5 in an empty session is wider than 80 columns, and it only informs.
#[test]
fn a_notice_is_shown_whole_and_only_warnings_have_the_mark() {
    let mut stage = fixture::opened();
    stage.press("f5");
    let asked = stage.sent.iter().rev().find(|(_, request)| matches!(request, Request::Summary { .. }));
    let ticket = asked.unwrap().0;
    let sentence = "Nothing is old enough: the newest 10 messages are never summarized. Nothing was changed.";
    stage.event(Event::Answer { ticket, result: Err(Failure::user(sentence)) });
    let words = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for (width, height) in [(80, 24), (120, 35)] {
        let screen = words(&stage.screen(width, height));
        assert!(screen.contains(&format!("· {sentence}")), "{width}: {screen}");
    }
    stage.wait(4_100);
    assert!(words(&stage.screen(80, 24)).contains(sentence), "there is time to read it");
    stage.wait(1_000);
    assert!(!words(&stage.screen(80, 24)).contains("Nothing is old enough"));
    // A failure has the mark, and a sentence that is too long for the screen is cut at its end.
    let failure = Failure::new(FailureKind::Provider, "It failed. ".repeat(60));
    stage.event(Event::Program(ProgramEvent::Alarm(failure.to_string())));
    let screen = stage.screen(80, 24);
    assert_eq!(screen.lines().filter(|row| row.contains("It failed.")).count(), 4, "{screen}");
    assert!(screen.contains(" !! It failed.") && screen.contains('…'), "{screen}");
}

/// An open screen names its own keys; the chat below it names none.
#[test]
fn the_chat_names_no_keys_while_a_screen_has_them() {
    let mut stage = fixture::opened();
    assert!(stage.screen(80, 24).contains("F1 help"));
    stage.press("ctrl-p");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Esc close") && !screen.contains("F1 help") && !screen.contains("^F mode"), "{screen}");
    // While names are listed, Enter accepts one and sends nothing.
    stage.press("esc").type_text("see @src");
    let list = FileList { paths: vec!["src/auth.rs".into()], note: String::new() };
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Files(_))), Answer::Files(list));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Enter accept") && !screen.contains("Enter send"), "{screen}");
}
