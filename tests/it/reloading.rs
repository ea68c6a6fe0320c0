//! Reloading the configuration while the engine runs: what was learned about a server ends with the server's address.
//! Not for: the settings files themselves.

use crate::support::bench::{Bench, Client, Model, quirk_failure, text};
use pleach::domain::call::model::{Profile, Quirk};
use pleach::domain::tool::mcp::ConfiguredServers;
use pleach::engine::api::{Answer, ProgramRequest, Request};
use pleach::engine::startup::setup::{ReloadedSettings, Setup};
use std::sync::{Arc, Mutex};

/// The settings of a setup, with another address of the server of profile `one`.
fn moved(setup: &Setup) -> ReloadedSettings {
    let mut profiles = setup.profiles.clone();
    let elsewhere = Profile { base_url: "http://127.0.0.1:9/v1".into(), ..profiles["one"].clone() };
    profiles.insert("one".into(), elsewhere);
    ReloadedSettings {
        profiles,
        profile: setup.profile.clone(),
        model: None,
        policies: setup.policies.clone(),
        defaults: setup.defaults.clone(),
        state_block: None,
        prompts: setup.prompts.clone(),
        tools: None,
        named: Arc::new(ConfiguredServers::default),
        output_limit: setup.output_limit,
        orient: setup.orient,
        tool_rules: Vec::new(),
        rounds: setup.rounds,
        race: setup.race,
        titles: setup.titles,
        project: setup.project.clone(),
        trusted: setup.trusted,
        models: setup.models.clone(),
        changed: vec!["profiles".into()],
        later: Vec::new(),
    }
}

fn learned(client: &mut Client) -> bool {
    match client.must(Request::Program(ProgramRequest::Doctor)) {
        Answer::Doctor(findings) => findings.iter().any(|finding| finding.subject == "quirks one/one-model"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_changed_address_ends_what_was_learned_about_the_server() {
    let model = Model::new([quirk_failure(Quirk::NoTemperature), text("Now it works.")]);
    let bench = Bench::new(&model);
    let mut client = bench.start_with(|setup| {
        let ready = Mutex::new(Some(moved(setup)));
        setup.read_again = Some(Arc::new(move || Ok(ready.lock().unwrap().take().expect("one reload"))));
    });
    let main = client.session();
    client.say(main, "hello");
    assert!(learned(&mut client), "the refusal taught it");
    client.must(Request::Program(ProgramRequest::Reload));
    assert!(!learned(&mut client), "it was about another server");
}
