//! Names and tags, side questions, limits of races, versions of a message, and going back: snapshots and requests.

use super::Stage;
use super::fixture::{self, MAIN, NOON, RETRY, SESSION, node_id};
use super::pictures::pictures;
use pleach::domain::base::ids::RaceId;
use pleach::domain::base::{BranchId, Hash, RunId};
use pleach::domain::call::{BranchRun, Config, Limit, Limits, RaceUsage, RunCard, RunStatus};
use pleach::domain::conversation::{Branch, Node, Overrides, Role, Tag};
use pleach::domain::planning::Mode;
use pleach::engine::api::{
    Answer, AsideView, BranchRequest, CallRequest, Event, ItemName, Request, SessionEvent, SessionRequest, TagAct,
    TurnEvent, TurnRequest,
};
use pleach::tui::chat::model::conversation::ScrollAnchor;
use pleach::tui::model::focus::Focus;
use pleach::tui::msg::{Input, Msg};
use std::sync::Arc;
use uuid::Uuid;

fn tags(all: &[(usize, &str, bool)]) -> Event {
    let nodes = fixture::story();
    let tag = |(at, label, favourite): &(usize, &str, bool)| Tag {
        node: nodes[*at].head.key,
        label: (*label).to_owned(),
        favourite: *favourite,
    };
    Event::Session(SessionEvent::Tags { session: SESSION, tags: all.iter().map(tag).collect() })
}

/// A message's name and tag with a text.
pub(super) fn named(words: &str) -> Event {
    tags(&[(0, words, true), (3, words, false)])
}

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

fn tree_screen(stage: &Stage) -> &pleach::tui::screens::tree::model::TreeScreen {
    stage.model.layers.top().unwrap()
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
    assert_eq!(asked_tag(&stage), (ItemName::Message(node_id(1)), TagAct::Favourite(None)));
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
    assert_eq!(asked_tag(&stage), (ItemName::Message(node_id(6)), TagAct::Label("last one".into())));
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
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::KeepAside { .. })), Answer::Branch(Box::new(kept.clone())));
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

#[test]
fn versions_are_browsed_with_one_key() {
    let mut nodes = fixture::story();
    // Three versions of the fifth message. The second has two answers.
    let more = [
        fixture::text_node(20, Some(&nodes[3]), Role::User, "A second version"),
        fixture::text_node(30, Some(&nodes[3]), Role::User, "A third version"),
    ];
    let answers = [
        fixture::text_node(21, Some(&more[0]), Role::Assistant, "one answer"),
        fixture::text_node(22, Some(&more[0]), Role::Assistant, "another answer"),
    ];
    nodes.retain(|node| node.head.id != node_id(7));
    nodes.extend(more.into_iter().chain(answers));
    let view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)]);
    let mut stage = fixture::open(nodes.clone(), view);
    stage.model.focus = Focus::Conversation;
    let sibling = |r: &Request| matches!(r, Request::Branch(BranchRequest::Sibling { .. }));
    let shows_version = |stage: &mut Stage, n: u128| {
        let head = nodes.iter().find(|node| node.head.id == node_id(n));
        let branch = fixture::branch(MAIN, "main", head, None);
        stage.event(Event::Session(SessionEvent::Branch(Box::new(branch.clone()))));
        stage.reply(sibling, Answer::Branch(Box::new(branch)));
    };
    stage.press("l");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Sibling { node, step: 1, .. }) if *node == node_id(5))
    );
    shows_version(&mut stage, 22);
    assert!(stage.screen(100, 30).contains("Version 2 of 3."));
    assert!(stage.screen(100, 30).contains("2/3"));
    stage.press("l");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Sibling { node, .. }) if *node == node_id(20)),
        "the version stays selected, not an answer below it"
    );
    shows_version(&mut stage, 30);
    stage.press("h");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Sibling { node, step: -1, .. }) if *node == node_id(30))
    );
    shows_version(&mut stage, 22);
    stage.press("G h");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Sibling { node, .. }) if *node == node_id(22)),
        "at the answer, its versions"
    );
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

fn comes(stage: &mut Stage, on: BranchId, n: u128, after: &Node) -> Node {
    let node = fixture::text_node(n, Some(after), Role::Assistant, "an answer");
    stage.event(Event::Session(SessionEvent::Nodes { session: SESSION, heads: vec![node.head.clone()] }));
    let branch = Branch { head: Some(node.head.id), ..stage.model.session.as_ref().unwrap().find(on).unwrap().clone() };
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    node
}

#[test]
fn unseen_answers_are_unread() {
    let story = fixture::story();
    let mut stage = fixture::opened();
    let unread = |stage: &Stage| stage.model.session.as_ref().unwrap().unread.contains(&RETRY);
    let opens = |stage: &mut Stage, on| {
        stage.event(Event::Turn(TurnEvent::Opened { branch: on, text: "go".into(), after: None }));
    };
    let closes = |stage: &mut Stage, on| {
        stage.event(Event::Turn(TurnEvent::Closed { branch: on, draft: None, failure: None }));
    };
    // Two answers at once: the visible one is not unread, the other is, and both show as running.
    opens(&mut stage, MAIN);
    opens(&mut stage, RETRY);
    stage.press("f8");
    let screen = stage.screen(120, 35);
    let running = screen.lines().filter(|line| line.contains("◌")).count();
    assert_eq!(running, 2, "{screen}");
    stage.press("esc");
    comes(&mut stage, MAIN, 50, &story[5]);
    closes(&mut stage, MAIN);
    assert!(!stage.model.session.as_ref().unwrap().unread.contains(&MAIN));
    let answer = comes(&mut stage, RETRY, 51, &story[6]);
    closes(&mut stage, RETRY);
    assert!(unread(&stage));
    stage.press("ctrl-b").model.panel.select(RETRY);
    stage.press("enter");
    assert!(!unread(&stage), "checked");
    stage.press("alt-left");
    // A head that is moved back or renamed is not news. A replaced answer is.
    let mut moved = fixture::branch(RETRY, "other", Some(&story[6]), Some(MAIN));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(moved.clone()))));
    assert!(!unread(&stage));
    opens(&mut stage, RETRY);
    let node = fixture::text_node(52, Some(&story[6]), Role::Assistant, "another answer");
    stage.event(Event::Session(SessionEvent::Nodes { session: SESSION, heads: vec![node.head.clone()] }));
    moved.head = Some(node.head.id);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(moved.clone()))));
    closes(&mut stage, RETRY);
    assert!(unread(&stage) && answer.head.id != node.head.id);
    // A fork is not news.
    let fork = fixture::branch(BranchId(Uuid::from_u128(90)), "fork", Some(&node), Some(RETRY));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(fork.clone()))));
    assert!(!stage.model.session.as_ref().unwrap().unread.contains(&fork.id));
}

fn record(branch: BranchId, limits: Limits, stopped: Option<Limit>) -> Event {
    let config = Config {
        profile: "openai".into(),
        model: "gpt-4.1-mini".into(),
        policy: "layered".into(),
        layout: "classic".into(),
        mode: Mode::Off,
        budget: 8_000,
        max_output: 3_000,
        overrides: Overrides::default(),
    };
    Event::Turn(TurnEvent::BranchRun(Box::new(BranchRun {
        race: RaceId(Uuid::from_u128(1)),
        branch,
        from: MAIN,
        place: 0,
        config,
        limits,
        runs: Vec::new(),
        spent: RaceUsage::default(),
        stopped,
        ended: stopped.map(|_| RunStatus::Cancelled),
        at: NOON,
    })))
}

#[test]
fn race_shows_its_limits() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    stage.type_text("/race tokens:400 mode:off time:30 mode:heavy Why does it fail?").press("enter");
    let limits = Limits { tokens: Some(400), seconds: Some(30), ..Limits::default() };
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Call(CallRequest::Race { limits: found, .. }) if *found == limits))
    );
    let arm = |n, name| Branch {
        fork: Some(story[4].head.id),
        ..fixture::branch(BranchId(Uuid::from_u128(n)), name, story.get(4), Some(MAIN))
    };
    let made = vec![arm(60, "race-1"), arm(61, "race-2")];
    stage.reply(|r| matches!(r, Request::Call(CallRequest::Race { .. })), Answer::Race(made.clone()));
    for on in &made {
        stage.event(record(on.id, limits, None));
        stage.event(Event::Turn(TurnEvent::Opened { branch: on.id, text: "".into(), after: on.head }));
    }
    let node = fixture::text_node(41, Some(&story[4]), Role::Assistant, "Because of");
    let card = RunCard { branch: made[0].id, request_digest: Hash::of(b"x"), ..fixture::run(41, &story[4], &node) };
    stage.bodies.insert(node.head.id, Arc::new(node.clone()));
    stage.event(Event::Session(SessionEvent::Nodes { session: SESSION, heads: vec![node.head.clone()] }));
    stage.event(Event::Session(SessionEvent::Branch(Box::new(Branch { head: Some(node.head.id), ..made[0].clone() }))));
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    stage.event(record(made[0].id, limits, Some(Limit::Tokens)));
    stage.event(Event::Turn(TurnEvent::Closed { branch: made[0].id, draft: None, failure: None }));
    pictures("race_limits", &mut stage);
    assert!(!stage.model.session.as_ref().unwrap().unread.contains(&made[0].id), "seen when it arrives");
}

#[test]
fn ranges_of_turns_are_selected() {
    use pleach::tui::screens::compare::model::CompareView;
    let mut view = CompareView { compared: Some(super::calls::compared("words")), ..CompareView::default() };
    let turns = view.compared.as_ref().unwrap().sides[0].turns[0].clone();
    view.compared.as_mut().unwrap().sides[0].turns = vec![turns; 5];
    view.step(1);
    view.take();
    view.step(2);
    view.take_range();
    assert_eq!(view.taken[0].iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    view.step(-3);
    view.take_range();
    assert_eq!(view.taken[0].len(), 4, "upward too");
    view.turn();
    view.take_range();
    assert_eq!(view.taken[1].len(), 1, "by itself it takes one");
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
