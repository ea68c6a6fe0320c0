//! Names and tags of messages: giving them, the list of them, and the filter of the tree.
//! Not for: names of branches (`chat::branches`).

use super::tree_screen;
use crate::screens::Stage;
use crate::screens::fixture::{self, RETRY, SESSION, node_id};
use crate::screens::pictures::pictures;
use pleach::domain::conversation::Tag;
use pleach::engine::api::{BranchRequest, Event, ItemName, Request, SessionEvent, TagAct};
use pleach::tui::model::focus::Focus;

fn tags(all: &[(usize, &str, bool)]) -> Event {
    let nodes = fixture::story();
    let tag = |(at, label, favorite): &(usize, &str, bool)| Tag {
        node: nodes[*at].head.key,
        label: (*label).to_owned(),
        favorite: *favorite,
    };
    Event::Session(SessionEvent::Tags { session: SESSION, tags: all.iter().map(tag).collect() })
}

/// A message's name and tag with a text.
pub(crate) fn named(words: &str) -> Event {
    tags(&[(0, words, true), (3, words, false)])
}

fn asked_tag(stage: &Stage) -> (ItemName, TagAct) {
    match stage.last() {
        Request::Branch(BranchRequest::Tag { item, act, .. }) => (item.clone(), act.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_are_named_and_tagged_from_three_places() {
    let mut stage = fixture::opened();
    stage.model.focus = Focus::Conversation;
    stage.press("g *");
    assert_eq!(asked_tag(&stage), (ItemName::Message(node_id(1)), TagAct::Favorite(None)));
    stage.press("L").type_text("the bug").press("enter");
    assert_eq!(asked_tag(&stage), (ItemName::Message(node_id(1)), TagAct::Label("the bug".into())));
    stage.event(tags(&[(0, "the bug", false)])).press("L");
    assert!(stage.screen(100, 30).contains("the bug_"), "the current name can be changed");
    stage.press("ctrl-u enter");
    assert_eq!(asked_tag(&stage).1, TagAct::Label(String::new()), "an empty name removes it");

    stage.press("ctrl-b j L").type_text("tip").press("enter");
    assert_eq!(asked_tag(&stage).0, ItemName::Message(node_id(7)), "on a branch, the message at its head");
    stage.press("f8 home *");
    assert_eq!(asked_tag(&stage).0, ItemName::Message(node_id(1)));
    stage.press("esc esc").type_text("/label last one").press("enter");
    assert_eq!(asked_tag(&stage), (ItemName::Message(node_id(6)), TagAct::Label("one".into())));
}

#[test]
fn names_are_shown_listed_and_filtered() {
    let mut stage = fixture::opened();
    stage.event(tags(&[(0, "", true), (3, "the answer", true), (6, "patch", false)]));
    stage.model.focus = Focus::Conversation;
    pictures("named", &mut stage);
    stage.press("f8");
    pictures("named_tree", &mut stage);
    let shown = |stage: &mut Stage, filter: &str| {
        stage.press("/ ctrl-u").type_text(filter);
        let hits: Vec<_> = tree_screen(stage).shown.iter().filter_map(|line| line.hit).collect();
        let tree = &stage.model.session.as_ref().unwrap().tree;
        let ids: Vec<_> = hits.iter().map(|slot| tree.head(*slot).id).collect();
        stage.press("enter");
        ids
    };
    assert_eq!(shown(&mut stage, "label:PAT"), [node_id(7)]);
    assert_eq!(shown(&mut stage, "label:"), [node_id(4), node_id(7)]);
    assert_eq!(shown(&mut stage, "fav"), [node_id(1), node_id(4)]);
    assert_eq!(shown(&mut stage, "fav label:ans"), [node_id(4)]);
    assert!(shown(&mut stage, "fav label:patch").is_empty());
    assert_eq!(shown(&mut stage, "fav refresh"), [node_id(1), node_id(4)]);
    pictures("named_filter", &mut stage);
    stage.press("down enter");
    assert!(stage.model.layers.is_empty() && stage.model.focus == Focus::Conversation);
    let slot = stage.model.conversation.selected().unwrap();
    assert_eq!(stage.model.session.as_ref().unwrap().tree.head(slot).id, node_id(4), "at the message itself");

    stage.type_text("q").type_text("/labels").press("enter");
    pictures("labels", &mut stage);
    stage.type_text("patch").press("enter");
    assert_eq!(stage.model.session.as_ref().unwrap().current, RETRY);
    let slot = stage.model.conversation.selected().unwrap();
    assert_eq!(stage.model.session.as_ref().unwrap().tree.head(slot).id, node_id(7));
}
