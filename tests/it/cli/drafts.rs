//! Drafts of summaries on the command line, on the real binary: a turn makes one, later commands show the same one, and
//! decide on it.

use crate::store::crash::watch;
use crate::support::binary::{CommandOutput, Home};
use crate::support::server::{Server, Step, end, stream, words};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// A question of about 900 estimated tokens.
fn question(n: usize) -> String {
    let rest =
        "The parts of the service fit together in a way that this sentence describes at some length. ".repeat(48);
    format!("Step {n}: the service listens on port {} and reads /srv/app/conf{n}.toml first. {rest}", 8_000 + n)
}

/// Asks until a draft is reported. Returns what that command printed.
fn until_draft(home: &Home, flags: &[&str]) -> CommandOutput {
    home.ok(&["session", "new"]);
    home.ok(&["context", "window", "1"]);
    for n in 1..=8 {
        let question = question(n);
        let answered = home.run(&[&["ask", &question], flags].concat());
        assert_eq!(answered.code, 0, "{}", answered.err);
        if answered.err.contains("is waiting") {
            return answered;
        }
    }
    panic!("no draft was ever due");
}

/// The text and the id of the draft that waits.
fn waiting(home: &Home) -> (String, String) {
    let found = home.json(&["summaries"])["draft"].clone();
    assert_eq!(found, home.json(&["summary", "draft"]));
    let field = |field: &str| found["capsule"][field].as_str().unwrap_or_else(|| panic!("{field}: {found}")).to_owned();
    (field("text"), field("id"))
}

#[test]
fn turn_drafts_and_later_commands_decide() {
    let home = Home::new("");
    let answered = until_draft(&home, &["--json"]);
    let shape: Value = serde_json::from_str(&answered.out).expect("standard output has only the answer's JSON");
    assert_eq!(shape["status"], "complete");
    assert_eq!(answered.err.matches("is waiting").count(), 1, "{}", answered.err);
    let (text, id) = waiting(&home);
    assert_eq!((text.clone(), id), waiting(&home), "the same in each command");
    let listed = home.ok(&["summary", "list"]);
    assert!(listed.contains("A summary draft of turns ") && listed.contains("`pleach summary accept`"), "{listed}");
    assert!(home.ok(&["summaries"]).contains("A summary draft of turns "));
    assert!(home.ok(&["summary", "draft"]).starts_with(&text));
    let quiet = home.run(&["ask", "And then?"]);
    assert!(quiet.code == 0 && !quiet.err.contains("draft"), "reported once: {}", quiet.err);

    home.ok(&["compress", "--up-to", "2"]);
    assert_eq!(waiting(&home).0, text, "a printed draft replaces nothing");
    let edited = home.json(&["summary", "edit", "Each step reads its own settings first."]);
    assert_eq!(edited["capsule"]["source"], "user");
    assert_eq!(edited["summary"], edited["capsule"]);
    let accepted = home.json(&["summary", "accept", "--keep", "1"]);
    assert_eq!((&accepted["accepted"], accepted["capsule"]["kept"].as_array().map(Vec::len)), (&true.into(), Some(1)));
    assert_eq!(home.json(&["summary", "draft"]), Value::Null);
    let list = home.json(&["summary", "list"]);
    assert_eq!((list[0]["id"].clone(), list[0]["goes"].clone()), (accepted["capsule"]["id"].clone(), true.into()));
    let none = home.run(&["summary", "accept"]);
    assert!(none.code != 0 && none.err.contains("No summary draft is waiting on this branch"), "{}", none.err);
    let stats = home.json(&["stats"]);
    assert_eq!((&stats["summaries"], stats["average_compression_ratio"].is_number()), (&json!(1), true), "{stats}");
    home.ok(&["summary", "undo"]);
    let stats = home.json(&["stats"]);
    assert_eq!((&stats["summaries"], &stats["average_compression_ratio"]), (&json!(0), &Value::Null), "{stats}");
    assert!(stats["last_compression"].is_number());
    assert!(home.ok(&["stats"]).contains("summaries      0 (none in use)"));
    home.assert_sound();
}

/// In line mode the commands work after a slash, and the next turn drafts nothing of the discarded turns.
#[test]
fn discarded_draft_is_not_made_again() {
    let home = Home::new("");
    until_draft(&home, &[]);
    let plain = home.with_input(&["--plain"], b"/summary draft\n/summary discard\nAnd then?\n/summary draft\n/quit\n");
    assert!(plain.code == 0 && !plain.err.contains("draft"), "{}", plain.err);
    assert!(
        plain.out.contains("A summary draft of turns ") && plain.out.contains("No summary draft is waiting"),
        "{}",
        plain.out
    );
    assert_eq!(home.json(&["summaries"])["draft"], Value::Null);
}

/// A session in line mode that asks until a draft waits, and then `last`. It reports its standard error as it arrives.
fn line_mode(home: &Home, last: &str) -> (Child, ChildStdin, Receiver<(Instant, String)>) {
    let mut child = home.command(&["--plain"]).env("TEST_KEY", "k").stdin(Stdio::piped()).spawn().unwrap();
    let (mut input, errors) = (child.stdin.take().unwrap(), watch(child.stderr.take().unwrap()));
    let printed = child.stdout.take().unwrap();
    std::thread::spawn(move || std::io::copy(&mut { printed }, &mut std::io::sink()));
    for n in 1..=8 {
        writeln!(input, "{}", question(n)).unwrap();
    }
    if !last.is_empty() {
        writeln!(input, "{last}").unwrap();
    }
    input.flush().unwrap();
    (child, input, errors)
}

/// A process is killed while a draft waits, between two turns or in the middle of a call: the next ones show that
/// draft, which is accepted once, and nothing is drafted again.
#[test]
fn draft_outlives_a_killed_process() {
    for in_a_call in [false, true] {
        let server = Server::answering(|request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let asked = body["messages"].as_array().and_then(|messages| messages.last()?["content"].as_str());
            if asked.is_some_and(|asked| asked.ends_with("a slow question")) {
                return vec![stream(), words("The beginning."), Step::Hang];
            }
            vec![stream(), words("It reads them in this order."), end()]
        });
        let home = Home::approximate(&server.base_url());
        home.ok(&["session", "new"]);
        home.ok(&["context", "window", "1"]);
        let (mut child, input, errors) = line_mode(&home, if in_a_call { "a slow question" } else { "" });
        let mut told = String::new();
        while !told.contains("is waiting") {
            let (_, more) =
                errors.recv_timeout(Duration::from_mins(1)).unwrap_or_else(|_| panic!("no draft was ever due: {told}"));
            told.push_str(&more);
        }
        server.await_posts(if in_a_call { 9 } else { 8 });
        let before = waiting(&home);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(input);
        told.extend(errors.iter().map(|(_, more)| more));
        assert_eq!(told.matches("is waiting").count(), 1, "{told}");

        let started = home.run(&["summary", "draft"]);
        assert_eq!(started.err.contains("interrupted"), in_a_call, "{}", started.err);
        assert!(started.code == 0 && started.out.starts_with(&before.0), "{}", started.out);
        assert_eq!(waiting(&home), before);
        for question in ["And then?", "And after that?"] {
            let next = home.with(&[("TEST_KEY", "k")], &["ask", question]);
            assert!(next.code == 0 && !next.err.contains("draft"), "nothing is drafted twice: {}", next.err);
            assert_eq!(waiting(&home), before);
        }
        let accepted = home.json(&["summary", "accept"]);
        assert_eq!(accepted["capsule"]["id"], before.1.as_str());
        assert_ne!(home.run(&["summary", "accept"]).code, 0, "it is accepted once");
        assert_eq!(home.json(&["summary", "draft"]), Value::Null);
        let list = home.json(&["summary", "list"]);
        assert_eq!(
            (list.as_array().unwrap().len(), &list[0]["id"], &list[0]["goes"]),
            (1, &json!(before.1), &json!(true))
        );
        home.assert_sound();
    }
}

/// The anchor of a call that contained a summary does not keep the summary where it makes later requests larger.
#[test]
fn later_requests_are_no_larger_with_summaries_used_at_once() {
    let home = Home::new("");
    let message = |n: usize| {
        let (role, words) = if n.is_multiple_of(2) { ("user", 6) } else { ("assistant", 200) };
        let text = format!("Step {n} sets K{n:03}={} in src/part/file_{n}.rs. {}", n * 7, "value ".repeat(words));
        let parent = n.checked_sub(1).map(|before| format!("m{before}"));
        json!({"id": format!("m{n}"), "session": "S", "role": role, "content": text, "parent": parent}).to_string()
    };
    let file = home.path("talk.jsonl");
    std::fs::write(&file, (0..80).map(message).collect::<Vec<_>>().join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
    home.ok(&["summaries", "auto"]);
    home.ok(&["budget", "6000"]);
    let first = home.run(&["ask", "hello one"]);
    assert!(first.err.contains("unless that makes them larger"), "{}", first.err);
    home.ok(&["ask", "hello two"]);
    let size = || home.json(&["plan", "ok continue"])["est_total"].as_u64().unwrap();
    let with = size();
    while home.json(&["summary", "list"]).as_array().is_some_and(|listed| !listed.is_empty()) {
        home.ok(&["summary", "undo"]);
        let without = size();
        assert!(with <= without, "{with} tokens with summaries, {without} without");
    }
}

#[test]
fn acceptance_says_what_it_changes_in_the_next_request() {
    let home = Home::new("");
    until_draft(&home, &[]);
    let text = home.ok(&["summary", "accept"]);
    assert!(text.starts_with("Accepted: this summary replaces turns 1–"), "{text}");
    assert!(
        text.contains("\nThe summary changes nothing in the next request as it is now: it is left out. The request would be larger"),
        "{text}"
    );
    home.ok(&["undo"]);
    home.ok(&["context", "window", "0"]);
    let text = home.ok(&["compress", "--up-to", "3", "--accept"]);
    assert!(text.contains("\nThe summary adds ") && text.contains("\n  - turn      turn 2: Step 2"), "{text}");
    home.ok(&["undo"]);
    let next = home.json(&["compress", "--up-to", "3", "--accept"])["next"].clone();
    assert_eq!(next["est_total"], home.json(&["plan"])["est_total"], "{next}");
    let items = |name: &str| next[name].as_array().unwrap().clone();
    assert!(items("gained").iter().any(|item| item["kind"] == "summary"), "{next}");
    assert!(items("lost").iter().any(|item| item["turn"] == 2), "{next}");
}
