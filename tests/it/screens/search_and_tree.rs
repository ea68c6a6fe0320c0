//! Searching all messages, and the whole tree.

use super::Stage;
use super::fixture::{self, MAIN, NOON, RETRY, SESSION};
use pleach::domain::base::SessionId;
use pleach::domain::conversation::{FoundMessage, FoundMessages, Role};
use pleach::engine::api::{Answer, BranchRequest, Request, SessionRequest};
use pleach::tui::model::focus::Focus;
use uuid::Uuid;

fn message(n: u128, session: SessionId, role: Role, words: &[(bool, &str)]) -> FoundMessage {
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

fn find(request: &Request) -> bool {
    matches!(request, Request::Session(SessionRequest::Find { .. }))
}

#[test]
fn finding() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r");
    super::pictures::pictures("find_empty", &mut stage);
    stage.type_text("bees role:user");
    assert!(matches!(stage.last(), Request::Session(SessionRequest::Find { line, .. }) if line == "bees role:user"));
    stage.reply(find, Answer::Found(Box::new(found("grep: bees.txt"))));
    stage.press("down");
    super::pictures::pictures("find", &mut stage);
}

/// The line of a search or a prompt shows the end of a long text, measured in columns.
#[test]
fn long_lines_of_wide_characters_show_their_end() {
    let wide = format!("start{}end", "日本語".repeat(40));
    for keys in ["ctrl-r", "tab /", "ctrl-b n"] {
        let mut stage = fixture::opened();
        stage.press(keys).type_text(&wide);
        let screen = stage.screen(80, 24);
        let line = screen.lines().find(|line| line.contains("end_"));
        let line = line.unwrap_or_else(|| panic!("{keys} hides the end:\n{screen}"));
        assert!(line.contains(&"日本語".repeat(7)) && !line.contains("start"), "{keys}: {line}");
    }
}

#[test]
fn newest_search_wins() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r").type_text("be");
    let old = stage.sent.iter().rev().filter(|(_, request)| find(request)).nth(1).unwrap().0;
    stage.answer(old, Answer::Found(Box::new(found("old"))));
    assert!(!stage.screen(100, 30).contains("dance"), "an older answer is dropped");
    stage.reply(find, Answer::Found(Box::new(found("new"))));
    assert!(stage.screen(100, 30).contains("dance"));
    stage.press("ctrl-u");
    assert!(!stage.screen(100, 30).contains("dance"), "there is no query");
}

#[test]
fn enter_opens_a_result_and_back_returns() {
    let mut stage = fixture::opened();
    stage.type_text("a draft").press("ctrl-r").type_text("bees");
    stage.reply(find, Answer::Found(Box::new(found(""))));
    stage.press("esc");
    assert_eq!(stage.model.composer.first_line(), "a draft", "Esc leaves everything unchanged");
    stage.press("ctrl-r").type_text("bees");
    stage.reply(find, Answer::Found(Box::new(found(""))));
    stage.press("enter");
    assert!(stage.model.layers.is_empty() && stage.model.focus == Focus::Conversation);
    assert_eq!(stage.model.conversation.cursor, 0);
    stage.press("alt-left");
    assert!(stage.model.focus == Focus::Composer && stage.model.composer.first_line() == "a draft");
    stage.press("alt-left");
    assert!(stage.screen(100, 30).contains("no previous location to return to"));
    stage.press("ctrl-r").type_text("bees");
    stage.reply(find, Answer::Found(Box::new(found(""))));
    stage.press("end down down enter");
    let other = SessionId(Uuid::from_u128(55));
    assert!(
        matches!(stage.last(), Request::Session(SessionRequest::OpenAt { session, node }) if *session == other && *node == fixture::node_id(77))
    );
}

fn tree_screen(stage: &Stage) -> &pleach::tui::screens::tree::model::TreeScreen {
    stage.model.layers.top().unwrap()
}

#[test]
fn tree() {
    let mut stage = fixture::opened();
    stage.press("esc esc");
    super::pictures::pictures("tree", &mut stage);
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
}

#[test]
fn message_without_a_branch_is_shown_and_gets_one() {
    let mut nodes = fixture::story();
    let lost = fixture::text_node(40, Some(&nodes[0]), Role::Assistant, "a way that was left");
    let lost_too = fixture::text_node(41, Some(&lost), Role::User, "and its end");
    let branches = vec![fixture::branch(MAIN, "main", nodes.last(), None)];
    nodes.extend([lost.clone(), lost_too.clone()]);
    let view = fixture::view(&nodes, branches);
    let mut stage = fixture::open(nodes, view);
    stage.press("ctrl-r").type_text("left");
    let hit = message(41, SESSION, Role::User, &[(true, "left")]);
    let hits = FoundMessages { messages: vec![hit], ..FoundMessages::default() };
    stage.reply(find, Answer::Found(Box::new(hits))).press("enter");
    let view =
        stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Session(SessionRequest::OpenAt { .. }))).unwrap().0;
    let answer = std::sync::Arc::new(fixture::view(
        &[fixture::story(), vec![lost, lost_too.clone()]].concat(),
        vec![fixture::branch(MAIN, "main", fixture::story().last(), None)],
    ));
    stage.answer(view, Answer::Opened(answer));
    assert!(stage.screen(100, 30).contains("No branch contains that message"));
    stage.press("enter");
    let fork =
        |r: &Request| matches!(r, Request::Branch(BranchRequest::Fork { at: Some(at), .. }) if *at == lost_too.head.id);
    let made = fixture::branch(RETRY, "left", Some(&lost_too), Some(MAIN));
    stage.reply(fork, Answer::Branch(Box::new(made)));
    assert!(stage.model.focus == Focus::Conversation && stage.model.layers.is_empty());
    let slot = stage.model.conversation.selected().unwrap();
    assert_eq!(stage.model.session.as_ref().unwrap().tree.head(slot).id, lost_too.head.id);
}

#[test]
fn tree_folds_filters_and_jumps() {
    let mut stage = fixture::opened();
    stage.press("f8 home");
    let all = tree_screen(&stage).shown.len();
    assert!(all > 1);
    stage.press("h");
    assert!(tree_screen(&stage).shown.len() < all);
    stage.press("l l");
    assert_eq!((tree_screen(&stage).shown.len(), tree_screen(&stage).cursor), (all, 1));
    stage.press("/").type_text("retr");
    assert_eq!(tree_screen(&stage).shown.len(), 1);
    stage.press("enter enter");
    assert_eq!(stage.model.session.as_ref().unwrap().current, RETRY);
    assert!(stage.model.focus == Focus::Conversation && stage.model.layers.is_empty());
    stage.press("alt-left");
    assert_eq!(stage.model.session.as_ref().unwrap().current, MAIN);
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Switch { branch }) if *branch == MAIN))
    );
}

#[test]
fn hundred_thousand_nodes_show_only_forks() {
    let mut nodes: Vec<pleach::domain::conversation::message::Node> = Vec::new();
    for n in 1..=100_000_usize {
        let parent = if n % 3 == 0 { n - 3 } else { n.saturating_sub(2) };
        let node = fixture::text_node(n as u128, (n > 1).then(|| &nodes[parent]), Role::User, "words");
        nodes.push(node);
    }
    let head = fixture::branch(MAIN, "main", nodes.last(), None);
    let view = fixture::view(&nodes, vec![head]);
    let mut stage = fixture::open(Vec::new(), view);
    stage.press("f8");
    let rows = |stage: &Stage| stage.model.session.as_ref().unwrap().forest.rows.clone();
    let messages: u32 = rows(&stage).iter().map(|row| row.messages).sum();
    assert_eq!(messages, 100_000);
    let first = &rows(&stage)[0];
    assert_eq!(first.messages + first.below, 100_000);
    stage.press("home h");
    assert_eq!(tree_screen(&stage).shown.len(), 1);
    stage.press("l G");
    assert_eq!(tree_screen(&stage).cursor + 1, rows(&stage).len());
    stage.screen(100, 30);
}
