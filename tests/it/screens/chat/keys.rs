//! Keys of the chat: the leader key, letters beside an unsent message, acts on messages, Esc, Ctrl+C, and the history.
//! Not for: keys of the other screens (`every_screen::bound_keys`).

use super::sending::ask;
use super::writing;
use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY, node_id, run_id};
use crate::screens::pictures::pictures;
use pleach::domain::conversation::MarkKind;
use pleach::domain::planning::Mode;
use pleach::domain::tool::ToolStatus;
use pleach::engine::api::{
    Act, Answer, BranchRequest, DraftKind, Event, FileList, ItemName, PlanRequest, Request, ToolAnswer, ToolRequest,
    TurnEvent, TurnRequest,
};
use pleach::tui::model::focus::Focus;
use pleach::tui::screens::picker::model::{Kind, Picker};
use pleach::tui::screens::tree::model::TreeScreen;

/// What `of` returns for the requests that were sent.
pub(crate) fn requests<T>(stage: &Stage, of: impl Fn(&Request) -> Option<T>) -> Vec<T> {
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

fn acts(stage: &Stage) -> usize {
    requests(stage, |request| matches!(request, Request::Branch(BranchRequest::Mark { .. })).then_some(())).len()
}

fn cleared(stage: &Stage) -> Vec<String> {
    requests(stage, |request| match request {
        Request::Branch(BranchRequest::KeepCleared { text, .. }) => Some(text.to_string()),
        _ => None,
    })
}

/// The drafts that were sent, by text and kind.
pub(crate) fn asked(stage: &Stage) -> Vec<(String, DraftKind)> {
    requests(stage, |request| match request {
        Request::Turn(TurnRequest::Ask { draft, .. }) => Some((draft.text.to_string(), draft.kind)),
        _ => None,
    })
}

#[test]
fn a_slash_is_a_command_only_in_the_composer() {
    let mut stage = fixture::opened();
    stage.press("ctrl-t").press("esc");
    stage.model.focus = Focus::Branches;
    stage.press("/");
    assert!(stage.model.composer.is_empty());
    assert!(stage.screen(120, 35).contains("Tree of auth-bug"), "the tree with its filter");
    stage.press("esc esc esc").type_text("/");
    assert!(stage.screen(120, 35).contains("Commands"));
}

#[test]
fn a_letter_beside_an_unsent_message_acts_on_the_second_press() {
    let mut stage = fixture::opened();
    stage.type_text("half a thought").press("tab tab");
    assert_eq!(stage.model.focus, Focus::Context);
    stage.press("shift-tab x");
    assert_eq!(acts(&stage), 0);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("x here leaves out this message. Again to do it, Esc to type."), "{screen}");
    stage.press("p");
    assert_eq!(acts(&stage), 0, "another letter asks again");
    stage.press("j x");
    assert_eq!(acts(&stage), 0, "a key between begins anew");
    stage.press("x");
    assert_eq!(acts(&stage), 1);
    stage.press("x");
    assert_eq!(acts(&stage), 2, "the letter was confirmed");
    stage.press("p");
    assert_eq!(acts(&stage), 2, "every different letter asks first");
    stage.press("p");
    assert_eq!(acts(&stage), 3);
    stage.press("esc tab p");
    assert_eq!(acts(&stage), 3, "until the person types again");
    let mut stage = fixture::opened();
    stage.press("tab p");
    assert_eq!(acts(&stage), 1, "with nothing typed, letters act at once");
}

#[test]
fn tmux_leaves_the_branches_another_key() {
    let mut stage = fixture::opened();
    assert!(stage.screen(120, 35).contains("^B branches"));
    stage.model.facts.tmux = true;
    stage.model.name_keys_for_tmux();
    let screen = stage.screen(120, 35);
    assert!(screen.contains("F2 branches") && !screen.contains("^B"), "{screen}");
    stage.press("ctrl-b");
    assert_eq!(stage.model.focus, Focus::Branches, "where it comes through, it works");
}

#[test]
fn up_moves_in_a_draft_and_then_keeps_it_while_older_messages_are_shown() {
    let mut stage = fixture::opened();
    stage.type_text("one").press("ctrl-j").type_text("two");
    stage.press("up");
    assert_eq!(stage.model.composer.cursor(), (0, 3), "the row above");
    stage.press("up");
    assert_eq!(stage.model.composer.cursor(), (0, 0), "the start of the first row");
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "And with two tabs open? 日本語 works too.");
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "Why does login fail after the refresh?");
    assert_eq!(&*stage.model.composer.unsent(), "one\ntwo", "the draft is what is kept over a restart");
    stage.press("down down");
    assert_eq!(&*stage.model.composer.text(), "one\ntwo");
    stage.press("up up up").press("enter");
    assert_eq!(asked(&stage)[0].0, "And with two tabs open? 日本語 works too.");
    stage.reply(|r| matches!(r, Request::Turn(TurnRequest::Ask { .. })), Answer::Asked { run: run_id(8) });
    assert_eq!(&*stage.model.composer.text(), "one\ntwo", "and comes back once that message is sent");
}

#[test]
fn a_draft_that_an_edited_older_message_replaces_is_in_the_history() {
    let mut stage = fixture::opened();
    stage.type_text("my draft").press("home up home").type_text("Again: ");
    assert!(stage.model.composer.first_line().starts_with("Again: And with two tabs"));
    stage.press("home up");
    assert_eq!(stage.model.composer.first_line(), "my draft");
}

#[test]
fn ctrl_c_stops_then_clears_then_quits() {
    let mut stage = writing::answering();
    stage.type_text("not yet").press("ctrl-c");
    assert!(stage.model.live[&MAIN].stopping, "the answer first");
    assert_eq!(stage.model.composer.first_line(), "not yet");
    stage.press("ctrl-c");
    assert!(stage.model.composer.is_empty());
    assert!(stage.screen(120, 35).contains("Cleared. ↑ restores the text, even after a restart."));
    assert_eq!(cleared(&stage), ["not yet"], "it is stored");
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "not yet");
    stage.press("ctrl-c").wait(5_000).press("ctrl-c");
    assert!(!stage.model.quit);
    stage.press("ctrl-c");
    assert!(stage.model.quit);
}

#[test]
fn a_cleared_message_comes_back_after_a_restart() {
    let nodes = fixture::story();
    let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[5]), None)]);
    let early = [(MAIN, 2, "second".into()), (MAIN, 1, "first".into())];
    view.cleared = vec![(MAIN, fixture::NOON * 2, "given up".into()), (RETRY, 1, "elsewhere".into())];
    view.cleared.extend(early);
    let mut stage = fixture::open(nodes, view);
    for text in ["given up", "second", "first"] {
        stage.press("up");
        assert_eq!(stage.model.composer.first_line(), text, "newest first, before the sent messages");
    }
    stage.press("up");
    assert_eq!(stage.model.composer.first_line(), "And with two tabs open? 日本語 works too.");
}

#[test]
fn all_cleared_messages_come_back_newest_first() {
    let mut stage = fixture::opened();
    stage.type_text("first draft").press("ctrl-c").type_text("second draft").press("ctrl-c");
    assert_eq!(cleared(&stage), ["first draft", "second draft"]);
    for text in ["second draft", "first draft", "And with two tabs open? 日本語 works too."] {
        stage.press("up");
        assert_eq!(stage.model.composer.first_line(), text);
    }
}

#[test]
fn an_edit_that_is_left_is_in_the_history_and_the_draft_comes_back_whole() {
    let mut stage = fixture::opened();
    let long = "many words ".repeat(500);
    stage.model.composer.paste(&long);
    stage.press("tab e e").type_text(" more");
    assert!(stage.screen(160, 35).contains("editing"));
    assert!(stage.model.composer.unsent().contains(&long), "both are kept over a crash");
    assert!(stage.model.composer.unsent().ends_with(" more"));
    stage.press("esc");
    assert_eq!(&*stage.model.composer.text(), long, "with its folded paste");
    stage.press("ctrl-c up");
    stage.press("up");
    assert!(stage.model.composer.first_line().ends_with(" more"), "{}", stage.model.composer.first_line());
}

#[test]
fn typing_is_undone_by_the_key_of_other_editors_too_and_ctrl_k_deletes_to_the_end() {
    let mut stage = fixture::opened();
    stage.type_text("one two").press("home ctrl-k");
    assert!(stage.model.composer.is_empty());
    stage.press("ctrl-7");
    assert_eq!(stage.model.composer.first_line(), "one two", "what terminals send for Ctrl+_");
}

#[test]
fn leader_key_shows_what_may_follow() {
    let mut stage = fixture::opened_with_themes();
    stage.type_text("half a mess").press("ctrl-x");
    assert!(!stage.screen(100, 30).contains("then one of these"), "not at once");
    stage.wait(299);
    assert!(!stage.screen(100, 30).contains("then one of these"), "not yet");
    stage.model.plan.due = None;
    stage.model.draft_save.due = None;
    assert_eq!(stage.model.next_wake(), Some(stage.model.now + 1));
    stage.wait(1);
    assert!(stage.model.next_wake().is_none_or(|at| at > stage.model.now), "no timer is needed any more");
    let screen = stage.screen(100, 30);
    assert!(screen.contains("Ctrl+X then one of these") && screen.contains("Toggle the branches panel"), "{screen}");
    pictures("which", &mut stage);
    stage.press("esc");
    assert!(!stage.screen(100, 30).contains("then one of these"));
    assert_eq!(stage.model.composer.draft().text.as_ref(), "half a mess", "the composer received none of it");
    stage.press("ctrl-x f12");
    assert!(stage.screen(100, 30).contains("Ctrl+X F12 does nothing"));
    stage.press("ctrl-x q");
    assert!(stage.model.quit);
}

#[test]
fn leader_key_works_everywhere() {
    for place in ["tab", "ctrl-b", "ctrl-o", "ctrl-p", "f1"] {
        let mut stage = fixture::opened_with_themes();
        stage.press(place).press("ctrl-x T");
        let list = stage.model.layers.top::<Picker>();
        assert!(list.is_some_and(|picker| picker.kind == Kind::Themes), "from {place}");
    }
}

/// A turn that was stopped while a tool call waited for approval ends with the call's result.
#[test]
fn a_turn_stopped_after_a_tool_call_continues() {
    for (status, words) in [(ToolStatus::Cancelled, "stopped"), (ToolStatus::Ok, "no answer to this result yet")] {
        let nodes = fixture::story()[..3].to_vec();
        let mut view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", Some(&nodes[2]), None)]);
        view.traces.push(fixture::trace(&nodes[2], Some(status)));
        let mut stage = fixture::open(nodes, view);
        let screen = stage.screen(100, 30);
        assert!(screen.contains(&format!("✕ {words} · /continue · /regenerate")), "a letter would be typed: {screen}");
        let screen = stage.press("tab").screen(100, 30);
        assert!(screen.contains(&format!("✕ {words} · c continue · R regenerate")), "{screen}");
        stage.press("c");
        assert_eq!(ask(&stage).0.kind, DraftKind::Continue(node_id(3)));
        stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "".into(), after: None }));
        assert!(!stage.screen(100, 30).contains(words), "the turn goes on");
    }
}

#[test]
fn keys_act_on_the_selected_message() {
    let mut stage = fixture::opened();
    stage.press("tab g p");
    let Request::Branch(BranchRequest::Mark { items, act, .. }) = stage.last().clone() else {
        panic!("{:?}", stage.last())
    };
    assert_eq!(items, vec![ItemName::TurnOf(node_id(1))]);
    assert_eq!(act, Act::Set { kind: MarkKind::Sticky, toggle: true });
    let replans = |request: &Request| matches!(request, Request::Plan(PlanRequest::Replan { .. }));
    assert_eq!(
        stage.sent.iter().filter(|(_, request)| replans(request)).count(),
        1,
        "the engine plans again by itself"
    );
    stage.press("G x");
    let Request::Branch(BranchRequest::Mark { items, .. }) = stage.last().clone() else { panic!() };
    assert_eq!(items, vec![ItemName::Message(node_id(6))]);
    stage.press("R");
    assert_eq!(ask(&stage).0.kind, DraftKind::Regenerate(node_id(5)));
    stage.press("c");
    assert_eq!(ask(&stage).0.kind, DraftKind::Continue(node_id(6)));
    stage.press("f");
    assert!(
        matches!(stage.last(), Request::Branch(BranchRequest::Fork { at: Some(at), switch: true, .. }) if *at == node_id(6))
    );
    stage.press("h");
    assert!(matches!(stage.last(), Request::Branch(BranchRequest::Sibling { step: -1, .. })));
    stage.press("y");
    assert_eq!(stage.copied, ["With two tabs both"]);
}

#[test]
fn letters_are_text_while_writing() {
    let mut stage = fixture::opened();
    let before = stage.sent.len();
    stage.type_text("pxfXq[]uU");
    assert_eq!(stage.sent.len(), before);
    assert_eq!(stage.model.composer.first_line(), "pxfXq[]uU");
}

#[test]
fn mode_cycles_everywhere() {
    let mut stage = fixture::opened();
    let mode = |stage: &Stage| {
        stage.sent.iter().rev().find_map(|(_, r)| match r {
            Request::Branch(BranchRequest::Override { overrides, .. }) => overrides.mode,
            _ => None,
        })
    };
    stage.type_text("x").press("ctrl-f");
    assert_eq!(mode(&stage), Some(Mode::Heavy));
    stage.press("ctrl-o ctrl-f");
    assert_eq!(mode(&stage), Some(Mode::Off));
    assert_eq!(stage.model.composer.first_line(), "x");
}

#[test]
fn esc_leaves_then_interrupts() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "q".into(), after: None }));
    stage.press("tab esc");
    assert!(!matches!(stage.last(), Request::Turn(TurnRequest::Cancel { .. })));
    stage.press("esc");
    assert!(matches!(stage.last(), Request::Turn(TurnRequest::Cancel { .. })));
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    stage.press("esc esc esc");
    assert!(stage.model.layers.is_empty(), "Esc never opens a screen");
    stage.type_text("/mod").press("esc esc");
    assert_eq!(stage.model.composer.first_line(), "/mod", "Esc closes the list and keeps the line");
    stage.press("ctrl-c up");
    assert_eq!(stage.model.composer.first_line(), "/mod", "text cleared by Ctrl+C returns");
    stage.press("ctrl-c");
    let sent = stage.sent.len();
    stage.press("f8");
    assert!(stage.model.layers.on::<TreeScreen>());
    stage.press("k");
    assert_eq!(stage.sent.len(), sent, "nothing changes until Enter");
    stage.press("enter");
    assert!(matches!(stage.last(), Request::Plan(PlanRequest::Replan { .. })));
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, r)| matches!(r, Request::Branch(BranchRequest::Switch { branch }) if *branch == RETRY))
    );
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut stage = fixture::opened();
    stage.type_text("words").press("ctrl-c");
    assert!(stage.model.composer.is_empty() && !stage.model.quit);
    stage.press("ctrl-c");
    assert!(!stage.model.quit && stage.screen(100, 30).contains("again to quit"));
    stage.type_text("more").press("ctrl-c ctrl-c");
    assert!(!stage.model.quit, "clearing a message between the presses starts again");
    stage.press("ctrl-c");
    assert!(stage.model.quit);
    let mut other = fixture::opened();
    other.type_text("x").press("ctrl-d");
    assert!(!other.model.quit);
    other.press("backspace ctrl-d");
    assert!(other.model.quit);
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
    stage.reply(|r| matches!(r, Request::Tool(ToolRequest::Files(_))), ToolAnswer::Files(list));
    let screen = stage.screen(80, 24);
    assert!(screen.contains("Enter accept") && !screen.contains("Enter send"), "{screen}");
}
