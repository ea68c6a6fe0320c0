//! Tests of `wiring`: which profiles are ready for a call, and what a reload of the configuration applies.

use super::*;
use crate::config::settings::Titles;

/// A profile is ready exactly if the provider of its calls can be made from it.
#[test]
fn a_profile_is_ready_if_a_call_can_be_made() {
    let address = "http://127.0.0.1:9/v1";
    let env = Environment::of([("KEY", "k"), ("EMPTY", ""), ("BLANK", " ")]);
    let network = Network { env, counter: Arc::new(Tokenizers::new()) };
    for (backend, base_url, model, needs_key, api_key_env, api_key_cmd, problem) in [
        (Backend::Openai, address, "m", false, "", "", None),
        (Backend::Openai, address, "", false, "", "", None),
        (Backend::Openai, "", "m", false, "", "", Some("has no address")),
        (Backend::Openai, "", "", false, "", "", Some("has no address")),
        (Backend::Openai, " ", "m", false, "", "", Some("has no address")),
        (Backend::Openai, "", "m", true, "KEY", "", Some("has no address")),
        (Backend::Openai, address, "m", true, "KEY", "", None),
        (Backend::Openai, address, "m", true, " KEY ", "", None),
        (Backend::Openai, address, "m", true, "", "echo k", None),
        (Backend::Openai, address, "m", true, "EMPTY", "echo k", None),
        (Backend::Openai, address, "m", true, "", "", Some("has no key")),
        (Backend::Openai, address, "m", true, "", " ", Some("has no key")),
        (Backend::Openai, address, "m", true, "UNSET", "", Some("has no key")),
        (Backend::Openai, address, "m", true, "EMPTY", "", Some("has no key")),
        (Backend::Openai, address, "m", true, "BLANK", "", Some("has no key")),
        (Backend::Openai, address, "m", false, "UNSET", "", None),
        (Backend::Offline, "", "", true, "", "", None),
    ] {
        let profile = Profile {
            name: "p".into(),
            backend,
            base_url: base_url.into(),
            model: model.into(),
            needs_key,
            api_key_env: api_key_env.into(),
            api_key_cmd: api_key_cmd.into(),
            ..Profile::default()
        };
        let ready = network.ready(&profile);
        match (&ready, problem) {
            (Ok(()), None) => {}
            (Err(failure), Some(problem)) => {
                assert!(failure.what.contains(problem) && !failure.todo.is_empty(), "{failure} {profile:?}");
            }
            _ => panic!("{ready:?} instead of {problem:?}: {profile:?}"),
        }
        assert_eq!(ready.is_ok(), network.provider(&profile).is_ok(), "{profile:?}");
    }
}

/// A reload applies each setting that it reports, and tools still must not touch the store that is open.
#[test]
fn a_reload_applies_what_it_reports_and_protects_the_open_store() {
    let home = tempfile::tempdir().unwrap();
    let (work, folder) = (home.path().join("work"), home.path().join(".config/pleach"));
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let store = work.join("open.db");
    std::fs::write(&store, "").unwrap();
    let env = Environment::of([("HOME", home.path().to_str().unwrap())]);
    let sources = load::Sources { env, workspace: work, store: Some(store), overrides: Overrides::default() };
    let reload = reload_config(&load::load(sources).unwrap(), Arc::new(Tokenizers::new()));
    std::fs::write(folder.join("config.toml"), "titles = \"model\"\n[race]\nmax_seconds = 7\n").unwrap();
    let fresh = reload().unwrap();
    assert_eq!(fresh.changed, ["race", "titles"]);
    assert_eq!((fresh.settings.titles, fresh.settings.race.seconds), (Titles::Model, Some(7)));
    let tools = fresh.settings.tools.unwrap();
    let writes = |path: &str| tools.effect("write_file", &format!("{{\"path\":{path:?},\"text\":\"x\"}}")).is_ok();
    assert_eq!((writes("other.txt"), writes("open.db")), (true, false));
}
