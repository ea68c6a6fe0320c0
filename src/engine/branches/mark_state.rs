//! The state of an item as marks and steps record it: the mark that an automatic step leaves, the row of the step, and
//! its sentence.
//! Not for: deciding steps (`context::activation`) or when they are taken (`turns::reflect`).

use crate::context::activation::ItemChange;
use crate::domain::conversation::mark::{Actor, Atom, LeaseTurns, Mark, MarkKind};
use crate::domain::conversation::transition::{ItemState, Subject, Transition};
use crate::engine::turns::reflect::{MarkUpdate, TurnEndInput};
use crate::store::types::Write;

/// The mark that a step leaves.
pub(crate) fn made(turn_end: &TurnEndInput<'_>, to: ItemChange, target: Atom, before: Option<&Mark>) -> Option<Mark> {
    let lease = MarkKind::leased(turn_end.rules.policy.lease_turns.max(1));
    let (kind, renewals) = match to {
        ItemChange::Ephemeral => (MarkKind::Ephemeral, 0),
        ItemChange::Lease => (lease, 0),
        ItemChange::Renew => (lease, before.map_or(0, |mark| mark.renewals) + 1),
        ItemChange::End | ItemChange::Suggest => return None,
    };
    Some(Mark {
        target,
        kind,
        by: Actor::Engine,
        note: None,
        inherited_from: None,
        revision: before.map_or(0, |mark| mark.revision) + 1,
        counted: turn_end.live.card.user.and_then(|id| turn_end.session.tree.get(id)).map(|head| head.key),
        renewals,
        origin: None,
        code: None,
    })
}

/// The state that a mark gives its item; an expired lease gives none.
pub(crate) fn standing(mark: Option<&Mark>) -> ItemState {
    match mark.map(|mark| mark.kind) {
        None | Some(MarkKind::Leased { turns: LeaseTurns::Ended }) => ItemState::None,
        Some(kind) => ItemState::of(kind),
    }
}

pub(crate) fn step_words(to: ItemChange) -> &'static str {
    match to {
        ItemChange::Ephemeral => "kept for one call",
        ItemChange::Lease => "leased",
        ItemChange::End => "dropped",
        ItemChange::Renew | ItemChange::Suggest => "checked",
    }
}

pub(crate) fn sentence(what: &str, turn: u32) -> String {
    format!("turn {turn} {what}")
}

fn step(turn_end: &TurnEndInput<'_>, item: Atom, (from, to): (ItemState, ItemState), reason: String) -> Write {
    Write::PutTransition {
        session: turn_end.branch.session,
        transition: Box::new(Transition {
            item: Subject::Item(item),
            from,
            to,
            reason,
            turn: Some(turn_end.head.key),
            branch: Some(turn_end.branch.id),
            by: Actor::Engine,
            at: turn_end.head.at,
        }),
    }
}

pub(crate) fn suggested(turn_end: &TurnEndInput<'_>, turn: usize, reason: String) -> Write {
    let item = crate::engine::plans::sources::suggested_pins::atom(turn_end.first(turn));
    step(turn_end, item, (ItemState::Leased, ItemState::Suggested), reason)
}

/// The row of a mark that changed; none for a lease that only counted down.
pub(crate) fn stepped(
    turn_end: &TurnEndInput<'_>,
    moved: &MarkUpdate,
    decided: Option<&(ItemState, String)>,
) -> Option<Write> {
    let (from, to) = (standing(moved.before.as_ref()), standing(moved.after.as_ref()));
    let reason = match decided {
        Some((_, words)) => words.clone(),
        None if from == to => return None,
        None if from == ItemState::Leased => "its turns are over".into(),
        None => "its call was made".into(),
    };
    Some(step(turn_end, moved.target, (from, to), reason))
}
