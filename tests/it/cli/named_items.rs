//! Items named by the ids that the program prints, and by the number of a turn where an import has numbers as ids.
//! Not for: the rules of names (`domain::conversation::resolve`), or what a remedy changes (`remedies`).

use crate::support::binary::Home;
use serde_json::{Value, json};

const RULE: &str = "Always answer in French.";

/// Imports these messages of one conversation, each as its id, parent, role, and text.
fn import(home: &Home, messages: &[(&str, Option<&str>, &str, &str)]) {
    let line = |(id, parent, role, text): &(&str, Option<&str>, &str, &str)| {
        json!({"id": id, "parent": parent, "role": role, "content": text, "session": "talk"}).to_string()
    };
    let file = home.path("talk.jsonl");
    std::fs::write(&file, messages.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap();
    home.ok(&["import", &file.display().to_string()]);
}

/// Returns the row with this text in its title, and whether it is included.
fn row(home: &Home, policy: &str, title: &str) -> (Value, bool) {
    let plan = home.json(&["plan", "next", "--policy", policy]);
    let lists = [("included", true), ("excluded", false)].into_iter();
    let rows = lists.flat_map(|(list, sent)| plan[list].as_array().unwrap().iter().map(move |row| (row.clone(), sent)));
    let mut found: Vec<(Value, bool)> =
        rows.filter(|(row, _)| row["title"].as_str().unwrap().contains(title)).collect();
    assert_eq!(found.len(), 1, "{title} under {policy}: {plan}");
    found.remove(0)
}

fn id(row: &Value) -> String {
    row["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_imported_system_prompt_is_marked_by_the_id_of_its_row() {
    let home = Home::new("");
    import(
        &home,
        &[
            ("s0", None, "system", RULE),
            ("a1", Some("s0"), "user", "Bonjour?"),
            ("a2", Some("a1"), "assistant", "Oui."),
        ],
    );
    let (left_out, _) = row(&home, "layered", RULE);
    let whole = id(&left_out);
    let short = &whole[..8];
    for name in [short, &whole] {
        for mark in [&["include"][..], &["pin"], &["lease"]] {
            home.ok(&[mark, &[name]].concat());
            for policy in ["layered", "lanes", "adaptive", "levels", "window"] {
                let (sent, included) = row(&home, policy, RULE);
                assert!(included, "{mark:?} {name} under {policy}");
                let once = sent["reason_text"].as_str().unwrap().contains("in this request");
                assert_eq!(once, mark == ["include"], "{sent}");
            }
            let marked = home.json(&["pins"])[0]["id"].as_str().unwrap().to_owned();
            assert!(home.json(&["plans", "why", &marked])["next"].is_object(), "{marked}");
            home.ok(&["exclude", &marked]);
            let (excluded, included) = row(&home, "layered", RULE);
            assert!(!included && excluded["reason"] == "user_excluded", "{excluded}");
            assert!(!home.ok(&["plan", "next", "--request"]).contains(RULE), "{mark:?} {name}");
            home.ok(&["unpin", &marked[..8]]);
            assert_eq!(home.json(&["pins"]), json!([]), "{mark:?} {name}");
        }
    }
}

#[test]
fn the_number_of_a_turn_is_no_imported_id() {
    let home = Home::new("");
    let talk = [
        ("1", None, "system", "topic created: Billing"),
        ("2", Some("1"), "user", "Which database?"),
        ("3", Some("2"), "user", "Postgres on 5433."),
        ("4", Some("3"), "user", "Which bucket?"),
    ];
    import(&home, &talk);
    for (name, turn) in [("2", 2), ("1", 1), ("id:4", 3), ("2..3", 2)] {
        home.ok(&["pin", name]);
        assert_eq!(home.json(&["pins"])[0]["turn"], turn, "{name}");
        home.ok(&["undo"]);
    }
    let unknown = home.run(&["exclude", "4"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("There is no turn 4") && unknown.err.contains("`id:4` names"), "{}", unknown.err);
    assert!(home.ok(&["--help"]).contains("id:7"));
}

/// The printed remedy of a hidden message acts on the message, not on the turn that contains it; so does the remedy of
/// a message that was left out of its turn.
#[test]
fn a_remedy_acts_on_the_message_it_stands_at() {
    let home = Home::new("");
    let file = home.path("result.json");
    let message = |id: u32, text: &str| json!({"id": id, "type": "message", "date": "2026-11-20T10:00:00", "from": "Ann", "from_id": "user1", "text": text});
    let topic = |id: u32, title: &str| json!({"id": id, "type": "service", "date": "2026-11-20T09:00:00", "actor": "Ann", "action": "topic_created", "title": title});
    let messages = [
        message(1, "Which database?"),
        message(2, "Postgres on 5433."),
        topic(3, "Uploads"),
        message(4, "Which bucket?"),
    ];
    let chat = json!({"name": "Ops", "type": "private_supergroup", "id": 12345, "messages": messages});
    std::fs::write(&file, chat.to_string()).unwrap();
    home.ok(&["import", &file.display().to_string()]);
    let (hidden, _) = row(&home, "window", "topic created: Uploads");
    assert_eq!(hidden["source"]["external_id"], Value::Null, "not the id of the turn's first message");
    let command = hidden["remedy"].as_str().unwrap().split(' ').take(2).collect::<Vec<_>>().join(" ");
    assert_eq!(command, format!("include {}", &id(&hidden)[..8]));
    home.ok(&["include", &id(&hidden)[..8]]);
    let marked = home.json(&["pins"]);
    assert!(
        home.ok(&["plan", "next", "--policy", "window", "--request"]).contains("topic created: Uploads"),
        "{marked}"
    );
    home.ok(&["undo"]);

    home.ok(&["session", "new"]);
    home.ok(&["add", "user", "Which port?"]);
    let answer = home.ok(&["add", "assistant", "Port 5433."]);
    home.ok(&["exclude", "--message", answer.trim()]);
    let (left_out, _) = row(&home, "window", "Port 5433.");
    home.ok(&["unpin", &id(&left_out)[..8]]);
    assert_eq!(home.json(&["pins"]), json!([]));
}

/// Every row that `plan --json` prints has a history, and a mark on it is made or refused in words about the row.
#[test]
fn every_row_of_the_plan_is_known_by_its_id() {
    let home = Home::new("");
    std::fs::write(home.workspace().join("AGENTS.md"), "Use tabs.\n").unwrap();
    home.ok(&["trust", "--yes"]);
    for text in ["Which database?", "Which port?"] {
        home.ok(&["add", "user", text]);
        home.ok(&["add", "assistant", "Postgres on 5433."]);
    }
    home.ok(&["state", "edit", "The port is 5433."]);
    home.ok(&["personality", "Be brief."]);
    let plan = home.json(&["plan"]);
    let rows: Vec<Value> =
        ["included", "excluded"].iter().flat_map(|list| plan[list].as_array().unwrap().clone()).collect();
    let plan = home.json(&["plan", "Where is the login?", "--mode", "heavy"]);
    let code = plan["excluded"].as_array().unwrap().iter().filter(|row| row["kind"] == "search").cloned();
    let rows: Vec<Value> = rows.into_iter().chain(code).collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    for kind in ["text", "rules", "state", "turn", "search"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    for row in &rows {
        home.ok(&["plans", "why", &id(row)]);
        let history = home.ok(&["plans", "why", &id(row)[..8]]);
        assert!(row["kind"] != "search" || history.starts_with("search of "), "{row}: {history}");
        let wanted = match (row["kind"].as_str().unwrap(), row["section"].as_str().unwrap_or_default()) {
            ("text", "personality") => "This row is the personality; marks have no effect on it. `pleach personality",
            ("text", _) if row["reason"] == "state_requested" => {
                "This row is the request for a state block; marks have no effect on it. state_block ="
            }
            ("text", _) => "This row is a text of the settings; marks have no effect on it. `pleach config path`",
            ("state", _) => "This row is the state block; marks have no effect on it. `pleach state edit TEXT`",
            ("rules", _) => "Pins and leases do not apply to rules",
            ("search", _) if row["title"].as_str().unwrap().contains("code") => {
                "This row is the search of the code; marks have no effect on it."
            }
            _ => continue,
        };
        let refused = home.run(&["pin", &id(row)[..12]]).err;
        assert!(refused.contains(wanted), "{row}: {refused}");
        for command in ["exclude", "include"] {
            let answered = home.run(&[command, &id(row)[..12]]);
            let named = if row["kind"] == "rules" { &answered.out } else { &answered.err };
            assert!(named.contains(if row["kind"] == "rules" { "AGENTS.md" } else { wanted }), "{}", answered.err);
            if answered.code == 0 {
                home.ok(&["undo"]);
            }
        }
    }
}

#[test]
fn marks_on_several_items_name_those_that_stay_as_they_are() {
    let home = Home::new("");
    for text in ["one", "two", "three"] {
        home.ok(&["add", "user", text]);
        home.ok(&["add", "assistant", "Yes."]);
    }
    home.ok(&["pin", "1..2"]);
    let said = home.ok(&["pin", "1", "2", "3"]);
    assert!(said.contains("Pinned turn 3. Unchanged: turn 1, turn 2."), "{said}");
    let said = home.ok(&["exclude", "1..2"]);
    assert!(said.contains("Excluded 2 items, in place of their pins."), "{said}");
    let said = home.ok(&["label", "2", "the", "fix"]);
    assert!(said.contains("Labeled a message of turn 2."), "{said}");
    home.ok(&["fork", "alt"]);
    let refused = home.run(&["branch", "return"]).err;
    assert!(refused.contains("The branch alt has no messages that main lacks."), "{refused}");
}

/// An id of a row that only the plan of some message has is refused, and the refusal says which rows can be named.
#[test]
fn rows_that_depend_on_a_message_cannot_be_named() {
    let home = Home::new("");
    let folder = home.workspace();
    home.configure(&format!("trusted_folders = [{:?}]\n", folder.display().to_string()));
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    std::fs::write(folder.join("deep/AGENTS.md"), "Deep rules.").unwrap();
    home.ok(&["ask", "Hello."]);
    let plan = home.json(&["plan", "What is in @deep/x.rs?"]);
    let rules = |row: &&serde_json::Value| row["source"]["path"] == "deep/AGENTS.md";
    let row = plan["included"].as_array().unwrap().iter().find(rules).unwrap();
    for command in [&["plans", "why"][..], &["exclude"]] {
        let refused = home.run(&[command, &[row["id"].as_str().unwrap()]].concat());
        let expected = "or a row that `pleach plan --json` prints without a message";
        assert!(refused.code == 1 && refused.err.contains(expected), "{} {}", refused.code, refused.err);
    }
}
