//! The commands below `session`, `branch`, `message`, `memory`, `task` and `state`.
//! Not for: doing what they say (`cli`, `tui`).

use super::example;
use super::system::WithBackups;
use crate::domain::conversation::memory::MemoryKind;
use clap::{Args as ClapArgs, Subcommand};

/// `session`.
#[derive(Subcommand, Clone, Debug)]
pub enum SessionCommand {
    /// All sessions, newest first.
    #[command(after_help = example("session list"))]
    List,
    /// A new session, which becomes the last used.
    #[command(after_help = example("session new Login bug"))]
    New {
        /// Its title.
        title: Vec<String>,
    },
    /// Go to a session: it becomes the last used.
    #[command(after_help = example("session switch \"Login bug\""))]
    Switch {
        /// Which.
        #[arg(id = "which", value_name = "SESSION")]
        session: String,
    },
    /// Rename a session.
    #[command(after_help = example("session rename \"Login bug\""))]
    Rename {
        /// The session, which may be left out, and its new title.
        #[arg(required = true, num_args = 1..=2, value_names = ["SESSION", "TITLE"])]
        names: Vec<String>,
    },
    /// Have the model give a session a title, from its first turn.
    #[command(after_help = example("session retitle"))]
    Retitle {
        /// Which; the last used where it is left out.
        #[arg(id = "which", value_name = "SESSION")]
        session: Option<String>,
    },
    /// Delete a session with all its messages for good. This cannot be undone.
    #[command(after_help = example("session delete \"Login bug\" --yes"))]
    Delete {
        /// Which.
        #[arg(id = "which", value_name = "SESSION")]
        session: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// What to do with backups that hold it: `rewrite` removes it there too; else a terminal asks, and they are kept.
        #[arg(long, value_enum, value_name = "WHAT")]
        backups: Option<WithBackups>,
    },
    /// Messages of all sessions by words and filters, the newest first, and sessions with the words in their title.
    #[command(after_help = example("session search refresh token role:user"))]
    Search {
        /// The words; `role:`, `session:`, `branch:`, `model:`, `tool:`, `after:2026-01-01` and `before:` among them are
        /// filters.
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many messages.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
}

/// `branch`.
#[derive(Subcommand, Clone, Debug)]
pub enum BranchCommand {
    /// The branches of the session.
    #[command(after_help = example("branch list"))]
    List,
    /// A new branch that starts where this one stands, and becomes the last used.
    #[command(after_help = example("branch fork retry --at 3"))]
    Fork {
        /// Its name.
        name: Option<String>,
        /// Start after this message's turn instead.
        #[arg(long, value_name = "MESSAGE")]
        at: Option<String>,
        /// Stay on the old branch.
        #[arg(long)]
        stay: bool,
    },
    /// Go to a branch: it becomes the last used.
    #[command(after_help = example("branch switch main"))]
    Switch {
        /// Which.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: String,
    },
    /// Rename a branch.
    #[command(after_help = example("branch rename retry"))]
    Rename {
        /// The branch, which may be left out, and its new name.
        #[arg(required = true, num_args = 1..=2, value_names = ["BRANCH", "NAME"])]
        names: Vec<String>,
    },
    /// Two branches side by side from where they part: what each says, used and cost, and their last calls.
    #[command(after_help = example("branch compare main"))]
    Compare {
        /// One.
        a: String,
        /// The other; the last used when left out.
        b: Option<String>,
    },
    /// Bring turns or pinned texts onto another branch, with where they came from.
    #[command(after_help = example("branch pick 3..5 --onto main"))]
    Pick {
        /// Which turns of this branch (-b names another); FIRST..LAST is all from one to the other, as one text.
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
        /// Onto which branch.
        #[arg(long, value_name = "BRANCH")]
        onto: String,
        /// Just the messages, not their whole turns.
        #[arg(long)]
        message: bool,
        /// As one text.
        #[arg(long)]
        together: bool,
    },
    /// Bring what a branch came to back as a card, with links to its sources; it is stale once the branch grows.
    #[command(after_help = example("branch return retry"))]
    Return {
        /// Which branch; the last used when left out.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: Option<String>,
        /// Onto which; the one that it was forked from when left out.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
    },
    /// Keep one branch of a race: it takes the name of the branch that was raced, the others are put away (undoable).
    #[command(after_help = example("branch keep race-1"))]
    Keep {
        /// Which.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: String,
    },
    /// Put a branch away; nothing of it is lost.
    #[command(after_help = example("branch archive retry"))]
    Archive {
        /// Which; the last used when left out.
        #[arg(id = "which", value_name = "BRANCH")]
        branch: Option<String>,
        /// Take it back.
        #[arg(long)]
        back: bool,
    },
}

/// `message`.
#[derive(Subcommand, Clone, Debug)]
pub enum MessageCommand {
    /// The messages of the branch.
    #[command(after_help = example("message list"))]
    List {
        /// Of the whole session.
        #[arg(long)]
        all: bool,
    },
    /// One message.
    #[command(after_help = example("message show 3"))]
    Show {
        /// Which.
        message: String,
    },
    /// Read the last messages whole.
    #[command(after_help = example("message read 6"))]
    Read {
        /// How many.
        #[arg(default_value_t = 4)]
        count: usize,
    },
    /// Give a message a name, by which it is found again; without one, take it off (undoable).
    #[command(after_help = example("message label 3 the fix"))]
    Label {
        /// Which.
        message: String,
        /// The name, at most 40 characters.
        name: Vec<String>,
    },
    /// Make a message a favourite (undoable).
    #[command(after_help = example("message favourite 3"))]
    Favourite {
        /// Which.
        message: String,
        /// Take the star off.
        #[arg(long)]
        off: bool,
    },
    /// The messages of the session that have a name or a star.
    #[command(after_help = example("message labels --favourites"))]
    Labels {
        /// Only those with these words; `label:NAME` and `fav` too.
        words: Vec<String>,
        /// Only favourites.
        #[arg(long)]
        favourites: bool,
    },
    /// Delete a turn for good. This cannot be undone.
    #[command(after_help = example("message remove 12 --yes"))]
    Remove {
        /// Which.
        item: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// What to do with backups that hold it: `rewrite` removes it there too; else a terminal asks, and they are kept.
        #[arg(long, value_enum, value_name = "WHAT")]
        backups: Option<WithBackups>,
    },
}

/// Where memories hold.
#[derive(ClapArgs, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// In all sessions.
    #[arg(long)]
    pub all: bool,
    /// In this session.
    #[arg(long, conflicts_with = "all")]
    pub here: bool,
}

/// `memory`.
#[derive(Subcommand, Clone, Debug)]
pub enum MemoryCommand {
    /// The memories that hold in the session, oldest first.
    #[command(after_help = example("memory list"))]
    List {
        /// Only those that hold there.
        #[command(flatten)]
        within: Within,
    },
    /// Keep something, confirmed from the start. A preference holds in all sessions, anything else in this one, unless said.
    #[command(after_help = example("memory add fact The port is 8080."))]
    Add {
        /// fact, preference, outcome or event.
        #[arg(value_parser = memory_kind)]
        kind: MemoryKind,
        /// What is to be known, at most 300 characters; `-` reads standard input.
        #[arg(required = true)]
        text: Vec<String>,
        /// Where it holds.
        #[command(flatten)]
        within: Within,
    },
    /// Say it in other words, or let it hold elsewhere.
    #[command(after_help = example("memory edit 1f2e3d4c The port is 8081."))]
    Edit {
        /// Which: its id, or the short one that the list shows.
        id: String,
        /// The new words; `-` reads standard input.
        text: Vec<String>,
        /// Where it holds.
        #[command(flatten)]
        within: Within,
    },
    /// Say that it is right; only then is it ever sent.
    #[command(after_help = example("memory confirm 1f2e3d4c --all"))]
    Confirm {
        /// Which.
        id: String,
        /// Where it holds; as it was suggested when nothing is said.
        #[command(flatten)]
        within: Within,
    },
    /// Turn it down: it is kept only so that it is not suggested again.
    #[command(after_help = example("memory dismiss 1f2e3d4c"))]
    Dismiss {
        /// Which.
        id: String,
    },
    /// Delete it.
    #[command(after_help = example("memory delete 1f2e3d4c"))]
    Delete {
        /// Which.
        id: String,
    },
    /// Those that fit some words, best first.
    #[command(after_help = example("memory search port"))]
    Search {
        /// The words.
        #[arg(required = true)]
        words: Vec<String>,
        /// Only those that hold there.
        #[command(flatten)]
        within: Within,
    },
}

fn memory_kind(text: &str) -> Result<MemoryKind, String> {
    MemoryKind::from_name(text).ok_or_else(|| "must be fact, preference, outcome or event".into())
}

/// `task`.
#[derive(Subcommand, Clone, Debug)]
pub enum TaskCommand {
    /// Begin a task on the branch; one that is running ends.
    #[command(after_help = example("task start fix the login"))]
    Start {
        /// Its name.
        #[arg(required = true)]
        name: Vec<String>,
    },
    /// End the task that is running.
    #[command(after_help = example("task done the tests pass"))]
    Done {
        /// What came of it; it is remembered in the session.
        outcome: Vec<String>,
    },
    /// The tasks of the branch, oldest first.
    #[command(after_help = example("task list"))]
    List,
}

/// `state`.
#[derive(Subcommand, Clone, Debug)]
pub enum StateCommand {
    /// The state that counts on the branch, and one that came with an import and waits for your yes.
    #[command(after_help = example("state show"))]
    Show,
    /// Take the state that came with an import: from now on it counts here.
    #[command(after_help = example("state adopt"))]
    Adopt,
    /// Replace it; without a text your editor opens.
    #[command(after_help = example("state edit Goal: fix the login"))]
    Edit {
        /// The new state; `-` reads standard input.
        text: Vec<String>,
    },
}
