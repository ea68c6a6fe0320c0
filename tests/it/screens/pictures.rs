//! Snapshots of the main screens at five sizes.

use super::Stage;
use super::fixture::{self, MAIN, RETRY, run_id};
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::{Certainty, RunCard};
use pleach::domain::planning::plan::Warning;
use pleach::engine::api::{
    Answer, Event, Finding, PlanRequest, ProgramEvent, ProgramRequest, Request, SessionEvent, SessionRequest,
    TurnEvent, TurnRequest,
};

/// From the smallest usable size to a very large one.
const SIZES: [(u16, u16); 5] = [(40, 12), (80, 24), (120, 35), (200, 50), (250, 80)];

/// Snapshots of the screen at five sizes.
pub(crate) fn pictures(name: &str, stage: &mut Stage) {
    for size in SIZES {
        picture(name, size, stage);
    }
}

/// A snapshot of the screen at one size.
pub(crate) fn picture(name: &str, (width, height): (u16, u16), stage: &mut Stage) {
    let screen = stage.screen(width, height);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots" }, {
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), screen);
    });
}

#[test]
fn chat() {
    pictures("chat", &mut fixture::opened());
}

#[test]
fn chat_with_the_focus_on_a_message() {
    let mut stage = fixture::opened();
    stage.press("tab k k");
    pictures("conversation", &mut stage);
}

#[test]
fn streaming() {
    let mut stage = fixture::opened();
    let after = stage.model.branch().unwrap().head;
    stage.event(Event::Turn(TurnEvent::Opened { branch: MAIN, text: "And why only sometimes?".into(), after }));
    stage.wait(3_000);
    stage.event(Event::Turn(TurnEvent::Stream {
        branch: MAIN,
        run: run_id(7),
        text: "Because the two requests race.\nThe slower one still carries the old token\n---STA".into(),
        reasoning: "race".into(),
        tokens: 18,
        certainty: Certainty::Estimated,
        cost_micro: Some(150),
    }));
    pictures("streaming", &mut stage);
}

#[test]
fn overlay() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j j enter");
    stage.reply(
        |request| matches!(request, Request::Plan(PlanRequest::RowText { .. })),
        Answer::Text("user: Why does login fail after the refresh?\n\nassistant: Let me look.\u{200b}".into()),
    );
    pictures("overlay", &mut stage);
}

#[test]
fn help() {
    let mut stage = fixture::opened();
    stage.press("?");
    pictures("help", &mut stage);
}

#[test]
fn palette() {
    let mut stage = fixture::opened();
    stage.press("ctrl-p").type_text("budget");
    pictures("palette", &mut stage);
}

#[test]
fn sessions() {
    let mut stage = fixture::opened();
    stage.press("f3");
    let cards = vec![fixture::card("auth-bug"), fixture::card("notes for the talk")];
    stage.reply(|request| matches!(request, Request::Session(SessionRequest::List)), Answer::Sessions(cards));
    pictures("sessions", &mut stage);
}

#[test]
fn first_start() {
    let mut stage = fixture::open(Vec::new(), fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]));
    stage.model.facts.first_start = true;
    let mut settings = fixture::settings();
    let failure = Failure::new(FailureKind::Config, "No model server is set up yet.");
    settings.ready = Err(failure.todo("Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own."));
    stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(settings) }));
    let finding = |subject: &str, ok, text: &str| Finding {
        subject: subject.into(),
        ok,
        text: text.into(),
        todo: String::new(),
        facts: Vec::new(),
    };
    let findings = vec![
        finding("store", Some(true), "/home/me/.local/share/pleach/store.db"),
        finding("profile openai", Some(false), "OPENAI_API_KEY is not set"),
        finding("profile ollama", Some(false), "nothing listens on http://localhost:11434"),
    ];
    stage.reply(|request| matches!(request, Request::Program(ProgramRequest::Doctor)), Answer::Doctor(findings));
    pictures("first_start", &mut stage);
    let ready = SessionEvent::Settings { branch: MAIN, settings: Box::new(fixture::settings()) };
    for stage in [
        &mut stage,
        &mut fixture::open(Vec::new(), fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)])),
    ] {
        let screen = stage.screen(40, 12);
        for words in ["pleach shows every request", "take the tour", "choose a model", "send a message"] {
            assert!(screen.contains(words), "{words}: {screen}");
        }
        stage.event(Event::Session(ready.clone()));
        assert!(!stage.screen(40, 12).contains("No model server"), "with a model");
        assert!(stage.screen(40, 12).contains("take the tour"), "with a model");
    }
}

#[test]
fn failed_turn_and_notice() {
    let mut stage = fixture::opened();
    let failure = Failure::new(FailureKind::Provider, "The server answered 401: the key is wrong.")
        .kept("Your message is back in the composer.")
        .todo("Check OPENAI_API_KEY, then Enter again.");
    let draft = pleach::engine::api::Draft { text: "And why only sometimes?".into(), ..Default::default() };
    stage.event(Event::Turn(TurnEvent::Closed { branch: MAIN, draft: Some(draft), failure: Some(failure) }));
    stage.event(Event::Program(ProgramEvent::Alarm(
        "The server counted 16,387 of the 160,689 tokens that were sent.".into(),
    )));
    pictures("failed", &mut stage);
}

#[test]
fn short_read() {
    let mut stage = fixture::opened();
    let story = fixture::story();
    let short = pleach::domain::call::meter::ShortRead { read: 4_096, expected: 9_801 };
    let run = fixture::run(1, &story[0], &story[3]);
    stage.event(Event::Turn(TurnEvent::Run(Box::new(RunCard { short_read: Some(short), ..run }))));
    pictures("short_read", &mut stage);
}

#[test]
fn branches_and_tools() {
    let mut stage = fixture::opened();
    stage.event(Event::Turn(TurnEvent::Opened { branch: RETRY, text: "go".into(), after: None }));
    stage.press("ctrl-b j");
    pictures("branches", &mut stage);
    stage.press("ctrl-t");
    pictures("traces", &mut stage);
}

#[test]
fn commands() {
    let mut stage = fixture::opened();
    stage.type_text("/bud");
    pictures("commands", &mut stage);
}

#[test]
fn busy_question() {
    let mut stage = fixture::opened();
    stage.type_text("hello").wait(100);
    stage.press("enter");
    let ticket = stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Turn(TurnRequest::Ask { .. }))).unwrap().0;
    let failure = Failure::new(FailureKind::Busy, "An answer is still arriving on this branch.");
    stage.event(Event::Answer { ticket, result: Err(failure) });
    pictures("busy", &mut stage);
}

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
    assert!(screen.contains("[TITLE~]"), "{screen}");
    only_ascii(screen);
}

/// A stage whose session has no messages.
fn start_page() -> Stage {
    fixture::open(Vec::new(), fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]))
}

/// A notice takes rows from the pane, but the page stays where it is.
#[test]
fn the_start_page_stays_in_its_place_beside_a_notice() {
    for (width, height) in [(80, 24), (120, 35), (200, 50)] {
        let mut stage = start_page();
        let row = |stage: &mut Stage| {
            let screen = stage.screen(width, height);
            screen.lines().position(|line| line.contains("take the tour")).unwrap_or_else(|| panic!("{screen}"))
        };
        let before = row(&mut stage);
        stage.press("alt-q");
        assert!(stage.model.status.shown().is_some(), "there is a notice");
        assert_eq!(row(&mut stage), before, "at {width}x{height}");
    }
}

#[test]
fn the_start_page_says_once_that_the_folder_is_not_trusted() {
    let mut stage = start_page();
    let mut plan = fixture::plan(&fixture::story());
    plan.warnings.push(Warning::RulesUntrusted { count: 1 });
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(plan) });
    for size in [(120, 35), (120, 14), (200, 50)] {
        let screen = stage.screen(size.0, size.1);
        assert_eq!(screen.matches("not trusted").count(), 1, "{screen}");
    }
    stage.press("ctrl-o esc").model.focus = pleach::tui::model::focus::Focus::Context;
    let narrow = stage.screen(80, 24);
    assert!(narrow.contains("this folder is not trusted"), "where the page is not visible: {narrow}");
}

#[test]
fn the_start_page_says_that_the_profile_has_no_such_model() {
    let mut stage = start_page();
    let asked =
        |r: &Request| matches!(r, Request::Program(ProgramRequest::Models { profile: Some(p), .. }) if p == "openai");
    assert_eq!(stage.sent.iter().filter(|(_, request)| asked(request)).count(), 1);
    let text = "The profile openai has no model gpt-4.1-mini. F4 lists its models.";
    assert!(!stage.screen(120, 35).contains(text), "nothing is known yet");
    let other = pleach::domain::call::model::ModelInfo { name: "gpt-4.1".into(), ..fixture::settings().model };
    stage.reply(asked, Answer::Models(vec![("openai".into(), Ok(vec![other.clone()]))]));
    for size in [(120, 35), (120, 14)] {
        let screen = stage.screen(size.0, size.1);
        assert!(screen.contains(text), "{screen}");
    }
    let settings = pleach::engine::api::Settings { model: other, ..fixture::settings() };
    stage.event(Event::Session(SessionEvent::Settings { branch: MAIN, settings: Box::new(settings) }));
    assert!(!stage.screen(120, 35).contains("has no model"));
    assert_eq!(stage.sent.iter().filter(|(_, request)| asked(request)).count(), 1, "it is asked once");
}

#[test]
fn a_new_session_says_how_the_one_before_opens() {
    let mut stage = fixture::opened();
    stage.type_text("/clear").press("enter");
    let view = fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]);
    stage.reply(
        |request| matches!(request, Request::Session(SessionRequest::New { .. })),
        Answer::Opened(std::sync::Arc::new(view)),
    );
    assert!(stage.screen(120, 35).contains("New session. F3 opens the one before."), "{}", stage.screen(120, 35));
}
