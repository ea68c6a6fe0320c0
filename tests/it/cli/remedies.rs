//! Remedies of items that are left out: `plans why` says what they would change, and that is what happens.
//! Not for: which remedy a row names (`context::laws`).

use crate::support::binary::Home;
use serde_json::Value;
use std::collections::BTreeSet;

const TURNS: usize = 9;

/// The turns among rows.
fn turns(rows: &Value) -> BTreeSet<usize> {
    let rows = rows.as_array().unwrap().iter();
    rows.filter(|row| row["kind"] == "turn" || row["kind"] == "card")
        .filter_map(|row| row["source"]["turn"].as_u64().or_else(|| row["turn"].as_u64()))
        .filter_map(|turn| usize::try_from(turn).ok())
        .collect()
}

/// Includes turns from each part of the conversation under each policy, at a budget with room for about half of it.
#[test]
fn a_remedy_changes_what_it_says() {
    let home = Home::new("");
    for turn in 1..=TURNS {
        let topic = ["port", "token", "cache"][turn % 3];
        home.ok(&["add", "user", &format!("Question {turn} about the {topic} {}", "of the gateway ".repeat(20))]);
        home.ok(&["add", "assistant", &format!("The {topic} of service {turn} is {}", "80 ".repeat(turn * 5))]);
    }
    let mut removed = 0;
    for policy in ["layered", "lanes", "adaptive", "levels", "window"] {
        let with = |args: &[&str]| {
            let shape = home.json(&[&["--policy", policy, "--budget", "1000"], args].concat());
            let sent = turns(&shape["included"]);
            (shape, sent)
        };
        let (before, sent) = with(&["plan"]);
        let out: Vec<usize> = (1..TURNS).filter(|turn| !sent.contains(turn)).collect();
        assert!(!out.is_empty(), "{policy}: {before}");
        for turn in [out[0], out[out.len() - 1]] {
            let name = turn.to_string();
            let why = home.json(&["--policy", policy, "--budget", "1000", "plans", "why", &name]);
            let remedy = &why["next"]["remedy"];
            assert_eq!(remedy["command"], format!("include {name}"), "{policy}: {why}");
            home.ok(&["include", &name]);
            let (then, then_sent) = with(&["plan"]);
            home.ok(&["undo"]);
            assert!(then_sent.contains(&turn), "{policy}: {then}");
            assert_eq!(remedy["est_total"], then["est_total"], "{policy} {turn}: {remedy}");
            let lost: BTreeSet<usize> = sent.difference(&then_sent).copied().collect();
            assert_eq!(turns(&remedy["lost"]), lost, "{policy} {turn}: {remedy}");
            removed += lost.len();
        }
        assert_eq!(with(&["plan"]).1, sent, "{policy}: undo restores the request");
    }
    assert!(removed > 0, "a turn left for another one");
}

/// A turn that shares its row with many others has the remedy that any of them has.
#[test]
fn the_remedy_of_a_turn_in_a_range() {
    let home = Home::new("");
    let file = home.path("long.jsonl");
    let line = |turn: usize| {
        let question = format!("Question {turn} about the port {}", "of the gateway ".repeat(20));
        [("user", question), ("assistant", format!("The port is {turn}."))]
            .map(|(role, content)| format!("{}\n", serde_json::json!({ "role": role, "content": content })))
            .concat()
    };
    std::fs::write(&file, (1..=400).map(line).collect::<String>()).unwrap();
    home.ok(&["import", file.to_str().unwrap()]);
    let flags = ["--policy", "layered", "--budget", "3000"];
    let plan = home.json(&[&flags[..], &["plan"]].concat());
    let ranges = plan["excluded"].as_array().unwrap().iter().filter(|row| row["kind"] == "range");
    assert!(ranges.count() > 0, "old turns share a row: {}", plan["excluded"]);
    let why = home.json(&[&flags[..], &["plans", "why", "7"]].concat());
    let remedy = &why["next"]["remedy"];
    assert_eq!(remedy["command"], "include 7", "{why}");
    assert_eq!(remedy["gained"][0]["turn"], 7, "{why}");
    let text = home.ok(&[&flags[..], &["plans", "why", "7"]].concat());
    assert!(text.contains("`pleach include 7` adds ") && text.contains(" and removes "), "{text}");
}
