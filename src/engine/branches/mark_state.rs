//! Where an item stands: the mark that a step of the program's leaves, the row of the step, and its words.
//! Not for: deciding steps (`context::activation`) or when they are taken (`reflect`).

use crate::context::activation::Move;
use crate::domain::conversation::mark::{Actor, Atom, LeaseTurns, Mark, MarkKind};
use crate::domain::conversation::transition::{Standing, Subject, Transition};
use crate::engine::turns::reflect::{Moved, Scene};
use crate::store::types::Write;

/// The mark that a step leaves.
pub(crate) fn made(scene: &Scene<'_>, to: Move, target: Atom, before: Option<&Mark>) -> Option<Mark> {
    let lease = MarkKind::leased(scene.rules.policy.lease_turns.max(1));
    let (kind, renewals) = match to {
        Move::Ephemeral => (MarkKind::Ephemeral, 0),
        Move::Lease => (lease, 0),
        Move::Renew => (lease, before.map_or(0, |mark| mark.renewals) + 1),
        Move::End | Move::Suggest => return None,
    };
    Some(Mark {
        target,
        kind,
        by: Actor::Engine,
        note: None,
        inherited_from: None,
        revision: before.map_or(0, |mark| mark.revision) + 1,
        counted: scene.live.card.user.and_then(|id| scene.session.tree.get(id)).map(|head| head.key),
        renewals,
        origin: None,
        code: None,
    })
}

/// Where a mark puts its item; a lease that has run out puts it nowhere.
pub(crate) fn standing(mark: Option<&Mark>) -> Standing {
    match mark.map(|mark| mark.kind) {
        None | Some(MarkKind::Leased { turns: LeaseTurns::Ended }) => Standing::None,
        Some(kind) => Standing::of(kind),
    }
}

pub(crate) fn step_words(to: Move) -> &'static str {
    match to {
        Move::Ephemeral => "kept for a call",
        Move::Lease => "leased",
        Move::End => "let go of",
        Move::Renew | Move::Suggest => "looked at",
    }
}

pub(crate) fn sentence(what: &str, turn: u32) -> String {
    format!("turn {turn} {what}")
}

fn step(scene: &Scene<'_>, item: Atom, (from, to): (Standing, Standing), reason: String) -> Write {
    Write::PutTransition {
        session: scene.branch.session,
        transition: Box::new(Transition {
            item: Subject::Item(item),
            from,
            to,
            reason,
            turn: Some(scene.head.key),
            branch: Some(scene.branch.id),
            by: Actor::Engine,
            at: scene.head.at,
        }),
    }
}

pub(crate) fn suggested(scene: &Scene<'_>, turn: usize, reason: String) -> Write {
    let item = crate::engine::plans::sources::suggested_pins::atom(scene.first(turn));
    step(scene, item, (Standing::Leased, Standing::Suggested), reason)
}

/// The row of a mark that changed; none for a lease that only counted down.
pub(crate) fn stepped(scene: &Scene<'_>, moved: &Moved, decided: Option<&(Standing, String)>) -> Option<Write> {
    let (from, to) = (standing(moved.before.as_ref()), standing(moved.after.as_ref()));
    let reason = match decided {
        Some((_, words)) => words.clone(),
        None if from == to => return None,
        None if from == Standing::Leased => "its turns are over".into(),
        None => "its call is over".into(),
    };
    Some(step(scene, moved.target, (from, to), reason))
}
