//! What sessions are called: by their first words, by the model, by hand; with undo, failures and removal.

use crate::support::bench::{Bench, Client, Model, Say, text};
use pleach::config::settings::Titles;
use pleach::domain::base::ids::BranchId;
use pleach::domain::call::provider::ProviderErrorKind;
use pleach::engine::api::{
    Answer, BranchRequest, Event, ItemName, ProgramEvent, Request, SessionEvent, SessionRequest,
};
use std::sync::Arc;

fn started(bench: &Bench, titles: Titles) -> (Client, BranchId) {
    let mut client = bench.start_with(|setup| setup.titles = titles);
    match client.must(Request::Session(SessionRequest::New { title: String::new() })) {
        Answer::Opened(view) => (client, view.current),
        other => panic!("{other:?}"),
    }
}

/// Waits until the session is called so.
fn called(client: &mut Client, title: &str) {
    client.wait(0, |event| matches!(event, Event::Session(SessionEvent::Card(card)) if card.title == title));
}

fn title(client: &mut Client) -> String {
    client.open().card.title.clone()
}

fn retitle(client: &mut Client) -> Result<Answer, pleach::domain::base::failure::Failure> {
    client.ask(Request::Session(SessionRequest::Rename { session: None, title: None }))
}

#[test]
fn a_session_is_called_after_its_first_question_once() {
    let model = Model::new([]);
    let (mut client, branch) = started(&Bench::new(&model), Titles::Words);
    client.say(branch, "Why do cranes not fall over? I saw one in the wind.");
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.say(branch, "And piers?");
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    assert_eq!(model.bodies().len(), 2, "nobody else was asked");
}

#[test]
fn a_name_that_a_person_gave_stays_and_a_date_where_it_is_wished() {
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Words);
    client.must(Request::Session(SessionRequest::Rename { session: None, title: Some("Cranes".into()) }));
    client.say(branch, "Why do cranes not fall over?");
    assert_eq!(title(&mut client), "Cranes");
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Date);
    client.say(branch, "Why do cranes not fall over?");
    assert!(title(&mut client).starts_with("20"));
}

#[test]
fn a_first_question_that_holds_a_key_does_not_show_it() {
    let (mut client, branch) = started(&Bench::new(&Model::new([])), Titles::Words);
    client.say(branch, "use sk-proj-Zk3vT9qLw8XbR2mYc7NpH4sJd6FgA1eU5oKi0Bt for it");
    assert!(!title(&mut client).contains("Zk3vT9"), "{}", title(&mut client));
}

#[test]
fn the_model_names_the_first_turn_and_undo_takes_it_back() {
    let model = Model::new([text("By ballast."), text("**\"Xyzzyplugh of cranes.\"**\nThat is it.")]);
    let bench = Bench::new(&model);
    let (mut client, branch) = started(&bench, Titles::Model);
    client.say(branch, "Why do cranes not fall over?");
    called(&mut client, "Xyzzyplugh of cranes");
    let asked = String::from_utf8(model.bodies()[1].clone()).unwrap();
    assert!(asked.contains("You name a conversation") && asked.contains("By ballast."), "{asked}");
    client.say(branch, "And piers?");
    assert_eq!(model.bodies().len(), 3, "only the first turn is named");
    let runs = client.open().runs.len();
    assert_eq!(runs, 3, "its call is counted like any other");

    client.must(Request::Session(SessionRequest::Undo));
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.must(Request::Session(SessionRequest::Redo));
    assert_eq!(title(&mut client), "Xyzzyplugh of cranes");

    let first = client.open().nodes[0].id;
    client.must(Request::Branch(BranchRequest::RemoveMessage { branch, item: ItemName::TurnOf(first) }));
    let holds = |word: &[u8]| {
        let folder = std::fs::read_dir(bench.store_path().parent().unwrap()).unwrap();
        let files = folder.flatten().filter(|entry| entry.path().is_file());
        let found = |path| std::fs::read(path).unwrap().windows(word.len()).any(|here| here == word);
        files.filter(|entry| found(entry.path())).count()
    };
    assert_eq!(holds(b"Xyzzyplugh"), 0, "what a model made of a removed turn goes with it");
    assert!(holds(b"piers") > 0);
    assert_eq!(title(&mut client), "untitled");
}

#[test]
fn a_refused_title_leaves_the_first_words() {
    let refused = vec![Say::Fail(ProviderErrorKind::Refused)];
    let model = Model::new([text("By ballast."), refused, text("So do they."), text("Cranes in the wind")]);
    let (mut client, branch) = started(&Bench::new(&model), Titles::Model);
    client.say(branch, "Why do cranes not fall over?");
    client.wait(0, |event| matches!(event, Event::Program(ProgramEvent::Notice(said)) if said.contains("gave this session no title")));
    assert_eq!(title(&mut client), "Why do cranes not fall over");
    client.say(branch, "And piers?");
    retitle(&mut client).unwrap();
    assert_eq!(title(&mut client), "Cranes in the wind");
    assert_eq!(model.bodies().len(), 4, "a later turn asks for no title");
}

#[test]
fn nothing_said_makes_no_title() {
    let model: Arc<Model> = Model::new([]);
    let (mut client, _) = started(&Bench::new(&model), Titles::Words);
    let failure = retitle(&mut client).unwrap_err();
    assert!(failure.to_string().contains("There is no message yet"), "{failure}");
    assert!(model.bodies().is_empty());
}
