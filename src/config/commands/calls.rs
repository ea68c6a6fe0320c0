//! The subcommands of `context`, `plans`, and `summary`, and the arguments of `compress`, `race`, and `replay`.
//! Not for: running the commands (`cli`, `tui`).

use super::example;
use super::number::number;
use crate::domain::call::Limits;
use crate::domain::call::race::micro;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// `compress`.
#[derive(ClapArgs, Clone, Debug)]
pub struct Compress {
    /// Build the summary from the turns' own sentences, without a model (the default).
    #[arg(long, conflicts_with = "by_model")]
    pub extractive: bool,
    /// Have the branch's model write the summary; the call is recorded.
    #[arg(long)]
    pub by_model: bool,
    /// Keep dropped items verbatim, by number or text; `all` keeps as many as fit.
    #[arg(long, value_name = "ITEM", num_args = 1..)]
    pub keep: Vec<String>,
    /// Summarize up to this turn number. The default leaves out the newest ten messages.
    #[arg(long, value_name = "TURN", value_parser = number::<u32>(1, None))]
    pub up_to: Option<u32>,
    /// Summarize the turns of all lanes, as a summary of the whole session.
    #[arg(long)]
    pub whole_session: bool,
    /// Accept the draft (undoable). The turns stay in the conversation.
    #[arg(long, conflicts_with = "dry_run")]
    pub accept: bool,
    /// Only print the draft (the default).
    #[arg(long)]
    pub dry_run: bool,
}

/// `summary`.
#[derive(Subcommand, Clone, Debug)]
pub enum SummariesCommand {
    /// List summaries, newest first; ● marks the summary in the next request.
    #[command(after_help = example("summary list"))]
    List,
    /// Print a summary.
    #[command(after_help = example("summary show"))]
    Show {
        /// A prefix of the summary's id. The default is the summary in the next request.
        id: Option<String>,
    },
    /// Undo the newest summary; requests use the previous summary again, or the turns.
    #[command(after_help = example("summary undo"))]
    Undo {
        /// Undo the summary of the whole session.
        #[arg(long)]
        whole_session: bool,
    },
    /// A command on the waiting draft.
    #[command(flatten)]
    Draft(DraftCommand),
}

/// The subcommands of `summary` on the draft that waits.
#[derive(Subcommand, Clone, Debug)]
pub enum DraftCommand {
    /// Print the branch's waiting draft and the facts it dropped.
    #[command(after_help = example("summary draft"))]
    Draft,
    /// Accept the waiting draft (undoable). The turns stay in the conversation.
    #[command(after_help = example("summary accept"))]
    Accept {
        /// Keep dropped items verbatim, by number or text; `all` keeps as many as fit.
        #[arg(long, value_name = "ITEM", num_args = 1..)]
        keep: Vec<String>,
    },
    /// Replace the text of the waiting draft; without text, your editor opens.
    #[command(after_help = example("summary edit The service listens on port 8001."))]
    Edit {
        /// The new text, without the kept items; `-` reads standard input.
        text: Vec<String>,
    },
    /// Discard the waiting draft; its turns are not summarized automatically again.
    #[command(after_help = example("summary discard"))]
    Discard,
}

/// `plans`.
#[derive(Subcommand, Clone, Debug)]
pub enum Plans {
    /// List the calls of the session, newest last.
    #[command(after_help = example("plans list"))]
    List,
    /// Print a stored plan.
    #[command(after_help = example("plans show 019a7c42"))]
    Show {
        /// A turn number (its newest call), `last`, or a unique prefix of a plan id or run id.
        run: String,
    },
    /// Compare the plans of two calls: items added, removed, moved, or shortened, with the cause of each change.
    #[command(after_help = example("plans diff 019a7c42"))]
    Diff {
        /// A turn number (its newest call), `last`, or a unique prefix of a plan id or run id.
        #[arg(value_name = "RUN")]
        a: String,
        /// The other run. The default is the previous call on the branch.
        #[arg(value_name = "RUN")]
        b: Option<String>,
    },
    /// Show an item's history: the calls that sent it, in which form and why, and who changed it.
    #[command(after_help = example("plans why 12"))]
    Why {
        /// The item: a turn number, `last`, a message id, or an item id from `plan --json`.
        item: String,
        /// Only the message, not its whole turn.
        #[arg(long)]
        message: bool,
    },
}

/// `context`.
#[derive(Subcommand, Clone, Debug)]
pub enum ContextCommand {
    /// Set the window of the branch in turns; 0 is the full history.
    #[command(after_help = example("context window 3"))]
    Window {
        /// The number of turns.
        #[arg(value_parser = number::<u32>(0, None))]
        turns: u32,
    },
    /// Print the next request: its parameters and its messages.
    #[command(after_help = example("context show"))]
    Show {
        /// The message (optional).
        text: Vec<String>,
    },
    /// Rebuild the state block from the newest answer that has one.
    #[command(after_help = example("context rebuild"))]
    Rebuild {
        /// Have the model write the block from the newest messages; one call.
        #[arg(long)]
        by_model: bool,
    },
}

/// Limits for each branch of a race. Text that arrived before a limit was reached is kept.
#[derive(ClapArgs, Clone, Copy, Debug)]
pub struct RaceLimits {
    /// Maximum tokens of each answer; 0 removes the limit of the settings.
    #[arg(long, value_name = "N", value_parser = number::<u32>(0, None))]
    pub max_tokens: Option<u32>,
    /// Maximum cost of each branch in dollars, if prices are known.
    #[arg(long, value_name = "DOLLARS", value_parser = cost)]
    pub max_cost: Option<u64>,
    /// Maximum seconds for each branch.
    #[arg(long, value_name = "N", value_parser = number::<u32>(0, None))]
    pub max_seconds: Option<u32>,
}

impl From<RaceLimits> for Limits {
    fn from(limits: RaceLimits) -> Self {
        Self { tokens: limits.max_tokens, cost_micro: limits.max_cost, seconds: limits.max_seconds }
    }
}

fn cost(text: &str) -> Result<u64, String> {
    micro(text).ok_or_else(|| "must be an amount in dollars, such as 0.01".into())
}

/// `replay`.
#[derive(ClapArgs, Clone, Debug)]
pub struct Replay {
    /// The call: a turn number (its newest call), `last`, or a unique prefix of its run id.
    pub run: String,
    /// Send nothing: render the request again and compare the result with the bytes that were sent.
    #[arg(long)]
    pub dry_run: bool,
    /// Send nothing, and print the rendered body, byte for byte.
    #[arg(long)]
    pub request: bool,
    /// Leave out this item: an id from `plans show RUN --json`, or a message id.
    #[arg(long, value_name = "ITEM")]
    pub without: Option<String>,
    /// Read the call from this bundle: check its request, and print the recorded answer. Sends nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "without")]
    pub bundle: Option<PathBuf>,
}
