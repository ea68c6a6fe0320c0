//! Branches side by side: snapshots, picking turns, and choosing the other branch.
//! Not for: differences between two calls (`calls`).

use super::Stage;
use super::calls::{plan_diff, turn};
use super::fixture::{self, MAIN, NOON, RETRY, node_id};
use super::pictures::pictures;
use pleach::domain::base::BranchId;
use pleach::domain::conversation::compare::Turn;
use pleach::domain::conversation::{Ancestor, Branch, ComparedMessage, Comparison, Role, Side};
use pleach::engine::api::{Answer, BranchAnswer, BranchRequest, ItemName, Request};
use pleach::tui::model::status::Severity;
use uuid::Uuid;

fn side(branch: pleach::domain::base::ids::BranchId, name: &str, words: &[&str]) -> Side {
    let turn_with_text = |n: usize, text: &str| Turn {
        number: u32::try_from(n).unwrap() + 3,
        atom: turn(u8::try_from(n).unwrap() + 3),
        messages: vec![
            ComparedMessage { node: node_id(1), role: Role::User, text: text.into() },
            ComparedMessage { node: node_id(2), role: Role::Assistant, text: format!("**Yes**: {text}") },
        ],
        pin: None,
    };
    let pin = |text: &str| Turn { number: 0, atom: turn(99), messages: Vec::new(), pin: Some(text.into()) };
    Side {
        branch,
        name: name.into(),
        turns: words
            .iter()
            .enumerate()
            .map(|(n, text)| turn_with_text(n, text))
            .chain([pin("Never log tokens.")])
            .collect(),
        more: 0,
        calls: 2,
        prompt: 2_400,
        answer: 310,
        cost_micro: Some(1_100),
        tools: vec![("read_file".into(), 2)],
        models: vec!["gpt-4.1-mini".into()],
        last: None,
    }
}

pub(super) fn compared(words: &str) -> Box<Comparison> {
    let title = "Why does login fail after the refresh?".to_owned();
    Box::new(Comparison {
        ancestor: Some(Ancestor { node: node_id(4), turn: 2, title, at: NOON }),
        sides: [side(MAIN, "main", &["And with two tabs?", words]), side(RETRY, "retry", &["Show me the patch."])],
        plans: Some(plan_diff("x")),
    })
}

#[test]
fn branches_side_by_side_and_picking() {
    let mut stage = fixture::opened();
    stage.type_text("/compare retry").press("enter");
    assert_eq!(stage.sent.last().map(|(_, r)| r), Some(&Request::Branch(BranchRequest::Compare { a: MAIN, b: RETRY })));
    let answer = Answer::Branch(BranchAnswer::Compared(compared("日本語\u{202e}")));
    stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { .. })), answer);
    pictures("compare", &mut stage);
    stage.press("space j space p");
    let items = vec![ItemName::Atom(turn(3)), ItemName::Atom(turn(4))];
    let wanted = Request::Branch(BranchRequest::Pick { from: MAIN, items, onto: RETRY, together: true });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted), "both turns as one text");
    stage.press("tab p b");
    let items = vec![ItemName::Atom(turn(3))];
    let one = Request::Branch(BranchRequest::Pick { from: RETRY, items, onto: MAIN, together: false });
    let back = Request::Branch(BranchRequest::BringBack { from: RETRY, onto: Some(MAIN) });
    assert!(stage.sent.iter().any(|(_, request)| *request == one), "the selected turn of the other side");
    assert!(stage.sent.iter().any(|(_, request)| *request == back));
    stage.press("enter");
    assert!(stage.screen(120, 35).contains("What changed"), "compare plans");
    stage.press("esc esc").type_text("/compare nobody").press("enter");
    assert!(stage.screen(120, 35).contains("There is no branch"));
}

/// A notice has rows of its own, so that no heading shows through it.
/// A branch without messages has no common message with another, and does not diverge from it.
#[test]
fn an_empty_branch_is_compared() {
    let mut stage = fixture::opened();
    stage.type_text("/compare retry").press("enter");
    let mut empty = compared("x");
    (empty.ancestor, empty.plans) = (None, None);
    empty.sides[1].turns.clear();
    stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { .. })), BranchAnswer::Compared(empty));
    let screen = stage.screen(140, 35);
    assert!(screen.contains("retry has no messages yet.") && screen.contains("No messages."), "{screen}");
    assert!(!screen.contains("in common") && !screen.contains("diverge"), "{screen}");
}

#[test]
fn a_notice_covers_no_part_of_the_comparison() {
    for size in [(80, 24), (120, 35), (200, 50)] {
        let mut stage = fixture::opened();
        stage.type_text("/compare retry").press("enter");
        let answer = BranchAnswer::Compared(compared("words"));
        stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { .. })), answer);
        let lines = |screen: &str| screen.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
        let bare = lines(&stage.screen(size.0, size.1));
        let words = "You kept main-2 of the race; the others are archived. Ctrl+B lists them, and u returns to it. ";
        stage.model.status.say(Severity::Notice, words.repeat(2), stage.model.now);
        let screen = stage.screen(size.0, size.1);
        assert!(screen.contains("You kept main-2"), "{screen}");
        assert_eq!(lines(&screen), bare, "{screen}");
    }
}

/// On a narrow screen, the sides are one above the other; on a low one, the heading names the key to the other side.
#[test]
fn both_sides_are_visible_on_a_narrow_screen() {
    let mut stage = fixture::opened();
    stage.type_text("/compare retry").press("enter");
    let answer = BranchAnswer::Compared(compared("words"));
    stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { .. })), answer);
    let screen = stage.screen(80, 24);
    assert!(screen.contains("And with two tabs?") && screen.contains("Show me the patch."), "{screen}");
    assert!(screen.contains("▸ main") && screen.contains("  retry"), "{screen}");
    assert!(stage.press("tab").screen(80, 24).contains("▸ retry"));
    let screen = stage.screen(60, 12);
    assert!(screen.contains("▸ retry   Tab shows main") && !screen.contains("And with two tabs?"), "{screen}");
}

#[test]
fn long_names_of_compared_branches_end_with_a_sign() {
    let long = "a-branch-with-a-name-of-fifty-three-characters-in-all-x";
    for (names, expected) in [([long, "retry"], "…   Tab shows retry"), ([long, long], "…   Tab shows a-branch")] {
        let mut stage = fixture::opened();
        stage.type_text("/compare retry").press("enter");
        let mut both = compared("long ".repeat(40).as_str());
        both.sides.iter_mut().zip(names).for_each(|(side, name)| side.name = name.into());
        both.ancestor.as_mut().unwrap().title = "A question of many words ".repeat(9);
        stage.reply(|r| matches!(r, Request::Branch(BranchRequest::Compare { .. })), BranchAnswer::Compared(both));
        let screen = stage.screen(60, 12);
        let head = screen.lines().find(|line| line.contains('▸')).unwrap_or_default();
        assert!(head.contains(expected), "{screen}");
        let diverge = screen.lines().find(|line| line.contains("They diverge")).unwrap_or_default();
        assert!(diverge.trim_end().ends_with('…'), "{screen}");
    }
}

#[test]
fn branch_to_compare_with_is_chosen_from_a_list() {
    let mut stage = fixture::opened();
    let third = fixture::third();
    let branches = &mut stage.model.session.as_mut().unwrap().branches;
    for branch in branches.iter_mut() {
        branch.parent = None;
    }
    let like = |id: u128, name: &str, archived| Branch {
        id: BranchId(Uuid::from_u128(id)),
        name: name.into(),
        archived,
        ..branches[1].clone()
    };
    let more = [like(40, "abandoned", true), Branch { id: third, ..like(0, "other model", false) }];
    branches.splice(0..0, more);
    stage.press("ctrl-x v");
    let screen = stage.screen(120, 35);
    assert!(screen.find("other model") < screen.find("abandoned"), "archived branches are last:\n{screen}");
    stage.type_text("oth").press("enter");
    let asked = Request::Branch(BranchRequest::Compare { a: MAIN, b: third });
    assert!(stage.sent.iter().any(|(_, request)| *request == asked), "{:?}", stage.sent);
}

/// A beginning that several other branches have names none of them.
#[test]
fn an_ambiguous_branch_name_is_refused() {
    let compares = |stage: &Stage| {
        let last = stage.sent.iter().rev().find_map(|(_, request)| match request {
            Request::Branch(BranchRequest::Compare { b, .. }) => Some(*b),
            _ => None,
        });
        last.map(|branch| branch.0.as_u128())
    };
    for (typed, compared, words) in [
        ("retr", None, "3 branches begin with \"retr\": retry-with-trace, retry two, Retrieval."),
        ("RETRI", Some(78), ""),
        ("retry", None, "2 branches begin with \"retry\""),
        ("retry-with-trace", Some(3), ""),
        ("ma", Some(79), ""),
        ("main", None, "That is the current branch"),
        ("nobody", None, "There is no branch"),
    ] {
        let mut stage = fixture::opened();
        let session = stage.model.session.as_mut().unwrap();
        for (id, name) in [(77, "retry two"), (78, "Retrieval"), (79, "main two")] {
            let id = BranchId(Uuid::from_u128(id));
            session.put_branch(fixture::branch(id, name, None, Some(MAIN)));
        }
        stage.type_text(&format!("/compare {typed}")).press("enter");
        assert_eq!(compares(&stage), compared, "{typed}");
        assert!(stage.screen(120, 35).contains(words), "{typed}: {}", stage.screen(120, 35));
    }
}

#[test]
fn ranges_of_turns_are_selected() {
    use pleach::tui::screens::compare::model::CompareView;
    let mut view = CompareView { compared: Some(compared("words")), ..CompareView::default() };
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
