//! The commands that mark items and remove marks.
//! Not for: the engine's requests (`engine::api`), or what a mark means (`domain::conversation::mark`).

use super::example;
use super::number::number;
use clap::{Args as ClapArgs, Subcommand};

/// A command that marks items or removes their marks.
#[derive(Subcommand, Clone, Debug)]
pub enum MarkCommand {
    /// Pin items: every request includes them until you unpin them.
    #[command(after_help = example("pin 3"))]
    Pin {
        /// Turn numbers, ranges of turns (FIRST..LAST), or item ids.
        #[arg(required_unless_present = "note", value_name = "ITEM")]
        items: Vec<String>,
        /// Lease the items for this number of turns instead.
        #[arg(long, value_name = "N", value_parser = number::<u32>(1, None))]
        turns: Option<u32>,
        /// Only the message, not its whole turn.
        #[arg(long)]
        message: bool,
        /// Pin a note with this text.
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Lease items: pin them for a limited number of turns, or until the task ends.
    #[command(after_help = example("lease 3 --turns 5"))]
    Lease {
        /// The items.
        #[command(flatten)]
        items: Items,
        /// The number of turns. The default is set by the policy.
        #[arg(long, value_name = "N", value_parser = number::<u32>(1, None))]
        turns: Option<u32>,
        /// Lease them until the running task ends.
        #[arg(long, conflicts_with = "turns")]
        until_task: bool,
    },
    /// Remove marks from items.
    #[command(after_help = example("unpin 3"))]
    Unpin(Items),
    /// Exclude items from every request until you include or unpin them.
    #[command(after_help = example("exclude 3 --once"))]
    Exclude {
        /// The items.
        #[command(flatten)]
        items: Items,
        /// Exclude them from the next request only.
        #[arg(long)]
        once: bool,
    },
    /// Include items in the next request, regardless of other marks.
    #[command(after_help = example("include 3"))]
    Include(Items),
}

/// The items to mark or unmark.
#[derive(ClapArgs, Clone, Debug)]
pub struct Items {
    /// Turn numbers, ranges of turns (FIRST..LAST), or item ids.
    #[arg(required = true, value_name = "ITEM")]
    pub items: Vec<String>,
    /// Only the message, not its whole turn.
    #[arg(long)]
    pub message: bool,
}
