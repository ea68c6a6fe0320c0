//! Keys of the chat: the search of the conversation, letters beside an unsent message, Ctrl+C, the history, acts that move
//! a branch's end.

use super::fixture::{self, MAIN, RETRY, node_id, run_id};
use super::pictures::pictures;
use super::{Stage, writing};
use pleach::domain::conversation::{Branch, Role};
use pleach::engine::api::{
    Answer, BranchRequest, DraftKind, Event, Request, SessionEvent, SessionRequest, TurnEvent, TurnRequest,
};
use pleach::tui::model::focus::Focus;
use pleach::tui::screens::request::model::RequestScreen;
use pleach::tui::theme::{Ink, Theme};

fn requests<T>(stage: &Stage, of: impl Fn(&Request) -> Option<T>) -> Vec<T> {
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

fn asked(stage: &Stage) -> Vec<(String, DraftKind)> {
    requests(stage, |request| match request {
        Request::Turn(TurnRequest::Ask { draft, .. }) => Some((draft.text.to_string(), draft.kind)),
        _ => None,
    })
}

#[test]
fn the_conversation_is_searched_while_the_text_is_typed() {
    let mut stage = fixture::opened();
    stage.screen(120, 35);
    stage.press("tab /").type_text("refresh");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Search this conversation · 3 of 3"), "{screen}");
    pictures("conversation_search", &mut stage);
    stage.type_text(" token");
    assert!(stage.screen(120, 35).contains("Search this conversation · 1 of 1"));
    stage.type_text("z");
    assert!(stage.screen(120, 35).contains("no match"));
    stage.press("ctrl-u").type_text("THE OLD one is");
    assert!(stage.screen(120, 35).contains("1 of 1"), "over the end of a row, in any case");
    stage.press("ctrl-u").type_text("refresh").press("enter");
    assert!(stage.model.layers.is_empty() && stage.model.focus == Focus::Conversation);
    assert!(stage.screen(120, 35).contains("search · 3 of 3"));
    stage.press("n");
    assert!(stage.screen(120, 35).contains("search · 1 of 3"), "after the last comes the first");
    assert_eq!(stage.model.conversation.cursor, 0);
    stage.press("N N");
    assert!(stage.screen(120, 35).contains("search · 2 of 3"));
    stage.press("esc");
    assert!(!stage.screen(120, 35).contains("search ·") && stage.model.focus == Focus::Conversation);
    stage.press("n");
    assert!(stage.screen(120, 35).contains("No search is active; / searches this conversation."));
}

#[test]
fn a_match_in_a_folded_result_is_unfolded_and_marked() {
    let mut stage = fixture::opened();
    stage.screen(120, 35);
    stage.press("tab /").type_text("fn refresh");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("1 of 1") && screen.contains("fn refresh() {}"), "{screen}");
    stage.theme = Theme::built_in("dark", false);
    let buf = stage.buffer(120, 35);
    let ground = stage.theme.style(Ink::CurrentMatch).bg.unwrap();
    let marked: String =
        buf.content().iter().filter(|cell| cell.bg == ground).map(ratatui::buffer::Cell::symbol).collect();
    assert_eq!(marked, "fn refresh");
    stage.press("ctrl-u").type_text("two tabs");
    let screen = stage.screen(120, 35);
    assert!(!screen.contains("fn refresh() {}"), "folded again: {screen}");
}

#[test]
fn leaving_the_search_line_returns_to_where_it_began() {
    let mut stage = fixture::opened();
    stage.screen(80, 12);
    stage.press("tab");
    let (cursor, place) = (stage.model.conversation.cursor, stage.model.conversation.place);
    stage.press("/").type_text("login fail");
    stage.screen(80, 12);
    assert_ne!(stage.model.conversation.cursor, cursor);
    stage.press("esc");
    assert_eq!((stage.model.conversation.cursor, stage.model.conversation.place), (cursor, place));
    assert!(stage.model.conversation.search.is_none());
}

/// Of a last message longer than the screen, `G` and `j` show the end, and `g` goes to the beginning of the conversation.
#[test]
fn the_end_of_a_long_last_message_is_reached() {
    let first = fixture::text_node(1, None, Role::User, "The question");
    let text = (1..=90).map(|n| format!("- line {n}\n")).collect::<Vec<_>>().concat();
    let nodes = vec![first.clone(), fixture::text_node(2, Some(&first), Role::Assistant, &text)];
    let view = fixture::view(&nodes, vec![fixture::branch(fixture::MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    stage.screen(100, 30);
    for (keys, shown, hidden) in [
        ("tab g", "The question", "line 90"),
        ("G", "line 90", "line 1\n"),
        ("j", "line 90", "line 1\n"),
        ("k", "The question", "line 90"),
        ("j j", "line 90", "line 1\n"),
    ] {
        let screen = stage.press(keys).screen(100, 30);
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        let has = |words: &str| lines.iter().any(|line| line.contains(words));
        assert!(has(shown) && !screen.contains(hidden), "{keys}: {screen}");
    }
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
fn clear_starts_a_new_session() {
    let mut stage = fixture::opened();
    stage.type_text("/clear").press("enter");
    assert!(matches!(stage.last(), Request::Session(SessionRequest::New { .. })));
    assert_eq!(stage.model.input.clear_at, None, "it is not the key that quits");
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
    assert!(stage.screen(120, 35).contains("Cleared. ↑ restores the text, also after a restart."));
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
    assert!(stage.model.composer.unsent().starts_with(&long), "both are kept over a crash");
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
fn a_fork_says_where_the_person_is_and_how_to_return() {
    let mut stage = fixture::opened();
    stage.press("tab f");
    let fork = Branch { parent: Some(MAIN), ..fixture::branch(super::fixture::third(), "main-2", None, Some(MAIN)) };
    stage.reply(
        |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })),
        Answer::Branch(Box::new(Branch { head: Some(node_id(6)), ..fork })),
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
fn the_action_doctor_prints_what_the_command_prints() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("doctor").press("enter");
    assert_eq!(stage.kept, ["run /doctor"]);
}

#[test]
fn a_fork_takes_the_unsent_message_along() {
    let mut stage = fixture::opened();
    stage.type_text("for the fork").wait(2_000).press("ctrl-p").type_text("fork a branch").press("enter");
    let fork = Branch { parent: Some(MAIN), ..fixture::branch(super::fixture::third(), "fork", None, Some(MAIN)) };
    stage.reply(
        |r| matches!(r, Request::Branch(BranchRequest::Fork { .. })),
        Answer::Branch(Box::new(Branch { head: Some(node_id(6)), ..fork })),
    );
    assert_eq!(stage.model.composer.first_line(), "for the fork");
    stage.wait(2_000);
    let kept = requests(&stage, |request| match request {
        Request::Branch(BranchRequest::KeepDraft { branch, text }) => Some((*branch, text.to_string())),
        _ => None,
    });
    assert!(kept.contains(&(MAIN, String::new())), "{kept:?}");
    assert_eq!(kept.last().unwrap(), &(super::fixture::third(), "for the fork".to_owned()));
}

#[test]
fn regenerating_an_earlier_answer_asks_first() {
    let mut stage = fixture::opened();
    stage.press("tab g R");
    assert_eq!(asked(&stage), []);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Regenerate an earlier answer?"), "{screen}");
    assert!(screen.contains("Enter choose  Esc close"), "{screen}");
    assert!(screen.contains("The 4 messages after the question are"), "{screen}");
    stage.press("enter");
    assert_eq!(asked(&stage), [], "the first choice does nothing");
    stage.press("R y");
    assert_eq!(asked(&stage), [(String::new(), DraftKind::Regenerate(node_id(1)))]);
    let mut stage = fixture::opened();
    stage.press("tab R");
    assert_eq!(asked(&stage), [(String::new(), DraftKind::Regenerate(node_id(5)))], "the last one does not ask");
    let mut stage = fixture::opened();
    stage.type_text("/regenerate 1").press("enter");
    assert!(stage.screen(120, 35).contains("Regenerate an earlier answer?") || asked(&stage).is_empty());
}

#[test]
fn a_turn_that_moved_the_end_of_the_branch_says_what_is_kept() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "".into(), after: None }));
    let again =
        fixture::text_node(9, Some(&story[0]), pleach::domain::conversation::message::Role::Assistant, "Another.");
    let heads = vec![again.head.clone()];
    stage.event(Event::Session(SessionEvent::Nodes { session: fixture::SESSION, heads }));
    let moved = fixture::branch(MAIN, "main", Some(&again), None);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(moved))));
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure: None }));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("main now ends here. 4 messages of the earlier version are kept"), "{screen}");
    assert!(screen.contains("Ctrl+X u returns to them"), "{screen}");
}

/// Esc ends the filter of the request overlay; the cursor stays on the row that the filter found.
#[test]
fn the_cursor_stays_on_the_found_row_when_the_filter_ends() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o /").type_text("older turn about").press("enter");
    let found = |stage: &Stage| stage.model.layers.top::<RequestScreen>().unwrap().selected_atom();
    let row = found(&stage);
    assert!(row.is_some());
    stage.press("esc");
    assert_eq!(found(&stage), row);
}
