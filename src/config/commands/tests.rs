//! Tests of the table of commands and of the parser.
//! Not for: what commands do.

use super::args::Args;
use super::read::{Typed, earlier_names, missing_arguments, parse, read, split};
use super::table::{ALIASES, BARE_NAMES, GROUPS, Row, SHELL_ONLY, UNLISTED, all, row_of, rows};
use super::usage_error::usage_on_command_line;
use crate::config::keys::actions::Action;
use std::collections::BTreeSet;
use std::ffi::OsString;

fn command_words(line: &str) -> impl Iterator<Item = OsString> {
    std::iter::once("pleach".to_owned()).chain(split(line)).map(OsString::from)
}

/// Parses a command line. Returns the command in debug form, or the usage error.
fn parse_command_line(line: &str) -> String {
    match parse(command_words(line)) {
        Ok(args) => format!("{:?}", args.command),
        Err(error) => usage_on_command_line(command_words(line), &error),
    }
}

/// Parses a slash line. Returns the command in debug form, the action's name, or the error.
fn parse_slash_line(line: &str) -> String {
    match read(&format!("/{line}")) {
        Ok(Typed::Command(args)) => format!("{:?}", args.command),
        Ok(Typed::Action(action)) => action.name().to_owned(),
        Ok(Typed::Help(text)) | Err(text) => text,
    }
}

#[test]
fn every_example_means_the_same_on_the_command_line_and_after_a_slash() {
    for Row { name, example, .. } in rows() {
        let meant = parse_command_line(example);
        assert!(meant.starts_with("Some("), "{name}: {meant}");
        if SHELL_ONLY.contains(&name.as_str()) {
            assert!(parse_slash_line(example).contains("works only on the command line"), "{example}");
        } else {
            assert_eq!(parse_slash_line(example), meant, "{example}");
        }
        assert_eq!(row_of(example).map(|row| row.name.as_str()), Some(name.as_str()), "{example} is of its own row");
    }
}

#[test]
fn short_names_have_examples_of_their_own_and_say_what_a_set_flag_does() {
    for alias in ALIASES {
        let Some(row) = all().iter().find(|row| row.name == alias.name) else {
            assert!(Action::from_name(alias.means).is_some(), "/{}", alias.name);
            continue;
        };
        assert!(row.example.starts_with(alias.name), "/{}: {}", row.name, row.example);
        let target = rows().iter().find(|target| target.name == alias.means.split(" --").next().unwrap());
        let same = target.is_some_and(|target| target.sentence == row.sentence);
        assert!(!(alias.means.contains("--") && same), "/{}: {}", row.name, row.sentence);
        assert!(parse_slash_line(&row.example).starts_with("Some("), "{}", row.example);
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
    for line in [
        "context window 3 4",
        "window 3 4",
        "context window",
        "context window many",
        "mode loud",
        "undo twice",
        "compare a b c",
    ] {
        let output = parse_slash_line(line);
        let row = row_of(line).unwrap();
        assert!(output.contains(&format!("Usage: {}.", row.usage())), "{line}: {output}");
        assert!(output.contains(&format!("Example: /{}", row.example)), "{line}: {output}");
        assert!(!output.contains('\n') && !output.starts_with(' '), "{line}: {output}");
    }
    let group = parse_slash_line("context windw 3");
    assert!(group.contains("/context window TURNS") && group.contains("/context show"), "{group}");
    let unknown = parse_slash_line("fly me");
    assert!(unknown.contains("Unknown command /fly") && unknown.contains("//fly"), "{unknown}");
    assert!(parse_slash_line("").contains("/help"));
    assert!(parse_command_line("context window 3 4").starts_with("Unexpected argument '4'. Usage: pleach context"));
}

#[test]
fn the_command_line_refuses_with_the_usage_of_the_slash_command() {
    for line in [
        "unpin --message",
        "mode heavy --nope",
        "mode zzz",
        "budget abc",
        "lease 3 --turns 0",
        "context window many",
        "context windw 3",
        "mcp zzz9",
        "rules zzz9",
        "plans zzz9",
        "session frobnicate",
        "capsules zzz9",
    ] {
        let slash = parse_slash_line(line);
        assert!(slash.contains("Usage: /") && slash.contains("Example: /"), "{line}: {slash}");
        assert_eq!(parse_command_line(line), slash.replace(" /", " pleach "), "{line}");
    }
    for (line, usage) in [("mcp zzz9", "/mcp test"), ("rules zzz9", "/rules allow"), ("lane a --nope", "/lane list")] {
        assert!(parse_slash_line(line).contains(usage), "{line}: {}", parse_slash_line(line));
    }
    let other = "Unknown command pleach plna. Did you mean pleach plan? `pleach --help` lists all commands.";
    assert_eq!(parse_command_line("plna"), other);
    assert!(parse_slash_line("contxt").contains("Did you mean /context?"), "{}", parse_slash_line("contxt"));
    for unlike in ["nosuch", "cost"] {
        assert!(!parse_command_line(unlike).contains("Did you mean"), "{}", parse_command_line(unlike));
    }
    assert_eq!(parse_slash_line("quit now"), "/quit takes no arguments.");
    assert!(parse_slash_line("help budgte").starts_with("Unknown command /budgte. Did you mean /budget?"));
    assert!(parse_command_line("session rename").starts_with("The argument TITLE is missing."));
    assert_eq!(
        parse_slash_line("note"),
        "The argument TEXT is missing. Usage: /note TEXT. Example: /note We use PostgreSQL 16."
    );
    assert!(parse_command_line("pin --note").starts_with("--note needs a value: TEXT. Usage: pleach pin"));
    let global = parse_command_line("--nope");
    assert!(
        global.contains("'--nope'") && global.ends_with("`pleach --help` lists all commands and flags."),
        "{global}"
    );
    assert_eq!(
        parse_command_line("label"),
        "The argument MESSAGE is missing. Usage: pleach label [MESSAGE] [LABEL…]. Example: pleach label 3 the fix"
    );
    let flag = parse_command_line("--budget many plan hi");
    assert!(flag.contains("Usage: pleach plan [TEXT…]") && flag.contains("[--budget TOKENS]. Example"), "{flag}");
    assert!(parse_command_line("--budget 0").contains("Usage: pleach COMMAND [--budget TOKENS]."));
}

#[test]
fn context_alone_shows_the_plan_on_the_command_line() {
    assert_eq!(parse_command_line("context"), parse_command_line("plan"));
    assert_eq!(parse_command_line("context --json"), parse_command_line("plan --json"));
    assert_eq!(parse_slash_line("context"), "context", "the action of the program");
}

#[test]
fn names_of_screens_list_on_the_command_line() {
    for (name, command) in [("branches", "branch list"), ("memories", "memory list")] {
        assert_eq!(parse_command_line(name), parse_command_line(command));
        assert_eq!(parse_command_line(&format!("{name} --json")), parse_command_line(&format!("{command} --json")));
        assert_eq!(parse_slash_line(name), name, "the action of the program");
    }
    assert!(parse_command_line("branches main").starts_with("Unknown command pleach branches."));
}

#[test]
fn a_command_that_is_also_an_action_names_its_missing_arguments() {
    for (name, missing) in [
        ("pin", "argument ITEM is"),
        ("edit", "arguments MESSAGE and TEXT are"),
        ("replay", "argument RUN is"),
        ("compare", "argument BRANCH is"),
    ] {
        let refusal = missing_arguments(name).unwrap();
        assert!(refusal.starts_with(&format!("The {missing} missing. Usage: /{name} ")), "{refusal}");
    }
    assert_eq!(missing_arguments("zen"), None);
}

#[test]
fn short_names_expand_to_commands() {
    for alias in ALIASES.iter().chain(UNLISTED) {
        let meant = row_of(alias.means).is_some() || rows().iter().any(|row| row.name.starts_with(alias.means));
        assert!(meant || Action::from_name(alias.means).is_some(), "{} leads nowhere", alias.name);
        assert!(rows().iter().all(|row| row.name != alias.name), "{} is a command of its own", alias.name);
    }
    for (name, means) in BARE_NAMES {
        let output = parse_slash_line(name);
        assert!(output.starts_with("Some(") || Action::from_name(&output).is_some(), "/{name} is {means}: {output}");
    }
    let same = [
        ("window 3", "context window 3"),
        ("fork retry --at 3", "branch fork retry --at 3"),
        ("rename my own branch", "branch rename \"my own branch\""),
        ("title Login bug", "session rename \"Login bug\""),
        ("compare main \"my branch\"", "branch compare main \"my branch\""),
        ("note don't ask 'why'", "pin --note \"don't ask why\""),
        ("label the fix", "message label last the fix"),
        ("label 2 the fix", "message label 2 the fix"),
        ("label 019a7c42 the fix", "message label 019a7c42 the fix"),
        ("label last try", "message label last try"),
        ("label 2", "message label 2"),
        ("label last", "message label last"),
        ("label 019a7c42", "message label 019a7c42"),
        ("label 2024", "message label last 2024"),
        ("message favourite 2", "message favorite 2"),
        ("label 3rd try", "message label last 3rd try"),
        ("remember The port is 8080.", "memory add fact The port is 8080."),
        ("remember preference: short answers", "memory add preference short answers"),
        ("remember fact The port is 8080.", "memory add fact The port is 8080."),
        ("remember preference short answers", "memory add preference short answers"),
        ("remember Fact is not fiction", "memory add fact Fact is not fiction"),
        ("remember fact", "memory add fact fact"),
        ("remember event --all", "memory add fact event --all"),
        ("remember note: the gate", "memory add fact note: the gate"),
        ("compress 4 model session", "compress --up-to 4 --by-model --whole-session"),
        ("compress --keep 1 3 --accept", "compress --keep 1 3 --accept"),
        ("capsule src by model", "module-summary src --by-model"),
        ("race mode:off tokens:400 model:m Why: how?", "race --arm mode:off --max-tokens 400 --arm model:m Why: how?"),
        ("capsules show abc", "summary show abc"),
        ("capsule src --undo", "module-summary src --undo"),
        ("summaries show abc", "summary show abc"),
        ("summaries list --json", "summary list --json"),
        ("summaries undo", "summary undo"),
        ("compaction", "summaries"),
        ("compaction off", "summaries off"),
        ("compaction ask", "summaries draft"),
        ("compaction self", "summaries auto"),
        ("summaries self", "summaries auto"),
        ("compaction policy --json", "summaries policy --json"),
        ("state set Goal: rest", "state edit Goal: rest"),
        ("lanes", "lane list"),
        ("lanes --json", "lane list --json"),
        ("budget 6,000", "budget 6000"),
        ("request hello", "plan --request hello"),
    ];
    for (short, whole) in same {
        assert_eq!(parse_slash_line(short), parse_slash_line(whole), "{short}");
        assert_eq!(parse_command_line(short), parse_command_line(whole), "{short}");
        assert!(parse_slash_line(whole).starts_with("Some("), "{whole}: {}", parse_slash_line(whole));
    }
}

#[test]
fn a_note_may_start_with_a_hyphen() {
    for parsed in [parse_slash_line("note - buy milk"), parse_command_line("note - buy milk")] {
        assert!(parsed.contains("note: Some(\"- buy milk\")"), "{parsed}");
    }
    assert!(parse_slash_line("note --help").contains("Usage: /pin"), "{}", parse_slash_line("note --help"));
    assert!(parse_slash_line("note").contains("Usage: /note TEXT"), "{}", parse_slash_line("note"));
}

/// A command without a group would be listed under sessions.
#[test]
fn each_command_has_a_group() {
    let words: Vec<&str> = GROUPS.iter().flat_map(|(_, words)| words.split(' ')).collect();
    for row in rows() {
        let first = row.name.split(' ').next().unwrap();
        assert!(words.contains(&first) || Action::from_name(&row.name).is_some(), "{} has no group", row.name);
    }
    let lone = words.iter().find(|word| !rows().iter().any(|row| row.name.split(' ').next() == Some(word)));
    assert_eq!(lone, None);
}

#[test]
fn an_earlier_name_gives_one_notice_with_the_current_one() {
    for (line, wanted) in [
        ("compaction off", "compaction is now summaries."),
        ("-s work capsules", "capsules is now summary."),
        ("capsule src --undo", "capsule is now module-summary."),
        ("summaries undo", "summaries undo is now summary undo."),
        ("message favourite 2", "message favourite is now message favorite."),
        ("message labels --favourites", "--favourites is now --favorites."),
    ] {
        assert_eq!(earlier_names(&split(line)), [format!("{wanted} The earlier name still works.")], "{line}");
    }
    for line in ["summaries off", "summary list", "ask about the compaction", "window 3"] {
        assert_eq!(earlier_names(&split(line)), Vec::<String>::new(), "{line}");
    }
}

/// Short forms that clap does not know are in the help.
#[test]
fn short_forms_are_in_the_help() {
    for (command, form) in [("compress", "[TURN] [model|extractive] [session]"), ("module-summary", "PATH by model")] {
        assert!(row_of(command).unwrap().sentence.contains(form), "{command}");
        assert!(parse_slash_line(&format!("{command} --help")).replace('\n', " ").contains(form), "{command}");
    }
}

/// A wrong value after an earlier name is refused with the usage of the present one, and the earlier name is not listed.
#[test]
fn earlier_names_are_not_listed() {
    let output = parse_slash_line("compaction loud");
    let usage = "Usage: /summaries [off|draft|auto|policy]. Example: /summaries draft";
    assert!(output.contains("must be off, draft, auto, or policy") && output.ends_with(usage), "{output}");
    assert!(all().iter().all(|row| UNLISTED.iter().all(|alias| row.name != alias.name)));
}

#[test]
fn every_action_has_a_slash_name() {
    for action in Action::ALL {
        let output = parse_slash_line(action.name());
        assert!(output == action.name() || output.starts_with("Some("), "/{}: {output}", action.name());
    }
    assert_eq!((parse_slash_line("quit").as_str(), parse_slash_line("exit").as_str()), ("quit", "quit"));
    assert_eq!(parse_slash_line("context"), "context");
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
        let output = parse_slash_line(line);
        assert!(
            output.contains("works only on the command line") && output.matches(". ").count() == 0,
            "{line}: {output}"
        );
    }
    assert!(parse_slash_line("retrieve port --budget 500").starts_with("Some("));
    assert!(parse_slash_line("pins --json").starts_with("Some("));
    assert!(parse_slash_line("pin --help").contains("Example: /pin 3"));
}

#[test]
fn short_names_work_after_global_flags() {
    let words = ["pleach", "-s", "window", "--json", "window", "3"];
    let args = parse(words.map(OsString::from)).unwrap();
    assert_eq!((args.global.session.as_deref(), args.global.json), (Some("window"), true));
    assert_eq!(format!("{:?}", args.command), parse_command_line("context window 3"));
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
    let args = parse(words.map(OsString::from)).unwrap();
    let Some(super::command::Command::Race { text, arm, .. }) = args.command else { panic!("it is a race") };
    assert_eq!((text, arm.len()), (vec!["cost: what is it?".to_owned()], 2));
}

#[test]
fn a_number_out_of_range_is_answered_with_the_numbers_that_are_allowed() {
    for (line, allowed) in [
        ("plan --budget 0", "must be 1 or more."),
        ("lease 3 --turns 0", "must be 1 or more."),
        ("pin 3 --turns x", "must be a whole number, 1 or more."),
        ("compress --up-to 0", "must be 1 or more."),
        ("compress --up-to 4294967296", "is too large."),
        ("session search x --limit 501", "must be from 1 to 500."),
        ("add user x --priority 101", "must be from 0 to 100."),
        ("add user x --priority=-1", "must be a whole number, from 0 to 100."),
        ("context window x", "must be a whole number, 0 or more."),
        ("message read x", "must be a whole number, 0 or more."),
        ("race x --arm mode=off --max-tokens x", "must be a whole number, 0 or more."),
    ] {
        for error in [parse_command_line(line), parse_slash_line(line)] {
            assert!(error.contains(allowed), "{line}: {error}");
        }
    }
}

#[test]
fn every_name_has_help() {
    let help =
        |line: &str| parse(command_words(line)).err().map(|error| error.render().to_string()).unwrap_or_default();
    let names = ALIASES.iter().map(|alias| alias.name).chain(BARE_NAMES.iter().map(|(name, _)| *name));
    for name in names.chain(rows().iter().map(|row| row.name.as_str())) {
        let text = help(&format!("help {name}"));
        assert!(text.contains("Usage: pleach"), "help {name}: {text}");
        assert!(matches!(read(&format!("/help {name}")), Ok(Typed::Help(_))), "/help {name}");
    }
    let words = ["/opt/bin/pleach-0.1", "help", "fork"].map(OsString::from);
    let text = parse(words).err().map(|error| error.render().to_string()).unwrap_or_default();
    assert!(text.contains("Usage: pleach branch fork"), "{text}");
}

/// The sentence about an unknown command repeats what was typed, without the `help` before it.
#[test]
fn help_of_an_unknown_command_names_the_command() {
    for (line, name) in
        [("help nosuch", "nosuch"), ("nosuch --help", "nosuch"), ("help context nosuch", "context nosuch")]
    {
        let start = |prefix: &str| format!("Unknown command {prefix}{name}. ");
        assert!(parse_command_line(line).starts_with(&start("pleach ")), "{}", parse_command_line(line));
        assert!(parse_slash_line(line).starts_with(&start("/")), "{}", parse_slash_line(line));
    }
}

/// Usages and sentences name an argument by what it takes, without the brackets and lists of the parser.
#[test]
fn arguments_are_named_by_what_they_take() {
    for (line, parts) in [
        ("plans show", ["argument RUN is missing", "plans show RUN. "]),
        ("plans diff", ["argument RUN is missing", "plans diff RUN [RUN]. "]),
        ("branch compare", ["argument BRANCH is missing", "compare BRANCH [BRANCH]. "]),
        ("session search", ["argument WORDS is missing", "session search WORDS… [--limit N]. "]),
        ("pin --message", ["argument ITEM is missing", "pin ITEM… [--turns N] "]),
        ("retrieve", ["argument QUERY is missing", "retrieve QUERY… [--batch FILE] "]),
        ("window three", ["'three' for 'TURNS': must be", "window TURNS. "]),
        ("pin 3 --turns x", ["'x' for '--turns N': must be", "pin [ITEM…] [--turns N] "]),
        ("completions nosh", ["'nosh' for 'SHELL': must be bash, elvish, fish, powershell, or zsh.", "SHELL. "]),
        ("export --format x", ["'--format FORMAT': must be jsonl, markdown, html, or bundle.", "export [FILE] "]),
    ] {
        for error in [parse_command_line(line), parse_slash_line(line)] {
            assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
        }
    }
}

/// A word that starts with a setting is the settings of a branch, so that its other parts are read as settings too.
#[test]
fn a_part_that_is_no_setting_does_not_make_a_message_of_the_settings() {
    for line in ["race mode:off,x hello", "race --arm mode:off,x hello"] {
        for parsed in [parse_command_line(line), parse_slash_line(line)] {
            assert!(parsed.contains("text: [\"hello\"], arm: [\"mode:off,x\"]"), "{line}: {parsed}");
        }
    }
}

/// Descriptions of commands and actions use one word for each idea.
#[test]
fn descriptions_use_one_word_for_each_idea() {
    for row in all() {
        let mut words = row.sentence.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
        assert!(!words.any(|word| ["star", "starred", "unstar"].contains(&&*word)), "{}: {}", row.name, row.sentence);
    }
    let about = Args::description().find_subcommand("context").unwrap().get_about().unwrap().to_string();
    assert!(about.ends_with("or rebuild the state block"), "{about}");
}
