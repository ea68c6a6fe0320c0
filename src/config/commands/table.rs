//! The rows of the command table, built from the commands: name, arguments, description, and example. The table also
//! contains the short names of commands, and the actions of the full-screen program.
//! Not for: parsing commands (`read`).

use super::EXAMPLE_PREFIX;
use super::args::Args;
use crate::config::keys::actions::Action;
use crate::config::keys::groups::{ActionGroup, in_menus};
use clap::{Arg, Command};
use std::sync::LazyLock;

/// A row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The name, without a slash: `context window`.
    pub name: String,
    /// The arguments: `TURNS`, `[MESSAGE]`, `ITEM… [--once]`.
    pub words: String,
    /// The description, in one sentence.
    pub sentence: String,
    /// An example line: `context window 3`; empty for an action, which takes no arguments.
    pub example: String,
}

impl Row {
    /// Returns the name and the arguments, after a slash.
    pub fn usage(&self) -> String {
        format!("/{}", self.signature())
    }

    fn signature(&self) -> String {
        format!("{} {}", self.name, self.words).trim_end().to_owned()
    }

    /// Returns the arguments as they are typed after a slash, in their short form if there is one.
    pub fn typed_words(&self) -> &str {
        SHORT_WORDS.iter().find(|(name, _)| *name == self.name).map_or(&self.words, |(_, words)| words)
    }

    /// Whether the row is one of the commands that new users need.
    pub fn is_common(&self) -> bool {
        LISTED_FIRST.contains(&self.name.as_str())
    }

    /// Returns the group under which menus list the row.
    pub fn group(&self) -> ActionGroup {
        if let Some(action) = Action::from_name(&self.name).filter(|action| action.name() == self.name) {
            return action.group();
        }
        let means =
            ALIASES.iter().find(|alias| alias.name == self.name).map_or(self.name.as_str(), |alias| alias.means);
        let first = means.split(' ').next().unwrap_or_default();
        let group = GROUPS.iter().find(|(_, words)| words.split(' ').any(|word| word == first));
        group.map_or(ActionGroup::Session, |(group, _)| *group)
    }

    /// Returns the description for the menus, which cut it at their width.
    pub fn in_menus(&self) -> &str {
        in_menus(&self.sentence)
    }
}

/// A short name of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alias {
    /// The short name.
    pub name: &'static str,
    /// The command that the short name stands for.
    pub means: &'static str,
    /// Whether all words up to the first flag are one argument, such as a title or a note.
    pub joins: bool,
    /// The description, if the short name does less than the command; otherwise empty.
    pub sentence: &'static str,
    /// The arguments, if they are not those that the command has left; otherwise empty.
    pub words: &'static str,
    /// An example line, if the example of the command does not show the short name's use; otherwise empty.
    pub example: &'static str,
}

impl Alias {
    const fn does(self, sentence: &'static str) -> Self {
        Self { sentence, ..self }
    }

    const fn such_as(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    const fn takes(self, words: &'static str) -> Self {
        Self { words, ..self }
    }
}

const fn alias(name: &'static str, means: &'static str) -> Alias {
    Alias { name, means, joins: false, sentence: "", words: "", example: "" }
}

const fn joined(name: &'static str, means: &'static str) -> Alias {
    Alias { joins: true, ..alias(name, means) }
}

/// The short names.
pub const ALIASES: &[Alias] = &[
    alias("window", "context window"),
    joined("fork", "branch fork"),
    joined("switch", "branch switch"),
    alias("compare", "branch compare"),
    joined("rename", "branch rename").does("Rename the current branch."),
    alias("new", "session new"),
    alias("clear", "session new"),
    joined("open", "session switch"),
    alias("sessions", "session list"),
    joined("title", "session rename").does("Rename the current session."),
    alias("retitle", "session retitle"),
    alias("search", "session search"),
    joined("note", "pin --note")
        .does("Pin a note: every request includes its text until you unpin it.")
        .such_as("note We use PostgreSQL 16."),
    alias("once", "exclude --once").does("Exclude items from the next request only.").such_as("once 3"),
    alias("remember", "memory add"),
    alias("label", "message label last")
        .takes("[MESSAGE] [LABEL…]")
        .does("Label a message; without MESSAGE (a turn number, an id, or last), the last message.")
        .such_as("label 3 the fix"),
    alias("lanes", "lane list"),
    alias("read", "message read"),
    alias("history", "message list"),
    alias("show", "message show"),
    alias("remove", "message remove"),
    alias("retry", "regenerate"),
    alias("request", "plan --request")
        .does("Print the exact body of the next request, byte for byte; nothing is sent.")
        .such_as("request Why?"),
    alias("why", "plans why"),
    alias("summarize", "compress"),
    alias("summary make", "compress"),
    alias("state set", "state edit"),
    alias("state rebuild", "context rebuild"),
    alias("forget", "doctor --forget")
        .does("Forget a quirk that was learned from a server's error: its name in the report of /doctor, or `all`.")
        .such_as("forget all"),
    alias("exit", "quit"),
];

/// Unlisted names that work: names from earlier versions, and likely misreadings of a listed name.
pub const UNLISTED: &[Alias] = &[
    alias("compaction", "summaries"),
    alias("capsules", "summary"),
    alias("capsule", "module-summary"),
    alias("summaries list", "summary list"),
    alias("summaries show", "summary show"),
    alias("summaries undo", "summary undo"),
    alias("message favourite", "message favorite"),
];

/// Commands whose output is for a shell. They are refused inside the running program.
pub const SHELL_ONLY: [&str; 2] = ["completions", "man"];

/// The arguments of commands that have a short form after a slash.
const SHORT_WORDS: &[(&str, &str)] = &[
    ("race", "[SETTING:VALUE…] TEXT…"),
    ("compress", "[TURN] [model|extractive] [session] [--keep ITEM…] [--accept]"),
    ("module-summary", "[PATH] [by model]"),
];

/// Commands that a bare name stands for, if that name alone is not a command. Entries that stand for actions work only
/// inside the program.
pub const BARE_NAMES: &[(&str, &str)] = &[
    ("branch", "branch list"),
    ("session", "session list"),
    ("message", "message list"),
    ("memory", "memory list"),
    ("remember", "memory list"),
    ("task", "task list"),
    ("plans", "plans list"),
    ("capsules", "summary list"),
    ("summary", "summary list"),
    ("state", "state show"),
    ("config", "config show"),
    ("rename", "rename"),
    ("title", "rename-session"),
    ("search", "find"),
];

/// Names that are actions inside the program and stand for commands on the command line.
pub const ACTIONS_AS_COMMANDS: &[(&str, &str)] =
    &[("context", "plan"), ("branches", "branch list"), ("memories", "memory list")];

/// Commands that are listed first, because new users need them.
const LISTED_FIRST: &[&str] =
    &["mode", "model", "budget", "policy", "context window", "branch fork", "session new", "session search"];

/// The groups of commands in menus, by the first word of each command.
pub const GROUPS: &[(ActionGroup, &str)] = &[
    (ActionGroup::Message, "ask add aside edit regenerate message skill"),
    (
        ActionGroup::Context,
        "plan plans build context retrieve index memory pin lease unpin exclude include pins mode policy budget layout \
         personality focus project module-summary compress summary summaries state undo redo",
    ),
    (ActionGroup::Branch, "branch race task lane"),
    (ActionGroup::Call, "replay stats"),
    (ActionGroup::Tool, "mcp rules traces trust"),
    (ActionGroup::View, "theme"),
    (ActionGroup::Session, "session export import verify profile model models config doctor backups completions man"),
];

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    collect(&Args::description(), "", &mut rows);
    rows.sort_by_key(|row| LISTED_FIRST.iter().position(|name| *name == row.name).unwrap_or(LISTED_FIRST.len()));
    rows
});

static ALL: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut all = ROWS.clone();
    all.extend(ALIASES.iter().filter_map(alias_row));
    let known = |action: &Action| {
        all.iter().all(|row| row.name != action.name()) && UNLISTED.iter().all(|alias| alias.name != action.name())
    };
    let actions: Vec<Row> = Action::ALL.iter().copied().filter(known).map(action_row).collect();
    all.extend(actions);
    all
});

/// Returns the rows of all commands, each once.
pub fn rows() -> &'static [Row] {
    &ROWS
}

/// Returns the rows of all commands, short names, and actions.
pub fn all() -> &'static [Row] {
    &ALL
}

/// Returns the usages of commands, and the example of the first one, in two sentences. `prefix` precedes the names of
/// commands: a slash, or the program's name and a space.
pub fn usages<'a>(prefix: &str, rows: impl IntoIterator<Item = &'a Row>) -> String {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let lines: Vec<String> = rows.iter().map(|row| format!("{prefix}{}", row.signature())).collect();
    let example = rows.first().map(|row| row.example.as_str()).unwrap_or_default();
    format!("Usage: {}. Example: {prefix}{example}", lines.join(", "))
}

/// Returns the row of the command that the line starts with. If several match, the longest name wins.
pub fn row_of(line: &str) -> Option<&'static Row> {
    longest(all(), line)
}

fn longest<'a>(rows: &'a [Row], line: &str) -> Option<&'a Row> {
    let begins = |row: &&Row| {
        line.strip_prefix(row.name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    rows.iter().filter(begins).max_by_key(|row| row.name.len())
}

fn collect(command: &Command, path: &str, rows: &mut Vec<Row>) {
    for sub in command.get_subcommands() {
        let name = format!("{path} {}", sub.get_name()).trim_start().to_owned();
        if !sub.is_subcommand_required_set() {
            rows.push(row(&name, sub));
        }
        collect(sub, &name, rows);
    }
}

fn row(name: &str, command: &Command) -> Row {
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (positionals, flags): (Vec<&Arg>, Vec<&Arg>) = shown.partition(|arg| arg.is_positional());
    let words = positionals.into_iter().chain(flags).map(argument_usage);
    // A replay is the command whose point is often another model, which is a flag of every command.
    let words: Vec<String> = words.chain((name == "replay").then(|| "[--model NAME]".to_owned())).collect();
    let example = text(command.get_after_help());
    Row {
        name: name.to_owned(),
        words: words.join(" "),
        sentence: format!("{}.", text(command.get_about()).trim_end_matches('.')),
        example: example.strip_prefix(EXAMPLE_PREFIX).unwrap_or_default().to_owned(),
    }
}

/// Returns an argument in the notation of a usage line.
fn argument_usage(arg: &Arg) -> String {
    let names: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let many = arg.get_num_args().is_some_and(|count| count.max_values() > names.len().max(1));
    let more = if many { "…" } else { "" };
    let words = match (arg.get_long(), names.as_slice()) {
        (None, [first @ .., last]) if !first.is_empty() => return format!("[{}] {last}", first.join(" ")),
        (None, names) => format!("{}{more}", names.join(" ")),
        (Some(long), names) if arg.get_action().takes_values() => format!("--{long} {}{more}", names.join(" ")),
        (Some(long), _) => format!("--{long}"),
    };
    if arg.is_required_set() { words } else { format!("[{words}]") }
}

fn alias_row(alias: &Alias) -> Option<Row> {
    let target = longest(&ROWS, alias.means)?;
    let (_, fixed) = alias.means.split_at(target.name.len());
    let mut words = target.words.clone();
    for word in fixed.split_whitespace() {
        words = match word.strip_prefix("--") {
            Some(flag) => only_value(&words, flag),
            None => words.split_once(' ').map(|(_, rest)| rest.to_owned()).unwrap_or_default(),
        };
    }
    if alias.joins
        && let Some((_, last)) = words.split_once("] ").filter(|(_, last)| !last.starts_with(['[', '-']))
    {
        words = last.into();
    }
    if !alias.words.is_empty() {
        alias.words.clone_into(&mut words);
    }
    let own = Some(alias.example.to_owned()).filter(|example| !example.is_empty());
    let example = own.or_else(|| target.example.strip_prefix(alias.means).map(|rest| format!("{}{rest}", alias.name)));
    Some(Row {
        name: alias.name.to_owned(),
        words,
        sentence: if alias.sentence.is_empty() { target.sentence.clone() } else { alias.sentence.to_owned() },
        example: example.unwrap_or_else(|| target.example.clone()),
    })
}

/// Returns the arguments of a command whose flag is already set by a short name. The flag's value, if any, comes first.
fn only_value(words: &str, flag: &str) -> String {
    let place = format!("[--{flag}");
    let Some((before, rest)) = words.split_once(&place) else { return words.to_owned() };
    let (value, after) = rest.split_once(']').unwrap_or((rest, ""));
    if value.trim().is_empty() { format!("{}{after}", before.trim_end()) } else { value.trim().to_owned() }
}

fn action_row(action: Action) -> Row {
    let (name, sentence) = (action.name().to_owned(), action.sentence().to_owned());
    Row { name, words: String::new(), sentence, example: String::new() }
}
