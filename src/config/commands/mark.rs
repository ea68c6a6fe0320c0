//! The commands that put marks on items and take them off.
//! Not for: the engine's requests (`engine::api`), or what a mark means (`domain::conversation::mark`).

use super::example;
use clap::{Args as ClapArgs, Subcommand};

/// A command that puts marks on items or takes them off.
#[derive(Subcommand, Clone, Debug)]
pub enum MarkCommand {
    /// Pin items: they stay in every call until taken off.
    #[command(after_help = example("pin 3"))]
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
    /// Lease items: pins that end by themselves after some turns.
    #[command(after_help = example("lease 3 --turns 5"))]
    Lease {
        /// Which.
        #[command(flatten)]
        items: Items,
        /// For so many turns; as many as the policy says when left out.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        turns: Option<u32>,
    },
    /// Take any mark off items.
    #[command(after_help = example("unpin 3"))]
    Unpin(Items),
    /// Leave items out of every call until taken back.
    #[command(after_help = example("exclude 3 --once"))]
    Exclude {
        /// Which.
        #[command(flatten)]
        items: Items,
        /// For the next call only.
        #[arg(long)]
        once: bool,
    },
    /// Take items into the next call, whatever else was said of them.
    #[command(after_help = example("include 3"))]
    Include(Items),
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
