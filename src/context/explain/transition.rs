//! Transitions of items as causes and as sentences.
//! Not for: which transitions belong to a difference (`cause`).

use crate::domain::conversation::{Actor, ItemState, Transition};
use crate::domain::planning::{Cause, CauseKind};

/// Returns a transition as the cause of a difference.
pub(super) fn cause(step: &Transition) -> Cause {
    let by = match step.by {
        Actor::User => CauseKind::You,
        Actor::Engine => CauseKind::Lease,
        Actor::Model => CauseKind::Model,
    };
    Cause { by, words: sentence(step), at: Some(step.at) }
}

/// Returns a transition as a sentence, such as `You pinned it: decided by the person.`
pub fn sentence(step: &Transition) -> String {
    let who = match step.by {
        Actor::User => "You",
        Actor::Engine => "pleach",
        Actor::Model => "The model",
    };
    let did = match (step.from, step.to) {
        (ItemState::Leased, ItemState::Leased) => "renewed its lease",
        (ItemState::Leased, ItemState::None) => "ended its lease",
        (ItemState::Excluded, ItemState::None) => "removed its exclusion",
        (ItemState::Sticky, ItemState::None) => "removed its pin",
        (_, ItemState::None) => "dropped it",
        (_, ItemState::Suggested) => "suggested it",
        (_, ItemState::Dismissed) => "dismissed it",
        (_, ItemState::Confirmed) => "confirmed it",
        (_, ItemState::Ephemeral) => "included it in one call",
        (_, ItemState::Leased) => "leased it",
        (_, ItemState::Sticky) => "pinned it",
        (_, ItemState::Excluded) => "left it out",
    };
    // The sentence already says that a person decided.
    let why = match step.reason.as_str() {
        "" | "decided by the person" => String::new(),
        why => format!(" ({why})"),
    };
    format!("{who} {did}{why}.")
}
