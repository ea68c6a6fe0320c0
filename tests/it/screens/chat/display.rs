//! Themes, signs, notifications, reduced motion, and settings that are reloaded.
//! Not for: the list of themes (`picker::themes`) or layouts (`chat::panels`).

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use pleach::config::keys::keymap::Keymap;
use pleach::config::settings::Screen;
use pleach::config::themes::BUILT_IN;
use pleach::domain::base::{Failure, Hash};
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::engine::api::{Answer, Event, ProgramRequest, Request, SessionEvent, TurnEvent};
use pleach::tui::msg::{ConfigMsg, Msg, ReloadedSettings, TerminalMsg};
use pleach::tui::screens::help::model::HelpScreen;
use pleach::tui::theme::{Ink, Theme, Themes};

#[test]
fn plain_signs() {
    let mut stage = fixture::opened();
    stage.theme = pleach::tui::theme::Theme::built_in("none", true);
    let only_ascii = |screen: String| {
        let outside: Vec<char> = screen.chars().filter(|c| !c.is_ascii() && !"日本語".contains(*c)).collect();
        assert!(outside.is_empty(), "{outside:?} in {screen}");
    };
    only_ascii(stage.screen(120, 30));
    // Signs in sentences and in descriptions of commands are replaced too.
    stage.type_text("/session");
    let screen = stage.screen(120, 30);
    assert!(screen.contains("[TITLE...]"), "{screen}");
    only_ascii(screen);
}

/// The header of a demo says at every size that nothing is saved.
#[test]
fn the_header_of_a_demo_says_that_nothing_is_saved() {
    for (width, height, words) in [
        (60, 16, "demo · not saved"),
        (80, 24, "demo · not saved"),
        (120, 35, "demo, nothing is saved"),
        (200, 50, "demo, nothing is saved"),
    ] {
        let mut stage = fixture::opened_with_themes();
        assert!(!stage.screen(width, height).contains("saved"));
        stage.model.facts.demo = true;
        let screen = stage.screen(width, height);
        assert!(screen.lines().next().is_some_and(|header| header.contains(words)), "{screen}");
    }
}

/// A mark on a turn stays with the version that was marked: a turn that has another answer shows no sign of it.
#[test]
fn an_inactive_mark_is_not_shown() {
    let mut stage = fixture::opened();
    let marks = |stage: &Stage| stage.model.conversation.marks.iter().flatten().copied().collect::<Vec<_>>();
    let pinned = stage.model.branch().unwrap().clone();
    assert_eq!(marks(&stage), [MarkKind::Sticky]);
    for kind in [MarkKind::Sticky, MarkKind::Exclude] {
        let mut other = pinned.clone();
        let Atom::Turn { user, .. } = other.marks[0].target else { panic!("{other:?}") };
        (other.marks[0].target, other.marks[0].kind) = (Atom::Turn { user, tip: Hash::of(b"another answer") }, kind);
        stage.event(Event::Session(SessionEvent::Branch(Box::new(other))));
        assert_eq!(marks(&stage), [], "{kind:?}");
    }
    stage.event(Event::Session(SessionEvent::Branch(Box::new(pinned))));
    assert_eq!(marks(&stage), [MarkKind::Sticky]);
}

/// A theme changes only colors: the same text is in the same cells. Only without colors do signs distinguish the
/// meter's parts.
#[test]
fn themes_differ_only_in_colors() {
    let mut stage = fixture::opened_with_themes();
    stage.theme = Theme::built_in(BUILT_IN[0].0, false);
    let plain = stage.screen(120, 35);
    let mut backgrounds = Vec::new();
    for (name, _) in BUILT_IN {
        stage.theme = Theme::built_in(name, false);
        let words = |screen: &str| screen.replace(|c: char| !c.is_alphanumeric() && c != '\n', " ");
        let screen = stage.screen(120, 35);
        assert_eq!(words(&screen), words(&plain), "{name}");
        assert!(screen == plain || !stage.theme.has_colors(), "{name}");
        let buf = stage.buffer(120, 35);
        let background = stage.theme.style(Ink::Background).bg;
        backgrounds.push(background);
        if let Some(background) = background {
            let odd = buf.content.iter().filter(|cell| cell.bg == ratatui::style::Color::Reset).count();
            assert_eq!(odd, 0, "{name} leaves cells without {background:?}");
        }
    }
    assert_eq!(
        backgrounds.iter().filter(|background| background.is_none()).count(),
        2,
        "terminal and mono keep the background"
    );
}

fn turn(stage: &mut Stage, seconds: u64, failure: Option<Failure>) {
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "go".into(), after: None }));
    stage.wait(seconds * 1_000);
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure }));
}

#[test]
fn long_calls_notify_only_without_focus() {
    let mut stage = fixture::opened_with_themes();
    turn(&mut stage, 60, None);
    assert!(stage.kept.is_empty(), "a terminal that says nothing of its focus has it");
    stage.msg(Msg::Terminal(TerminalMsg::Focus(false)));
    turn(&mut stage, 9, None);
    assert!(stage.kept.is_empty(), "not a short call");
    turn(&mut stage, 12, None);
    turn(&mut stage, 30, Some(Failure::user("no")));
    assert_eq!(
        stage.kept,
        ["notify The answer is complete on main, after 12 s", "notify The call failed on main, after 30 s"]
    );
    stage.kept.clear();
    stage.msg(Msg::Terminal(TerminalMsg::Focus(true)));
    turn(&mut stage, 60, None);
    assert_eq!(stage.kept, ["reload false"], "with focus there is no notification");
}

#[test]
fn reduced_motion_hides_running_seconds() {
    let mut stage = fixture::opened_with_themes();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "go".into(), after: None }));
    stage.wait(3_000);
    assert_eq!(stage.model.next_wake(), Some(stage.model.now + 1_000));
    stage.model.display.settings.reduced_motion = true;
    stage.wait(60_000);
    assert_eq!(stage.model.next_wake(), None);
}

fn fresh(screen: Screen, keys: &str) -> Msg {
    Msg::Config(ConfigMsg::Reloaded(Ok(Box::new(ReloadedSettings {
        keys: Keymap::load(Some(keys)),
        screen,
        themes: Themes::default().list(),
        policies: vec!["window".into()],
        notes: Vec::new(),
        asked: true,
    }))))
}

#[test]
fn settings_are_reloaded_at_runtime() {
    let mut stage = fixture::opened_with_themes();
    stage.press("ctrl-x r");
    assert_eq!(stage.kept, ["reload true"]);
    let screen = Screen { theme: "contrast".into(), hints_after: 0, ..Screen::default() };
    stage.msg(fresh(screen, "[[bind]]\non = \"f12\"\nrun = \"help\"\nwhen = \"always\"\n"));
    assert_eq!(stage.model.shown_theme(), "contrast");
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Reload)),
        Answer::Done("Settings reloaded: mode.".into()),
    );
    assert!(stage.screen(100, 30).contains("reloaded: mode"));
    stage.press("ctrl-x");
    assert!(stage.screen(100, 30).contains("then one of these"), "applied at once");
    stage.press("esc f12");
    assert!(stage.model.layers.on::<HelpScreen>());
    stage.press("esc").msg(Msg::Config(ConfigMsg::Reloaded(Err("config.toml, line 2, column 9: bad.".into()))));
    assert!(stage.screen(100, 30).contains("line 2, column 9: bad. The previous settings are still in use."));
    assert_eq!(stage.model.shown_theme(), "contrast");
}
