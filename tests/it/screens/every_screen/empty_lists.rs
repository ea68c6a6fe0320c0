//! Empty lists: each says what will be listed and how, and its keys are only those that do something there.
//! Not for: lists with rows.

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use pleach::domain::summary::EditableKind;
use pleach::engine::api::{
    Answer, CallAnswer, CallRequest, EditableAct, EditableAnswer, MemoryAnswer, MemoryRequest, Request, RuleAct,
    SessionAnswer, SessionRequest, SummaryAct, SummaryAnswer, ToolAnswer, ToolRequest,
};

/// Opens a list with `keys` and answers its request with `answer`.
fn empty(keys: &str, asks: fn(&Request) -> bool, answer: impl Into<Answer>) -> Stage {
    let mut stage = fixture::opened();
    stage.press(keys);
    stage.reply(asks, answer);
    stage
}

/// Runs the command of a line.
fn run(line: &str, asks: fn(&Request) -> bool, answer: impl Into<Answer>) -> Stage {
    let mut stage = fixture::opened();
    stage.type_text(line).press("enter");
    stage.reply(asks, answer);
    stage
}

/// The line with the keys: the lowest one that says how to close the list.
fn keys(stage: &mut Stage) -> String {
    let screen = stage.screen(100, 30);
    let line = screen.lines().rev().find(|line| line.contains("close"));
    line.unwrap_or_else(|| panic!("no keys in {screen}")).trim_matches(['└', '─', '┘', ' ']).to_owned()
}

/// Checks the keys of an empty list and what its body says.
fn check(mut stage: Stage, expected: &str, body: &str) {
    assert_eq!(keys(&mut stage), expected);
    let screen = stage.screen(100, 30);
    assert!(screen.contains(body), "{body}: {screen}");
}

#[test]
fn keys_of_empty_lists_do_something_and_the_body_says_what_will_appear() {
    let calls = empty("f9", |r| matches!(r, Request::Call(CallRequest::List)), CallAnswer::Runs(Vec::new()));
    check(calls, "Esc close", "Each call is recorded here");
    let asked = |r: &Request| matches!(r, Request::Summary { act: SummaryAct::List, .. });
    check(empty("f6", asked, SummaryAnswer::Summaries(Vec::new())), "F5 draft  Esc close", "drafts a summary");
    let asked = |r: &Request| matches!(r, Request::Memory(MemoryRequest::List { .. }));
    let memories = run("/memories", asked, MemoryAnswer::Memories(Vec::new()));
    check(memories, "Alt+N new  Esc close", "No memories yet; /remember TEXT");
    let asked = |r: &Request| *r == Request::Tool(ToolRequest::Rule(RuleAct::List));
    check(
        run("/rules", asked, ToolAnswer::Rules(Vec::new())),
        "Esc close",
        "To add a rule, approve a call with \"always\"",
    );
    let asked = |r: &Request| matches!(r, Request::Session(SessionRequest::List));
    check(empty("f3", asked, SessionAnswer::Sessions(Vec::new())), "Alt+N new  Esc close", "No entry matches");
    let asked = |r: &Request| matches!(r, Request::Editable(EditableAct::List { .. }));
    let modules = run("/modules", asked, EditableAnswer::Editables(EditableKind::Modules, Vec::new()));
    check(modules, "Tab next tab  Esc close", "/module-summary PATH summarizes");
}

#[test]
fn a_session_without_messages_has_an_empty_tree_and_no_tool_calls() {
    for (key, body) in [("f8", "Once you send a message"), ("ctrl-t", "No tool")] {
        let main = fixture::branch(MAIN, "main", None, None);
        let mut stage = fixture::open(Vec::new(), fixture::view(&[], vec![main]));
        stage.press(key);
        check(stage, "Esc close", body);
    }
}

#[test]
fn an_empty_search_says_how_to_find_more() {
    let mut stage = fixture::opened();
    stage.press("ctrl-r").type_text("zebra");
    let none = Answer::Session(SessionAnswer::Found(Box::default()));
    stage.reply(|r| matches!(r, Request::Session(SessionRequest::Find { .. })), none);
    assert_eq!(keys(&mut stage), "Esc close");
    assert!(stage.screen(100, 30).contains("Use fewer of them to find more messages"));
}

#[test]
fn a_filter_without_matches_can_be_changed() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o /").type_text("zebra").press("enter");
    let screen = stage.screen(100, 30);
    assert!(screen.contains("No row matches the filter."), "{screen}");
    assert_eq!(keys(&mut stage), "/ change the filter  Esc close");
    let mut stage = fixture::opened();
    stage.press("f8 /").type_text("zebra").press("enter");
    assert_eq!(keys(&mut stage), "/ change the filter  Esc close", "the tree");
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("zzqx");
    assert_eq!(keys(&mut stage), "Esc close", "the palette");
}
