//! The commands, each with its arguments, its sentence and its example.
//! Not for: the flags that all commands take (`args`), the commands of a group (`conversation`, `calls`, `system`).

use super::calls::{CapsulesCommand, Compress, ContextCommand, Plans, RaceLimits, Replay};
use super::conversation::{BranchCommand, MemoryCommand, MessageCommand, SessionCommand, StateCommand, TaskCommand};
use super::example;
use super::mark::MarkCommand;
use super::setting::SettingCommand;
use super::system::{ConfigCommand, Forget, McpCommand, ProjectCommand, RulesCommand, Traces};
use crate::domain::conversation::message::Role;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

/// The commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Ask; the answer is streamed.
    #[command(after_help = example("ask Why does the login fail?"))]
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
    #[command(after_help = example("plan Why does the login fail?"))]
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
    #[command(after_help = example("replay 019a7c42 --dry-run"))]
    Replay(Replay),
    /// Ask the same on several branches at once, each with settings of its own; the answers come side by side.
    #[command(after_help = example("race --arm mode=off --arm mode=heavy Why does it fail?"))]
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
    #[command(after_help = example("aside What does that word mean?"))]
    Aside {
        /// The question.
        text: Vec<String>,
        /// Keep question and answer as a branch after all.
        #[arg(long)]
        keep: bool,
    },
    /// Look through a branch's messages for what fits a query, as a plan would; nothing is sent.
    #[command(after_help = example("retrieve the login bug"))]
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
    #[command(after_help = example("index --map"))]
    Index {
        /// The workspace; this folder when none is named.
        dir: Option<PathBuf>,
        /// Print the map of its folders and its most central symbols instead of figures; --budget bounds the map.
        #[arg(long)]
        map: bool,
    },
    /// Append a message without asking a model.
    #[command(after_help = example("add user The port is 8080."))]
    Add {
        /// Who says it: system, user, assistant or tool.
        #[arg(value_parser = role)]
        role: Role,
        /// What; standard input follows the words, `-` or no words are standard input alone.
        #[arg(value_name = "CONTENT")]
        text: Vec<String>,
    },
    /// Print the context as text, as the next call would send it.
    #[command(after_help = example("build Why does it fail?"))]
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
    /// Marks on items.
    #[command(flatten)]
    Mark(MarkCommand),
    /// What is pinned, leased and taken out on the branch.
    #[command(after_help = example("pins --history"))]
    Pins {
        /// The steps that led there, oldest first, with who took each and why.
        #[arg(long)]
        history: bool,
    },
    /// Tasks of the branch.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Tools and servers of tools (Model Context Protocol): state, cost, on and off.
    #[command(after_help = example("mcp"))]
    Mcp {
        /// What; the list where nothing is said.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Trust this folder, so that the model may use tools in it and its code goes with calls; asks first.
    #[command(after_help = example("trust"))]
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
    #[command(after_help = example("rules"))]
    Rules {
        /// What; the list where nothing is said.
        #[command(subcommand)]
        command: Option<RulesCommand>,
    },
    /// Rules of the project (AGENTS.md) and skills: how each stands to the next call; take one out of the branch's calls.
    #[command(after_help = example("project"))]
    Project {
        /// What to do; lists them when left out.
        #[command(subcommand)]
        command: Option<ProjectCommand>,
    },
    /// Sum up a folder or file of the program from what it says of itself; without a path, list the summaries. They go with
    /// calls in mode Heavy, marked as summaries.
    #[command(after_help = example("capsule src/engine"))]
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
    /// Draft a summary of the older turns, and print what it dropped; --accept uses it in their place.
    #[command(after_help = example("compress --up-to 12"))]
    Compress(Compress),
    /// Summaries of the branch.
    #[command(subcommand)]
    Capsules(CapsulesCommand),
    /// Figures: tokens used, messages, summaries, compression, levels; and what the calls came to, one after the other.
    #[command(after_help = example("stats --whole-session"))]
    Stats {
        /// Of the calls of the whole session instead of this branch's.
        #[arg(long)]
        whole_session: bool,
    },
    /// Calls to tools on the branch, newest first: what each was asked, who allowed it, what it came to, what fixed a failure.
    #[command(after_help = example("traces --failed"))]
    Traces(Traces),
    /// Undo the last change of the session.
    #[command(after_help = example("undo"))]
    Undo,
    /// Do the last undone change again.
    #[command(after_help = example("redo"))]
    Redo,
    /// Ask a new version of one of your messages; the old one stays beside it.
    #[command(after_help = example("edit 3 Why does the second login fail?"))]
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
    #[command(after_help = example("regenerate 3"))]
    Regenerate {
        /// To which of your messages; the last one when left out.
        message: Option<String>,
        /// Wait in line where another program is asking on the branch.
        #[arg(long)]
        wait: bool,
    },
    /// Settings of the branch.
    #[command(flatten)]
    Set(SettingCommand),
    /// Choose the colors of the full-screen program; without a name, list or try them.
    #[command(after_help = example("theme sepia"))]
    Theme {
        /// The theme's name.
        name: Option<String>,
    },
    /// Put the text of a skill into the message; the command line prints it. Without a name, list the skills.
    #[command(after_help = example("skill review"))]
    Skill {
        /// The skill's name.
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
    #[command(after_help = example("import conversations.json"))]
    Import {
        /// JSON lines, OpenAI messages, or a ChatGPT export, of any size; `-` reads standard input, up to 2 GiB. Of a text
        /// larger than 4 MiB the first 4 MiB are kept, and it is said.
        file: PathBuf,
    },
    /// Print a conversation.
    #[command(after_help = example("export --format markdown --output talk.md"))]
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
    #[command(after_help = example("models"))]
    Models,
    /// Look at the store, the settings and the servers.
    #[command(after_help = example("doctor"))]
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
    #[command(after_help = example("backups"))]
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
    #[command(after_help = example("completions bash"))]
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = example("man"))]
    Man,
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

fn role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "must be system, user, assistant or tool".into())
}
