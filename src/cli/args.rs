//! The command line as types. The help texts are the documentation of every command.
//! Not for: doing what the commands say (their own files).

pub use super::commands::{
    BranchCommand, CapsulesCommand, Compress, ConfigCommand, ContextCommand, Forget, MessageCommand, Plans, RaceLimits,
    Replay, SessionCommand, StateCommand, WithBackups,
};
use super::consent::RulesCommand;
use super::context::memory::MemoryCommand;
use super::context::pins::TaskCommand;
use super::system::mcp::McpCommand;
use super::system::project::ProjectCommand;
use super::system::traces::Traces;
use crate::config::settings::CallOverrides;
use crate::domain::conversation::message::Role;
use crate::domain::planning::mode::Mode;
use crate::domain::planning::policy::Layout;
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const AFTER: &str = "\
Without a command the workbench opens; with --plain a conversation line by line.

-s and -b take an id, a unique prefix of one, or a name; without them the last used.
MESSAGE and ITEM take a message's id, a unique prefix of one, or the id it had where it was imported from.
TEXT may be `-` for standard input.
--json prints one JSON value (an array for lists), with hidden characters escaped.

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 blocked by the budget, 4 model server, 5 store, 6 another program is asking
on the branch (see --wait), 130 interrupted.
Environment: PLEACH_STORE, PLEACH_PROFILE, PLEACH_MODEL, PLEACH_MODE, OPENAI_BASE_URL, OPENAI_API_KEY, NO_COLOR, NO_MOTION.";

/// A terminal workbench for branching conversations with language models, in which you see and decide what goes into
/// every call.
#[derive(Parser, Clone, Debug)]
#[command(name = "pleach", version, after_help = AFTER, max_term_width = 100)]
pub struct Args {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// Talk line by line: for screen readers, pipes and terminals that can do little.
    #[arg(long)]
    pub plain: bool,
    /// What to do; nothing opens the workbench.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes.
#[derive(ClapArgs, Clone, Debug, Default)]
pub struct Global {
    /// The store's file.
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// The session: id, unique prefix, or name.
    #[arg(short, long, global = true, value_name = "SESSION")]
    pub session: Option<String>,
    /// The branch: id, unique prefix, or name.
    #[arg(short, long, global = true, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Context mode for this call: off, light or heavy.
    #[arg(long, global = true, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// Policy for this call.
    #[arg(long, global = true, value_name = "NAME")]
    pub policy: Option<String>,
    /// Order of the sections for this call: classic or `cache_friendly`.
    #[arg(long, global = true, value_name = "LAYOUT", value_parser = layout)]
    pub layout: Option<Layout>,
    /// Cap on the whole prompt for this call, in tokens.
    #[arg(long, global = true, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: Option<u32>,
    /// Model for this call.
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// Profile for this call.
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Let a tool act without asking in this call: its name, or with what it may act on, as `run:cargo test*`.
    #[arg(long, global = true, value_name = "TOOL[:ON]")]
    pub allow: Vec<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Into a file or a pipe too, write characters that nobody sees, and controls, as ⟨U+200B⟩; in JSON as \\u200b.
    #[arg(long, global = true)]
    pub escape: bool,
    /// An offline tour on a bundled conversation; nothing is saved.
    #[arg(long, global = true)]
    pub demo: bool,
}

/// The commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Ask; the answer is streamed.
    Ask {
        /// The message; `-` or nothing reads standard input. With --request what is kept as your message, unless the
        /// request's last user message is to be.
        text: Vec<String>,
        /// Send exactly this body instead of the planned one, as one call: a file, or `-` for standard input. It starts
        /// well from `plan --request`; what you edited is written down as such.
        #[arg(long, value_name = "FILE")]
        request: Option<PathBuf>,
        /// Where another program is asking on the branch, wait in line for your turn; Ctrl+C leaves the line.
        #[arg(long)]
        wait: bool,
    },
    /// Solve the plan of a message and print it; nothing is sent.
    Plan {
        /// The message; may be left out.
        text: Vec<String>,
        /// Print the exact body that would be posted, byte for byte.
        #[arg(long)]
        request: bool,
        /// Solve it as `edit MESSAGE TEXT` would send it.
        #[arg(long, value_name = "MESSAGE", conflicts_with = "regenerate")]
        edit: Option<String>,
        /// Solve it as `regenerate MESSAGE` would send it (the last one when none is named).
        #[arg(long, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "", conflicts_with = "text")]
        regenerate: Option<String>,
        /// What it would be under other modes, policies, models and budgets, side by side.
        #[arg(long, conflicts_with = "request")]
        what_if: bool,
        /// One more way for --what-if: mode=off, policy=window, model=NAME, budget=N, or several with commas.
        #[arg(long, value_name = "SETTING=VALUE", requires = "what_if")]
        arm: Vec<String>,
    },
    /// Calls that were made, with their plans.
    #[command(subcommand)]
    Plans(Plans),
    /// Make a stored call again on a scratch branch: byte for byte, with --model for another model, or without an item.
    Replay(Replay),
    /// Ask the same on several branches at once, each with settings of its own; the answers come side by side.
    Race {
        /// The message.
        text: Vec<String>,
        /// The settings of one branch: mode=off, policy=window, model=NAME, budget=N, or several with commas.
        #[arg(long, value_name = "SETTING=VALUE", required = true)]
        arm: Vec<String>,
        /// The most that each may take.
        #[command(flatten)]
        limits: RaceLimits,
    },
    /// Ask in the branch's present context without a trace: nothing becomes a message, no mark changes; the call is counted.
    Aside {
        /// The question.
        text: Vec<String>,
        /// Keep question and answer as a branch after all.
        #[arg(long)]
        keep: bool,
    },
    /// Look through a branch's messages for what fits a query, as a plan would; nothing is sent.
    Retrieve {
        /// The query.
        #[arg(required_unless_present = "batch")]
        query: Vec<String>,
        /// Many queries: JSON lines `{id, query, session?, at?}`; `-` reads standard input.
        #[arg(long, value_name = "FILE", conflicts_with = "query")]
        batch: Option<PathBuf>,
        /// Look whatever the query says, even where it says too little to look for.
        #[arg(long)]
        anyway: bool,
        /// Look through the code of a workspace instead; it is read before where needed. Lines of a batch are `{id, query}`.
        #[arg(long, conflicts_with = "anyway")]
        code: bool,
        /// The workspace; without it this folder if it was indexed, else the one indexed last.
        #[arg(long, value_name = "DIR", requires = "code")]
        dir: Option<PathBuf>,
    },
    /// Read the code of a workspace, or what of it has changed: symbols of Rust, Python, TypeScript, JavaScript, Go, C,
    /// C++ and Java. What git ignores is left out.
    Index {
        /// The workspace; this folder when none is named.
        dir: Option<PathBuf>,
        /// Print the map of its folders and its most central symbols instead of figures; --budget bounds the map.
        #[arg(long)]
        map: bool,
    },
    /// Append a message without asking a model.
    Add {
        /// Who says it: system, user, assistant or tool.
        #[arg(value_parser = role)]
        role: Role,
        /// What; standard input follows the words, `-` or no words are standard input alone.
        #[arg(value_name = "CONTENT")]
        text: Vec<String>,
    },
    /// Print the context as text, as the next call would send it.
    Build {
        /// The message; may be left out.
        text: Vec<String>,
    },
    /// The window, and the context that would be sent.
    #[command(subcommand)]
    Context(ContextCommand),
    /// Messages.
    #[command(subcommand)]
    Message(MessageCommand),
    /// What is remembered beyond single messages: suggested by the model, confirmed by you, sent where it fits.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Pin items: they stay in every call until taken off.
    Pin {
        /// Which turns.
        #[arg(required_unless_present = "note", value_name = "ITEM")]
        items: Vec<String>,
        /// Lease them for so many turns instead.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        turns: Option<u32>,
        /// Just the message, not its whole turn.
        #[arg(long)]
        message: bool,
        /// Pin a note of your own.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// What is pinned, leased and taken out on the branch.
    Pins {
        /// The steps that led there, oldest first, with who took each and why.
        #[arg(long)]
        history: bool,
    },
    /// Tasks of the branch.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Tools and servers of tools (Model Context Protocol): state, cost, on and off.
    Mcp {
        /// What; the list where nothing is said.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Trust this folder, so that the model may use tools in it and its code goes with calls; asks first.
    Trust {
        /// Stop trusting it.
        #[arg(long)]
        off: bool,
        /// Do not ask.
        #[arg(short, long, conflicts_with = "off")]
        yes: bool,
        /// Instead, what this trusted folder's own settings (.pleach.toml) change: show it, and use it once told so; with
        /// --off use it no longer.
        #[arg(long)]
        config: bool,
    },
    /// Rules about what tools may do without asking.
    Rules {
        /// What; the list where nothing is said.
        #[command(subcommand)]
        command: Option<RulesCommand>,
    },
    /// Rules of the project (AGENTS.md) and skills: how each stands to the next call; take one out of the branch's calls.
    Project {
        /// What to do; lists them when left out.
        #[command(subcommand)]
        command: Option<ProjectCommand>,
    },
    /// Sum up a folder or file of the program from what it says of itself; without a path, list the summaries. They go with
    /// calls in mode Heavy, marked as summaries.
    Capsule {
        /// The folder or file; `.` is the whole folder.
        path: Option<String>,
        /// Have the branch's model write it: a call of its own.
        #[arg(long, requires = "path", conflicts_with_all = ["undo", "redo"])]
        by_model: bool,
        /// Take the newest version back instead.
        #[arg(long, requires = "path", conflicts_with = "redo")]
        undo: bool,
        /// Bring back the version that was taken back last.
        #[arg(long, requires = "path")]
        redo: bool,
    },
    /// Take any mark off items.
    Unpin(Items),
    /// Leave items out of every call until taken back.
    Exclude {
        /// Which.
        #[command(flatten)]
        items: Items,
        /// For the next call only.
        #[arg(long)]
        once: bool,
    },
    /// Take items into the next call, whatever else was said of them.
    Include(Items),
    /// Draft a summary of the older turns, and print what it dropped; --accept uses it in their place.
    Compress(Compress),
    /// Summaries of the branch.
    #[command(subcommand)]
    Capsules(CapsulesCommand),
    /// Figures: tokens used, messages, summaries, compression, levels; and what the calls came to, one after the other.
    Stats {
        /// Of the calls of the whole session instead of this branch's.
        #[arg(long)]
        whole_session: bool,
    },
    /// Calls to tools on the branch, newest first: what each was asked, who allowed it, what it came to, what fixed a failure.
    Traces(Traces),
    /// Undo the last change of the session.
    Undo,
    /// Do the last undone change again.
    Redo,
    /// Ask a new version of one of your messages; the old one stays beside it.
    Edit {
        /// Which.
        message: String,
        /// The new words; `-` reads standard input.
        #[arg(required = true)]
        text: Vec<String>,
        /// Wait in line where another program is asking on the branch.
        #[arg(long)]
        wait: bool,
    },
    /// Ask for another answer; the old one stays beside it.
    Regenerate {
        /// To which of your messages; the last one when left out.
        message: Option<String>,
        /// Wait in line where another program is asking on the branch.
        #[arg(long)]
        wait: bool,
    },
    /// Show the branch's context mode, or change it.
    Mode {
        /// off, light or heavy.
        #[arg(value_parser = mode)]
        to: Option<Mode>,
    },
    /// Show which files, folders and symbols looking at code keeps to on the branch, or change it.
    Focus {
        /// Paths and names; `none` takes them off.
        names: Vec<String>,
    },
    /// Show the lane of the branch's next message, or change it.
    Lane {
        /// A topic's name; `root` goes back.
        name: Option<String>,
    },
    /// The state block.
    #[command(subcommand)]
    State(StateCommand),
    /// Branches of a session.
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Sessions.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Import a conversation; importing it again adds nothing.
    Import {
        /// JSON lines, OpenAI messages, or a ChatGPT export, of any size; `-` reads standard input, up to 2 GiB. Of a text
        /// larger than 4 MiB the first 4 MiB are kept, and it is said.
        file: PathBuf,
    },
    /// Print a conversation.
    Export {
        /// In which form.
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        /// The whole tree of the session, not one branch.
        #[arg(long)]
        all: bool,
        /// Mask what looks like a secret.
        #[arg(long)]
        mask: bool,
        /// Write it to a file that only you can read.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Models that the profiles offer.
    Models,
    /// Look at the store, the settings and the servers.
    Doctor {
        /// Move a damaged store aside, as it is, and start from its newest backup (or empty, where there is none). What
        /// can still be read is exported beside it.
        #[arg(long)]
        repair: bool,
        /// Do not ask.
        #[arg(short, long, requires = "repair")]
        yes: bool,
        /// Start empty even where there is a backup.
        #[arg(long, requires = "repair")]
        empty: bool,
        /// Forget what was learned from a server's refusals: a quirk as the report names it, or `all`. --profile and
        /// --model say of which.
        #[arg(long, value_name = "QUIRK", conflicts_with = "repair", value_parser = Forget::read)]
        forget: Option<Forget>,
    },
    /// The backups beside the store, and whether they still hold what was removed from it for good.
    Backups {
        /// Remove it from them too. One from before a change of the store's schema cannot be written anew: it is deleted.
        #[arg(long, conflicts_with = "delete")]
        rewrite: bool,
        /// Delete those that hold it. This cannot be undone.
        #[arg(long)]
        delete: bool,
        /// Do not ask.
        #[arg(short, long, requires = "delete")]
        yes: bool,
    },
    /// Settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// Items on which a mark is put or taken off.
#[derive(ClapArgs, Clone, Debug)]
pub struct Items {
    /// Which turns.
    #[arg(required = true, value_name = "ITEM")]
    pub items: Vec<String>,
    /// Just the message, not its whole turn.
    #[arg(long)]
    pub message: bool,
}

/// Forms of an export.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One message a line; what `import` reads.
    Jsonl,
    /// For reading.
    #[value(alias = "md")]
    Markdown,
}

impl Args {
    /// The choices that stand above a branch's own for this call.
    #[must_use]
    pub fn overrides(&self) -> CallOverrides {
        CallOverrides {
            mode: self.global.mode,
            policy: self.global.policy.clone(),
            budget: self.global.budget,
            model: self.global.model.clone(),
            profile: self.global.profile.clone(),
            layout: self.global.layout,
        }
    }

    /// Whether the command needs no engine: settings, completions, manual page.
    #[must_use]
    pub fn local(&self) -> bool {
        matches!(self.command, Some(Command::Config(_) | Command::Completions { .. } | Command::Man))
    }

    /// clap's own description, for completions and the manual page.
    #[must_use]
    pub fn description() -> clap::Command {
        Self::command()
    }
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_name(text).ok_or_else(|| "must be off, light or heavy".into())
}

fn layout(text: &str) -> Result<Layout, String> {
    Layout::from_name(text).ok_or_else(|| "must be classic or cache_friendly".into())
}

fn role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "must be system, user, assistant or tool".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once("pleach").chain(line.split_whitespace()))
    }

    #[test]
    fn clap_finds_no_fault() {
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
        "message favourite M --off",
        "message labels label:x fav --json",
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
        "capsule",
        "capsule src/engine --json",
        "capsule src --undo",
        "capsule src --by-model",
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
        "capsules list",
        "capsules show",
        "capsules show abc --json",
        "capsules undo",
        "capsules undo --whole-session",
        "compress --whole-session -s S --model m",
        "stats --json",
        "undo",
        "redo",
        "edit M new words",
        "regenerate M",
        "regenerate",
        "mode",
        "mode Heavy",
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
    fn what_is_no_command() {
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
            "branch rename a b c",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn flags_become_overrides() {
        let args =
            parse("plan x --mode HEAVY --policy window --budget 900 --model m --profile p --layout cache_friendly");
        let overrides = args.unwrap().overrides();
        assert_eq!((overrides.mode, overrides.budget), (Some(Mode::Heavy), Some(900)));
        assert_eq!((overrides.policy.as_deref(), overrides.model.as_deref()), (Some("window"), Some("m")));
        assert_eq!((overrides.profile.as_deref(), overrides.layout), (Some("p"), Some(Layout::CacheFriendly)));
    }
}
