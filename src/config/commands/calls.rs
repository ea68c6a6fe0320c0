//! The commands below `context`, `plans` and `capsules`, and the arguments of `compress`, `race` and `replay`.
//! Not for: doing what they say (`cli`, `tui`).

use super::example;
use crate::domain::call::race::{Limits, micro};
use clap::{Args as ClapArgs, Subcommand};

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
    #[command(after_help = example("capsules list"))]
    List,
    /// The text of one.
    #[command(after_help = example("capsules show"))]
    Show {
        /// A prefix of its id; the one that goes when left out.
        id: Option<String>,
    },
    /// Take the newest level back: the summary before it goes again, or the turns.
    #[command(after_help = example("capsules undo"))]
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
    #[command(after_help = example("plans list"))]
    List,
    /// A stored plan.
    #[command(after_help = example("plans show 019a7c42"))]
    Show {
        /// A unique prefix of a plan's or a run's id.
        id: String,
    },
    /// What differs between two calls, and by whose act: rows that entered, left, moved, were shortened.
    #[command(after_help = example("plans diff 019a7c42"))]
    Diff {
        /// A unique prefix of a plan's or a run's id.
        a: String,
        /// The other; when left out, A is compared with the call before it on its branch.
        b: Option<String>,
    },
    /// An item over the calls of the branch: in which it went, how, why, and who changed it when.
    #[command(after_help = example("plans why 12"))]
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
    #[command(after_help = example("context window 3"))]
    Window {
        /// How many.
        turns: u32,
    },
    /// Show the exact context that would be sent.
    #[command(after_help = example("context show"))]
    Show {
        /// The message; may be left out.
        text: Vec<String>,
    },
    /// Rebuild the state from the state blocks in the window.
    #[command(after_help = example("context rebuild"))]
    Rebuild,
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
