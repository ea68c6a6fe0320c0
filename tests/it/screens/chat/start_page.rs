//! The chat of a session without messages.
//! Not for: the guided tour.

use crate::screens::Stage;
use crate::screens::fixture::{self, MAIN};
use crate::screens::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::planning::Warning;
use pleach::engine::api::{
    Event, Finding, ProgramAnswer, ProgramRequest, Request, SessionAnswer, SessionEvent, SessionRequest,
};
use pleach::tui::model::status::Severity;

#[test]
fn first_start() {
    let mut stage = fixture::open(Vec::new(), fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]));
    stage.model.facts.first_start = true;
    let mut settings = fixture::settings();
    let failure = Failure::new(FailureKind::Config, "No model server is set up yet.");
    settings.ready = Err(failure.todo("Set OPENAI_API_KEY in the environment, or api_key_cmd in the settings."));
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
    stage.reply(|request| matches!(request, Request::Program(ProgramRequest::Doctor)), ProgramAnswer::Doctor(findings));
    pictures("first_start", &mut stage);
    for (width, height) in [(80, 24), (120, 35)] {
        let screen = stage.screen(width, height);
        assert_eq!(screen.matches("OPENAI_API_KEY").count(), 1, "at {width}x{height}: {screen}");
    }
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

/// A paragraph that does not fit is left out as a whole.
#[test]
fn the_start_page_shows_no_part_of_a_sentence() {
    let mut stage = start_page();
    let asked = |r: &Request| matches!(r, Request::Program(ProgramRequest::Models { profile: Some(_), .. }));
    let other = pleach::domain::call::model::ModelInfo { name: "gpt-4.1".into(), ..fixture::settings().model };
    stage.reply(asked, ProgramAnswer::Models(vec![("openai".into(), Ok(vec![other]))]));
    let long = "a notice of several rows ".repeat(8);
    for (width, height, noticed) in
        [40, 60, 80, 120].into_iter().flat_map(|w| (12..30).flat_map(move |h| [(w, h, false), (w, h, true)]))
    {
        stage.model.status = pleach::tui::model::status::Status::default();
        if noticed {
            stage.model.status.say(Severity::Notice, long.clone(), stage.model.now);
        }
        let screen = stage.screen(width, height);
        let text = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        for (begin, end) in [
            ("pleach shows every", "and lets you change it."),
            ("The profile openai", "F4 lists its models."),
            ("Or type a message", "pleach sends exactly the request shown."),
            ("This folder is not", "/trust changes that."),
        ] {
            assert_eq!(text.contains(begin), text.contains(end), "{begin} at {width}x{height}, {noticed}: {screen}");
        }
        assert!(text.contains("take the tour"), "{width}x{height}, {noticed}: {screen}");
    }
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
    stage.reply(asked, ProgramAnswer::Models(vec![("openai".into(), Ok(vec![other.clone()]))]));
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
fn the_start_page_says_that_the_server_is_unreachable() {
    let mut stage = start_page();
    let asked = |r: &Request| matches!(r, Request::Program(ProgramRequest::Models { profile: Some(_), .. }));
    let failure = Failure::new(FailureKind::Provider, "no connection to 127.0.0.1:9: Connection refused");
    stage.reply(asked, ProgramAnswer::Models(vec![("openai".into(), Err(failure))]));
    let page = |stage: &mut Stage| stage.screen(120, 35).split_whitespace().collect::<Vec<_>>().join(" ");
    let screen = page(&mut stage);
    assert!(screen.contains("The server of profile openai is unreachable: no connection to 127.0.0.1:9"), "{screen}");
    stage.press("f4");
    let list = |r: &Request| matches!(r, Request::Program(ProgramRequest::Models { profile: None, .. }));
    stage.reply(list, ProgramAnswer::Models(vec![("openai".into(), Ok(vec![fixture::settings().model]))]));
    stage.press("esc");
    assert!(!page(&mut stage).contains("unreachable"), "the newest answer counts");
}

#[test]
fn a_new_session_says_how_the_one_before_opens() {
    let mut stage = fixture::opened();
    stage.type_text("/clear").press("enter");
    let view = fixture::view(&[], vec![fixture::branch(MAIN, "main", None, None)]);
    stage.reply(
        |request| matches!(request, Request::Session(SessionRequest::New { .. })),
        SessionAnswer::Opened(std::sync::Arc::new(view)),
    );
    assert!(stage.screen(120, 35).contains("New session. F3 opens the one before."), "{}", stage.screen(120, 35));
}
