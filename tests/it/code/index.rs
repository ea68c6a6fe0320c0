//! Code of a workspace with the real binary: `index`, `retrieve --code`, the map, and the cache between commands.

use crate::support::binary::Home;
use serde_json::Value;

/// A workspace of a few files.
fn home() -> Home {
    let home = Home::new("");
    let put = |name: &str, text: &str| {
        let path = home.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "src/retry.rs",
        "/// Tries again.\npub fn retry_request(n: u32) -> u32 {\n    backoff(n)\n}\n\nfn backoff(n: u32) -> u32 {\n    n * 2\n}\n",
    );
    put("app/models.py", "class Options:\n    def validate(self, temperature):\n        return temperature > 0\n");
    put(".gitignore", "made/\n");
    put("made/out.rs", "fn never_seen() {}\n");
    home
}

fn symbols(found: &Value) -> Vec<&str> {
    found["items"].as_array().unwrap().iter().map(|item| item["symbol"].as_str().unwrap()).collect()
}

#[test]
fn workspace_is_indexed_and_searched() {
    let home = home();
    let status = home.json(&["index"]);
    assert_eq!(
        (status["files"].as_u64(), status["read"].as_u64(), status["symbols"].as_u64()),
        (Some(3), Some(3), Some(4))
    );
    assert_eq!(status["languages"]["Rust"]["symbols"], 2);
    assert_eq!(home.json(&["index"])["read"], 0, "known files are not read again");
    let found = home.json(&["retrieve", "--code", "retrying a request", "--budget", "300"]);
    let item = found["items"].as_array().unwrap().iter().find(|item| item["rank"] == 1).unwrap();
    assert_eq!(item["symbol"], "retry_request");
    assert_eq!((item["path"].as_str(), &item["whole"]), (Some("src/retry.rs"), &serde_json::json!([1, 4])));
    assert!(item["text"].as_str().unwrap().contains("backoff(n)"));
    std::fs::write(home.workspace().join("src/retry.rs"), "pub fn something_else() {}\n").unwrap();
    let found = home.json(&["retrieve", "--code", "retrying a request: something else", "--budget", "300"]);
    assert!(symbols(&found).contains(&"something_else") && !symbols(&found).contains(&"retry_request"));
}

#[test]
fn batch_keeps_its_budget_from_any_folder() {
    let home = home();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("a.go"), "package a\n\nfunc Frobnicate() {}\n").unwrap();
    home.ok(&["index", &elsewhere.path().display().to_string()]);
    let file = home.path("batch.jsonl");
    let lines = "{\"id\": 7, \"query\": \"frobnicate\"}\n{\"id\": \"b\", \"query\": \"zzz\"}\n";
    std::fs::write(&file, lines).unwrap();
    let output = home.ok(&["retrieve", "--code", "--batch", &file.display().to_string(), "--budget", "60", "--json"]);
    let answers: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&serde_json::json!(7), &serde_json::json!("b")));
    assert_eq!(symbols(&answers[0]), ["Frobnicate"], "this folder has no index, so the latest indexed one is used");
    for answer in &answers {
        let tokens: u64 = answer["items"].as_array().unwrap().iter().map(|item| item["tokens"].as_u64().unwrap()).sum();
        assert!(tokens <= 60 && answer["elapsed_ms"].is_number());
    }
    let here = home.workspace().display().to_string();
    let found = home.json(&["retrieve", "--code", "--dir", &here, "validate the temperature"]);
    assert!(symbols(&found).contains(&"validate"));
}

#[test]
fn the_map_and_bad_folders() {
    let home = home();
    let map = home.json(&["index", "--map"]);
    assert!(map["tokens"].as_u64().unwrap() <= 200 && map["text"].as_str().unwrap().contains("retry.rs"));
    assert!(home.ok(&["index"]).contains("symbols"));
    assert!(home.ok(&["index", "--map"]).contains("models.py"));
    assert!(home.ok(&["retrieve", "--code", "backoff"]).contains("fn backoff"));
    let output = home.run(&["index", "/nowhere/at/all"]);
    assert_eq!(output.code, 1);
    assert!(output.err.contains("/nowhere/at/all can't be read"), "{}", output.err);
}
