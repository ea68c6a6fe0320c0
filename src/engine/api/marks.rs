//! Converts the commands about marks and memories into requests, identically for the screen and the command line.
//! Not for: the meaning of a mark (`domain::conversation::mark`).

use super::acts::{Act, MemoryScope};
use super::draft::ItemName;
use crate::config::commands::conversation::Within;
use crate::config::commands::mark::{Items, MarkCommand};
use crate::domain::conversation::{LeaseTurns, MarkKind, resolve};

/// Returns the items that a command names and the act on them.
pub fn marks(command: &MarkCommand) -> (Vec<ItemName>, Act) {
    let set = |kind| Act::Set { kind, toggle: false };
    match command {
        MarkCommand::Pin { items, turns, message, note } => {
            let mut named = named(items, *message);
            named.extend(note.clone().map(ItemName::Note));
            (named, set(turns.map_or(MarkKind::Sticky, MarkKind::leased)))
        }
        MarkCommand::Lease { items, until_task: true, .. } => {
            (all(items), set(MarkKind::Leased { turns: LeaseTurns::TASK }))
        }
        MarkCommand::Lease { items, turns, until_task: false } => {
            (all(items), turns.map_or(Act::Lease { toggle: false }, |turns| set(MarkKind::leased(turns))))
        }
        MarkCommand::Unpin(items) => (all(items), Act::Clear),
        MarkCommand::Exclude { items, once: true } => (all(items), set(MarkKind::ExcludeOnce)),
        MarkCommand::Exclude { items, once: false } => (all(items), set(MarkKind::Exclude)),
        MarkCommand::Include(items) => (all(items), set(MarkKind::IncludeOnce)),
    }
}

/// Returns the scope of memories that a command names, if any.
pub fn memory_scope(within: Within) -> Option<MemoryScope> {
    match (within.all, within.here) {
        (true, _) => Some(MemoryScope::All),
        (false, true) => Some(MemoryScope::Session),
        (false, false) => None,
    }
}

fn all(items: &Items) -> Vec<ItemName> {
    named(&items.items, items.message)
}

fn named(items: &[String], message: bool) -> Vec<ItemName> {
    let name = |text: &String| match resolve::range(text).filter(|_| !message) {
        Some((first, last)) => ItemName::Span { first: first.to_owned(), last: last.to_owned() },
        None => ItemName::Named { text: text.clone(), message },
    };
    items.iter().map(name).collect()
}
