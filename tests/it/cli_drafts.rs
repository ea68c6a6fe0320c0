//! Drafts of summaries on the command line, on the real binary: a turn makes one, later commands show the same one, and
//! decide on it.

use crate::support::binary::{CommandOutput, Home};
use serde_json::Value;

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
        if answered.err.contains("waits as a draft") {
            return answered;
        }
    }
    panic!("no draft was ever due");
}

/// The text and the id of the draft that waits.
fn waiting(home: &Home) -> (String, String) {
    let found = home.json(&["summaries"])["draft"].clone();
    assert_eq!(found, home.json(&["capsules", "draft"]));
    let field = |field: &str| found["capsule"][field].as_str().unwrap_or_else(|| panic!("{field}: {found}")).to_owned();
    (field("text"), field("id"))
}

#[test]
fn turn_drafts_and_later_commands_decide() {
    let home = Home::new("");
    let answered = until_draft(&home, &["--json"]);
    let shape: Value = serde_json::from_str(&answered.out).expect("standard output has only the answer's JSON");
    assert_eq!(shape["status"], "complete");
    assert_eq!(answered.err.matches("waits as a draft").count(), 1, "{}", answered.err);
    let (text, id) = waiting(&home);
    assert_eq!((text.clone(), id), waiting(&home), "the same in each command");
    let listed = home.ok(&["capsules", "list"]);
    assert!(listed.contains("A draft waits: turns ") && listed.contains("`pleach capsules accept`"), "{listed}");
    assert!(home.ok(&["summaries"]).contains("A draft waits: turns "));
    assert!(home.ok(&["capsules", "draft"]).starts_with(&text));
    let quiet = home.run(&["ask", "And then?"]);
    assert!(quiet.code == 0 && !quiet.err.contains("draft"), "reported once: {}", quiet.err);

    home.ok(&["compress", "--up-to", "2"]);
    assert_eq!(waiting(&home).0, text, "a printed draft replaces nothing");
    let edited = home.json(&["capsules", "edit", "Each step reads its own settings first."]);
    assert_eq!(edited["capsule"]["source"], "user");
    let accepted = home.json(&["capsules", "accept", "--keep", "1"]);
    assert_eq!((&accepted["accepted"], accepted["capsule"]["kept"].as_array().map(Vec::len)), (&true.into(), Some(1)));
    assert_eq!(home.json(&["capsules", "draft"]), Value::Null);
    let list = home.json(&["capsules", "list"]);
    assert_eq!((list[0]["id"].clone(), list[0]["goes"].clone()), (accepted["capsule"]["id"].clone(), true.into()));
    let none = home.run(&["capsules", "accept"]);
    assert!(none.code != 0 && none.err.contains("No draft waits on this branch"), "{}", none.err);
    home.assert_sound();
}

/// In line mode the commands work after a slash, and the next turn drafts nothing of the discarded turns.
#[test]
fn discarded_draft_is_not_made_again() {
    let home = Home::new("");
    until_draft(&home, &[]);
    let plain =
        home.with_input(&["--plain"], b"/capsules draft\n/capsules discard\nAnd then?\n/capsules draft\n/quit\n");
    assert!(plain.code == 0 && !plain.err.contains("draft"), "{}", plain.err);
    assert!(plain.out.contains("A draft waits: turns ") && plain.out.contains("No draft waits"), "{}", plain.out);
    assert_eq!(home.json(&["summaries"])["draft"], Value::Null);
}
