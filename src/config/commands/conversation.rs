//! The subcommands of `session`, `branch`, `message`, `memory`, `task`, and `state`.
//! Not for: running the commands (`cli`, `tui`).

use super::example;
use super::number::number;
use super::system::WithBackups;
use crate::domain::conversation::MemoryKind;
use clap::{Args as ClapArgs, Subcommand};

/// `session`.
#[derive(Subcommand, Clone, Debug)]
pub enum SessionCommand {
    /// List all sessions, newest first.
    #[command(after_help = example("session list"))]
    List,
    /// Start a new session and switch to it.
    #[command(after_help = example("session new Login bug"))]
    New {
        /// The session's title.
        title: Vec<String>,
    },
    /// Switch to a session.
    #[command(after_help = example("session switch \"Login bug\""))]
    Switch {
        /// The session: id, unique prefix, or name.
        #[arg(id = "which", value_name = "SESSION")]
        session: String,
    },
    /// Rename a session.
    #[command(after_help = example("session rename \"Login bug\""))]
    Rename {
        /// The session (optional; the default is the session used last) and its new title.
        #[arg(required = true, num_args = 1..=2, value_names = ["SESSION", "TITLE"])]
        names: Vec<String>,
    },
    /// Write a session's title with the model, from its first turn.
    #[command(after_help = example("session retitle"))]
    Retitle {
        /// The session. The default is the session used last.
        #[arg(id = "which", value_name = "SESSION")]
        session: Option<String>,
    },
    /// Delete a session with all its messages. This cannot be undone.
    #[command(after_help = example("session delete \"Login bug\" --yes"))]
    Delete {
        /// The session: id, unique prefix, or name.
        #[arg(id = "which", value_name = "SESSION")]
        session: String,
        /// Skip the question.
        #[arg(short, long)]
        yes: bool,
        /// What to do with backups that contain the deleted messages. The default asks on a terminal and keeps the
        /// backups otherwise.
        #[arg(long, value_enum, value_name = "WHAT")]
        backups: Option<WithBackups>,
    },
    /// Search messages of all sessions by words and filters, newest first, and sessions by title.
    #[command(after_help = example("session search refresh token role:user"))]
    Search {
        /// The words, and filters: `role:`, `session:`, `branch:`, `model:`, `tool:`, `after:2026-01-01`, and
        /// `before:`.
        #[arg(required = true)]
        words: Vec<String>,
        /// The maximum number of messages.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::<u16>(1, Some(500)))]
        limit: u16,
    },
}

/// `branch`.
#[derive(Subcommand, Clone, Debug)]
pub enum BranchCommand {
    /// List the branches of the session.
    #[command(after_help = example("branch list"))]
    List,
    /// Fork a new branch from the end of this branch and switch to it.
    #[command(after_help = example("branch fork retry --at 3"))]
    Fork {
        /// The new branch's name.
        name: Option<String>,
        /// Fork after this message's turn instead.
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
        /// Stay on the current branch.
        #[arg(long)]
        stay: bool,
    },
    /// Switch to a branch.
    #[command(after_help = example("branch switch main"))]
    Switch {
        /// The branch: id, unique prefix, or name.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: String,
    },
    /// Rename a branch.
    #[command(after_help = example("branch rename retry"))]
    Rename {
        /// The branch (optional; the default is the branch used last) and its new name.
        #[arg(required = true, num_args = 1..=2, value_names = ["BRANCH", "NAME"])]
        names: Vec<String>,
    },
    /// Compare two branches from where they diverge: messages, usage, cost, and the plans of their last calls.
    #[command(after_help = example("branch compare main"))]
    Compare {
        /// The first branch.
        #[arg(value_name = "BRANCH")]
        a: String,
        /// The second branch. The default is the branch used last.
        #[arg(value_name = "BRANCH")]
        b: Option<String>,
    },
    /// Pick turns or pinned texts onto another branch, with links to their source.
    #[command(after_help = example("branch pick 3..5 --onto main"))]
    Pick {
        /// Turns of this branch (or the branch of -b); FIRST..LAST is a range, picked as one text.
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
        /// The target branch.
        #[arg(long, value_name = "BRANCH")]
        onto: String,
        /// Only the messages, not their whole turns.
        #[arg(long)]
        message: bool,
        /// Pick all items as one text.
        #[arg(long)]
        together: bool,
    },
    /// Bring a branch's result back as a card that links to its sources; the card becomes stale when the branch grows.
    #[command(after_help = example("branch return retry"))]
    Return {
        /// The branch with the result. The default is the branch used last.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: Option<String>,
        /// The target branch. The default is the branch that it was forked from.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
    },
    /// Keep one branch of a race: it takes the name of the original branch, and the other branches are archived
    /// (undoable).
    #[command(after_help = example("branch keep race-1"))]
    Keep {
        /// The branch: id, unique prefix, or name.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: String,
    },
    /// Archive a branch; its messages are kept.
    #[command(after_help = example("branch archive retry"))]
    Archive {
        /// The branch. The default is the branch used last.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: Option<String>,
        /// Restore the archived branch.
        #[arg(long)]
        back: bool,
    },
}

/// `message`.
#[derive(Subcommand, Clone, Debug)]
pub enum MessageCommand {
    /// List the messages of the branch.
    #[command(after_help = example("message list"))]
    List {
        /// List the messages of the whole session.
        #[arg(long)]
        all: bool,
    },
    /// Print a message.
    #[command(after_help = example("message show 3"))]
    Show {
        /// The message.
        message: String,
    },
    /// Print the last messages in full.
    #[command(after_help = example("message read 6"))]
    Read {
        /// The number of messages.
        #[arg(default_value_t = 4, value_parser = number::<usize>(0, None))]
        count: usize,
    },
    /// Label a message, to find it later; without a label, remove the label (undoable).
    #[command(after_help = example("message label 3 the fix"))]
    Label {
        /// The message.
        message: String,
        /// The label, at most 40 characters.
        label: Vec<String>,
    },
    /// Add a message to the favorites (undoable).
    #[command(name = "favorite", alias = "favourite", after_help = example("message favorite 3"))]
    Favorite {
        /// The message.
        message: String,
        /// Remove it from the favorites.
        #[arg(long)]
        off: bool,
    },
    /// List the labeled messages and the favorites of the session.
    #[command(after_help = example("message labels --favorites"))]
    Labels {
        /// Only messages with these words; `label:LABEL` and `fav` are filters.
        words: Vec<String>,
        /// Only favorites.
        #[arg(long = "favorites", alias = "favourites")]
        favorites: bool,
    },
    /// Delete a turn. This cannot be undone.
    #[command(after_help = example("message remove 12 --yes"))]
    Remove {
        /// The turn.
        item: String,
        /// Skip the question.
        #[arg(short, long)]
        yes: bool,
        /// What to do with backups that contain the deleted messages. The default asks on a terminal and keeps the
        /// backups otherwise.
        #[arg(long, value_enum, value_name = "WHAT")]
        backups: Option<WithBackups>,
    },
}

/// The scope of memories.
#[derive(ClapArgs, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// All sessions.
    #[arg(long)]
    pub all: bool,
    /// This session.
    #[arg(long, conflicts_with = "all")]
    pub here: bool,
}

/// `memory`.
#[derive(Subcommand, Clone, Debug)]
pub enum MemoryCommand {
    /// List the memories that apply to the session, oldest first.
    #[command(after_help = example("memory list"))]
    List {
        /// Only memories with this scope.
        #[command(flatten)]
        within: Within,
    },
    /// Add a confirmed memory. By default, a preference applies to all sessions, and any other kind applies to this
    /// session.
    #[command(after_help = example("memory add fact The port is 8080."))]
    Add {
        /// The kind: fact, preference, outcome, or event.
        #[arg(value_parser = memory_kind)]
        kind: MemoryKind,
        /// The text, at most 300 characters; `-` reads standard input.
        #[arg(required = true)]
        text: Vec<String>,
        /// The memory's scope.
        #[command(flatten)]
        within: Within,
    },
    /// Edit a memory's text or scope.
    #[command(after_help = example("memory edit 1f2e3d4c The port is 8081."))]
    Edit {
        /// The memory: its id, or the short id from the list.
        id: String,
        /// The new text; `-` reads standard input.
        text: Vec<String>,
        /// The memory's scope.
        #[command(flatten)]
        within: Within,
    },
    /// Confirm a suggested memory; only confirmed memories are sent.
    #[command(after_help = example("memory confirm 1f2e3d4c --all"))]
    Confirm {
        /// The memory.
        id: String,
        /// The memory's scope. The default is the suggested scope.
        #[command(flatten)]
        within: Within,
    },
    /// Dismiss a suggested memory; it is kept only to prevent the same suggestion.
    #[command(after_help = example("memory dismiss 1f2e3d4c"))]
    Dismiss {
        /// The memory.
        id: String,
    },
    /// Delete a memory.
    #[command(after_help = example("memory delete 1f2e3d4c"))]
    Delete {
        /// The memory.
        id: String,
    },
    /// Search memories, best match first.
    #[command(after_help = example("memory search port"))]
    Search {
        /// The words.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only memories with this scope.
        #[command(flatten)]
        within: Within,
    },
}

fn memory_kind(text: &str) -> Result<MemoryKind, String> {
    MemoryKind::from_name(text).ok_or_else(|| "must be fact, preference, outcome, or event".into())
}

/// `task`.
#[derive(Subcommand, Clone, Debug)]
pub enum TaskCommand {
    /// Start a task on the branch; a running task ends.
    #[command(after_help = example("task start fix the login"))]
    Start {
        /// The task's name.
        #[arg(required = true)]
        name: Vec<String>,
    },
    /// End the running task.
    #[command(alias = "finish", after_help = example("task done the tests pass"))]
    Done {
        /// The outcome, which becomes a memory of the session.
        outcome: Vec<String>,
    },
    /// List the tasks of the branch, oldest first.
    #[command(after_help = example("task list"))]
    List,
}

/// `state`.
#[derive(Subcommand, Clone, Debug)]
pub enum StateCommand {
    /// Print the branch's state block, and an imported state block that is not adopted yet.
    #[command(after_help = example("state show"))]
    Show,
    /// Adopt the imported state block on this branch.
    #[command(after_help = example("state adopt"))]
    Adopt,
    /// Replace the state block; without text, your editor opens.
    #[command(after_help = example("state edit Goal: fix the login"))]
    Edit {
        /// The new state block; `-` reads standard input.
        text: Vec<String>,
    },
}
