//! The composer: drafts that survive restarts, message history, the external editor, and notices.
//! Not for: queued messages and names after an `@` (`chat::writing`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY};
use pleach::domain::base::{Failure, FailureKind};
use pleach::engine::api::{Answer, BranchRequest, Event, PlanRequest, ProgramEvent, Request};
use pleach::tui::msg::{Done, Input, Msg, ProcessMsg};

fn kept(stage: &Stage) -> Vec<String> {
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
    stage.type_text("half a thou").wait(200);
    assert_eq!(kept(&stage), [""; 0]);
    stage.wait(50);
    assert_eq!(kept(&stage), ["half a thou"], "soon enough that a killed program loses little");
    stage.wait(5_000);
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
    assert!(stage.model.composer.first_line().starts_with("many words "), "what was typed stays visible");
    assert_eq!(&*stage.model.composer.text(), long);
    stage.wait(5_000);
    assert!(!stage.sent.iter().any(|(_, request)| matches!(request, Request::Branch(BranchRequest::KeepDraft { .. }))));
}

/// After a restart, the placeholders in a draft stand for the same texts as before, and typed words are visible.
#[test]
fn saved_draft_keeps_its_folds() {
    let mut stage = fixture::opened();
    let (first, second) = ("one\n".repeat(30), "two\u{1b}[31m\n");
    stage.type_text("Compare ").msg(Msg::Input(Input::Paste(first.clone()))).type_text("with ");
    stage.msg(Msg::Input(Input::Paste(second.into()))).type_text("please").wait(2_000);
    let (shown, text) = (stage.model.composer.first_line().to_owned(), stage.model.composer.text());
    assert_eq!(&*text, format!("Compare {first}with {second}please"));
    let nodes = fixture::story();
    let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", nodes.last(), None)]);
    view.drafts = vec![(MAIN, kept(&stage).pop().unwrap().into())];
    let mut stage = fixture::open(nodes, view);
    assert_eq!(stage.model.composer.first_line(), shown);
    assert_eq!(stage.model.composer.text(), text);
    stage.wait(5_000);
    assert_eq!(kept(&stage), [""; 0], "it is saved already");
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
