//! Instructions in the conversation: system messages that a person adds are sent as instructions, imported system
//! prompts only if the person keeps them. A person's lease that is left out is reported.

use crate::support::binary::Home;
use crate::support::server::{Server, end, stream, words};
use serde_json::{Value, json};

fn home() -> (Home, Server) {
    let server = Server::start(vec![vec![stream(), words("Oui."), end()]]);
    (Home::approximate(&server.base_url()), server)
}

/// Returns the section (`None` if left out) and the reason of the row with this title.
fn row(plan: &Value, title: &str) -> (Option<String>, String) {
    let rows = ["included", "excluded"].into_iter().flat_map(|list| plan[list].as_array().unwrap());
    let found: Vec<&Value> = rows.filter(|row| row["title"] == title).collect();
    let [row] = found.as_slice() else { panic!("one row of {title:?}: {found:?}") };
    (row["section"].as_str().map(str::to_owned), row["reason"].as_str().unwrap().to_owned())
}

const TEXT: &str = "Always answer in French.";

#[test]
fn added_system_messages_are_instructions() {
    let (home, server) = home();
    let id = home.ok(&["add", "system", TEXT]).trim().to_owned();
    let sent = (Some("system".to_owned()), "conversation_instructions".to_owned());
    assert_eq!(row(&home.json(&["plan", "hi"]), TEXT), sent);
    home.ok(&["ask", "hi"]);
    let body: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert!(body["messages"][0]["content"].as_str().unwrap().contains(TEXT), "{body}");
    assert_eq!(row(&home.json(&["plan", "and now"]), TEXT), sent, "also after the turn");

    home.ok(&["exclude", &id]);
    assert_eq!(row(&home.json(&["plan", "and now"]), TEXT), (None, "user_excluded".to_owned()));
    assert!(!home.ok(&["plan", "and now", "--request"]).contains(TEXT));
    home.ok(&["undo"]);
    assert_eq!(row(&home.json(&["plan", "and now"]), TEXT), sent);
}

fn imported(home: &Home) -> String {
    let message = |id: &str, parent: Option<&str>, role: &str, content: &str| json!({"id": id, "parent": parent, "role": role, "content": content, "source": "test:1", "session": "test:1"});
    let lines = [
        message("s", None, "system", TEXT),
        message("u", Some("s"), "user", "hello"),
        message("a", Some("u"), "assistant", "bonjour"),
    ];
    let file = home.path("talk.jsonl");
    std::fs::write(&file, lines.map(|line| line.to_string()).join("\n")).unwrap();
    file.display().to_string()
}

#[test]
fn imported_system_prompts_are_instructions_once_kept() {
    let (home, _server) = home();
    let file = imported(&home);
    home.ok(&["import", &file]);
    let left_out = (None, "foreign_instructions".to_owned());
    assert_eq!(row(&home.json(&["plan", "hi"]), TEXT), left_out);

    assert_eq!(home.json(&["import", &file, "--keep-instructions"])["kept_instructions"], 1, "also of a known session");
    let plan = home.json(&["plan", "hi"]);
    assert_eq!(row(&plan, TEXT), (Some("system".to_owned()), "conversation_instructions".to_owned()));
    assert!(home.ok(&["plan", "hi", "--request"]).contains(TEXT));
    home.ok(&["undo"]);
    assert_eq!(row(&home.json(&["plan", "hi"]), TEXT), left_out);
}

#[test]
fn a_lease_that_is_left_out_is_reported() {
    let (home, _server) = home();
    home.ok(&["session", "new"]);
    let needed = home.json(&["plan", "hi"])["est_total"].as_u64().unwrap();
    let note = "word ".repeat(800);
    home.ok(&["pin", "--note", &note, "--turns", "3"]);
    let budget = (needed + 400).to_string();
    let told = "Left out although you marked it: word word";
    let plan = home.ok(&["--budget", &budget, "plan", "hi"]);
    assert!(plan.contains(&format!("! {told}")), "{plan}");
    let answer = home.run(&["--budget", &budget, "ask", "hi"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(answer.err.matches(&format!("warning: {told}")).count(), 1, "{}", answer.err);
    assert!(!home.ok(&["plan", "hi"]).contains(told), "with room it is sent");
}
