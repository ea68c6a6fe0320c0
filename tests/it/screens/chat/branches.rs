//! Branches in the chat: versions of a message, unread answers, forks, and acts that move a branch's end.
//! Not for: the whole tree (`tree`).

use super::keys::requests;
use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY, SESSION, node_id};
use pleach::config::commands::Printed;
use pleach::domain::base::BranchId;
use pleach::domain::conversation::{Branch, Node, Role};
use pleach::engine::api::{BranchAnswer, BranchRequest, Event, Request, SessionEvent, TurnEvent};
use pleach::tui::model::focus::Focus;
use pleach::tui::msg::{Done, Msg};
use uuid::Uuid;

#[test]
fn a_blank_row_separates_many_branches_from_the_next_request() {
    let nodes = fixture::story();
    let name = |n: u128| fixture::branch(BranchId(Uuid::from_u128(900 + n)), &format!("b{n}"), nodes.last(), None);
    for count in 1..30 {
        let branches = std::iter::once(fixture::branch(MAIN, "main", nodes.last(), None)).chain((0..count).map(name));
        let mut stage = fixture::open(nodes.clone(), fixture::view(&nodes, branches.collect()));
        let screen = stage.screen(120, 35);
        let side: Vec<&str> = screen.lines().filter_map(|line| line.rsplit('│').next()).collect();
        let title = side.iter().position(|row| row.contains("Next request")).expect(&screen);
        assert_eq!(side[title - 1].trim(), "", "{count} more branches: {screen}");
    }
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
        stage.reply(sibling, BranchAnswer::Branch(Box::new(branch)));
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

#[test]
fn a_fork_says_where_the_person_is_and_how_to_return() {
    let mut stage = fixture::opened();
    stage.press("tab f");
    let fork = Branch { parent: Some(MAIN), ..fixture::branch(fixture::third(), "main-2", None, Some(MAIN)) };
    stage.reply(
        |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })),
        BranchAnswer::Branch(Box::new(Branch { head: Some(node_id(6)), ..fork })),
    );
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Now on the new branch main-2."), "{screen}");
    assert!(screen.contains("switches branches, also back to main."), "the whole notice fits: {screen}");
}

#[test]
fn an_empty_session_is_not_forked() {
    let view = fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]);
    let mut stage = fixture::open(Vec::new(), view);
    stage.press("tab f");
    stage.model.focus = Focus::Composer;
    stage.type_text("/branch fork other").press("enter");
    let forks = requests(&stage, |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })).then_some(()));
    assert!(forks.is_empty());
    assert!(stage.screen(120, 35).contains("There is nothing to fork yet: this branch has no messages."));
}

#[test]
fn a_fork_takes_the_unsent_message_along() {
    let mut stage = fixture::opened();
    stage.type_text("for the fork").wait(2_000).press("ctrl-p").type_text("fork a branch").press("enter");
    let fork = Branch { parent: Some(MAIN), ..fixture::branch(fixture::third(), "fork", None, Some(MAIN)) };
    stage.reply(
        |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })),
        BranchAnswer::Branch(Box::new(Branch { head: Some(node_id(6)), ..fork })),
    );
    assert_eq!(stage.model.composer.first_line(), "for the fork");
    stage.wait(2_000);
    let kept = requests(&stage, |request| match request {
        Request::Branch(BranchRequest::KeepDraft { branch, text }) => Some((*branch, text.to_string())),
        _ => None,
    });
    assert!(kept.contains(&(MAIN, String::new())), "{kept:?}");
    assert_eq!(kept.last().unwrap(), &(fixture::third(), "for the fork".to_owned()));
}

#[test]
fn a_turn_that_moved_the_end_of_the_branch_says_what_is_kept() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    let marks = stage.model.branch().unwrap().marks.clone();
    assert_eq!(marks.len(), 1, "on the turn whose answer is replaced");
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "".into(), after: None }));
    let again =
        fixture::text_node(9, Some(&story[0]), pleach::domain::conversation::message::Role::Assistant, "Another.");
    let heads = vec![again.head.clone()];
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads }));
    let moved = Branch { marks, ..fixture::branch(MAIN, "main", Some(&again), None) };
    stage.event(Event::Session(SessionEvent::Branch(Box::new(moved))));
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    let screen = stage.screen(160, 35);
    let words =
        "main now ends here. 4 messages of the earlier version are kept, and 1 mark acts only there; Ctrl+X u returns";
    assert!(screen.contains(words), "{screen}");
}

#[test]
fn archiving_the_current_branch_names_the_new_one() {
    let mut stage = fixture::opened();
    stage.model.session.as_mut().unwrap().settings.insert(RETRY, fixture::settings());
    let main = Branch { archived: true, ..stage.model.branch().unwrap().clone() };
    stage.event(Event::Session(SessionEvent::Branch(Box::new(main))));
    assert!(stage.screen(120, 35).contains("You are now on retry-with-trace (gpt-4.1-mini)."));
    let out = "Archived main. `pleach undo` undoes it.\n".to_owned();
    let printed = Printed { code: 0, out, err: String::new() };
    stage.msg(Msg::Done(Done::Printed("/branch archive".to_owned(), printed)));
    let screen = stage.screen(140, 35);
    let text = "Archived main. You are now on retry-with-trace (gpt-4.1-mini). Ctrl+X u undoes it.";
    assert!(screen.contains(text) && !screen.contains("more notice"), "{screen}");
}

/// A fork with an unsent message, whose undo archives it.
fn undone_fork(stage: &mut Stage) {
    stage.type_text("precious words").press("tab f f");
    let fork = Branch { parent: Some(MAIN), ..fixture::branch(fixture::third(), "main-2", None, Some(MAIN)) };
    let fork = Branch { head: Some(node_id(6)), ..fork };
    stage.reply(
        |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })),
        BranchAnswer::Branch(Box::new(fork.clone())),
    );
    assert_eq!(stage.model.composer.first_line(), "precious words");
    stage.wait(2_000);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(Branch { archived: true, ..fork }))));
}

#[test]
fn the_unsent_message_of_an_undone_fork_returns_to_the_composer() {
    let mut stage = fixture::opened();
    undone_fork(&mut stage);
    assert!(stage.model.is_current(MAIN));
    assert_eq!(stage.model.composer.first_line(), "precious words");
    let screen = stage.screen(160, 35);
    assert!(screen.contains("You are now on main"), "{screen}");
    assert!(screen.contains("The unsent message of main-2 is in the composer."), "{screen}");
    stage.wait(2_000);
    let kept = requests(&stage, |request| match request {
        Request::Branch(BranchRequest::KeepDraft { branch, text }) => Some((*branch, text.to_string())),
        _ => None,
    });
    assert!(kept.contains(&(fixture::third(), String::new())), "{kept:?}");
    assert_eq!(kept.last().unwrap(), &(MAIN, "precious words".to_owned()));
}

/// The branch that opens, or the current one if another is archived, has its own draft: the message of the archived
/// branch goes to the history.
#[test]
fn the_unsent_message_of_an_archived_branch_goes_to_the_history_if_the_composer_is_not_empty() {
    let mut stage = fixture::opened();
    stage.type_text("precious words");
    let retry = stage.model.session.as_ref().unwrap().find(RETRY).unwrap().clone();
    let main = stage.model.branch().unwrap().clone();
    stage.event(Event::Session(SessionEvent::Branch(Box::new(retry.clone()))));
    branches_switch(&mut stage, RETRY);
    stage.type_text("own draft");
    stage.event(Event::Session(SessionEvent::Branch(Box::new(Branch { archived: true, ..main }))));
    assert!(stage.model.is_current(RETRY));
    assert_eq!(stage.model.composer.first_line(), "own draft");
    let screen = stage.screen(160, 35);
    let text =
        format!("The unsent message of main is in the history; {} in an empty composer restores it.", "\u{2191}");
    assert!(screen.contains(&text), "{screen}");
    stage.press("ctrl-u");
    assert!(stage.model.composer.recall(true));
    assert_eq!(stage.model.composer.first_line(), "precious words");
}

/// Switches to a branch with the panel of branches.
fn branches_switch(stage: &mut Stage, branch: BranchId) {
    stage.model.panel.select(branch);
    stage.model.focus = Focus::Branches;
    stage.press("enter");
    assert!(stage.model.is_current(branch));
}
