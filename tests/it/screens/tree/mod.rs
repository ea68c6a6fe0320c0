//! The tree of a session: folding, filtering, jumping, and messages without a branch.
//! Not for: the panel of branches (`chat::branches`).

pub(crate) mod names;

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY, SESSION};
use crate::screens::pictures::pictures;
use crate::screens::search::{find, message};
use pleach::domain::conversation::{FoundMessages, Node, Role};
use pleach::engine::api::{BranchAnswer, BranchRequest, Request, SessionAnswer, SessionRequest};
use pleach::tui::chat::model::conversation::ScrollAnchor;
use pleach::tui::model::focus::Focus;
use pleach::tui::msg::{Input, Msg};

fn tree_screen(stage: &Stage) -> &pleach::tui::screens::tree::model::TreeScreen {
    stage.model.layers.top().unwrap()
}

#[test]
fn tree() {
    let mut stage = fixture::opened();
    stage.press("esc esc");
    pictures("tree", &mut stage);
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
    stage.reply(find, SessionAnswer::Found(Box::new(hits))).press("enter");
    let view =
        stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Session(SessionRequest::OpenAt { .. }))).unwrap().0;
    let answer = std::sync::Arc::new(fixture::view(
        &[fixture::story(), vec![lost, lost_too.clone()]].concat(),
        vec![fixture::branch(MAIN, "main", fixture::story().last(), None)],
    ));
    stage.answer(view, SessionAnswer::Opened(answer));
    assert!(stage.screen(100, 30).contains("No branch contains that message"));
    stage.press("enter");
    let fork =
        |r: &Request| matches!(r, Request::Branch(BranchRequest::Fork { at: Some(at), .. }) if *at == lost_too.head.id);
    let made = fixture::branch(RETRY, "left", Some(&lost_too), Some(MAIN));
    stage.reply(fork, BranchAnswer::Branch(Box::new(made)));
    assert!(stage.model.focus == Focus::Conversation && stage.model.layers.is_empty());
    let slot = stage.model.conversation.selected().unwrap();
    assert_eq!(stage.model.session.as_ref().unwrap().tree.head(slot).id, lost_too.head.id);
}

/// A title fills the row, also where the row has room for more than the preview of the message, and ends with a word.
#[test]
fn titles_fill_the_row() {
    let text = format!("{}, **and** the last words", ["question"; 14].join(" "));
    let long = format!("{text} {}", ["and"; 60].join(" "));
    let nodes = vec![fixture::text_node(1, None, Role::User, &text), fixture::text_node(2, None, Role::User, &long)];
    let view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    stage.press("f8");
    let rows = |stage: &mut Stage, width| {
        let screen = stage.screen(width, 30);
        screen.lines().filter(|row| row.contains("question")).map(str::to_owned).collect::<Vec<_>>()
    };
    let wide = rows(&mut stage, 200);
    assert!(wide[0].contains("question, and the last words ") && !wide[0].contains('…'), "{wide:#?}");
    assert!(wide[1].contains("the last words and and") && wide[1].contains("and…"), "{wide:#?}");
    for row in rows(&mut stage, 120) {
        assert!(row.contains("question question…"), "{row}");
    }
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
    let rows = |stage: &Stage| stage.model.session.as_ref().unwrap().tree_rows.rows.clone();
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

#[test]
fn long_filter_continues_by_itself() {
    let mut nodes: Vec<Node> = Vec::new();
    for n in 1..=40_000_usize {
        let parent = if n % 3 == 0 { n - 3 } else { n.saturating_sub(2) };
        let words = if n == 39_000 { "the needle" } else { "hay and the like" };
        nodes.push(fixture::text_node(n as u128, (n > 1).then(|| &nodes[parent]), Role::User, words));
    }
    let view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(Vec::new(), view);
    stage.press("f8 /").type_text("need");
    assert!(tree_screen(&stage).looking() && stage.model.next_wake().is_some_and(|wake| wake <= stage.model.now));
    assert!(stage.screen(100, 30).contains("searched"));
    for _ in 0..100 {
        if !tree_screen(&stage).looking() {
            break;
        }
        stage.wait(1);
    }
    assert_eq!((tree_screen(&stage).shown.len(), tree_screen(&stage).looking()), (1, false));
    stage.type_text("le");
    assert!(!tree_screen(&stage).looking(), "known mismatches are not searched again");
    assert_eq!(tree_screen(&stage).shown.len(), 1);
    stage.press("backspace backspace").type_text("les");
    while tree_screen(&stage).looking() {
        stage.wait(1);
    }
    assert!(tree_screen(&stage).shown.is_empty());
}

#[test]
fn esc_esc_changes_nothing() {
    let mut stage = fixture::opened();
    stage.screen(80, 12);
    stage.model.focus = Focus::Conversation;
    stage.press("g j pagedown");
    stage.screen(80, 12);
    let stood = (stage.model.conversation.place, stage.model.conversation.cursor, stage.model.focus);
    assert!(matches!(stood.0, ScrollAnchor::At { .. }));
    let requests = stage.sent.len();
    stage.press("f8 j j h esc");
    stage.screen(80, 12);
    let now = (stage.model.conversation.place, stage.model.conversation.cursor, stage.model.focus);
    assert_eq!((now, stage.sent.len()), (stood, requests), "viewing the tree changes nothing");

    stage.press("f8 /").type_text("patch").press("enter enter");
    assert_eq!(stage.model.session.as_ref().unwrap().current, RETRY);
    stage.screen(80, 12);
    stage.press("alt-left");
    stage.screen(80, 12);
    let back = (stage.model.conversation.place, stage.model.conversation.cursor, stage.model.focus);
    assert_eq!((stage.model.session.as_ref().unwrap().current, back), (MAIN, stood));

    stage.press("esc ctrl-b j enter");
    assert_eq!(stage.model.session.as_ref().unwrap().current, RETRY);
    stage.press("alt-left");
    assert_eq!(stage.model.session.as_ref().unwrap().current, MAIN, "leaving an active branch is a jump too");
}

#[test]
fn pasted_text_filters_like_typed_text() {
    let mut stage = fixture::opened();
    stage.press("f8 /").msg(Msg::Input(Input::Paste("need\nmore".into())));
    assert_eq!(tree_screen(&stage).filter, "need", "its first line");
    let mut stage = fixture::opened();
    stage.press("f3").msg(Msg::Input(Input::Paste("parser".into())));
    let asked = |r: &Request| matches!(r, Request::Session(SessionRequest::Search { words }) if words == "parser");
    assert!(stage.sent.iter().any(|(_, request)| asked(request)), "the store searches sessions");
}
