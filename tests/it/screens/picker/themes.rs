//! The list of themes: previews and choosing one.
//! Not for: what a theme changes on the screen (`chat::display`).

use crate::screens::fixture;
use crate::screens::pictures::pictures;
use pleach::tui::screens::picker::model::{Choice, Picker};

#[test]
fn selected_theme_is_previewed() {
    let mut stage = fixture::opened_with_themes();
    stage.press("ctrl-x T");
    assert_eq!(stage.model.shown_theme(), "auto");
    stage.press("down down");
    assert_eq!((stage.model.shown_theme(), stage.model.display.theme.as_str()), ("light", "auto"));
    stage.press("esc");
    assert_eq!(stage.model.shown_theme(), "auto", "Esc restores");
    stage.type_text("/theme").press("enter").type_text("sep");
    assert_eq!(stage.model.shown_theme(), "sepia", "typing selects");
    stage.press("enter");
    assert_eq!((stage.model.shown_theme(), stage.kept.join(" ")), ("sepia", "theme sepia".to_owned()));
    stage.type_text("/theme nope").press("enter");
    assert!(stage.screen(100, 30).contains("There is no theme"));
    stage.kept.clear();
    stage.model.facts.demo = true;
    stage.press("ctrl-c").type_text("/theme dark").press("enter");
    assert_eq!((stage.model.shown_theme(), stage.kept.len()), ("dark", 0), "the demo writes nothing");
}

#[test]
fn theme_picker_snapshots() {
    let mut stage = fixture::opened_with_themes();
    stage.press("ctrl-x T down down down");
    pictures("themes", &mut stage);
}

#[test]
fn every_theme_can_be_chosen() {
    let mut stage = fixture::opened_with_themes();
    stage.press("ctrl-x T");
    let Some(picker) = stage.model.layers.top::<Picker>() else { panic!() };
    let names: Vec<&str> = picker
        .entries
        .iter()
        .filter_map(|entry| if let Choice::Theme(name) = &entry.choice { Some(name.as_str()) } else { None })
        .collect();
    assert_eq!(names, ["auto", "dark", "light", "contrast", "sepia", "terminal", "mono"]);
}
