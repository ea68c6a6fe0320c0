//! Key sequences, themes, layouts, panels, the mouse, notifications, and reloading settings.

use super::Stage;
use super::fixture::{self, MAIN, RETRY};
use super::pictures::pictures;
use pleach::config::keys::keymap::Keymap;
use pleach::config::settings::Screen;
use pleach::config::themes::BUILT_IN;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::{ModelInfo, Price, Supports};
use pleach::domain::conversation::Role;
use pleach::engine::api::{Answer, BranchRequest, CallRequest, Event, ProgramRequest, Request, ToolRequest, TurnEvent};
use pleach::tui::model::focus::Focus;
use pleach::tui::model::panels::{Arrangement, Shape};
use pleach::tui::model::pointer::{Mouse, PointerAction};
use pleach::tui::msg::{ConfigMsg, Fresh, Input, Msg, TerminalMsg};
use pleach::tui::screens::help::model::HelpScreen;
use pleach::tui::screens::picker::model::Picker;
use pleach::tui::screens::picker::model::{Choice, Kind};
use pleach::tui::screens::request::model::RequestScreen;
use pleach::tui::theme::{Ink, Theme, Themes};

fn opened() -> Stage {
    let mut stage = fixture::opened();
    stage.model.display.themes = Themes::default().list();
    stage.model.display.themes.extend(BUILT_IN.iter().map(|(name, text)| {
        ((*name).to_owned(), text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned())
    }));
    stage.model.display.theme = "auto".into();
    stage.model.facts.mouse = true;
    stage
}

#[test]
fn leader_key_shows_what_may_follow() {
    let mut stage = opened();
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
        let mut stage = opened();
        stage.press(place).press("ctrl-x T");
        let list = stage.model.layers.top::<Picker>();
        assert!(list.is_some_and(|picker| picker.kind == Kind::Themes), "from {place}");
    }
}

#[test]
fn selected_theme_is_previewed() {
    let mut stage = opened();
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

/// The header of a demo says at every size that nothing is saved.
#[test]
fn the_header_of_a_demo_says_that_nothing_is_saved() {
    for (width, height, words) in [
        (60, 16, "demo · not saved"),
        (80, 24, "demo · not saved"),
        (120, 35, "demo, nothing is saved"),
        (200, 50, "demo, nothing is saved"),
    ] {
        let mut stage = opened();
        assert!(!stage.screen(width, height).contains("saved"));
        stage.model.facts.demo = true;
        let screen = stage.screen(width, height);
        assert!(screen.lines().next().is_some_and(|header| header.contains(words)), "{screen}");
    }
}

#[test]
fn theme_picker_snapshots() {
    let mut stage = opened();
    stage.press("ctrl-x T down down down");
    pictures("themes", &mut stage);
}

/// The list of models shows what their servers say that they support, and nothing for the others.
#[test]
fn the_list_of_models_says_what_they_support() {
    let model = |name: &str, tools, reasoning| ModelInfo {
        name: name.into(),
        price: Some(Price { input: 0.4, output: 1.6, ..Price::default() }),
        supports: Supports { tools, reasoning },
        ..fixture::settings().model
    };
    let all = vec![
        model("gpt-4.1-mini", None, None),
        model("qwen3-32b", Some(true), Some(true)),
        model("gemma-3-27b-it", Some(false), Some(false)),
    ];
    let mut stage = opened();
    stage.press("f4");
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Models { .. })),
        Answer::Models(vec![("openai".into(), Ok(all))]),
    );
    pictures("models", &mut stage);
}

/// The branch's model is in the list, marked and selected, although its server lists none; the title counts only models.
#[test]
fn the_list_of_models_has_the_model_in_use_although_no_server_lists_it() {
    let offline = ModelInfo { name: "offline".into(), ..fixture::settings().model };
    let mut stage = opened();
    stage.press("f4");
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Models { .. })),
        Answer::Models(vec![("offline".into(), Ok(vec![offline])), ("openai".into(), Ok(Vec::new()))]),
    );
    let screen = stage.screen(120, 35);
    for words in ["Models · 2", "● gpt-4.1-mini", "Not available", "openai: the server lists no models"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    stage.press("enter");
    let asked = |request: &Request| format!("{request:?}").contains("model: Some(\"gpt-4.1-mini\")");
    assert!(
        stage.sent.iter().any(|(_, request)| asked(request)),
        "Enter keeps the model in use: {:?}",
        stage.sent.last()
    );
}

/// Profiles that lack a key are listed too, with what they lack.
#[test]
fn the_list_of_models_says_what_servers_without_a_key_need() {
    let mut stage = opened();
    stage.press("f4");
    let asked = Request::Program(ProgramRequest::Models { profile: None, unready: true });
    let lacks = Failure::new(FailureKind::Provider, "Profile anthropic has no key.");
    let lacks = lacks.todo("Set ANTHROPIC_API_KEY in the environment, or api_key_cmd in the settings.");
    stage.reply(
        |request| *request == asked,
        Answer::Models(vec![("openai".into(), Ok(vec![fixture::settings().model])), ("anthropic".into(), Err(lacks))]),
    );
    pictures("models_unready", &mut stage);
    let screen = stage.press("down enter").screen(120, 35);
    assert!(screen.contains("anthropic: no key. Set ANTHROPIC_API_KEY in the environment, or"), "{screen}");
    stage.model.status.alarm("an alarm", "The store is full.", 0);
    let others = [(120, "(1 more notice, Esc closes)"), (40, "(1 more, Esc)")];
    for (width, words) in others {
        let screen = stage.screen(width, 24);
        assert!(screen.contains(words), "{screen}");
    }
}

/// A question that does not fit scrolls and keeps its choices.
#[test]
fn a_question_in_a_small_terminal_shows_its_start_and_its_choices() {
    let mut stage = opened();
    stage.type_text("/trust-folder").press("enter");
    pictures("trust", &mut stage);
    let screen = stage.screen(40, 12);
    for words in ["Trust this folder?", "/home/me/project", "The model may then", "n  no", "y  yes", "PgDn"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let mut seen = screen;
    for _ in 0..4 {
        seen.push_str(&stage.press("pagedown").screen(40, 12));
    }
    for words in ["AGENTS.md", "settings", "unless", "back", "y  yes"] {
        assert!(seen.contains(words), "{words} in {seen}");
    }
    stage.press("y");
    assert!(matches!(stage.last(), Request::Tool(ToolRequest::Trust { trusted: true })), "{:?}", stage.last());
}

/// An imported message without a text, which only keeps a position in the tree, takes no row and no step.
#[test]
fn an_empty_hidden_message_is_not_shown() {
    let mut root = fixture::node(1, None, Role::System, Vec::new());
    (root.head.hidden, root.head.imported) = (true, true);
    let question = fixture::text_node(2, Some(&root), Role::User, "Why does login fail?");
    let answer = fixture::text_node(3, Some(&question), Role::Assistant, "The token is rotated.");
    let nodes = vec![root, question, answer];
    let view = fixture::view(&nodes, vec![fixture::branch(MAIN, "main", nodes.last(), None)]);
    let mut stage = fixture::open(nodes, view);
    let screen = stage.screen(100, 30);
    assert!(!screen.contains("instructions") && !screen.contains("hidden"), "{screen}");
    stage.press("tab g");
    assert_eq!(stage.model.conversation.cursor, 1, "the first message that is shown");
    stage.press("k");
    assert_eq!(stage.model.conversation.cursor, 1);
}

/// A theme changes only colors: the same text is in the same cells. Only without colors do signs distinguish the
/// meter's parts.
#[test]
fn themes_differ_only_in_colors() {
    let mut stage = opened();
    stage.theme = Theme::built_in(BUILT_IN[0].0, false);
    let plain = stage.screen(120, 35);
    let mut grounds = Vec::new();
    for (name, _) in BUILT_IN {
        stage.theme = Theme::built_in(name, false);
        let words = |screen: &str| screen.replace(|c: char| !c.is_alphanumeric() && c != '\n', " ");
        let screen = stage.screen(120, 35);
        assert_eq!(words(&screen), words(&plain), "{name}");
        assert!(screen == plain || !stage.theme.has_colors(), "{name}");
        let buf = stage.buffer(120, 35);
        let ground = stage.theme.style(Ink::Ground).bg;
        grounds.push(ground);
        if let Some(ground) = ground {
            let odd = buf.content.iter().filter(|cell| cell.bg == ratatui::style::Color::Reset).count();
            assert_eq!(odd, 0, "{name} leaves cells without {ground:?}");
        }
    }
    assert_eq!(grounds.iter().filter(|ground| ground.is_none()).count(), 2, "terminal and mono keep the background");
}

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
    let mut stage = opened();
    arranged(&mut stage, |arrangement| arrangement.layout = Shape::Zen);
    pictures("zen", &mut stage);
    arranged(&mut stage, |arrangement| arrangement.layout = Shape::Narrow);
    pictures("narrow", &mut stage);
    let mut stage = opened();
    stage.buffer(120, 35);
    stage.type_text("/layout zen").press("enter").wait(10_000);
    stage.press("ctrl-b");
    assert!(stage.screen(120, 35).contains("retry"), "the focused panel is visible anyway");
    stage.press("esc").type_text("/layout narrow").press("enter").wait(10_000);
    assert!(stage.screen(120, 35).contains("5,213 of 8,000"), "the header has the meter");
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
    let mut stage = opened();
    arranged(&mut stage, |it| (it.no_branches, it.no_context, it.no_tools) = (true, true, true));
    pictures("bare", &mut stage);
    arranged(&mut stage, |it| *it = Arrangement { left: 999, right: 999, tools: 99, ..Arrangement::default() });
    pictures("widest", &mut stage);
}

#[test]
fn panels_hide_and_come_back() {
    let mut stage = opened();
    stage.buffer(120, 35);
    stage.press("ctrl-x b").wait(10_000);
    let screen = stage.screen(120, 35);
    assert!(!screen.contains("Branches") && screen.contains("Tools"), "{screen}");
    stage.press("ctrl-x t ctrl-x c").wait(10_000);
    let screen = stage.screen(120, 35);
    assert!(!screen.contains("Tools") && !screen.contains("Next request"), "{screen}");
    assert!(screen.contains("5,213 of 8,000"), "then the meter is in the header:\n{screen}");
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
    let mut stage = opened();
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

fn find(stage: &mut Stage, text: &str) -> (u16, u16) {
    let screen = stage.screen(120, 35);
    let (y, row) = screen.lines().enumerate().find(|(_, row)| row.contains(text)).unwrap_or_else(|| panic!("{screen}"));
    let x = row[..row.find(text).unwrap()].chars().map(|c| pleach::tui::text::width(&c.to_string())).sum::<usize>();
    (u16::try_from(x).unwrap(), u16::try_from(y).unwrap())
}

fn click(stage: &mut Stage, (x, y): (u16, u16)) {
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Press, x, y })));
    stage.msg(Msg::Input(Input::Mouse(Mouse { did: PointerAction::Release, x, y })));
}

#[test]
fn click_selects_and_second_click_opens() {
    let mut stage = opened();
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
    let mut stage = opened();
    let at = find(&mut stage, "Why does login fail");
    click(&mut stage, at);
    assert_eq!((stage.model.focus, stage.model.conversation.cursor), (Focus::Conversation, 0));
    let at = find(&mut stage, "Next request");
    click(&mut stage, (at.0 + 4, at.1 + 3));
    assert_eq!(stage.model.focus, Focus::Context);
    stage.wait(100);
    click(&mut stage, (at.0 + 4, at.1 + 3));
    assert!(stage.model.layers.on::<RequestScreen>());
    let mut stage = opened();
    stage.press("ctrl-o");
    let at = find(&mut stage, "Never log tokens");
    click(&mut stage, at);
    let Some(overlay) = stage.model.layers.top::<RequestScreen>() else { panic!() };
    assert!(overlay.selected_atom().is_some());
    stage.press("esc ctrl-p").type_text("quit-if").wait(1_000);
    let at = find(&mut stage, "quit-if-empty");
    click(&mut stage, at);
    let Some(picker) = stage.model.layers.top::<Picker>() else { panic!() };
    assert!(picker.selected().unwrap().label.starts_with("quit-if-empty"));
    click(&mut stage, (0, 0));
    assert!(stage.model.layers.on::<Picker>(), "a click beside it does nothing");
}

#[test]
fn wheel_scrolls_the_panel_under_the_pointer() {
    let mut stage = opened();
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
    let mut stage = opened();
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
fn palette_marks_matching_letters() {
    let mut stage = opened();
    stage.theme = Theme::built_in("dark", false);
    stage.press("ctrl-p").type_text("hidec");
    let at = find(&mut stage, "hide-context");
    let buf = stage.buffer(120, 35);
    let lit = stage.theme.style(Ink::Match).fg.unwrap();
    let marked: String =
        (at.0..at.0 + 12).filter(|x| buf[(*x, at.1)].fg == lit).map(|x| buf[(x, at.1)].symbol().to_owned()).collect();
    assert_eq!(marked, "hidec");
}

fn turn(stage: &mut Stage, seconds: u64, failure: Option<Failure>) {
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "go".into(), after: None }));
    stage.wait(seconds * 1_000);
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: None, failure }));
}

#[test]
fn long_calls_notify_only_without_focus() {
    let mut stage = opened();
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
    let mut stage = opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "go".into(), after: None }));
    stage.wait(3_000);
    assert_eq!(stage.model.next_wake(), Some(stage.model.now + 1_000));
    stage.model.display.settings.reduced_motion = true;
    stage.wait(60_000);
    assert_eq!(stage.model.next_wake(), None);
}

fn fresh(screen: Screen, keys: &str) -> Msg {
    Msg::Config(ConfigMsg::Reloaded(Ok(Box::new(Fresh {
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
    let mut stage = opened();
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

#[test]
fn race_starts_with_the_message() {
    let mut stage = opened();
    stage.type_text("Why does it fail?").press("ctrl-x k");
    assert_eq!(stage.model.composer.first_line(), "/race mode:off mode:heavy Why does it fail?");
    stage.press("enter");
    assert!(
        stage
            .sent
            .iter()
            .any(|(_, request)| matches!(request, Request::Call(CallRequest::Race { arms, .. }) if arms.len() == 2))
    );
}

#[test]
fn every_theme_can_be_chosen() {
    let mut stage = opened();
    stage.press("ctrl-x T");
    let Some(picker) = stage.model.layers.top::<Picker>() else { panic!() };
    let names: Vec<&str> = picker
        .entries
        .iter()
        .filter_map(|entry| if let Choice::Theme(name) = &entry.choice { Some(name.as_str()) } else { None })
        .collect();
    assert_eq!(names, ["auto", "dark", "light", "contrast", "sepia", "terminal", "mono"]);
}
