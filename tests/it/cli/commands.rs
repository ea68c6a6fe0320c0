//! The command line's contract, on the real binary: commands, JSON shapes, exit codes, and that a dry run equals the
//! request that is sent.

use crate::support::binary::{CommandOutput, Home, finish};
use crate::support::server::{Server, Step, end, send, stream, words};
use serde_json::Value;

fn server() -> Server {
    Server::start(vec![vec![
        stream(),
        words("An answer"),
        words(" in two pieces."),
        send("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":21,\"completion_tokens\":6}}\n\n"),
        end(),
    ]])
}

fn str<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}"))
}

/// Plans, asks in the same state, and compares plan, bytes, and digests.
fn ask_as_planned(home: &Home, server: &Server, flags: &[&str], text: &str) -> Value {
    let with =
        |command: &[&str]| -> Vec<String> { [command, flags].concat().iter().map(|s| (*s).to_owned()).collect() };
    let args = |list: &[String]| list.iter().map(|s| s.as_str().to_owned()).collect::<Vec<_>>();
    let call = |command: &[&str]| {
        let list = args(&with(command));
        home.ok(&list.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let plan: Value = serde_json::from_str(&call(&["plan", text, "--json"])).unwrap();
    let body = call(&["plan", text, "--request"]);
    let before = server.requests().len();
    let answer: Value = serde_json::from_str(&call(&["ask", text, "--json"])).unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), before + 1, "one POST for one ask");
    let received = &requests[before].body;
    assert_eq!(String::from_utf8_lossy(received), body, "the server received exactly what the dry run printed");
    let digest = blake3::hash(received).to_hex().to_string();
    assert_eq!(str(&plan, "request_digest"), digest);
    assert_eq!(str(&answer, "request_digest"), digest);
    assert_eq!(str(&answer, "plan_id"), str(&plan, "plan_id"));
    assert_eq!(answer["est_total"], plan["est_total"]);
    let replayed: Value =
        serde_json::from_str(&home.ok(&["replay", str(&answer, "run_id"), "--dry-run", "--json"])).unwrap();
    assert_eq!((str(&replayed, "request_digest"), &replayed["same"]), (digest.as_str(), &Value::Bool(true)));
    let sum: u64 = plan["sections"].as_array().unwrap().iter().map(|section| section["tokens"].as_u64().unwrap()).sum();
    let whole = sum + plan["framing"].as_u64().unwrap() + plan["tools"].as_u64().unwrap();
    assert_eq!(plan["est_total"].as_u64(), Some(whole), "the parts add up to the meter");
    assert!(plan["est_total"].as_u64() <= plan["budget"]["prompt"].as_u64());
    answer
}

#[test]
fn dry_run_equals_the_next_request() {
    let server = server();
    let home = Home::asking(&server.base_url());
    let first = ask_as_planned(&home, &server, &[], "Why does login fail?");
    assert_eq!(str(&first, "text"), "An answer in two pieces.");
    assert_eq!(str(&first, "status"), "complete");
    assert_eq!(first["usage"]["prompt"], 21);
    ask_as_planned(&home, &server, &[], "And \"then\"?\n\u{1F980} 日本 \u{9b}1m é");
    let list = home.json(&["message", "list"]);
    let (question, answer) = (str(&list[0], "id").to_owned(), str(&list[1], "id").to_owned());
    home.ok(&["pin", &question]);
    ask_as_planned(&home, &server, &["--mode", "heavy"], "After a pin");
    home.ok(&["exclude", &answer, "--message"]);
    ask_as_planned(&home, &server, &["--policy", "window"], "After an exclusion");
    home.ok(&["branch", "fork", "alt", "--at", &answer]);
    ask_as_planned(&home, &server, &["--layout", "cache_friendly"], "On the fork");
    home.ok(&["pin", "--note", "Always in metres."]);
    home.ok(&["state", "edit", "Goal: metres."]);
    home.ok(&["context", "window", "1"]);
    ask_as_planned(&home, &server, &["--budget", "9000"], "With a note and a state");
    home.ok(&["undo"]);
    ask_as_planned(&home, &server, &["-b", "main", "--model", "gpt-4o"], "Back on main");
}

#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn json_shapes_are_stable() {
    let server = server();
    let home = Home::asking(&server.base_url());
    home.ok(&["ask", "one"]);
    home.ok(&["ask", "two"]);
    let plans = home.json(&["plans", "list"]);
    assert_eq!(plans.as_array().unwrap().len(), 2);
    for field in ["run_id", "plan_id", "request_digest", "branch", "model", "status", "est_total", "usage"] {
        assert!(!plans[0][field].is_null(), "plans list: {field} in {}", plans[0]);
    }
    let shown = home.json(&["plans", "show", str(&plans[0], "run_id")]);
    assert_eq!(str(&shown, "plan_id"), str(&plans[0], "plan_id"));
    let list = home.json(&["message", "list"]);
    for (index, role) in ["user", "assistant", "user", "assistant"].into_iter().enumerate() {
        let message = &list[index];
        assert_eq!((str(message, "role"), str(message, "status")), (role, "complete"));
        assert_eq!(message["turn"], index / 2 + 1);
        for field in ["id", "external_id", "parent", "content", "lane"] {
            assert!(message.get(field).is_some(), "message list: {field}");
        }
    }
    assert_eq!(list[3]["parent"], list[2]["id"]);
    let plan = home.json(&["plan", "three"]);
    for field in [
        "plan_id",
        "policy",
        "mode",
        "layout",
        "model",
        "encoding",
        "input_digest",
        "request_digest",
        "budget",
        "est_total",
        "framing",
        "tools",
        "sections",
        "included",
        "suggested",
        "excluded",
        "retrieval_set_ids",
        "warnings",
    ] {
        assert!(plan.get(field).is_some(), "plan: {field}");
    }
    for field in ["context_window", "reserved_output", "safety", "prompt"] {
        assert!(plan["budget"][field].is_u64(), "budget: {field}");
    }
    for field in [
        "id",
        "kind",
        "section",
        "position",
        "fidelity",
        "tokens",
        "reason",
        "pin",
        "score",
        "score_parts",
        "source",
        "title",
    ] {
        assert!(plan["included"][0].get(field).is_some(), "included: {field}");
    }
    for field in ["session", "branch", "turn", "message", "external_id", "path", "span"] {
        assert!(plan["included"][0]["source"].get(field).is_some(), "source: {field}");
    }
    home.ok(&["exclude", str(&list[0], "id")]);
    let plan = home.json(&["plan", "three"]);
    let excluded = plan["excluded"].as_array().unwrap();
    assert!(!excluded.is_empty());
    for field in ["id", "kind", "tokens", "reason", "remedy", "needed_tokens", "source", "title"] {
        assert!(excluded[0].get(field).is_some(), "excluded: {field}");
    }
}

/// Every command prints text for people and, with `--json`, one JSON value.
#[test]
#[allow(clippy::too_many_lines, reason = "a list")]
fn every_command_prints_text_and_json() {
    let server = server();
    let home = Home::approximate(&server.base_url());
    home.ok(&["session", "new", "First"]);
    home.ok(&["ask", "hello"]);
    home.ok(&["ask", "again"]);
    let list = home.json(&["message", "list"]);
    let (question, answer) = (str(&list[0], "id"), str(&list[1], "id"));
    let run = home.json(&["plans", "list"])[0]["run_id"].as_str().unwrap().to_owned();
    let file = home.path("in.jsonl");
    std::fs::write(&file, "{\"id\":\"a\",\"role\":\"user\",\"content\":\"x\"}\n").unwrap();
    let file = file.display().to_string();
    let commands: &[&[&str]] = &[
        &["plan", "hi"],
        &["plan"],
        &["plans", "list"],
        &["plans", "show", &run],
        &["replay", &run, "--dry-run"],
        &["add", "user", "hand-made"],
        &["build", "hi"],
        &["context", "window", "3"],
        &["context", "show", "hi"],
        &["message", "list"],
        &["message", "list", "--all"],
        &["message", "show", question],
        &["pin", question],
        &["unpin", question],
        &["exclude", question, "--once"],
        &["include", question],
        &["pin", question, "--turns", "3"],
        &["pin", "--note", "a note"],
        &["undo"],
        &["redo"],
        &["edit", question, "hello in other words"],
        &["regenerate"],
        &["regenerate", question],
        &["mode"],
        &["mode", "heavy"],
        &["state", "show"],
        &["state", "edit", "Goal: x"],
        &["branch", "list"],
        &["branch", "fork", "one", "--at", answer],
        &["branch", "rename", "one", "two"],
        &["branch", "archive", "two"],
        &["branch", "archive", "two", "--back"],
        &["session", "list"],
        &["session", "search", "hello"],
        &["session", "rename", "First", "Second"],
        &["config", "path"],
        &["config", "show"],
        &["config", "check"],
        &["import", &file],
        &["session", "delete", "Second", "--yes"],
    ];
    for command in commands {
        // Forks and renames cannot be repeated under one name, so the text comes first and the JSON from what is left
        // to do.
        let output = home.run(command);
        assert_eq!(output.code, 0, "{command:?}\n{}\n{}", output.out, output.err);
        assert!(!output.out.trim().is_empty(), "{command:?} says something");
        let twice = ["fork", "rename", "delete"].iter().any(|once| command.contains(once));
        if !twice {
            home.json(command);
        }
    }
    assert!(home.ok(&["completions", "bash"]).contains("_pleach"));
    assert!(home.ok(&["man"]).contains(".TH"));
    assert!(home.ok(&["export", "--format", "markdown"]).contains('x'));
    assert_eq!(home.ok(&["export"]).lines().count(), 1);
    let models = home.run(&["models", "--profile", "offline", "--json"]);
    assert_eq!(models.code, 0, "{}", models.err);
    let doctor = home.json(&["doctor"]);
    assert!(doctor.as_array().unwrap().iter().all(|finding| finding["text"].is_string()));
    home.assert_sound();
}

#[test]
fn search_finds_messages_by_words_and_filters() {
    let home = Home::new("");
    for (title, words) in [("Bees", "how do bees dance"), ("Wasps", "do wasps dance or bees")] {
        home.ok(&["session", "new", title]);
        home.ok(&["add", "user", words]);
        home.ok(&["add", "assistant", "they dance in circles"]);
    }
    let found = home.json(&["session", "search", "dance", "role:user"]);
    let titles: Vec<&str> = found.as_array().unwrap().iter().map(|s| s["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Wasps", "Bees"], "the newest message first");
    assert_eq!(found[1]["matches"][0]["text"], "how do bees dance");
    assert_eq!(found[1]["matches"][0]["match"][0], "dance");
    assert_eq!(found[1]["matches"].as_array().unwrap().len(), 1, "only one message is a user's");
    let in_one = home.json(&["session", "search", "bees", "session:bees"]);
    assert_eq!(in_one.as_array().unwrap().len(), 1);
    assert_eq!(home.json(&["session", "search", "bees"]).as_array().unwrap().len(), 2);
    assert!(home.ok(&["session", "search", "circles", "--limit", "1"]).contains("in circles"));
    assert!(home.ok(&["session", "search", "honey"]).contains("No matches."));
    let wrong = home.run(&["session", "search", "bees", "after:soon"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn sessions_and_branches_resolve_by_prefix_name_or_last_use() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    let one = home.json(&["session", "new", "One thing"]);
    home.ok(&["ask", "in one"]);
    let two = home.json(&["session", "new", "Other thing"]);
    home.ok(&["ask", "in two"]);
    let output = |flags: &[&str]| {
        let list = home.json(&[flags, &["message", "list"]].concat());
        str(&list[0], "content").to_owned()
    };
    let (first, second) = (str(&one, "id"), str(&two, "id"));
    assert_eq!(output(&[]), "in two", "the last used one");
    assert_eq!(output(&["-s", "One thing"]), "in one");
    assert_eq!(output(&["-s", first]), "in one");
    assert_eq!(output(&["-s", second]), "in two");
    let unique = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count() + 1;
    assert_eq!(output(&["-s", &first[..unique]]), "in one");
    assert_eq!(home.run(&["-s", &first[..4], "message", "list"]).code, 1, "a prefix of both");
    assert_eq!(home.run(&["-s", "None such", "message", "list"]).code, 1);
    home.ok(&["-s", "One thing", "branch", "fork", "side"]);
    home.ok(&["-s", "One thing", "-b", "side", "ask", "on the side"]);
    let count = |flags: &[&str]| home.json(&[flags, &["message", "list"]].concat()).as_array().unwrap().len();
    assert_eq!(count(&["-s", "One thing", "-b", "main"]), 2);
    assert_eq!(count(&["-s", "One thing", "-b", "side"]), 4);
    let missing = home.run(&["-s", "One thing", "-b", "nowhere", "message", "list"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("nowhere"), "{}", missing.err);
}

fn failed(output: &CommandOutput, code: i32, parts: &[&str]) {
    assert_eq!(output.code, code, "{}\n{}", output.out, output.err);
    assert!(output.err.starts_with("pleach: ") || code == 2, "errors are on stderr: {}", output.err);
    for part in parts {
        assert!(output.err.contains(part), "{part:?} in {}", output.err);
    }
}

#[test]
fn exit_codes() {
    let server = server();
    let home = Home::asking(&server.base_url());
    assert_eq!(home.run(&["ask", "hi"]).code, 0);
    failed(&home.run(&["message", "show", "nothing"]), 1, &["no message"]);
    failed(&home.run(&["undoo"]), 2, &["undo"]);
    failed(&home.run(&["ask", "  "]), 2, &["empty"]);
    failed(&home.run(&["--budget", "20", "ask", "hi"]), 3, &["budget"]);
    failed(&home.run(&["--profile", "nope", "ask", "hi"]), 2, &["nope"]);
    let refused = Home::asking("http://127.0.0.1:1/v1");
    failed(&refused.run(&["ask", "hi"]), 4, &["127.0.0.1:1"]);
    std::fs::write(home.path("not.db"), "not a store").unwrap();
    let path = home.path("not.db").display().to_string();
    failed(&home.run(&["--store", &path, "ask", "hi"]), 5, &["not.db"]);
    assert_eq!(std::fs::read_to_string(home.path("not.db")).unwrap(), "not a store");
}

/// Ctrl+C during an answer: the received text is kept, and the exit code reports the interruption.
#[cfg(unix)]
#[test]
fn interrupted_answer_is_kept() {
    use std::io::Read as _;
    let server = Server::start(vec![vec![stream(), words("Half an answer "), words("and"), Step::Hang]]);
    let home = Home::asking(&server.base_url());
    let mut child = home.command(&["ask", "a long story"]).spawn().unwrap();
    let mut first = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Half");
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let output = finish(child);
    assert_eq!(output.code, 130, "{}", output.err);
    assert!(output.err.contains("the text received so far is kept"), "{}", output.err);
    let list = home.json(&["message", "list"]);
    assert_eq!((str(&list[1], "content"), str(&list[1], "status")), ("Half an answer and", "cancelled"));
    assert!(server.saw_client_leave());
    assert_eq!(str(&home.json(&["plans", "list"])[0], "status"), "cancelled");
}

/// The key and address come from the environment. The key is sent to the server and appears nowhere else.
#[test]
fn api_key_is_sent_only_to_the_server() {
    const KEY: &str = "sk-canary-4242424242424242";
    let server = server();
    let home = Home::new("[log]\nlevel = \"trace\"\n");
    let url = server.base_url();
    let env = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", KEY)];
    let mut printed = String::new();
    for args in
        [&["ask", "hi"][..], &["plans", "list", "--json"], &["config", "show"], &["doctor"], &["export", "--all"]]
    {
        let output = home.with(&env, args);
        assert_eq!(output.code, 0, "{args:?} {}", output.err);
        printed += &(output.out + &output.err);
    }
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert!(!printed.contains(KEY));
    let mut folders = vec![home.path("")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
        }
    }
    assert!(files >= 2, "the store and the settings were searched");
}

#[test]
fn undo_and_redo_on_the_command_line() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "one"]);
    let question = home.json(&["message", "list"])[0]["id"].as_str().unwrap().to_owned();
    let marks = || home.json(&["branch", "list"])[0]["marks"].as_u64().unwrap();
    home.ok(&["pin", &question]);
    assert_eq!(marks(), 1);
    home.ok(&["undo"]);
    assert_eq!(marks(), 0);
    home.ok(&["redo"]);
    assert_eq!(marks(), 1);
    home.ok(&["edit", &question, "one, but better"]);
    assert_eq!(str(&home.json(&["message", "list"])[0], "content"), "one, but better");
    assert_eq!(home.json(&["message", "list", "--all"]).as_array().unwrap().len(), 4);
    home.ok(&["undo"]);
    assert_eq!(str(&home.json(&["message", "list"])[0], "content"), "one");
    let removed = home.run(&["message", "remove", &question]);
    assert_eq!(removed.code, 2, "approval is not possible: {}", removed.err);
    home.ok(&["message", "remove", &question, "--yes"]);
    assert!(!home.ok(&["message", "list", "--json"]).contains("\"one\""));
}

#[test]
fn turns_are_named_by_number() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "one"]);
    home.ok(&["ask", "two"]);
    let id = |at: usize| home.json(&["message", "list"])[at]["id"].as_str().unwrap().to_owned();
    assert_eq!(str(&home.json(&["message", "show", "2"]), "id"), id(2), "the question of the second turn");
    assert_eq!(str(&home.json(&["message", "show", "last"]), "id"), id(3));
    home.ok(&["pin", "1"]);
    assert_eq!(home.json(&["pins"])[0]["turn"], 1);
    home.ok(&["unpin", "1"]);
    assert!(home.ok(&["plans", "why", "1"]).contains("one"));
    home.ok(&["branch", "fork", "early", "--at", "1"]);
    assert_eq!(home.json(&["message", "list"]).as_array().unwrap().len(), 2);
    home.ok(&["branch", "switch", "main"]);
    home.ok(&["message", "remove", "2", "--yes"]);
    assert!(!home.ok(&["message", "list", "--json"]).contains("\"two\""));
    failed(&home.run(&["message", "show", "99"]), 1, &["There is no turn 99", "the last one is"]);
}

#[test]
fn branch_settings_are_shown_and_changed() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    home.ok(&["ask", "one"]);
    home.ok(&["budget", "8,000"]);
    home.ok(&["window", "3"]);
    home.ok(&["lane", "login", "bug"]);
    home.ok(&["personality", "Answer", "briefly."]);
    let overrides = home.json(&["branch", "list"])[0]["overrides"].clone();
    assert_eq!((overrides["budget"].as_u64(), overrides["window"].as_u64()), (Some(8_000), Some(3)));
    assert_eq!((str(&overrides, "lane"), str(&overrides, "personality")), ("login bug", "Answer briefly."));
    assert_eq!((&home.json(&["budget"])["budget"], str(&home.json(&["budget"]), "from")), (&8_000.into(), "branch"));
    home.ok(&["budget", "0"]);
    assert_eq!(str(&home.json(&["budget"]), "from"), "settings");
    failed(&home.run(&["policy", "nobody"]), 2, &["There is no policy", "window"]);
    failed(&home.run(&["layout", "zen"]), 2, &["screen layout"]);
}

/// `summaries` without a value shows what happens to automatic summaries, and why, and lists the branch's summaries.
#[test]
fn automatic_summaries_are_shown_in_words() {
    let home = Home::scripted("{\"deltas\":[{\"text\":\"ok\"}]}\n");
    let policies = home.config_file().with_file_name("policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::write(policies.join("mine.toml"), "about = \"Without a rule.\"\nversion = 1\n").unwrap();
    home.ok(&["ask", "one"]);
    let lists = "No summaries on this branch; `pleach compress` drafts one.\n";
    let drafts = "wait as drafts until you accept them";
    for (command, said, shown, json) in [
        (
            &["mode"][..],
            None,
            format!("Automatic summaries on branch main {drafts} (policy layered)."),
            ["policy", "settings", "draft"],
        ),
        (
            &["summaries", "off"],
            Some("Turned automatic summaries off on main."),
            "No automatic summaries on branch main (set on the branch).".into(),
            ["off", "branch", "off"],
        ),
        (
            &["compaction", "self"],
            Some("Set automatic summaries on main to be used at once."),
            "Automatic summaries on branch main are used at once (set on the branch).".into(),
            ["auto", "branch", "auto"],
        ),
        (
            &["compaction", "ask"],
            Some("Set automatic summaries on main to wait as drafts."),
            format!("Automatic summaries on branch main {drafts} (set on the branch)."),
            ["draft", "branch", "draft"],
        ),
        (
            &["policy", "mine"],
            None,
            "No automatic summaries on branch main: policy mine has no rule for them.".into(),
            ["draft", "branch", "off"],
        ),
    ] {
        let answer = home.ok(command);
        assert!(said.is_none_or(|said| answer.contains(said)), "{command:?}: {answer}");
        assert_eq!(home.ok(&["summaries"]), format!("{shown}\n{lists}"), "{command:?}");
        let value = home.json(&["summaries"]);
        assert_eq!([str(&value, "summaries"), str(&value, "from"), str(&value, "automatic")], json, "{command:?}");
        assert_eq!(value["list"], serde_json::json!([]));
    }
    home.ok(&["summaries", "policy"]);
    assert_eq!(str(&home.json(&["compaction"]), "from"), "settings");
    home.configure("compaction = \"self\"\n");
    let output = home.run(&["summaries"]);
    assert!(output.err.contains("compaction is now summaries = \"auto\"."), "{}", output.err);
    home.ok(&["policy", "none"]);
    assert!(
        home.ok(&["summaries"])
            .starts_with("Automatic summaries on branch main are used at once (set in the settings).")
    );
    failed(&home.run(&["summaries", "loud"]), 2, &["must be off, draft, auto, or policy"]);
}

#[test]
fn unsendable_part_is_a_row() {
    let server = server();
    let home = Home::asking(&server.base_url());
    let file = home.path("chat.json");
    let image = "data:image/png;base64,iVBORw0KGgo=";
    std::fs::write(
        &file,
        serde_json::json!([
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": image}}]},
            {"role": "assistant", "content": "A picture."},
        ])
        .to_string(),
    )
    .unwrap();
    home.ok(&["import", &file.display().to_string()]);
    let answer = ask_as_planned(&home, &server, &[], "And its colour?");
    assert_eq!(str(&answer, "status"), "complete");
    let plan: Value = serde_json::from_str(&home.ok(&["plan", "More?", "--json"])).unwrap();
    let parts: Vec<&Value> = plan["excluded"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["reason"]["why"] == "model_cannot" || row["reason"] == "model_cannot")
        .collect();
    assert_eq!(parts.len(), 1, "{plan}");
    assert_eq!(str(parts[0], "kind"), "part");
    assert!(str(parts[0], "title").contains("image"), "{}", parts[0]);
}

/// The usage error of the command line is the one of the slash command, with the same exit code as before.
#[test]
fn usage_errors_name_the_usage_and_an_example() {
    let home = Home::new("");
    for line in [&["budget", "abc"][..], &["mode", "zzz"], &["lease", "3", "--turns", "0"], &["pin"]] {
        let output = home.run(line);
        failed(&output, 2, &["pleach: ", "Usage: pleach ", "Example: pleach "]);
        assert!(output.out.is_empty() && output.err.trim_end().lines().count() == 1, "{line:?}: {}", output.err);
    }
    failed(&home.run(&["message", "favourite", "9"]), 1, &["message favourite is now message favorite"]);
    failed(&home.run(&["session", "delete", "99"]), 1, &["There is no session \"99\"."]);
    let (help, version) = (home.run(&["pin", "--help"]), home.run(&["--version"]));
    assert_eq!((help.code, version.code), (0, 0));
    assert!(help.out.contains("--turns") && version.out.starts_with("pleach "), "{} {}", help.out, version.out);
}

/// An answer cannot be edited, and the refusal names the commands that can replace it.
#[test]
fn refused_edit_of_an_answer_names_commands() {
    let home = Home::new("");
    home.ok(&["add", "user", "Deploy it."]);
    home.ok(&["add", "assistant", "Done."]);
    let remedy = "`pleach regenerate` writes another answer; `pleach branch fork` starts a branch.";
    failed(&home.run(&["edit", "last", "foo"]), 1, &["Only your own messages can be edited.", remedy]);
}

/// A message is labeled, or is a favorite; no other word stands for these.
#[test]
fn favorites_are_called_favorites() {
    let home = Home::new("");
    home.ok(&["add", "user", "Deploy it."]);
    assert_eq!(home.ok(&["message", "labels"]), "No matching labels or favorites.\n");
    let words = [home.ok(&["message", "favorite", "1"]), home.ok(&["message", "favorite", "1", "--off"])];
    assert!(words[0].contains("to the favorites") && words[1].contains("from the favorites"), "{words:?}");
    assert!(!words.concat().to_lowercase().contains("star"), "{words:?}");
}

/// The state block is printed as it is stored; requests contain it without its secrets.
#[test]
fn state_show_says_what_requests_mask() {
    let home = Home::new("");
    home.ok(&["add", "user", "Deploy it."]);
    home.ok(&["add", "assistant", "Done."]);
    home.ok(&["state", "edit", "Goal: deploy"]);
    assert_eq!(home.run(&["state", "show"]).err, "");
    let key = "AKIAQ7PZ3RTM5WXY2KDN";
    home.ok(&["state", "edit", &format!("Goal: deploy with {key}")]);
    let shown = home.run(&["state", "show"]);
    assert!(shown.out.contains(key), "{}", shown.out);
    assert!(shown.err.contains("requests contain this text with 1 secret masked"), "{}", shown.err);
    assert_eq!(home.json(&["state", "show"])["masked"], 1);
    assert!(!home.ok(&["plan", "hi", "--request"]).contains(key));
}

/// A dry run and a printed body send nothing and make no branch, also without an item, and a replay sends that body.
#[test]
fn a_printed_replay_sends_nothing() {
    let server = server();
    let home = Home::asking(&server.base_url());
    for text in ["one", "two"] {
        home.ok(&["ask", text]);
    }
    let (asked, branches) = (server.requests().len(), home.json(&["branch", "list"]));
    let body = home.ok(&["replay", "2", "--without", "1", "--request"]);
    assert!(body.contains("two\"") && !body.contains("\"one\""), "{body}");
    let dry = home.json(&["replay", "2", "--without", "1", "--dry-run"]);
    assert_eq!((dry["bytes"].as_u64(), &dry["same"]), (Some(body.len() as u64), &Value::Bool(false)));
    assert!(home.ok(&["replay", "2", "--request"]).contains("\"one\""));
    failed(&home.run(&["replay", "2", "--without", "nothing", "--request"]), 1, &["That item was not in the call."]);
    assert_eq!((server.requests().len(), home.json(&["branch", "list"])), (asked, branches));
    home.ok(&["replay", "2", "--without", "1"]);
    assert_eq!(String::from_utf8_lossy(&server.requests()[asked].body), body);
}

/// A call that contained instructions of the conversation, a person's or imported ones, can be replayed.
#[test]
fn calls_with_instructions_of_the_conversation_are_replayed() {
    let server = server();
    let home = Home::asking(&server.base_url());
    home.ok(&["ask", "one"]);
    home.ok(&["add", "system", "Answer in verse."]);
    home.ok(&["ask", "two"]);
    let sent = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(sent.contains("Answer in verse."), "{sent}");
    assert_eq!(home.ok(&["replay", "last", "--request"]), sent);
    assert_eq!(home.json(&["replay", "last", "--dry-run"])["same"], true);
}

#[test]
fn calls_are_named_by_turn_and_items_by_range() {
    let server = server();
    let home = Home::asking(&server.base_url());
    for text in ["one", "two", "three"] {
        home.ok(&["ask", text]);
    }
    let plans = home.json(&["plans", "list"]);
    let run = |at: usize| str(&plans[at], "run_id");
    assert_eq!(str(&home.json(&["plans", "show", "2"])["runs"][0], "run_id"), run(1));
    assert_eq!(str(&home.json(&["replay", "2", "--dry-run"]), "run_id"), run(1));
    assert_eq!(str(&home.json(&["replay", "last", "--dry-run"]), "run_id"), run(2));
    assert_eq!(home.ok(&["plans", "diff", "1", "2"]), home.ok(&["plans", "diff", run(0), run(1)]));
    assert_eq!(str(&home.json(&["plans", "show", &run(1)[..13]])["runs"][0], "run_id"), run(1), "a prefix of an id");
    failed(&home.run(&["plans", "show", "9"]), 1, &["There is no turn 9 on this branch; the last one is 3."]);
    let plain = home.with_input(&["--plain"], b"/plans show 2\n/pin 1..2\n/quit\n");
    assert!(plain.out.contains(&run(1)[..8]), "{}\n{}", plain.out, plain.err);
    let turns = |value: &Value| value.as_array().unwrap().iter().map(|mark| mark["turn"].clone()).collect::<Vec<_>>();
    assert_eq!(turns(&home.json(&["pins"])), [1, 2]);
    home.ok(&["undo"]);
    home.ok(&["exclude", "2..3"]);
    assert_eq!(turns(&home.json(&["pins"])), [2, 3]);
    home.ok(&["unpin", "2..3"]);
    assert_eq!(turns(&home.json(&["pins"])), [0; 0]);
    failed(&home.run(&["pin", "3..1"]), 1, &["3..1 is not a range of turns"]);
    home.ok(&["add", "user", "an added question"]);
    failed(&home.run(&["plans", "show", "4"]), 1, &["Turn 4 has no call"]);
    assert_eq!(home.ok(&["context"]), home.ok(&["plan"]));
}

#[test]
fn piped_input_follows_the_words_of_a_text() {
    let server = server();
    let home = Home::asking(&server.base_url());
    let piped = |line: &[&str]| {
        let output = home.with_input(line, b"piped\n");
        assert_eq!(output.code, 0, "{line:?}: {}", output.err);
    };
    piped(&["ask", "words"]);
    piped(&["memory", "add", "fact", "words"]);
    assert_eq!(str(&home.json(&["memory", "list"])[0], "text"), "words piped");
    piped(&["state", "edit", "words"]);
    assert!(home.ok(&["state", "show"]).contains("words\n\npiped"));
    piped(&["personality", "words"]);
    assert_eq!(str(&home.json(&["personality"]), "personality"), "words\n\npiped");
    piped(&["personality"]);
    home.ok(&["task", "start", "the fix"]);
    piped(&["task", "done", "words"]);
    assert_eq!(str(&home.json(&["task", "list"])[0], "outcome"), "words\n\npiped");
    failed(
        &home.run(&["ask"]),
        2,
        &["The message is empty; nothing was sent. Give its text as arguments or on standard"],
    );
    let plain = home.with_input(&["--plain"], b"/ask\n/quit\n");
    assert!(
        plain.err.contains("The message is empty; nothing was sent. Give its text after the command."),
        "{}",
        plain.err
    );
    let file = home.path("talk.md");
    std::fs::write(&file, "").unwrap();
    let output = home.run(&["export", "--output", file.to_str().unwrap()]);
    failed(&output, 1, &["can't be written", "Choose another name, or delete the file first."]);
    let offline = Home::new("");
    offline.ok(&["session", "new"]);
    let model = offline.ok(&["model"]);
    assert!(model.starts_with("Branch main uses the model offline, because no model is set."), "{model}");
}

#[test]
fn why_names_the_present_reason_of_a_turn_that_was_never_sent() {
    let home = Home::new("");
    for turn in 1..=6 {
        home.ok(&["add", "user", &format!("Question {turn} {}", "about the port and the token ".repeat(20))]);
        home.ok(&["add", "assistant", "The port is 8080."]);
    }
    home.ok(&["context", "window", "2"]);
    let why = home.ok(&["plans", "why", "1"]);
    assert!(why.contains("Not sent in any call of this branch."), "{why}");
    assert!(why.contains("Left out of the next request: Older than the window of recent turns."), "{why}");
    let next = home.json(&["plans", "why", "1"])["next"].clone();
    assert_eq!((&next["goes"], &next["reason"]["why"]), (&false.into(), &"outside_window".into()), "{next}");
    let why = home.ok(&["plans", "why", "6"]);
    assert!(why.contains("Included in the next request: Inside the window of recent turns."), "{why}");
}
