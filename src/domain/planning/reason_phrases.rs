//! The sentences of reasons that depend on several values.
//! Not for: the other reasons, whose sentences are beside them (`reason`).

use crate::domain::call::tokens::grouped;
use crate::domain::conversation::mark::LeaseTurns;

/// The sentence for an item that a summary of these turns replaces.
pub(super) fn superseded_sentence(turns: Option<(u32, u32)>) -> String {
    match turns {
        None => "An accepted summary replaces this.".to_owned(),
        Some((first, last)) if first == last => format!("The accepted summary of turn {first} replaces this."),
        Some((first, last)) => format!("The accepted summary of turns {first}–{last} replaces this."),
    }
}

/// Returns why the model is asked for a state block: `auto` is the setting, `has_state`
/// whether the branch has one, and `optional` whether the setting is that.
pub(super) fn state_request_sentence(auto: bool, has_state: Option<bool>, optional: Option<bool>) -> &'static str {
    match (auto, has_state) {
        (false, _) => match optional {
            Some(false) => "Asks the model to keep a state block: state_block is on, so every request asks.",
            Some(true) => "Asks the model to keep a state block: state_block is optional, so every request asks.",
            None => "Asks the model to keep a state block: state_block is on or optional, so every request asks.",
        },
        (true, Some(true)) => "Asks the model to keep a state block: state_block is auto, and this branch has one.",
        (true, Some(false)) => "Asks the model to keep a state block: state_block is auto, and turns are left out.",
        (true, None) => {
            "Asks the model to keep a state block: state_block is auto, and this branch has one, or turns are left out."
        }
    }
}

pub(super) fn file_note(changed: bool, left: u64) -> String {
    let changed = if changed { " Changed since the last call." } else { "" };
    match left {
        0 => changed.to_owned(),
        left => format!("{changed} The file is too large: {} of its bytes are left out.", grouped(left)),
    }
}

pub(super) fn touchpoint_sentence(rank: u32, because: &str) -> String {
    match because {
        "" => format!("Code match {rank}."),
        because => format!("Code match {rank}: {because}."),
    }
}

pub(super) fn leased_sentence(left: u32, engine: bool) -> String {
    let by = if engine { " automatically, because it was mentioned" } else { "" };
    format!("Leased{by}: included {}.", LeaseTurns::from(left).duration())
}

pub(super) fn earned_sentence(renewals: u32) -> String {
    format!("Mentioned repeatedly (its lease was renewed {renewals} times). Nothing changes unless you pin it.")
}
