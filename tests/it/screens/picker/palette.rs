//! The palette: all actions and commands, and what choosing one does.
//! Not for: commands that are typed in the composer (`chat::commands`).

use crate::screens::chat::panels::find;
use crate::screens::fixture;
use crate::screens::pictures::pictures;
use pleach::config::keys::keymap::{Action, KeyPlace, Keymap};
use pleach::tui::chat::model::slash::{RecentCommands, choices};
use pleach::tui::screens::picker::model::Picker;
use pleach::tui::theme::{Ink, Theme};

#[test]
fn palette() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("budget");
    pictures("palette", &mut stage);
}

#[test]
fn palette_marks_matching_letters() {
    let mut stage = fixture::opened_with_themes();
    stage.theme = Theme::built_in("dark", false);
    stage.press("ctrl-p").type_text("hidec");
    let at = find(&mut stage, "hide-context");
    let buf = stage.buffer(120, 35);
    let lit = stage.theme.style(Ink::Match).fg.unwrap();
    let marked: String =
        (at.0..at.0 + 12).filter(|x| buf[(*x, at.1)].fg == lit).map(|x| buf[(x, at.1)].symbol().to_owned()).collect();
    assert_eq!(marked, "hidec");
}

/// A description that does not fit is shortened at a clause, and a wide terminal has room for all.
#[test]
fn descriptions_are_not_cut() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p");
    for (width, whole) in [(80, false), (120, false), (160, true), (200, true)] {
        let screen = stage.screen(width, 45);
        for name in ["/pin ", "/context ", "/focus "] {
            let row = screen.find(name).map(|at| screen[at..].split(['│', '\n']).next().unwrap_or_default());
            assert!(row.is_some_and(|row| !row.contains('…')), "{name} at {width}: {screen}");
        }
        let sentence = "Show the next request: items included and left out, with reasons; on a past message";
        assert_eq!(screen.contains(sentence), whole, "{width}: {screen}");
    }
    stage.press("esc").type_text("/");
    let screen = stage.screen(120, 35);
    let from = screen.find("─ Commands").unwrap();
    let menu = &screen[from..];
    assert!(menu.contains("Show or change the budget of the branch") && !menu.contains("a request and…"), "{menu}");
}

/// The filter is edited with the keys of the composer.
#[test]
fn the_filter_is_edited_like_the_composer() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("race").press("ctrl-a ctrl-k").type_text("undo");
    let filter = |stage: &crate::screens::Stage| stage.model.layers.top::<Picker>().unwrap().filter.to_string();
    assert_eq!(filter(&stage), "undo");
    stage.press("ctrl-u").type_text("zen mode").press("ctrl-w ctrl-a").type_text("a ");
    assert_eq!(filter(&stage), "a zen ");
    assert!(stage.screen(100, 30).contains("/ a _zen"), "{}", stage.screen(100, 30));
}

/// An action of another screen is listed last, and says why nothing happens.
#[test]
fn an_action_of_another_screen_says_where_it_works() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("send-edited");
    assert!(stage.screen(120, 30).contains("exact request: S"), "{}", stage.screen(120, 30));
    stage.press("enter");
    let screen = stage.screen(120, 30);
    let words = "/send-edited does nothing here. It works on another screen: exact request.";
    assert!(screen.contains(words), "{screen}");
}

#[test]
fn every_action_can_be_reached() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p");
    let keys = Keymap::built_in();
    let palette = pleach::tui::screens::picker::model::Picker::palette(&keys, &[], KeyPlace::ALL);
    let listed = palette
        .entries
        .iter()
        .filter(|entry| matches!(entry.choice, pleach::tui::screens::picker::model::Choice::Action(_)));
    assert_eq!(listed.count(), Action::ALL.len());
    let bare: Vec<&str> = Action::ALL
        .iter()
        .filter(|action| keys.key_of(**action).is_none())
        .map(|action| action.name())
        .filter(|name| choices(&format!("/{name}"), &RecentCommands::default()).iter().all(|c| c.name != *name))
        .collect();
    assert!(bare.is_empty(), "{bare:?}");
}

#[test]
fn the_palette_writes_a_command_with_arguments_and_runs_others() {
    let mut stage = fixture::opened();
    stage.type_text("a draft").press("ctrl-p").type_text("export").press("enter");
    assert!(stage.model.layers.is_empty());
    assert_eq!(stage.model.composer.first_line(), "/export ");
    assert!(stage.screen(120, 30).contains("restores your message"), "{}", stage.screen(120, 30));
    stage.type_text("talk.md").press("enter");
    assert_eq!(stage.kept, ["run /export talk.md"]);
    stage.press("up up");
    assert_eq!(stage.model.composer.first_line(), "a draft");
    stage.press("ctrl-p").type_text("config check").press("enter");
    assert_eq!(stage.kept.last().map(String::as_str), Some("run /config check"));
    assert_eq!(
        stage.model.composer.first_line(),
        "a draft",
        "a command without arguments leaves the composer as it is"
    );
}

#[test]
fn the_action_doctor_prints_what_the_command_prints() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("doctor").press("enter");
    assert_eq!(stage.kept, ["run /doctor"]);
}
