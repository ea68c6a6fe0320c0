//! Session titles: from the first words, from the model, or by hand; with undo, failures, and removal.

use crate::support::bench::{Bench, Client, Model, Say, text};
use pleach::config::settings::Titles;
use pleach::domain::base::{BranchId, Failure};
use pleach::domain::call::{ModelInfo, Profile, Provider, ProviderError, ProviderErrorKind};
use pleach::domain::conversation::Role;
use pleach::engine::api::{
    Answer, BranchRequest, Event, ItemName, ProgramEvent, ProgramRequest, Request, SessionAnswer, SessionEvent,
    SessionRequest,
};
use pleach::engine::startup::setup::Servers;
use std::sync::Arc;

/// Servers that cannot be called, because a key is missing.
struct Keyless;

impl Servers for Keyless {
    fn provider(&self, _: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        Err(Failure::user("There is no key."))
    }

    fn ready(&self, _: &Profile) -> Result<(), Failure> {
        Ok(())
    }

    fn models(&self, _: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        Ok(Vec::new())
    }

    fn probe(&self, _: &Profile) -> Result<usize, ProviderError> {
        Ok(0)
    }
}

fn started(bench: &Bench, titles: Titles) -> (Client, BranchId) {
    let mut client = bench.start_with(|setup| setup.settings.titles = titles);
    match client.must(Request::Session(SessionRequest::New { title: String::new() })) {
        Answer::Session(SessionAnswer::Opened(view)) => (client, view.current),
        other => panic!("{other:?}"),
    }
}

/// Waits until the session has a title.
fn wait_for_title(client: &mut Client, title: &str) {
    client.wait(0, |event| matches!(event, Event::Session(SessionEvent::Card(card)) if card.title == title));
}

fn title(client: &mut Client) -> String {
    client.open().card.title.clone()
}

fn retitle(client: &mut Client) -> Result<Answer, Failure> {
    client.ask(Request::Session(SessionRequest::Rename { session: None, title: None }))
}

#[test]
fn session_is_titled_after_its_first_question() {
    let model = Model::new([]);
    let (mut client, branch) = started(&Bench::new(&model), Titles::Words);
    client.say(branch, "Why do cranes not fall over? I saw one in the wind.");
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.say(branch, "And piers?");
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    assert_eq!(model.bodies().len(), 2, "no model was called");
}

#[test]
fn manual_titles_stay_and_dates_are_optional() {
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Words);
    client.must(Request::Session(SessionRequest::Rename { session: None, title: Some("Cranes".into()) }));
    client.say(branch, "Why do cranes not fall over?");
    assert_eq!(title(&mut client), "Cranes");
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Date);
    client.say(branch, "Why do cranes not fall over?");
    assert!(title(&mut client).starts_with("20"));
}

#[test]
fn title_masks_secrets() {
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Words);
    client.say(branch, "use sk-proj-Zk3vT9qLw8XbR2mYc7NpH4sJd6FgA1eU5oKi0Bt for it");
    assert!(!title(&mut client).contains("Zk3vT9"), "{}", title(&mut client));
}

#[test]
fn model_title_is_undone() {
    let model = Model::new([text("By ballast."), text("**\"Xyzzyplugh of cranes.\"**\nThat is it.")]);
    let bench = Bench::new(&model);
    let (mut client, branch) = started(&bench, Titles::Model);
    client.say(branch, "Why do cranes not fall over?");
    wait_for_title(&mut client, "Xyzzyplugh of cranes");
    let asked = String::from_utf8(model.bodies()[1].clone()).unwrap();
    assert!(asked.contains("You write the title of a conversation") && asked.contains("By ballast."), "{asked}");
    client.say(branch, "And piers?");
    assert_eq!(model.bodies().len(), 3, "only the first turn is used");
    let runs = client.open().runs.len();
    assert_eq!(runs, 3, "its call is counted like any other");

    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(title(&mut client), "Xyzzyplugh of cranes");

    let first = client.open().nodes[0].id;
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(first) }));
    let occurrences = |word: &[u8]| {
        let folder = std::fs::read_dir(bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        let found = |path| std::fs::read(path).unwrap().windows(word.len()).any(|here| here == word);
        files.filter(|entry| found(entry.path())).count()
    };
    assert_eq!(occurrences(b"Xyzzyplugh"), 0, "a title made from a removed turn is removed");
    assert!(occurrences(b"piers") > 0);
    assert_eq!(title(&mut client), "untitled");
}

#[test]
fn program_end_cancels_a_title_that_is_being_written() {
    let model = Model::new([text("By ballast."), vec![Say::Text("Cranes".into()), Say::Hold]]);
    let (mut client, branch) = started(&Bench::new(&model), Titles::Words);
    client.say(branch, "Why do cranes not fall over?");
    client.post(Request::Session(SessionRequest::Rename { session: None, title: None }));
    client.stop();
    model.wait_until_canceled();
}

#[test]
fn requests_under_way_at_the_end_of_the_program_are_answered() {
    let (mut client, _) = started(&Bench::new(&Model::new([])), Titles::Words);
    let doctor = client.post(Request::Program(ProgramRequest::Doctor));
    let models = client.post(Request::Program(ProgramRequest::Models { profile: None, unready: false }));
    let seen = client.stop();
    for asked in [doctor, models] {
        let answers = seen.iter().filter(|event| matches!(event, Event::Answer { ticket, .. } if *ticket == asked));
        assert_eq!(answers.count(), 1, "{asked:?}");
    }
}

#[test]
fn failed_title_keeps_the_first_words() {
    let refused = vec![Say::Fail(ProviderErrorKind::Refused)];
    let model = Model::new([text("By ballast."), refused, text("So do they."), text("Cranes in the wind")]);
    let (mut client, branch) = started(&Bench::new(&model), Titles::Model);
    client.say(branch, "Why do cranes not fall over?");
    client.wait(0, |event| matches!(event, Event::Program(ProgramEvent::Notice(notice)) if notice.contains("returned no title for this session")));
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.say(branch, "And piers?");
    retitle(&mut client).unwrap();
    assert_eq!(title(&mut client), "Cranes in the wind");
    assert_eq!(model.bodies().len(), 4, "a later turn requests no title");
}

#[test]
fn empty_session_has_no_title() {
    let model: Arc<Model> = Model::new([]);
    let (mut client, _) = started(&Bench::new(&model), Titles::Words);
    let failure = retitle(&mut client).unwrap_err();
    assert!(failure.to_string().contains("There is no message yet"), "{failure}");
    assert!(model.bodies().is_empty());
}

/// A request that fails before its call starts leaves no title in progress.
#[test]
fn a_title_is_requested_again_after_its_server_could_not_be_called() {
    let bench = Bench::new(&Model::new([]));
    let mut client = bench.start_with(|setup| setup.servers = Arc::new(Keyless));
    let branch = client.session();
    let text = "Why do cranes not fall over?".to_owned();
    client.must(Request::Branch(BranchRequest::AddMessage { branch, role: Role::User, text, priority: None }));
    for _ in 0..2 {
        assert_eq!(retitle(&mut client).unwrap_err().what, "There is no key.");
    }
}
