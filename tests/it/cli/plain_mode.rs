//! `--plain` on the real binary: where the conversation continues after a command, and the words of its answers.
//! Not for: reading a line (`config::commands`), or an answer that streams (`drafts`).

use crate::support::binary::{CommandOutput, Home};

fn lines(home: &Home, lines: &[&str]) -> CommandOutput {
    let printed = home.with_input(&["--plain"], format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!(printed.code, 0, "{}\n{}", printed.out, printed.err);
    printed
}

/// The names and the numbers of messages of the branches, with a mark for an archived one.
fn branches(home: &Home) -> Vec<String> {
    let listed = home.json(&["branch", "list"]);
    let shape = |branch: &serde_json::Value| {
        let archived = if branch["archived"] == true { " archived" } else { "" };
        format!("{} {}{archived}", branch["name"].as_str().unwrap(), branch["messages"])
    };
    listed.as_array().unwrap().iter().map(shape).collect()
}

#[test]
fn the_next_message_goes_to_the_branch_that_is_open() {
    let home = Home::new("");
    let printed = lines(&home, &["one", "/fork new1", "/undo", "two"]);
    assert_eq!(branches(&home), ["main 4", "new1 2 archived"], "{}", printed.out);
    assert!(printed.out.contains("You are now on main."), "{}", printed.out);

    let home = Home::new("");
    let printed = lines(&home, &["one", "/fork new1", "/branch archive", "two", "/redo", "/branch list"]);
    assert_eq!(branches(&home), ["main 4", "new1 2 archived"], "{}", printed.out);
    assert_eq!(printed.out.matches("You are now on").count(), 1, "{}", printed.out);

    let home = Home::new("");
    let race = "/race --arm mode=off --arm mode=heavy hello";
    let printed = lines(&home, &["one", race, "/branch keep race-1", "two"]);
    assert_eq!(branches(&home), ["main-before-1 2 archived", "main 6", "race-2 4 archived"], "{}", printed.out);
    assert!(printed.out.contains("You are now on main."), "{}", printed.out);
}

#[test]
fn another_process_does_not_move_the_conversation() {
    let home = Home::new("");
    home.ok(&["session", "new", "second"]);
    home.ok(&["session", "new", "first"]);
    let mut child = home.command(&["--plain"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("Session first.") {
        let read = std::io::BufRead::read_line(&mut out, &mut seen).unwrap();
        assert!(read > 0, "{seen}");
    }
    home.ok(&["session", "switch", "second"]);
    std::io::Write::write_all(&mut input, b"/mode off\none\n").unwrap();
    drop(input);
    std::io::Read::read_to_string(&mut out, &mut seen).unwrap();
    assert!(child.wait().unwrap().success(), "{seen}");
    let messages = |name: &str| home.json(&["-s", name, "message", "list"]).as_array().unwrap().len();
    assert_eq!((messages("first"), messages("second")), (2, 0), "{seen}");
}

#[test]
fn answers_name_the_word_that_was_typed() {
    let home = Home::new("");
    let printed = lines(&home, &["/title", "/search", "/zen"]);
    assert!(!printed.err.contains("rename-session") && !printed.err.contains("/find"), "{}", printed.err);
    assert!(printed.err.contains("/title"), "{}", printed.err);
    assert!(printed.err.contains("/search"), "{}", printed.err);
    assert!(printed.err.contains("/zen works only in the workbench."), "{}", printed.err);
    let refused = home.run(&["exit"]);
    assert!(refused.code == 2 && refused.err.contains("Unknown command pleach exit."), "{}", refused.err);
}

#[test]
fn every_door_lists_memories_for_the_bare_word() {
    let home = Home::new("");
    home.ok(&["remember", "the port is 8080"]);
    let listed = home.ok(&["remember"]);
    assert!(listed.contains("the port is 8080"), "{listed}");
    let printed = lines(&home, &["/remember"]);
    assert!(printed.out.contains("the port is 8080"), "{}", printed.out);
}

#[test]
fn help_inside_the_program_has_slashes_and_no_startup_flags() {
    let home = Home::new("");
    let printed = lines(&home, &["/help mode"]);
    assert!(printed.out.contains("Usage: /mode") && printed.out.contains("Example: /mode"), "{}", printed.out);
    for refused in ["pleach mode", "--store", "--mode", "--demo", "Options of all commands"] {
        assert!(!printed.out.contains(refused), "{refused}: {}", printed.out);
    }
    assert!(home.ok(&["help", "mode"]).contains("--store"));
}

/// Commands in answers start with a slash, and text of the conversation is printed as it is.
#[test]
fn answers_name_commands_as_they_are_typed() {
    let home = Home::new("");
    home.ok(&["add", "user", "What does `pleach plan` print?"]);
    for (line, wanted) in [
        ("/summary list", "No summaries on this branch; `/compress` drafts one."),
        ("/summary draft", "No summary draft is waiting on this branch. `/compress` prints a new draft;"),
        ("/summary discard", "No summary draft is waiting on this branch. `/compress` prints a new draft;"),
        ("/layout", "Branch main uses the layout cache_friendly (from the policy). `/layout classic|cache_friendly`"),
        ("/focus", "Branch main has no code focus. `/focus PATH` sets it."),
        ("/lane", "goes into the root lane (the window holds all lanes). `/lane NAME` changes it."),
        ("/read", "What does `pleach plan` print?"),
        ("/compaction", "compaction is now summaries. The earlier name still works."),
        ("/label", "The argument MESSAGE is missing. Usage: /label [MESSAGE] [LABEL…]."),
        ("/session delete 99", "There is no session \"99\". `/session list` lists the sessions."),
        ("/session rename Auth", "to \"Auth\". `/undo` undoes it."),
        ("/rules", "No rules: reads run; everything else asks."),
        ("/traces", "No tool calls found."),
    ] {
        let printed = lines(&home, &[line]);
        let said = format!("{}{}", printed.out, printed.err);
        assert!(said.contains(wanted), "{line}: {said}");
        assert!(line == "/read" || !said.contains("`pleach "), "{line}: {said}");
    }
    let help = lines(&home, &["/help"]).out;
    assert!(help.contains("\n/mode ") && !help.contains("\n/man ") && !help.contains("\n/completions "), "{help}");
}

#[test]
fn an_unknown_theme_is_answered_alike() {
    let home = Home::new("");
    let refused = home.run(&["theme", "nope"]).err;
    assert!(refused.contains("There is no theme \"nope\". Known names: auto, "), "{refused}");
    let printed = lines(&home, &["/theme nope"]);
    assert!(printed.err.contains("There is no theme \"nope\". Known names: auto, "), "{}", printed.err);
}
