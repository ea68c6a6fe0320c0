//! Layouts and panels: showing, hiding, and resizing them, and the mouse.
//! Not for: colors and signs (`chat::display`).

use super::next_request::too_large;
use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN, RETRY};
use crate::screens::pictures::pictures;
use pleach::engine::api::{BranchRequest, Event, Planned, Request};
use pleach::tui::model::focus::Focus;
use pleach::tui::model::panels::{Arrangement, Shape};
use pleach::tui::model::pointer::{Mouse, PointerAction};
use pleach::tui::msg::{Input, Msg, TerminalMsg};
use pleach::tui::screens::picker::model::Picker;
use pleach::tui::screens::request::model::RequestScreen;
use std::sync::Arc;

/// Changes the layout for screens of every size.
fn arranged(stage: &mut Stage, change: impl Fn(&mut Arrangement)) {
    for size in [(40, 12), (80, 24), (120, 35), (200, 50)] {
        let mut arrangement = stage.model.display.arrangements.of(size);
        change(&mut arrangement);
        stage.model.display.arrangements.put(size, arrangement);
    }
}

#[test]
fn layouts() {
    let mut stage = fixture::opened_with_themes();
    arranged(&mut stage, |arrangement| arrangement.layout = Shape::Zen);
    pictures("zen", &mut stage);
    arranged(&mut stage, |arrangement| arrangement.layout = Shape::Narrow);
    pictures("narrow", &mut stage);
    let mut stage = fixture::opened_with_themes();
    stage.buffer(120, 35);
    stage.type_text("/layout zen").press("enter").wait(10_000);
    stage.press("ctrl-b");
    assert!(stage.screen(120, 35).contains("retry"), "the focused panel is visible anyway");
    stage.press("esc").type_text("/layout narrow").press("enter").wait(10_000);
    assert!(stage.screen(120, 35).contains("5,213 of 9,000"), "the header has the meter");
    assert!(!stage.screen(120, 35).contains("Branches"));
    assert!(stage.screen(200, 50).contains("Branches"), "another size class has its own");
    stage.buffer(120, 35);
    stage.press("ctrl-x w");
    assert!(stage.screen(120, 35).contains("Layout zen"));
    stage.press("ctrl-x z");
    assert!(stage.screen(120, 35).contains("Branches"));
    assert!(stage.kept.iter().all(|kept| kept == "arrangement") && stage.kept.len() == 4, "{:?}", stage.kept);
}

#[test]
fn panel_snapshots() {
    let mut stage = fixture::opened_with_themes();
    arranged(&mut stage, |it| (it.no_branches, it.no_context, it.no_tools) = (true, true, true));
    pictures("bare", &mut stage);
    arranged(&mut stage, |it| *it = Arrangement { left: 999, right: 999, tools: 99, ..Arrangement::default() });
    pictures("widest", &mut stage);
}

#[test]
fn panels_hide_and_come_back() {
    let mut stage = fixture::opened_with_themes();
    stage.buffer(120, 35);
    stage.press("ctrl-x b").wait(10_000);
    let screen = stage.screen(120, 35);
    assert!(!screen.contains("Branches") && screen.contains("Tools"), "{screen}");
    stage.press("ctrl-x t ctrl-x c").wait(10_000);
    let screen = stage.screen(120, 35);
    assert!(!screen.contains("Tools") && !screen.contains("Next request"), "{screen}");
    assert!(screen.contains("5,213 of 9,000"), "then the meter is in the header:\n{screen}");
    stage.press("tab");
    assert_eq!(stage.model.focus, Focus::Conversation);
    stage.press("tab");
    assert_eq!(stage.model.focus, Focus::Composer, "Tab skips hidden panels");
    stage.press("f2");
    assert!(stage.screen(120, 35).contains("Branches"), "but each can be reached");
    stage.press("ctrl-x b ctrl-x b ctrl-x =").wait(10_000);
    assert_eq!(stage.model.arrangement(), Arrangement::default());
}

fn column_of(stage: &mut Stage, title: &str) -> usize {
    let screen = stage.screen(120, 35);
    let row = screen.lines().find(|row| row.contains(title)).unwrap_or_else(|| panic!("{title} in\n{screen}"));
    row[..row.find(title).unwrap()].chars().count()
}

#[test]
fn panels_are_resized_within_bounds() {
    let mut stage = fixture::opened_with_themes();
    let before = column_of(&mut stage, "Next request");
    stage.press("tab tab > >");
    assert_eq!(column_of(&mut stage, "Next request"), before - 4, "the panel grew by two steps");
    stage.press("< <");
    assert_eq!(column_of(&mut stage, "Next request"), before);
    stage.press("ctrl-b");
    for _ in 0..60 {
        stage.press("ctrl-x l");
    }
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Next request") && screen.contains("auth-bug"), "{screen}");
    let widest = column_of(&mut stage, "Next request");
    stage.press("<");
    assert_eq!(column_of(&mut stage, "Next request"), widest + 2, "one press at an edge is felt");
    stage.msg(Msg::Terminal(TerminalMsg::Resize(80, 24)));
    stage.press(">");
    assert!(stage.screen(80, 24).contains("only in the wide layout"));
}

/// The cell, as column and row, where a text begins on a screen of 120 by 35 cells.
pub(crate) fn find(stage: &mut Stage, text: &str) -> (u16, u16) {
    let screen = stage.screen(120, 35);
    let (y, row) = screen.lines().enumerate().find(|(_, row)| row.contains(text)).unwrap_or_else(|| panic!("{screen}"));
    let x = row[..row.find(text).unwrap()].chars().map(|c| pleach::tui::text::width(&c.to_string())).sum::<usize>();
    (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}

pub(crate) fn click(stage: &mut Stage, (x, y): (u16, u16)) {
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Press, x, y })));
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Release, x, y })));
}

#[test]
fn click_selects_and_second_click_opens() {
    let mut stage = fixture::opened_with_themes();
    let at = find(&mut stage, "retry-with-trace");
    click(&mut stage, at);
    assert_eq!((stage.model.focus, stage.model.panel.selected()), (Focus::Branches, Some(RETRY)));
    stage.wait(200);
    click(&mut stage, at);
    assert!(
        stage.sent.iter().any(
            |(_, request)| matches!(request, Request::Branch(BranchRequest::Switch { branch }) if *branch == RETRY)
        )
    );
    let mut stage = fixture::opened_with_themes();
    let at = find(&mut stage, "Why does login fail");
    click(&mut stage, at);
    assert_eq!((stage.model.focus, stage.model.conversation.cursor), (Focus::Conversation, 0));
    let at = find(&mut stage, "Next request");
    click(&mut stage, (at.0 + 4, at.1 + 3));
    assert_eq!(stage.model.focus, Focus::Context);
    stage.wait(100);
    click(&mut stage, (at.0 + 4, at.1 + 3));
    assert!(stage.model.layers.on::<RequestScreen>());
    let mut stage = fixture::opened_with_themes();
    stage.press("ctrl-o");
    let at = find(&mut stage, "Never log tokens");
    click(&mut stage, at);
    let Some(overlay) = stage.model.layers.top::<RequestScreen>() else { panic!() };
    assert!(overlay.selected_atom().is_some());
    stage.press("esc ctrl-p").type_text("quit-if").wait(1_000);
    let at = find(&mut stage, "quit-if-empty");
    click(&mut stage, at);
    let Some(picker) = stage.model.layers.top::<Picker>() else { panic!() };
    assert!(picker.selected().unwrap().label.starts_with("/quit-if-empty"));
    click(&mut stage, (0, 0));
    assert!(stage.model.layers.on::<Picker>(), "a click beside it does nothing");
}

#[test]
fn wheel_scrolls_the_panel_under_the_pointer() {
    let mut stage = fixture::opened_with_themes();
    stage.buffer(120, 12);
    let (x, y) = (60, 4);
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Wheel(-3), x, y })));
    assert_eq!(stage.model.conversation.scroll, -3);
    stage.buffer(120, 35);
    let at = find(&mut stage, "retry-with-trace");
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Wheel(3), x: at.0, y: at.1 })));
    assert!(stage.model.panel.wheeled.is_some());
    assert_eq!(stage.model.focus, Focus::Composer, "the wheel does not move the focus");
    stage.press("ctrl-p");
    stage.buffer(120, 35);
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Wheel(3), x: 60, y: 15 })));
    let Some(picker) = stage.model.layers.top::<Picker>() else { panic!() };
    assert_eq!(picker.cursor, 1);
}

#[test]
fn borders_are_dragged() {
    let mut stage = fixture::opened_with_themes();
    let before = column_of(&mut stage, "Next request");
    // The line is two columns left of the text.
    let edge = u16::try_from(before).unwrap() - 2;
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Press, x: edge, y: 5 })));
    for x in (edge - 6..edge).rev() {
        stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Drag, x, y: 5 })));
    }
    assert!(stage.kept.is_empty(), "kept when it is let go");
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Release, x: edge - 6, y: 5 })));
    assert_eq!(column_of(&mut stage, "Next request"), before - 6);
    assert_eq!(stage.kept, ["arrangement"]);
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Drag, x: 3, y: 5 })));
    assert_eq!(column_of(&mut stage, "Next request"), before - 6, "nothing is held any more");
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Press, x: edge - 6, y: 5 })));
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Drag, x: 0, y: 5 })));
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Release, x: 0, y: 5 })));
    assert!(column_of(&mut stage, "Next request") > 40, "bounded");
}

#[test]
fn panel_of_the_next_request_without_items_names_the_key_of_its_list() {
    for key in ["p", "x", "X", "i", "P"] {
        let mut stage = fixture::opened();
        let planned = Planned::Blocked(Arc::new(too_large()));
        stage.event(Event::Planned { branch: MAIN, generation: u64::MAX, planned });
        stage.model.focus = Focus::Context;
        stage.press(key);
        assert!(stage.screen(120, 35).contains("This works on an item of the list; Ctrl+O opens it."), "{key}");
    }
}
