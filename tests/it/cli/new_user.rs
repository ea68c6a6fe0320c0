//! What a person who is new to the program reads: messages about marks, budgets, and requests that do not fit.

use crate::support::binary::{CommandOutput, Home, profile};
use crate::support::server::{Server, end, stream, words};
use serde_json::Value;

/// A conversation of two turns.
fn talk() -> (Home, Server) {
    let server = Server::start(vec![vec![stream(), words("An answer"), words(" in two pieces."), end()]]);
    let home = Home::asking(&server.base_url());
    home.ok(&["ask", "First question"]);
    home.ok(&["ask", "Second question"]);
    (home, server)
}

/// Everything that a command printed, with each run of spaces and line ends as one space.
fn printed(output: &CommandOutput) -> String {
    format!("{} {}", output.out, output.err).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_message_left_out_of_a_turn_is_named() {
    let (home, _server) = talk();
    let answer = home.json(&["message", "list"])[1]["id"].as_str().unwrap().to_owned();
    home.ok(&["exclude", &answer, "--message"]);
    let text = home.ok(&["plan", "Third"]);
    assert!(
        text.contains("You left out the answer of this turn.") && text.contains("answer of turn 1: An answer"),
        "{text}"
    );
    let plan = home.json(&["plan", "Third"]);
    let rows = |part: &str| plan[part].as_array().unwrap().clone();
    let parts: Vec<Value> = rows("included").iter().filter_map(|row| row.get("left_out").cloned()).collect();
    assert_eq!(parts, [serde_json::json!(["answer"])]);
    let left_out: Vec<Value> = rows("excluded").into_iter().filter(|row| row["reason"] == "user_excluded").collect();
    assert_eq!((left_out.len(), &left_out[0]["kind"]), (1, &Value::from("message")), "{left_out:?}");
    assert!(left_out[0]["tokens"].as_u64() > Some(0), "{left_out:?}");
    let pins = home.ok(&["pins"]);
    assert!(pins.contains("answer of turn 1"), "{pins}");
}

/// Nothing in the settings names the state block, and no turn is left out.
#[test]
fn a_plan_says_why_no_state_block_is_requested() {
    let (home, server) = talk();
    let text = printed(&home.run(&["plan", "Third"]));
    let why = "Not needed yet: state_block is auto, the branch has no state block, and no turn is left out.";
    let opens = "`pleach state edit` opens the state block: write one, and the model keeps it up to date.";
    let setting = "state_block = \"on\" in the settings asks in every request, \"off\" in none.";
    assert!(text.contains(&format!("state block: {why} {opens} {setting}")), "{text}");
    let plan = home.json(&["plan", "Third"]);
    let outcome = &plan["state_request"];
    assert_eq!((&outcome["asked"], &outcome["outcome"]), (&false.into(), &"not_needed".into()), "{outcome}");
    assert_eq!((&outcome["sentence"], &outcome["remedies"]), (&why.into(), &serde_json::json!([opens, setting])));
    assert!(outcome["tokens"].as_u64() > Some(100), "{outcome}");
    assert!(plan["excluded"].as_array().unwrap().is_empty(), "an outcome is no item: {plan}");
    home.configure(&format!("state_block = \"off\"\n{}", profile(&server.base_url())));
    assert_eq!(home.json(&["plan", "Third"])["state_request"]["outcome"], "off");
    assert!(home.ok(&["plan", "Third"]).contains("state_block is off: no request asks"));
    home.configure(&format!("state_block = \"on\"\n{}", profile(&server.base_url())));
    assert_eq!(home.json(&["plan", "Third"])["state_request"]["asked"], true);
    let text = home.ok(&["plan", "Third"]);
    assert_eq!(text.matches("request for a state block").count(), 1, "its row says so: {text}");
}

#[test]
fn hints_name_commands_that_exist() {
    let (home, _server) = talk();
    home.ok(&["exclude", "1"]);
    let text = home.ok(&["plan", "Third"]);
    assert!(text.contains("`pleach unpin 1` removes the exclusion"), "{text}");
    assert!(!text.contains("include-once includes"), "{text}");
    home.ok(&["unpin", "1"]);
    assert!(!home.ok(&["plan", "Third"]).contains("removes the exclusion"));
}

#[test]
fn a_request_that_does_not_fit_is_described() {
    let (home, server) = talk();
    home.ok(&["pin", "1"]);
    home.ok(&["budget", "40"]);
    let sent = server.requests().len();
    let plan = home.run(&["plan", "Third"]);
    let text = printed(&plan);
    assert_eq!(plan.code, 3, "{text}");
    assert!(text.contains("The next request does not fit: it needs at least"), "{text}");
    assert!(text.contains("but the budget of 40 leaves 35 after the safety margin."), "{text}");
    assert!(text.contains("raise the budget to ") && !text.contains("prompt budget"), "{text}");
    assert!(text.contains("unpin turn 1 \"First question\" (frees "), "{text}");
    assert!(!text.contains("larger context window") && !text.contains("othing was sent"), "{text}");
    let stats = home.run(&["stats"]);
    let text = printed(&stats);
    assert_eq!(stats.code, 0, "{text}");
    assert!(text.contains("The next request does not fit") && text.contains("messages 4 stored"), "{text}");
    assert!(text.contains(" / 40 tokens ("), "{text}");
    assert_eq!(home.json(&["stats"])["total_budget"], 35, "the contract keeps the tokens that a request may take");
    let ask = home.run(&["ask", "Third"]);
    let text = printed(&ask);
    assert_eq!((ask.code, text.matches("othing was sent").count()), (3, 1), "{text}");
    let race = home.run(&["race", "Third", "--arm", "mode=off", "--arm", "mode=heavy"]);
    let text = printed(&race);
    assert_eq!((race.code, text.matches("needs at least").count()), (3, 1), "{text}");
    assert!(!text.contains("draft"), "{text}");
    assert_eq!(home.json(&["branch", "list"]).as_array().unwrap().len(), 1, "no branch is left behind");
    assert_eq!(server.requests().len(), sent);
}

#[test]
fn the_offline_profile_has_only_its_own_models() {
    let (home, _server) = talk();
    for command in [&["model", "nosuch"][..], &["--model", "nosuch", "plan", "Third"]] {
        let output = home.run(&[&["--profile", "offline"], command].concat());
        assert_eq!(output.code, 2, "{}", output.err);
        for words in ["The profile offline has no model \"nosuch\".", "Its models: offline, offline-brief."] {
            assert!(output.err.contains(words), "{}", output.err);
        }
    }
    assert!(!home.ok(&["--profile", "offline", "model"]).contains("nosuch"), "nothing was stored");
    let output = home.run(&["--profile", "offline", "model", "offline-brief"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""));
}

/// Texts are for people: only JSON has the ids of plans and the digests of requests.
#[test]
fn texts_have_no_digests() {
    let (home, _server) = talk();
    let (next, sent) = (home.json(&["plan", "Third"]), home.json(&["plans", "list"])[1].clone());
    for (command, json) in [
        (&["plan", "Third"][..], &next),
        (&["context", "show", "Third"], &next),
        (&["plans", "show", "2"], &sent),
        (&["plans", "list"], &sent),
        (&["plans", "diff", "1", "2"], &sent),
        (&["replay", "2", "--dry-run"], &sent),
    ] {
        let text = home.ok(command);
        for field in ["plan_id", "request_digest"] {
            let start: String = json[field].as_str().unwrap().chars().take(8).collect();
            assert!(!text.contains(&start), "{command:?} prints the {field}: {text}");
        }
    }
}

/// Texts name calls by as many characters as distinguish them, which commands accept.
#[test]
fn ids_are_short_in_texts_and_whole_in_json() {
    let (home, _server) = talk();
    let is_long = |text: &str| text.split_whitespace().any(|word| word.len() > 30);
    let list = home.ok(&["plans", "list"]);
    for text in [&list, &home.ok(&["plan", "Third"]), &home.ok(&["context", "show", "Third"])] {
        assert!(!is_long(text), "{text}");
    }
    let ids: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids.len(), 2, "{list}");
    for id in ids {
        assert!(home.ok(&["plans", "show", id]).contains(id), "{id}");
    }
    assert!(home.json(&["plans", "list"])[0]["run_id"].as_str().is_some_and(is_long));
}

#[test]
fn doctor_calls_no_profile_used_before_a_session_is_open() {
    let home = Home::new("");
    let text = home.run(&["doctor"]).out;
    assert!(text.contains("(default)") && !text.contains("(in use)"), "{text}");
}

#[test]
fn a_command_that_changes_nothing_says_so() {
    let (home, _server) = talk();
    home.ok(&["exclude", "2"]);
    assert_eq!(home.ok(&["exclude", "2"]).trim(), "Already excluded.");
    assert_eq!(home.ok(&["exclude", "2", "--once"]).trim(), "Already excluded; `pleach include` includes it.");
    assert_eq!(home.ok(&["budget", "0"]).trim(), "No change.");
    home.ok(&["undo"]);
    assert_eq!(home.json(&["pins"]), serde_json::json!([]), "only the first command is an operation");
    home.ok(&["pin", "2"]);
    assert_eq!(home.ok(&["pin", "2"]).trim(), "Already pinned.");
    home.ok(&["mode", "heavy"]);
    assert_eq!(home.ok(&["mode", "heavy"]).trim(), "No change.");
}

/// The branch keeps a chosen setting when the default changes. Storing it is a step, because undo removes it.
#[test]
fn a_choice_that_equals_the_default_is_stored() {
    let (home, _server) = talk();
    let shown =
        |from: &str| format!("Branch main is in mode Light ({from}). `pleach mode off|light|heavy` changes it.");
    assert_eq!(home.ok(&["mode"]).trim(), shown("from the settings"));
    assert_eq!(home.ok(&["mode", "light"]).trim(), "Set the mode of main to Light. `pleach undo` undoes it.");
    assert_eq!(home.ok(&["mode"]).trim(), shown("set for this branch"));
    assert_eq!(home.ok(&["mode", "light"]).trim(), "No change.");
    home.ok(&["undo"]);
    assert_eq!(home.ok(&["mode"]).trim(), shown("from the settings"));
}

#[test]
fn tasks_and_numbers_are_explained() {
    let (home, _server) = talk();
    let missing = home.run(&["pin"]);
    assert!(
        missing.code == 2 && missing.err.contains("The argument ITEM is missing. Usage: pleach pin"),
        "{}",
        missing.err
    );
    assert!(home.run(&["task"]).err.contains("No task is running here. `pleach task start NAME` starts a task."));
    let missing = home.run(&["race", "Which?"]);
    let needed = missing.code == 2 && missing.err.contains("A race needs two or more branches: give --arm for each");
    assert!(needed, "{}", missing.err);
    home.ok(&["task", "start", "fix"]);
    home.ok(&["task", "finish"]);
    let budget = home.run(&["budget", "-5"]);
    assert_eq!(budget.code, 2);
    assert!(budget.err.contains("must be a number of tokens"), "{}", budget.err);
}

/// Flags of the command line hold until the person chooses another setting, and again after an undo.
#[test]
fn a_choice_takes_precedence_over_a_flag() {
    let (home, _server) = talk();
    let lines = b"/context\n/mode off\n/context\n/undo\n/context\n/fork side\n/mode light\n/context\n/quit\n";
    let plain = home.with_input(&["--plain", "--mode", "heavy"], lines);
    let modes: Vec<&str> = plain.out.split(" · mode ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert_eq!(modes, ["Heavy", "Off", "Heavy", "Light"], "{}", plain.out);
}

/// In line mode, commands that make something print a sentence without ids, and the label of an answer stands only
/// before the text of an answer. The command line prints the ids, which scripts read.
#[test]
fn line_mode_prints_sentences() {
    let (home, _server) = talk();
    assert!(home.ok(&["session", "new"]).trim().contains('-'));
    let lines =
        b"Hi\n/regenerate\n/context\n/fork x\n/remember preference short answers\n/note\n/budget 20\nHi again\n\
        /trust-folder\n/clear\n/session new Bees\n/quit\n";
    let plain = home.with_input(&["--plain"], lines);
    let has_line = |line: &str| assert!(plain.out.lines().any(|printed| printed == line), "{line}: {}", plain.out);
    for line in [
        "Now on the new branch x.",
        "Remembered: short answers",
        "New session.",
        "New session: Bees",
        "  (nothing typed yet)",
    ] {
        has_line(line);
    }
    assert!(!plain.out.contains("\nrequest ") && !plain.out.contains(" · plan "), "{}", plain.out);
    let labels: Vec<&str> = plain
        .out
        .lines()
        .zip(plain.out.lines().skip(1))
        .filter_map(|(line, next)| (line == "answer:").then_some(next))
        .collect();
    assert_eq!(labels, ["An answer in two pieces."; 2], "{}", plain.out);
    let missing = "The argument TEXT is missing. Usage: /note TEXT. Example: /note We use PostgreSQL 16.";
    assert!(plain.err.contains(missing), "{}", plain.err);
    assert!(plain.err.contains("No terminal to ask on. Run `/trust --yes`."), "{}", plain.err);
    let exported = home.ok(&["export", "--format", "json"]);
    assert_eq!(exported, home.ok(&["export", "--format", "jsonl"]));
}

/// An edit or another answer in the middle of a branch says how many messages are kept, and undo returns to them. A pin
/// that another mark replaces is named, and including a pinned item changes nothing.
#[test]
fn acts_that_replace_something_say_so() {
    let home = Home::new("");
    for question in ["First?", "Second?", "Third?"] {
        home.ok(&["ask", question]);
    }
    let regenerated = home.run(&["regenerate", "1"]);
    assert!(regenerated.err.contains("5 messages after the old version are kept"), "{}", regenerated.err);
    home.ok(&["undo"]);
    let edited = home.run(&["edit", "2", "Another second?"]);
    assert!(edited.err.contains("3 messages after the old version are kept"), "{}", edited.err);
    home.ok(&["undo"]);
    assert!(!home.run(&["regenerate"]).err.contains("are kept"), "only the answer was replaced");
    home.ok(&["undo"]);
    home.ok(&["pin", "1"]);
    let again = home.ok(&["include", "1"]);
    assert!(again.contains("Already pinned, so every request includes it."), "{again}");
    let once = home.ok(&["exclude", "--once", "1"]);
    assert!(once.contains("in place of its pin"), "{once}");
}

#[test]
fn planning_creates_no_session() {
    let home = Home::new("");
    let text = home.ok(&["plan", "Why does the login fail?"]);
    assert!(
        text.contains("Why does the login fail?") && text.contains("Instructions, sent with every request."),
        "{text}"
    );
    let body = home.ok(&["plan", "--request", "Why does the login fail?"]);
    assert!(body.contains("Why does the login fail?"), "{body}");
    assert!(home.json(&["plan", "--what-if", "Why?"])["ways"].as_array().is_some_and(|ways| !ways.is_empty()));
    assert!(home.ok(&["build", "Why?"]).contains("Why?") && home.ok(&["context", "show"]).contains("model"));
    for list in [&["project"][..], &["skill"], &["module-summary"]] {
        home.ok(list);
    }
    assert_eq!(home.json(&["session", "list"]), serde_json::json!([]));
    assert_eq!(home.ok(&["session", "list"]).trim(), "No sessions yet.");
    let unknown = home.run(&["-s", "work", "plan", "Why?"]);
    assert!(unknown.code == 1 && unknown.err.contains("There is no session \"work\"."), "{}", unknown.err);
    home.ok(&["ask", "Why does the login fail?"]);
    assert_eq!(home.json(&["session", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn texts_for_other_programs_are_never_json() {
    let home = Home::new("");
    for (line, usage) in [
        (&["completions", "bash", "--json"][..], "Usage: pleach completions SHELL. Example: pleach completions bash"),
        (&["man", "--json"][..], "Usage: pleach man. Example: pleach man"),
    ] {
        let refused = home.run(line);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{line:?}: {}", refused.err);
        assert!(refused.err.contains(usage) && refused.err.contains("prints no JSON"), "{}", refused.err);
    }
}
