//! Reloading the configuration: what was learned about a server is forgotten with the server's address.
//! Not for: which settings apply at once (`engine::startup::reload`, `startup::wiring`).

use crate::support::bench::{Bench, Client, Model, message, quirk_failure, text};
use pleach::domain::base::{BranchId, Failure};
use pleach::domain::call::{ModelInfo, Profile, Provider, ProviderError, Quirk};
use pleach::engine::api::{Answer, Event, ProgramAnswer, ProgramRequest, Request, SessionEvent};
use pleach::engine::startup::setup::{Reloaded, Servers, Setup};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

const OLD: &str = "http://localhost:1/v1";
const NEW: &str = "http://localhost:2/v1";

fn at(profiles: &BTreeMap<String, Profile>, url: &str) -> BTreeMap<String, Profile> {
    let moved =
        |(name, profile): (&String, &Profile)| (name.clone(), Profile { base_url: url.into(), ..profile.clone() });
    profiles.iter().map(moved).collect()
}

/// Puts all servers at this address; a reload of the configuration moves them to the new one.
fn place(setup: &mut Setup, url: &str) {
    let mut settings = setup.settings.clone();
    settings.profiles = at(&settings.profiles, NEW);
    let reloaded = move || Reloaded { settings: settings.clone(), changed: vec!["profiles".into()], later: Vec::new() };
    setup.read_again = Some(Arc::new(move || Ok(reloaded())));
    setup.settings.profiles = at(&setup.settings.profiles, url);
}

/// Servers that list their models only after a signal.
struct Slow {
    servers: Arc<dyn Servers>,
    signal: Mutex<Receiver<()>>,
}

impl Servers for Slow {
    fn provider(&self, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
        self.servers.provider(profile)
    }

    fn ready(&self, profile: &Profile) -> Result<(), Failure> {
        self.servers.ready(profile)
    }

    fn models(&self, profile: &Profile) -> Result<Vec<ModelInfo>, ProviderError> {
        self.signal.lock().unwrap().recv().unwrap();
        self.servers.models(profile)
    }

    fn probe(&self, profile: &Profile) -> Result<usize, ProviderError> {
        self.servers.probe(profile)
    }
}

/// The learned quirks by profile and model, and the window of the branch's model in tokens.
fn learned(client: &mut Client, branch: BranchId) -> (Vec<String>, u32) {
    let Answer::Program(ProgramAnswer::Doctor(findings)) = client.must(Request::Program(ProgramRequest::Doctor)) else {
        panic!("no findings")
    };
    let quirks = findings.into_iter().map(|finding| finding.subject).filter(|subject| subject.starts_with("quirks"));
    let settings = client.seen.iter().rev().find_map(|event| match event {
        Event::Session(SessionEvent::Settings { branch: of, settings }) if *of == branch => Some(settings),
        _ => None,
    });
    (quirks.collect(), settings.map_or(0, |settings| settings.model.context_window))
}

#[test]
fn reload_forgets_what_was_learned_about_a_server_that_moved() {
    let bench = Bench::new(&Model::new([quirk_failure(Quirk::DeveloperRole), text("fine")]));
    let mut client = bench.start_with(|setup| place(setup, OLD));
    let branch = client.session();
    client.turn(branch, &message("hi"));
    client.must(Request::Program(ProgramRequest::Models { profile: None, unready: false }));
    client.open();
    let all = (vec!["quirks one/one-model".to_owned()], 9_999);
    assert_eq!(learned(&mut client, branch), all);

    client.must(Request::Program(ProgramRequest::Reload));
    let none = (Vec::new(), 6_000);
    assert_eq!(learned(&mut client, branch), none);
    client.stop();
    for (url, expected) in [(NEW, none), (OLD, all)] {
        let mut client = bench.start_with(|setup| place(setup, url));
        client.open();
        assert_eq!(learned(&mut client, branch), expected, "after a restart with {url}");
    }
}

#[test]
fn models_of_a_server_that_moved_since_it_was_asked_are_ignored() {
    let bench = Bench::new(&Model::new([]));
    let (go, signal) = channel();
    let mut client = bench.start_with(|setup| {
        place(setup, OLD);
        setup.servers = Arc::new(Slow { servers: setup.servers.clone(), signal: Mutex::new(signal) });
    });
    let branch = client.session();
    let asked = client.post(Request::Program(ProgramRequest::Models { profile: Some("one".into()), unready: false }));
    client.must(Request::Program(ProgramRequest::Reload));
    go.send(()).unwrap();
    client.answer(asked).unwrap();
    client.open();
    assert_eq!(learned(&mut client, branch), (Vec::new(), 6_000));
}
