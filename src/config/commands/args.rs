//! The command line: a command and the flags that every command accepts. The help texts document every command.
//! Not for: the commands themselves (`command`), or running them (`cli`, `tui`).

use super::EXAMPLE_PREFIX;
use super::calls::Replay;
use super::command::Command;
use super::number::number;
use super::system::ProgramCommand;
use super::table;
use crate::domain::conversation::Overrides;
use crate::domain::planning::{Layout, Mode};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, CommandFactory, Parser};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Without a command, pleach opens the workbench; with --plain, a line-by-line conversation.

-s and -b take an id, a unique prefix of an id, or a name. The default is the session and branch used last.
MESSAGE and ITEM take a turn number, a message id, a unique prefix of an id, the id from an import (`id:7` if it is a \
number), or `last`. Commands that mark items also take a range of turns: 2..4.
RUN takes a turn number (its newest call), `last`, or a unique prefix of an id.
TEXT can be `-` for standard input; otherwise, piped input follows the words of a message or text.
--json prints one JSON value (an array for lists) with invisible characters escaped.

Exit codes: 0 success, 1 failure, 2 usage or configuration error, 3 blocked by the budget, 4 model server error, \
5 store error, 6 another process uses the branch (see --wait), 130 interrupted.
Environment variables: PLEACH_STORE, PLEACH_PROFILE, PLEACH_MODEL, PLEACH_MODE, OPENAI_BASE_URL, OPENAI_API_KEY, \
NO_COLOR, NO_MOTION.";

/// A terminal workbench for branching conversations with language models. You see and decide what every request
/// contains.
#[derive(Parser, Clone, Debug)]
#[command(name = "pleach", version, after_help = AFTER_HELP, max_term_width = 100)]
#[command(mut_subcommands(complete_help))]
pub struct Args {
    /// Flags that every command accepts.
    #[command(flatten)]
    pub global: Global,
    /// Use a line-by-line conversation, for screen readers, pipes, and simple terminals.
    #[arg(long)]
    pub plain: bool,
    /// The command; without one, the workbench opens.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The flags of all commands that only calls and plans use.
const OF_CALLS: [&str; 7] = ["mode", "policy", "layout", "budget", "model", "profile", "allow"];

/// The commands that neither call a model nor plan a request, with their subcommands. They accept the flags of calls
/// without effect, and their help does not list them.
const WITHOUT_CALLS: &[&str] = &[
    "add",
    "backups",
    "branch",
    "completions",
    "config",
    "export",
    "import",
    "man",
    "memory",
    "message",
    "pin",
    "pins",
    "unpin",
    "exclude",
    "include",
    "redo",
    "rules",
    "session delete",
    "session list",
    "session new",
    "session rename",
    "session search",
    "session switch",
    "state",
    "task",
    "theme",
    "trust",
    "undo",
];

/// The flags of all commands that this command accepts without effect.
fn unused_flags(path: &str) -> Vec<&'static str> {
    let within = |name: &&str| path.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let mut unused = Vec::new();
    if WITHOUT_CALLS.iter().any(within) {
        unused.extend(OF_CALLS);
    }
    match path {
        "export" => unused.push("json"),
        // Its call has a fixed form.
        "session retitle" => unused.extend(["mode", "policy", "layout", "allow"]),
        "completions" | "man" => unused.extend(["store", "session", "branch", "json", "escape", "demo"]),
        _ => {}
    }
    unused
}

/// The flags of all commands that neither a command nor any of its subcommands uses. Without its subcommands, a command
/// that requires one does nothing.
fn unused_below(command: &clap::Command, path: &str) -> Vec<&'static str> {
    let own = (!command.is_subcommand_required_set()).then(|| unused_flags(path));
    let below = command.get_subcommands().map(|sub| unused_below(sub, &format!("{path} {}", sub.get_name())));
    let both = |mut one: Vec<&'static str>, other: Vec<&'static str>| {
        one.retain(|flag| other.contains(flag));
        one
    };
    own.into_iter().chain(below).reduce(both).unwrap_or_default()
}

/// Completes the help of a command and its subcommands: hides the flags of all commands that have no effect, and gives a
/// group of commands the example of one of them.
fn complete_help(command: clap::Command) -> clap::Command {
    with_example(hide_below(command, ""))
}

/// Returns the command with an example if it is a group of commands without one: the first example of a subcommand that
/// has arguments.
fn with_example(command: clap::Command) -> clap::Command {
    let has_arguments = |help: &&clap::builder::StyledStr| {
        let line = help.to_string();
        line.strip_prefix(EXAMPLE_PREFIX).is_some_and(|line| line.split(' ').count() > 2)
    };
    let example = command.get_subcommands().filter_map(clap::Command::get_after_help).find(has_arguments);
    match example.filter(|_| command.get_after_help().is_none()).cloned() {
        Some(example) => command.after_help(example),
        None => command,
    }
}

fn hide_below(command: clap::Command, parent: &str) -> clap::Command {
    let path = format!("{parent} {}", command.get_name()).trim_start().to_owned();
    let all = Global::augment_args(clap::Command::new("all"));
    let unused = unused_below(&command, &path);
    let hidden = all.get_arguments().filter(|arg| unused.contains(&arg.get_id().as_str()));
    command.args(hidden.map(|arg| arg.clone().hide(true))).mut_subcommands(|below| hide_below(below, &path))
}

/// The heading of the flags that every command accepts.
pub(super) const GLOBAL_FLAGS: &str = "Options of all commands";

/// Flags that every command accepts.
#[derive(ClapArgs, Clone, Debug, Default)]
#[command(next_help_heading = GLOBAL_FLAGS)]
pub struct Global {
    /// The store file.
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// The session: id, unique prefix, or name.
    #[arg(short, long, global = true, value_name = "SESSION")]
    pub session: Option<String>,
    /// The branch: id, unique prefix, or name.
    #[arg(short, long, global = true, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The context mode for this call: off, light, or heavy.
    #[arg(long, global = true, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// The policy for this call.
    #[arg(long, global = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub policy: Option<String>,
    /// The section order for this call: classic or `cache_friendly`.
    #[arg(long, global = true, value_name = "LAYOUT", value_parser = layout)]
    pub layout: Option<Layout>,
    /// The budget for this call, in tokens.
    #[arg(long, global = true, value_name = "TOKENS", value_parser = number::<u32>(1, None))]
    pub budget: Option<u32>,
    /// The model for this call.
    #[arg(long, global = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub model: Option<String>,
    /// The profile for this call.
    #[arg(long, global = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub profile: Option<String>,
    /// Allow tool calls without approval in this call: a tool name, optionally with an argument pattern, as in
    /// `run:cargo test*`.
    #[arg(long, global = true, value_name = "TOOL[:ON]")]
    pub allow: Vec<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Escape invisible and control characters in files and pipes too, as ⟨U+200B⟩; in JSON as \u200b.
    #[arg(long, global = true)]
    pub escape: bool,
    /// Open a bundled conversation with the offline model, for experiments; nothing is saved.
    #[arg(long, global = true)]
    pub demo: bool,
}

impl Args {
    /// The settings that override the branch's own settings for this call.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            mode: self.global.mode,
            policy: self.global.policy.clone(),
            budget: self.global.budget,
            model: self.global.model.clone(),
            profile: self.global.profile.clone(),
            layout: self.global.layout.map(|layout| layout.name().into()),
            ..Overrides::default()
        }
    }

    /// Whether the command runs without the engine: settings, completions, manual page, bundles.
    pub fn local(&self) -> bool {
        matches!(self.command, Some(Command::Program(_))) || self.reads_bundle()
    }

    /// Whether the command only reads a bundle.
    pub fn reads_bundle(&self) -> bool {
        matches!(self.command, Some(Command::Verify { .. } | Command::Replay(Replay { bundle: Some(_), .. })))
    }

    /// Returns why the command refuses `--json`, with its usage; `None` if it does not. The output of these commands is for
    /// other programs, which read no JSON.
    #[deny(clippy::wildcard_enum_match_arm)]
    pub fn json_refusal(&self) -> Option<String> {
        let Some(Command::Program(command)) = &self.command else { return None };
        let name = match command {
            ProgramCommand::Completions { .. } => "completions",
            ProgramCommand::Man => "man",
            ProgramCommand::Config(_) => return None,
        };
        let row = table::row_of(name).filter(|_| self.global.json)?;
        Some(format!("{name} prints no JSON. {}", table::usages("pleach ", [row])))
    }

    /// The description of the command line for clap, completions, and the manual page.
    pub fn description() -> clap::Command {
        Self::command()
    }
}

pub(super) fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_name(text).ok_or_else(|| "must be off, light, or heavy".into())
}

fn layout(text: &str) -> Result<Layout, String> {
    Layout::from_name(text).ok_or_else(|| "must be classic or cache_friendly".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("pleach").chain(line.split_whitespace()))
    }

    #[test]
    fn clap_definitions_are_valid() {
        Args::description().debug_assert();
    }

    const CONTRACT: &[&str] = &[
        "",
        "--demo",
        "--plain",
        "--plain -s S --demo",
        "ask hello",
        "ask -s S -b B hello",
        "ask -",
        "plan",
        "plan hello",
        "plan --request hello",
        "plan - --json",
        "plans list",
        "plans list --json",
        "plans show abc",
        "plans diff abc def --json",
        "plans diff abc",
        "plans why abc --message --json",
        "backups",
        "backups --rewrite",
        "backups --delete -y",
        "message remove M -y --backups rewrite",
        "traces --failed --tool run --json",
        "traces --filter state:unfixed --grouped --whole-session",
        "traces show abc --json",
        "traces again abc",
        "replay RUN --dry-run",
        "add user hello",
        "add assistant -",
        "build",
        "context window 0",
        "context show",
        "context rebuild",
        "message list",
        "message list --all --json",
        "message show M",
        "message remove M --yes",
        "message label M a name",
        "message label M",
        "message favorite M --off",
        "message favourite M --off",
        "message labels label:x fav --json",
        "message labels --favorites",
        "message labels --favourites",
        "aside what is that --keep",
        "race hi --arm mode=off --arm mode=heavy --max-tokens 9 --max-cost 0.01 --max-seconds 3",
        "branch keep race-1",
        "branch pick A..B --onto main",
        "memory list --json",
        "memory list --here",
        "memory add fact a b --all",
        "memory edit M words",
        "memory edit M --all",
        "memory confirm M",
        "memory dismiss M",
        "memory delete M",
        "memory search a b --all",
        "pin I",
        "pin I J --turns 3",
        "pin --note x",
        "unpin I",
        "pins",
        "pins --history --json",
        "task start fix the login",
        "task done",
        "task done it works",
        "task list --json",
        "project",
        "project list --json",
        "project show AGENTS.md",
        "project exclude AGENTS.md --once",
        "project include src/AGENTS.md",
        "module-summary",
        "module-summary src/engine --json",
        "module-summary src --undo",
        "module-summary src --by-model",
        "rules",
        "rules list --json",
        "trust",
        "trust --yes",
        "trust --off",
        "rules allow run cargo-test --folder",
        "rules remove deny run",
        "ask hi --allow run:make",
        "exclude I --once",
        "exclude I --message",
        "include I",
        "compress",
        "compress --extractive --dry-run",
        "compress --by-model --keep 1 3 --accept",
        "compress --keep all --up-to 12 --json",
        "summary list",
        "summary show",
        "summary show abc --json",
        "summary undo",
        "summary undo --whole-session",
        "summary draft --json",
        "summary accept --keep 1 3",
        "summary edit new text",
        "summary discard",
        "compress --whole-session -s S --model m",
        "stats --json",
        "undo",
        "redo",
        "edit M new words",
        "regenerate M",
        "regenerate",
        "mode",
        "mode Heavy",
        "lane",
        "lane login list",
        "lane none",
        "lane list --json",
        "state show",
        "state edit",
        "state edit text",
        "branch list",
        "branch fork",
        "branch fork alt --at M",
        "branch rename new",
        "branch rename old new",
        "branch archive",
        "branch compare a b --json",
        "branch compare a",
        "branch pick I J --onto b --together",
        "branch pick I --message --onto b",
        "branch return a",
        "branch return a --onto b",
        "branch archive alt --back",
        "session list",
        "session new",
        "session new a b",
        "session rename t",
        "session rename s t",
        "session retitle",
        "session retitle s",
        "session delete s --yes",
        "session search a b",
        "import f.json",
        "import -",
        "export",
        "export --format jsonl --all",
        "export --format markdown --mask",
        "export --format md",
        "export talk.md --mask",
        "export --output talk.md --json --mode off",
        "models",
        "doctor",
        "doctor --repair",
        "doctor --repair --yes --empty",
        "config path",
        "config show",
        "config check",
        "config theme",
        "config theme dark --json",
        "completions bash",
        "man",
        "--store /x --session a --branch b --mode off --policy window --budget 100 --model m --profile p --json ask x",
        "ask x --store /x --session a --branch b --mode off --policy window --budget 100 --model m --profile p",
    ];

    #[test]
    fn every_command_of_the_contract() {
        for line in CONTRACT {
            assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
        }
    }

    #[test]
    fn invalid_commands_are_refused() {
        for line in [
            "replay",
            "ask --mode loud x",
            "plan --budget 0",
            "add nobody x",
            "context window -1",
            "pin",
            "exclude",
            "memory add rumour x",
            "memory list --all --here",
            "session delete",
            "import",
            "frobnicate",
            "doctor --yes",
            "export --format pdf",
            "export talk.md --output talk.md",
            "branch rename a b c",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_help_of_export_lists_the_options_that_it_uses() {
        let help = parse("export --help").unwrap_err().render().to_string();
        for flag in ["--store", "--session", "--branch", "--escape", "--format", "--output", "--mask", "--all"] {
            assert!(help.contains(flag), "{flag}: {help}");
        }
        for flag in OF_CALLS.into_iter().chain(["json"]) {
            assert!(!help.contains(&format!("--{flag}")), "{flag}: {help}");
        }
        let args = parse("export --model m --json").unwrap();
        assert_eq!((args.global.model.as_deref(), args.global.json), (Some("m"), true), "still accepted");
    }

    #[test]
    fn the_help_of_a_command_lists_no_flag_without_effect() {
        let help = |command: &str| parse(&format!("{command} --help")).unwrap_err().render().to_string();
        for command in WITHOUT_CALLS.iter().copied().chain(["memory add", "message label", "task start", "rules allow"])
        {
            let help = help(command);
            let listed: Vec<&str> = OF_CALLS.into_iter().filter(|flag| help.contains(&format!("--{flag} "))).collect();
            assert!(listed.is_empty(), "{command}: {listed:?} in {help}");
        }
        for command in ["ask", "plan", "race", "stats", "session retitle", "context show", "replay"] {
            assert!(help(command).contains("--model <NAME>"), "{command}");
        }
        assert!(!help("man").contains("--session"), "{}", help("man"));
        for group in ["session", "session retitle"] {
            let help = help(group);
            let listed: Vec<&str> = OF_CALLS.into_iter().filter(|flag| help.contains(&format!("--{flag} "))).collect();
            assert_eq!(listed, ["budget", "model", "profile"], "what the title's call uses: {help}");
        }
        for group in ["branch", "memory", "state"] {
            assert!(!help(group).contains("--model"), "no command of {group} calls a model");
        }
        for group in ["context", "plans", "summary"] {
            assert!(help(group).contains("--model"), "a command of {group} plans or calls");
        }
        let args = parse("memory add fact x --model m").unwrap();
        assert_eq!(args.global.model.as_deref(), Some("m"), "still accepted");
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            for sub in command.get_subcommands() {
                let path = format!("{path} {}", sub.get_name());
                let example = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
                let (start, own) = (format!("{EXAMPLE_PREFIX}{}", path.trim_start()), !sub.has_subcommands());
                assert!(example.starts_with(&start), "{path}: {example:?}");
                assert!(own || parse(example.strip_prefix(EXAMPLE_PREFIX).unwrap()).is_ok(), "{path}: {example:?}");
                check(sub, &path);
            }
        }
        check(&Args::description(), "");
        for (group, line) in [("branch", "branch fork retry --at 3"), ("session", "session new Login bug")] {
            let help = parse(&format!("{group} --help")).unwrap_err().render().to_string();
            assert!(help.trim_end().ends_with(&format!("{EXAMPLE_PREFIX}{line}")), "{help}");
        }
    }

    #[test]
    fn flags_become_overrides() {
        let args =
            parse("plan x --mode HEAVY --policy window --budget 900 --model m --profile p --layout cache_friendly");
        let overrides = args.unwrap().overrides();
        assert_eq!((overrides.mode, overrides.budget), (Some(Mode::Heavy), Some(900)));
        assert_eq!((overrides.policy.as_deref(), overrides.model.as_deref()), (Some("window"), Some("m")));
        assert_eq!((overrides.profile.as_deref(), overrides.layout.as_deref()), (Some("p"), Some("cache_friendly")));
    }
}
