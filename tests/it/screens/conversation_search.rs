//! The search of the conversation: matches, folded results, and leaving the search line.
//! Not for: searching all messages (`search`).

use super::fixture;
use super::pictures::pictures;
use pleach::tui::model::focus::Focus;
use pleach::tui::theme::{Ink, Theme};

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
