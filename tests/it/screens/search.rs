//! Searching all messages: snapshots, answers out of order, and opening a result.
//! Not for: searching one conversation (`conversation_search`).

use super::fixture::{self, NOON, SESSION};
use super::pictures::pictures;
use pleach::domain::base::SessionId;
use pleach::domain::conversation::{FoundMessage, FoundMessages, Role};
use pleach::engine::api::{Request, SessionAnswer, SessionRequest};
use pleach::tui::model::focus::Focus;
use uuid::Uuid;

pub(super) fn message(n: u128, session: SessionId, role: Role, words: &[(bool, &str)]) -> FoundMessage {
    FoundMessage {
        session,
        title: "Bees and wasps".into(),
        node: fixture::node_id(n),
        external_id: None,
        role,
        at: NOON,
        model: (role == Role::Assistant).then(|| "gpt-4.1-mini".into()),
        pieces: words.iter().map(|(hit, text)| (*hit, (*text).to_owned())).collect(),
    }
}

pub(crate) fn found(words: &str) -> FoundMessages {
    let long = "a long way before the match ".repeat(8);
    FoundMessages {
        messages: vec![
            message(1, SESSION, Role::User, &[(false, "how do "), (true, "bees"), (false, " dance in the dark?")]),
            message(2, SESSION, Role::Assistant, &[(false, &long), (true, "Bees"), (false, " dance\nin circles")]),
            message(77, SessionId(Uuid::from_u128(55)), Role::Tool, &[(false, words)]),
        ],
        more: true,
        problems: Vec::new(),
    }
}

pub(super) fn find(request: &Request) -> bool {
    matches!(request, Request::Session(SessionRequest::Find { .. }))
}

#[test]
fn finding() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r");
    pictures("find_empty", &mut stage);
    stage.type_text("bees role:user");
    assert!(matches!(stage.last(), Request::Session(SessionRequest::Find { line, .. }) if line == "bees role:user"));
    stage.reply(find, SessionAnswer::Found(Box::new(found("grep: bees.txt"))));
    stage.press("down");
    pictures("find", &mut stage);
}

#[test]
fn a_long_excerpt_ends_with_a_sign() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r").type_text("bees");
    let long = message(1, SESSION, Role::User, &[(true, "bees"), (false, &" that fly on and on".repeat(9))]);
    stage.reply(find, SessionAnswer::Found(Box::new(FoundMessages { messages: vec![long], ..found("") })));
    let screen = stage.screen(80, 24);
    let excerpt = screen.lines().find(|line| line.contains("bees that fly")).unwrap();
    assert!(excerpt.trim_end().ends_with('…'), "{screen}");
}

#[test]
fn newest_search_wins() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r").type_text("be");
    let old = stage.sent.iter().rev().filter(|(_, request)| find(request)).nth(1).unwrap().0;
    stage.answer(old, SessionAnswer::Found(Box::new(found("old"))));
    assert!(!stage.screen(100, 30).contains("dance"), "an older answer is dropped");
    stage.reply(find, SessionAnswer::Found(Box::new(found("new"))));
    assert!(stage.screen(100, 30).contains("dance"));
    stage.press("ctrl-u");
    assert!(!stage.screen(100, 30).contains("dance"), "there is no query");
}

#[test]
fn enter_opens_a_result_and_back_returns() {
    let mut stage = fixture::opened();
    stage.type_text("a draft").press("ctrl-r").type_text("bees");
    stage.reply(find, SessionAnswer::Found(Box::new(found(""))));
    stage.press("esc");
    assert_eq!(stage.model.composer.first_line(), "a draft", "Esc leaves everything unchanged");
    stage.press("ctrl-r").type_text("bees");
    stage.reply(find, SessionAnswer::Found(Box::new(found(""))));
    stage.press("enter");
    assert!(stage.model.layers.is_empty() && stage.model.focus == Focus::Conversation);
    assert_eq!(stage.model.conversation.cursor, 0);
    stage.press("alt-left");
    assert!(stage.model.focus == Focus::Composer && stage.model.composer.first_line() == "a draft");
    stage.press("alt-left");
    assert!(stage.screen(100, 30).contains("no previous location to return to"));
    stage.press("ctrl-r").type_text("bees");
    stage.reply(find, SessionAnswer::Found(Box::new(found(""))));
    stage.press("end down down enter");
    let other = SessionId(Uuid::from_u128(55));
    assert!(
        matches!(stage.last(), Request::Session(SessionRequest::OpenAt { session, node }) if *session == other && *node == fixture::node_id(77))
    );
}
