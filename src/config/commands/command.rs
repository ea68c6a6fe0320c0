//! The commands, each with its arguments, description, and example.
//! Not for: the flags that all commands accept (`args`), or subcommands (`conversation`, `calls`, `system`).

use super::calls::{Compress, ContextCommand, Plans, RaceLimits, Replay, SummariesCommand};
use super::conversation::{BranchCommand, MemoryCommand, MessageCommand, SessionCommand, StateCommand, TaskCommand};
use super::example;
use super::mark::MarkCommand;
use super::number::number;
use super::setting::SettingCommand;
use super::system::{Forget, McpCommand, ProgramCommand, ProjectCommand, RulesCommand, Traces};
use crate::domain::conversation::Role;
use clap::{Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// The commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Send a message and stream the answer.
    #[command(after_help = example("ask Why does the login fail?"))]
    Ask {
        /// The message; `-` or no text reads standard input. With --request, the text that is saved as your message;
        /// the default is the request's last user message.
        text: Vec<String>,
        /// Send exactly this body instead of the planned request, in one call: a file, or `-` for standard input. Start
        /// from the output of `plan --request`; pleach records that the request was edited.
        #[arg(long, value_name = "FILE")]
        request: Option<PathBuf>,
        /// Wait while another process uses the branch; Ctrl+C stops waiting.
        #[arg(long)]
        wait: bool,
    },
    /// Print the plan of the next request; nothing is sent.
    #[command(after_help = example("plan Why does the login fail?"))]
    Plan {
        /// The message (optional).
        text: Vec<String>,
        /// Print the exact request body, byte for byte.
        #[arg(long)]
        request: bool,
        /// Plan the request that `edit MESSAGE TEXT` would send.
        #[arg(long, value_name = "MESSAGE", conflicts_with = "regenerate")]
        edit: Option<String>,
        /// Plan the request that `regenerate MESSAGE` would send. The default is the last message.
        #[arg(long, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "", conflicts_with = "text")]
        regenerate: Option<String>,
        /// Compare plans under other modes, policies, models, and budgets, side by side.
        #[arg(long, conflicts_with = "request")]
        what_if: bool,
        /// Add a variant to --what-if: mode=off, policy=window, model=NAME, budget=N, or several, separated by commas.
        #[arg(long, value_name = "SETTING=VALUE", requires = "what_if")]
        arm: Vec<String>,
    },
    /// List past calls and their plans.
    #[command(subcommand)]
    Plans(Plans),
    /// Replay a stored call on a scratch branch: byte for byte, with another model (--model), or without an item
    /// (--without).
    #[command(after_help = example("replay 019a7c42 --dry-run"))]
    Replay(Replay),
    /// Send a message on several branches at once, each with its own settings, and print the answers side by side. In the
    /// workbench, a message without settings opens a list of models to send it to.
    #[command(after_help = example("race --arm mode=off --arm mode=heavy Why does it fail?"))]
    Race {
        /// The message.
        text: Vec<String>,
        /// The settings of a branch: mode=off, policy=window, model=NAME, budget=N, or several, separated by commas.
        #[arg(long, value_name = "SETTING=VALUE")]
        arm: Vec<String>,
        /// Limits for each branch.
        #[command(flatten)]
        limits: RaceLimits,
    },
    /// Ask a side question with the branch's context. No message is saved and no mark changes; the call counts as
    /// usage.
    #[command(after_help = example("aside What does that word mean?"))]
    Aside {
        /// The question.
        text: Vec<String>,
        /// Save the question and the answer as a branch.
        #[arg(long)]
        keep: bool,
    },
    /// Search the branch's messages for a query, as a plan would; nothing is sent.
    #[command(after_help = example("retrieve the login bug"))]
    Retrieve {
        /// The query.
        #[arg(required_unless_present = "batch")]
        query: Vec<String>,
        /// Read many queries as JSON lines `{id, query, session?, at?}`; `-` reads standard input.
        #[arg(long, value_name = "FILE", conflicts_with = "query")]
        batch: Option<PathBuf>,
        /// Search even if the query is too vague for retrieval.
        #[arg(long)]
        anyway: bool,
        /// Search the code of a workspace instead, and index the workspace first if needed. Batch lines are `{id,
        /// query}`.
        #[arg(long, conflicts_with = "anyway")]
        code: bool,
        /// The workspace. The default is this folder if it is indexed, or else the workspace indexed last.
        #[arg(long, value_name = "DIR", requires = "code")]
        dir: Option<PathBuf>,
    },
    /// Index the code of a workspace, or update its index: symbols of Rust, Python, TypeScript, JavaScript, Go, C, C++,
    /// and Java, settings in TOML and YAML, and headings of Markdown. Files that git ignores are skipped.
    #[command(after_help = example("index --map"))]
    Index {
        /// The workspace. The default is this folder.
        dir: Option<PathBuf>,
        /// Print a map of the folders and the most central symbols instead of statistics; --budget limits the map.
        #[arg(long)]
        map: bool,
    },
    /// Append a message without calling a model.
    #[command(after_help = example("add user The port is 8080."))]
    Add {
        /// The message's role: system, user, assistant, or tool.
        #[arg(value_parser = role)]
        role: Role,
        /// The content. Standard input is appended to the text; `-` or no text reads standard input alone.
        #[arg(value_name = "CONTENT")]
        text: Vec<String>,
        /// Its priority from 0 to 100, which decides between equal scores under the policy `levels`. The default is 50.
        #[arg(long, value_name = "N", value_parser = number::<u8>(0, Some(100)))]
        priority: Option<u8>,
    },
    /// Print the messages of the next request as text.
    #[command(after_help = example("build Why does it fail?"))]
    Build {
        /// The message (optional).
        text: Vec<String>,
    },
    /// Set the window, show the context of the next request, or rebuild the state block.
    #[command(subcommand)]
    Context(ContextCommand),
    /// List, show, label, or delete messages.
    #[command(subcommand)]
    Message(MessageCommand),
    /// Manage memories: facts and preferences that the model suggests, you confirm, and later requests can contain.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Commands that mark items.
    #[command(flatten)]
    Mark(MarkCommand),
    /// List the marks on the branch: pins, leases, and exclusions.
    #[command(after_help = example("pins --history"))]
    Pins {
        /// List every change to the marks, oldest first, with its author and reason.
        #[arg(long)]
        history: bool,
    },
    /// Start, finish, or list tasks on the branch.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Manage tools and MCP (Model Context Protocol) servers: state, cost, on and off.
    #[command(after_help = example("mcp"))]
    Mcp {
        /// The subcommand. The default is `list`.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Trust this folder (asks first): the model can use tools in the folder, and requests can contain its code.
    #[command(after_help = example("trust"))]
    Trust {
        /// Stop trusting the folder.
        #[arg(long)]
        off: bool,
        /// Skip the question.
        #[arg(short, long, conflicts_with = "off")]
        yes: bool,
        /// Show what this folder's own settings (.pleach.toml) change, and approve them; --off withdraws the
        /// approval.
        #[arg(long)]
        config: bool,
    },
    /// Manage the rules that allow, ask about, or deny tool calls.
    #[command(after_help = example("rules"))]
    Rules {
        /// The subcommand. The default is `list`.
        #[command(subcommand)]
        command: Option<RulesCommand>,
    },
    /// List project rules (AGENTS.md) and skills with their status in the next request, or exclude them on the branch.
    #[command(after_help = example("project"))]
    Project {
        /// The subcommand. The default is `list`.
        #[command(subcommand)]
        command: Option<ProjectCommand>,
    },
    /// Write a module summary of a folder or file from its own documentation and code; without a path, list the module
    /// summaries. In mode Heavy, requests contain them, marked as summaries. The short form of --by-model is
    /// `module-summary PATH by model`.
    #[command(after_help = example("module-summary src/engine"))]
    ModuleSummary {
        /// The folder or file; `.` is the whole workspace.
        path: Option<String>,
        /// Have the branch's model write the summary, in a separate call.
        #[arg(long, requires = "path", conflicts_with_all = ["undo", "redo"])]
        by_model: bool,
        /// Undo the newest version instead.
        #[arg(long, requires = "path", conflicts_with = "redo")]
        undo: bool,
        /// Restore the version that was undone last.
        #[arg(long, requires = "path")]
        redo: bool,
    },
    /// Draft a summary of the older turns and print the facts it dropped; --accept uses the summary in place of the
    /// turns. The short form is `compress [TURN] [model|extractive] [session]`.
    #[command(after_help = example("compress --up-to 12"))]
    Compress(Compress),
    /// List, print, or undo summaries of the branch, and accept, edit, or discard the waiting draft.
    #[command(subcommand)]
    Summary(SummariesCommand),
    /// Show usage: tokens, messages, summaries, priority levels, and the cost of each call.
    #[command(after_help = example("stats --whole-session"))]
    Stats {
        /// Include the calls of the whole session, not only of this branch.
        #[arg(long)]
        whole_session: bool,
    },
    /// List tool calls on the branch, newest first: arguments, approval, result, and the fix of each failure.
    #[command(after_help = example("traces --failed"))]
    Traces(Traces),
    /// Undo the session's last change.
    #[command(after_help = example("undo"))]
    Undo,
    /// Redo the last undone change.
    #[command(after_help = example("redo"))]
    Redo,
    /// Send a new version of one of your messages; the old version stays.
    #[command(after_help = example("edit 3 Why does the second login fail?"))]
    Edit {
        /// The message.
        message: String,
        /// The new text; `-` reads standard input.
        #[arg(required = true)]
        text: Vec<String>,
        /// Wait while another process uses the branch.
        #[arg(long)]
        wait: bool,
    },
    /// Regenerate an answer; the old answer stays.
    #[command(after_help = example("regenerate 3"))]
    Regenerate {
        /// The message to answer again. The default is your last message.
        message: Option<String>,
        /// Wait while another process uses the branch.
        #[arg(long)]
        wait: bool,
    },
    /// Commands that show or change the branch's settings.
    #[command(flatten)]
    Set(SettingCommand),
    /// Choose the color theme of the workbench; without a name, list the themes.
    #[command(after_help = example("theme sepia"))]
    Theme {
        /// The theme's name.
        name: Option<String>,
    },
    /// Insert the text of a skill into the message (the command line prints the text); without a name, list the skills.
    #[command(after_help = example("skill review"))]
    Skill {
        /// The skill's name.
        name: Option<String>,
    },
    /// Show, adopt, or edit the state block.
    #[command(subcommand)]
    State(StateCommand),
    /// Manage the branches of a session.
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Manage sessions.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Import a conversation; a second import adds nothing.
    #[command(after_help = example("import conversations.json"))]
    Import {
        /// JSON lines, OpenAI messages, a bundle (its messages and branches), or an export of ChatGPT or Telegram Desktop
        /// (`result.json`) of any size; `-` reads standard input, up to 2 GiB. Messages larger than 4 MiB are shortened
        /// and reported.
        file: PathBuf,
        /// Send the imported system prompts with every request, as instructions (`pleach undo` reverts this).
        #[arg(long)]
        keep_instructions: bool,
    },
    /// Export a conversation. Without a file, the command prints it as JSON lines, and the workbench shows it as
    /// Markdown.
    #[command(after_help = example("export talk.md"))]
    Export {
        /// Write to this file, in the format of its extension: `.md`, `.html`, `.json`, `.jsonl`, or `.bundle`. Only you can
        /// read the file.
        #[arg(conflicts_with = "output")]
        file: Option<PathBuf>,
        /// The format. The default is the format of the file's extension, or else jsonl (in the workbench: markdown).
        #[arg(long, value_enum)]
        format: Option<Format>,
        /// Export the whole tree of the session, not only the branch.
        #[arg(long)]
        all: bool,
        /// Mask text that looks like a secret. A bundle is always masked.
        #[arg(long)]
        mask: bool,
        /// Write to a file that only you can read.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check a bundle: whether any record was changed, moved, or removed since its export.
    ///
    /// Each record has a hash that covers it and all records before it. The last hash is the digest of the bundle, which
    /// `export` prints too: equal digests mean equal bundles. Requests in the bundle are compared with the digest of what
    /// was sent. A request with text that looks like a secret is not in the bundle, so it is only counted.
    #[command(after_help = example("verify talk.bundle"))]
    Verify {
        /// The bundle; `-` reads standard input.
        file: PathBuf,
    },
    /// List the models that the profiles offer.
    #[command(after_help = example("models"))]
    Models,
    /// Check the store, the settings, and the servers.
    #[command(after_help = example("doctor"))]
    Doctor {
        /// Move a damaged store aside, unchanged, and start from its newest backup, or empty if there is no backup.
        /// Readable messages are exported to a file beside the store.
        #[arg(long)]
        repair: bool,
        /// Skip the question.
        #[arg(short, long, requires = "repair")]
        yes: bool,
        /// Start empty even if there is a backup.
        #[arg(long, requires = "repair")]
        empty: bool,
        /// Forget a quirk that was learned from a server's error: its name in the report, or `all`. --profile and
        /// --model limit the effect.
        #[arg(long, value_name = "QUIRK", conflicts_with = "repair", value_parser = Forget::read)]
        forget: Option<Forget>,
    },
    /// List the backups of the store, and whether they still contain deleted data.
    #[command(after_help = example("backups"))]
    Backups {
        /// Remove the deleted data from the backups too. Backups with an older schema cannot be rewritten and are
        /// deleted.
        #[arg(long, conflicts_with = "delete")]
        rewrite: bool,
        /// Delete the backups that contain deleted data. This cannot be undone.
        #[arg(long)]
        delete: bool,
        /// Skip the question.
        #[arg(short, long, requires = "delete")]
        yes: bool,
    },
    /// Commands about the program itself.
    #[command(flatten)]
    Program(ProgramCommand),
}

/// Formats of an export.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One message per line, which `import` reads.
    #[value(alias = "json")]
    Jsonl,
    /// Text for readers.
    #[value(alias = "md")]
    Markdown,
    /// One page for readers, without scripts, with the other answers at each branch point.
    Html,
    /// Messages with their calls, plans, searches, and tool calls, always masked; `verify` checks it.
    Bundle,
}

impl Format {
    /// Returns the format of a file name's extension, if the extension names one.
    pub fn of_file(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_lowercase();
        match extension.as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "json" | "jsonl" => Some(Self::Jsonl),
            "html" | "htm" => Some(Self::Html),
            "bundle" => Some(Self::Bundle),
            _ => None,
        }
    }
}

fn role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "must be system, user, assistant, or tool".into())
}
