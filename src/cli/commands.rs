//! The commands of commands: what stands behind `plans`, `branch`, `session` and their like.
//! Not for: the commands themselves and the flags that all take (`args`).

use crate::domain::call::model::Quirk;
use crate::domain::call::race::{Limits, micro};
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// What is to be done with backups that hold what was removed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithBackups {
    /// They stay as they are.
    Keep,
    /// It is removed from them too. One from before a change of the store's schema cannot be written anew: it is deleted.
    Rewrite,
    /// They are deleted.
    Delete,
}

/// What `doctor` forgets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forget {
    /// Everything that was learned from refusals.
    All,
    /// One quirk.
    One(Quirk),
}

impl Forget {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Quirk::ALL.iter().map(|quirk| quirk.name()).collect();
        let one = Quirk::from_name(text).map(Self::One);
        let all = || (text == "all").then_some(Self::All);
        one.or_else(all).ok_or_else(|| format!("must be all or one of {}", names.join(", ")))
    }
}

/// `compress`.
#[derive(ClapArgs, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Compress {
    /// By its own sentences, without a model (the way when nothing is said).
    #[arg(long, conflicts_with = "by_model")]
    pub extractive: bool,
    /// By the branch's model; the call is made and recorded.
    #[arg(long)]
    pub by_model: bool,
    /// Keep dropped items word for word: their numbers or texts, or `all` that fit.
    #[arg(long, value_name = "ITEM", num_args = 1..)]
    pub keep: Vec<String>,
    /// Up to this turn, by its number; else all but the newest ten messages.
    #[arg(long, value_name = "TURN", value_parser = clap::value_parser!(u32).range(1..))]
    pub up_to: Option<u32>,
    /// A summary of the whole session, which goes in mode heavy beside the turns.
    #[arg(long)]
    pub whole_session: bool,
    /// Use it (undoable). The turns stay where they are.
    #[arg(long, conflicts_with = "dry_run")]
    pub accept: bool,
    /// Change nothing (the way when nothing is said).
    #[arg(long)]
    pub dry_run: bool,
}

/// `capsules`.
#[derive(Subcommand, Clone, Debug)]
pub enum CapsulesCommand {
    /// All levels, newest first; ● goes with the next call.
    List,
    /// The text of one.
    Show {
        /// A prefix of its id; the one that goes when left out.
        id: Option<String>,
    },
    /// Take the newest level back: the summary before it goes again, or the turns.
    Undo {
        /// Of the session's summary.
        #[arg(long)]
        whole_session: bool,
    },
}

/// `plans`.
#[derive(Subcommand, Clone, Debug)]
pub enum Plans {
    /// The calls of the session, newest last.
    List,
    /// A stored plan.
    Show {
        /// A unique prefix of a plan's or a run's id.
        id: String,
    },
    /// What differs between two calls, and by whose act: rows that entered, left, moved, were shortened.
    Diff {
        /// A unique prefix of a plan's or a run's id.
        a: String,
        /// The other; when left out, A is compared with the call before it on its branch.
        b: Option<String>,
    },
    /// An item over the calls of the branch: in which it went, how, why, and who changed it when.
    Why {
        /// Which turn.
        item: String,
        /// Just the message, not its whole turn.
        #[arg(long)]
        message: bool,
    },
}

/// `context`.
#[derive(Subcommand, Clone, Debug)]
pub enum ContextCommand {
    /// Set the branch's window in turns; 0 is the full history.
    Window {
        /// How many.
        turns: u32,
    },
    /// Show the exact context that would be sent.
    Show {
        /// The message; may be left out.
        text: Vec<String>,
    },
    /// Rebuild the state from the state blocks in the window.
    Rebuild,
}

/// `message`.
#[derive(Subcommand, Clone, Debug)]
pub enum MessageCommand {
    /// The messages of the branch.
    List {
        /// Of the whole session.
        #[arg(long)]
        all: bool,
    },
    /// One message.
    Show {
        /// Which.
        message: String,
    },
    /// Give a message a name, by which it is found again; without one, take it off (undoable).
    Label {
        /// Which.
        message: String,
        /// The name, at most 40 characters.
        name: Vec<String>,
    },
    /// Make a message a favourite (undoable).
    Favourite {
        /// Which.
        message: String,
        /// Take the star off.
        #[arg(long)]
        off: bool,
    },
    /// The messages of the session that have a name or a star.
    Labels {
        /// Only those with these words; `label:NAME` and `fav` too.
        words: Vec<String>,
        /// Only favourites.
        #[arg(long)]
        favourites: bool,
    },
    /// Delete a turn for good. This cannot be undone.
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

/// `state`.
#[derive(Subcommand, Clone, Debug)]
pub enum StateCommand {
    /// The state that counts on the branch, and one that came with an import and waits for your yes.
    Show,
    /// Take the state that came with an import: from now on it counts here.
    Adopt,
    /// Replace it; without a text your editor opens.
    Edit {
        /// The new state; `-` reads standard input.
        text: Vec<String>,
    },
}

/// The most that each branch of a race may take; what had come when a limit was reached is kept.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct RaceLimits {
    /// Tokens of its answer; 0 lifts a limit of the settings.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u32>,
    /// Dollars, where prices are known.
    #[arg(long, value_name = "DOLLARS", value_parser = cost)]
    pub max_cost: Option<u64>,
    /// Seconds.
    #[arg(long, value_name = "N")]
    pub max_seconds: Option<u32>,
}

impl From<RaceLimits> for Limits {
    fn from(limits: RaceLimits) -> Self {
        Self { tokens: limits.max_tokens, cost_micro: limits.max_cost, seconds: limits.max_seconds }
    }
}

fn cost(text: &str) -> Result<u64, String> {
    micro(text).ok_or_else(|| "must be dollars, such as 0.01".into())
}

/// `branch`.
#[derive(Subcommand, Clone, Debug)]
pub enum BranchCommand {
    /// The branches of the session.
    List,
    /// A new branch that starts where this one stands, and becomes the last used.
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
    /// Rename a branch.
    Rename {
        /// The branch, which may be left out, and its new name.
        #[arg(required = true, num_args = 1..=2, value_names = ["BRANCH", "NAME"])]
        names: Vec<String>,
    },
    /// Two branches side by side from where they part: what each says, used and cost, and their last calls.
    Compare {
        /// One.
        a: String,
        /// The other; the last used when left out.
        b: Option<String>,
    },
    /// Bring turns or pinned texts onto another branch, with where they came from.
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
    Return {
        /// Which branch; the last used when left out.
        branch: Option<String>,
        /// Onto which; the one that it was forked from when left out.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
    },
    /// Keep one branch of a race: it takes the name of the branch that was raced, the others are put away (undoable).
    Keep {
        /// Which.
        branch: String,
    },
    /// Put a branch away; nothing of it is lost.
    Archive {
        /// Which; the last used when left out.
        branch: Option<String>,
        /// Take it back.
        #[arg(long)]
        back: bool,
    },
}

/// `session`.
#[derive(Subcommand, Clone, Debug)]
pub enum SessionCommand {
    /// All sessions, newest first.
    List,
    /// A new session, which becomes the last used.
    New {
        /// Its title.
        title: Vec<String>,
    },
    /// Rename a session.
    Rename {
        /// The session, which may be left out, and its new title.
        #[arg(required = true, num_args = 1..=2, value_names = ["SESSION", "TITLE"])]
        names: Vec<String>,
    },
    /// Have the model give a session a title, from its first turn.
    Retitle {
        /// Which; the last used where it is left out.
        session: Option<String>,
    },
    /// Delete a session with all its messages for good. This cannot be undone.
    Delete {
        /// Which.
        session: String,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// What to do with backups that hold it: `rewrite` removes it there too; else a terminal asks, and they are kept.
        #[arg(long, value_enum, value_name = "WHAT")]
        backups: Option<WithBackups>,
    },
    /// Messages of all sessions by words and filters, the newest first, and sessions with the words in their title.
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

/// `config`.
#[derive(Subcommand, Clone, Debug, PartialEq, Eq)]
pub enum ConfigCommand {
    /// Where the files are.
    Path,
    /// The settings that hold, as TOML.
    Show,
    /// Check the files.
    Check,
    /// The themes there are; with a name, that theme as TOML, to be changed and kept in the themes folder.
    Theme {
        /// Which.
        name: Option<String>,
    },
    /// Start with this profile (and model) from now on; written into your file, its comments kept.
    Default {
        /// The profile's name.
        profile: String,
        /// The model; the profile's own when left out.
        model: Option<String>,
    },
}

/// `replay`.
#[derive(ClapArgs, Clone, Debug)]
pub struct Replay {
    /// The call: a unique prefix of its id.
    pub run: String,
    /// Send nothing: render it again and compare it with what was sent.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the body that is rendered, byte for byte.
    #[arg(long, requires = "dry_run")]
    pub request: bool,
    /// Without this item of the call: an id from `plans show RUN --json`, or a message's.
    #[arg(long, value_name = "ITEM", conflicts_with = "dry_run")]
    pub without: Option<String>,
}
