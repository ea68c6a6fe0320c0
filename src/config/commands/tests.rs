//! Laws of the table of commands.
//! Not for: what commands do.

use super::args::Args;
use super::read::{Typed, parse, read, split};
use super::table::{ALIASES, ALONE, Row, all, row_of, rows};
use crate::config::keys::actions::Action;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The parsed command line, or clap's error.
fn on_the_command_line(line: &str) -> String {
    let words = std::iter::once("pleach".to_owned()).chain(split(line)).map(OsString::from);
    match parse(words) {
        Ok(args) => format!("{:?}", args.command),
        Err(error) => error.render().to_string(),
    }
}

/// The parsed slash line, or the error.
fn after_a_slash(line: &str) -> String {
    match read(&format!("/{line}")) {
        Ok(Typed::Command(args)) => format!("{:?}", args.command),
        Ok(Typed::Action(action)) => action.name().to_owned(),
        Ok(Typed::Help(text)) | Err(text) => text,
    }
}

/// Commands whose output is for a shell; they are refused inside the running program.
const OF_A_SHELL: [&str; 2] = ["completions", "man"];

#[test]
fn every_example_means_the_same_on_the_command_line_and_after_a_slash() {
    for Row { name, example, .. } in rows() {
        let meant = on_the_command_line(example);
        assert!(meant.starts_with("Some("), "{name}: {meant}");
        if OF_A_SHELL.contains(&name.as_str()) {
            assert!(after_a_slash(example).contains("works only on a shell's command line"), "{example}");
        } else {
            assert_eq!(after_a_slash(example), meant, "{example}");
        }
        assert_eq!(row_of(example).map(|row| row.name.as_str()), Some(name.as_str()), "{example} is of its own row");
    }
}

#[test]
fn every_command_has_a_row_with_description_and_example() {
    fn count(command: &clap::Command) -> usize {
        let own = usize::from(!command.is_subcommand_required_set());
        own + command.get_subcommands().map(count).sum::<usize>()
    }
    let tree: usize = Args::description().get_subcommands().map(count).sum();
    assert_eq!(rows().len(), tree, "every command of the command line is in the table");
    let names: BTreeSet<&str> = all().iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names.len(), all().len(), "no name stands twice");
    for row in rows() {
        assert!(!row.example.is_empty(), "{} has no example", row.name);
        assert!(row.sentence.len() > 4 && row.sentence.ends_with('.'), "{}: {}", row.name, row.sentence);
    }
}

#[test]
fn extra_and_unknown_words_are_refused_with_the_usage() {
    for line in ["context window 3 4", "window 3 4", "context window", "context window many", "mode loud", "undo twice"]
    {
        let said = after_a_slash(line);
        let row = row_of(line).unwrap();
        assert!(said.contains(&format!("Usage: {}.", row.usage())), "{line}: {said}");
        assert!(said.contains(&format!("Example: /{}", row.example)), "{line}: {said}");
        assert!(!said.contains('\n') && !said.starts_with(' '), "{line}: {said}");
    }
    let group = after_a_slash("context windw 3");
    assert!(group.contains("/context window TURNS") && group.contains("/context show"), "{group}");
    let unknown = after_a_slash("fly me");
    assert!(unknown.contains("Unknown command /fly") && unknown.contains("//fly"), "{unknown}");
    assert!(after_a_slash("").contains("/help"));
    assert!(on_the_command_line("context window 3 4").contains("unexpected argument '4'"));
}

#[test]
fn short_names_expand_to_commands() {
    for alias in ALIASES {
        let meant = row_of(alias.means).is_some() || rows().iter().any(|row| row.name.starts_with(alias.means));
        assert!(meant || Action::from_name(alias.means).is_some(), "{} leads nowhere", alias.name);
        assert!(rows().iter().all(|row| row.name != alias.name), "{} is a command of its own", alias.name);
    }
    for (name, means) in ALONE {
        let said = after_a_slash(name);
        assert!(said.starts_with("Some(") || Action::from_name(&said).is_some(), "/{name} is {means}: {said}");
    }
    let same = [
        ("window 3", "context window 3"),
        ("fork retry --at 3", "branch fork retry --at 3"),
        ("rename my own branch", "branch rename \"my own branch\""),
        ("title Login bug", "session rename \"Login bug\""),
        ("note don't ask 'why'", "pin --note \"don't ask why\""),
        ("label the fix", "message label last the fix"),
        ("remember The port is 8080.", "memory add fact The port is 8080."),
        ("remember preference: short answers", "memory add preference short answers"),
        ("remember note: the gate", "memory add fact note: the gate"),
        ("compress 4 model session", "compress --up-to 4 --by-model --whole-session"),
        ("compress --keep 1 3 --accept", "compress --keep 1 3 --accept"),
        ("capsule src by model", "capsule src --by-model"),
        ("race mode:off tokens:400 model:m Why: how?", "race --arm mode:off --max-tokens 400 --arm model:m Why: how?"),
        ("summary show abc", "capsules show abc"),
        ("state set Goal: rest", "state edit Goal: rest"),
        ("lanes", "lane list"),
        ("lanes --json", "lane list --json"),
        ("budget 6,000", "budget 6000"),
        ("request hello", "plan --request hello"),
    ];
    for (short, whole) in same {
        assert_eq!(after_a_slash(short), after_a_slash(whole), "{short}");
        assert_eq!(on_the_command_line(short), on_the_command_line(whole), "{short}");
        assert!(after_a_slash(whole).starts_with("Some("), "{whole}: {}", after_a_slash(whole));
    }
}

#[test]
fn every_action_has_a_slash_name() {
    for action in Action::ALL {
        let said = after_a_slash(action.name());
        assert!(said == action.name() || said.starts_with("Some("), "/{}: {said}", action.name());
    }
    assert_eq!((after_a_slash("quit").as_str(), after_a_slash("exit").as_str()), ("quit", "quit"));
    assert_eq!(after_a_slash("context"), "context");
}

#[test]
fn startup_flags_are_refused_inside() {
    for line in [
        "plan hi --store /x.db",
        "pins -s other",
        "pins -b other",
        "plan hi --mode off",
        "plan hi --model m",
        "ask hi --allow run",
        "doctor --repair",
    ] {
        let said = after_a_slash(line);
        assert!(
            said.contains("works only on a shell's command line") && said.matches(". ").count() == 0,
            "{line}: {said}"
        );
    }
    assert!(after_a_slash("retrieve port --budget 500").starts_with("Some("));
    assert!(after_a_slash("pins --json").starts_with("Some("));
    assert!(after_a_slash("pin --help").contains("Example: pleach pin 3"));
}

#[test]
fn short_names_work_after_global_flags() {
    let words = ["pleach", "-s", "window", "--json", "window", "3"];
    let args = parse(words.map(OsString::from)).unwrap();
    assert_eq!((args.global.session.as_deref(), args.global.json), (Some("window"), true));
    assert_eq!(format!("{:?}", args.command), on_the_command_line("context window 3"));
}

#[test]
fn lines_are_split_as_in_a_shell() {
    assert_eq!(split("branch rename \"a b\" c"), ["branch", "rename", "a b", "c"]);
    assert_eq!(split("  add user 'it is' \"\" "), ["add", "user", "it is", ""]);
    assert_eq!(split("don't say 'yes'?"), ["don't", "say", "'yes'?"], "an apostrophe is part of its word");
    assert_eq!(split("'tis late"), ["'tis", "late"]);
    assert_eq!(split(""), Vec::<String>::new());
}

#[test]
fn a_quoted_message_is_not_a_setting() {
    let words = ["pleach", "race", "cost: what is it?", "--arm", "mode:off", "--arm", "mode:heavy"];
    let args = super::read::parse(words.map(std::ffi::OsString::from)).unwrap();
    let Some(super::command::Command::Race { text, arm, .. }) = args.command else { panic!("it is a race") };
    assert_eq!((text, arm.len()), (vec!["cost: what is it?".to_owned()], 2));
}
