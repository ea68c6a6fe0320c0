//! A store and settings that an earlier version wrote: everything in them reads as that version reported it, and work on
//! them goes on. `store-v3.json.zst` has that version's own answers, without sentences, which are worded anew.

use crate::support::binary::Home;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::Path;

/// An environment with the earlier version's store.
fn home(config: &str) -> Home {
    let home = Home::new(config);
    std::fs::create_dir_all(home.store().parent().unwrap()).unwrap();
    std::fs::write(home.store(), fixture("store-v3.db.zst")).unwrap();
    home
}

fn fixture(name: &str) -> Vec<u8> {
    zstd::stream::decode_all(File::open(Path::new("tests/fixtures").join(name)).unwrap()).unwrap()
}

/// Every value of an earlier answer that is missing or different in a newer one. Newer answers may have more fields.
fn differences(path: &str, before: &Value, now: &Value) -> Vec<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let null = Value::Null;
            let field = |map: &Map<String, Value>, key: &String| map.get(key).unwrap_or(&null).clone();
            let each = before.iter().map(|(key, value)| differences(&format!("{path}.{key}"), value, &field(now, key)));
            each.flatten().collect()
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            let each = before.iter().zip(now).zip(0..);
            each.flat_map(|((before, now), at)| differences(&format!("{path}[{at}]"), before, now)).collect()
        }
        _ if before == now => Vec::new(),
        _ => vec![format!("{path}: {before} became {now}")],
    }
}

#[test]
fn a_store_of_an_earlier_version_reads_as_that_version_reported_it() {
    let home = home("");
    let answers: Vec<Value> = serde_json::from_slice(&fixture("store-v3.json.zst")).unwrap();
    assert!(answers.len() > 20, "sessions, branches, messages, marks, memories, tasks, summaries, calls, plans");
    for answer in answers {
        let command: Vec<&str> =
            answer["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let different = differences("", &answer["answer"], &home.json(&command));
        assert!(different.is_empty(), "{command:?}\n{}", different.join("\n"));
    }
    home.assert_sound();
}

#[test]
fn work_goes_on_in_a_store_of_an_earlier_version() {
    let home = home("");
    let session = home.json(&["session", "list"])[2]["id"].as_str().unwrap().to_owned();
    let on_main = |command: &[&str]| {
        let mut all = command.to_vec();
        all.extend(["--session", &session, "--branch", "main"]);
        all.into_iter().map(str::to_owned).collect::<Vec<String>>()
    };
    let json = |command: &[&str]| home.json(&on_main(command).iter().map(String::as_str).collect::<Vec<_>>());
    let ok = |command: &[&str]| home.ok(&on_main(command).iter().map(String::as_str).collect::<Vec<_>>());
    let before = json(&["message", "list"]);
    for (command, done) in [("undo", "Undone"), ("redo", "Redone")] {
        let output = home.ok(&[command, "--session", &session]);
        assert!(output.starts_with(&format!("{done}: included in this call")), "{output}");
    }
    ok(&["ask", "What did we decide?"]);
    let after = json(&["message", "list"]);
    let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), before.len() + 2);
    for finding in home.json(&["doctor"]).as_array().unwrap() {
        let subject = finding["subject"].as_str().unwrap();
        assert!(!matches!(subject, "store" | "store content") || finding["ok"] == true, "{finding}");
    }
    home.assert_sound();
}

#[test]
fn settings_and_a_policy_of_an_earlier_version_keep_their_meaning() {
    let home = home(&std::fs::read_to_string("tests/fixtures/settings-v3.toml").unwrap());
    let policies = home.config_file().with_file_name("policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::copy("tests/fixtures/policy-v3.toml", policies.join("mine.toml")).unwrap();
    home.ok(&["config", "check"]);
    let mut written: toml::Table = std::fs::read_to_string("tests/fixtures/settings-v3.toml").unwrap().parse().unwrap();
    written.insert("state_block".into(), "on".into()); // the present name of "required"
    assert_eq!(written.remove("compaction").unwrap().as_str(), Some("ask"));
    written.insert("summaries".into(), "draft".into()); // its present name
    written["store"].as_table_mut().unwrap().remove("path"); // the environment names the store
    let used: toml::Table = home.ok(&["config", "show"]).parse().unwrap();
    let json = |table: &toml::Table| serde_json::to_value(table).unwrap();
    assert_eq!(differences("", &json(&written), &json(&used)), Vec::<String>::new());
    let plan = home.json(&["plan", "And now?"]);
    assert_eq!((&plan["policy"], &plan["mode"], &plan["layout"]), (&"mine".into(), &"heavy".into(), &"classic".into()));
}
