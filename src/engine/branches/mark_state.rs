//! The state of an item as marks and transitions record it: a mark's update, the mark that results from an automatic
//! step, the stored transition, and its sentence.
//! Not for: deciding the steps (`context::activation`), or carrying them out (`turns::reflect`).

use crate::context::activation::ItemChange;
use crate::domain::base::{BranchId, Failure};
use crate::domain::call::tokens::counted;
use crate::domain::code::CodeRef;
use crate::domain::conversation::{
    Actor, Atom, Branch, Change, ItemState, LeaseTurns, Mark, MarkKind, Role, Slot, Subject, Transition,
};
use crate::domain::planning::Row;
use crate::engine::api::{Act, ItemName};
use crate::engine::sessions::lookup;
use crate::engine::sessions::session::Session;
use crate::engine::turns::reflect::TurnEndInput;
use crate::store::types::Write;

/// A mark that changes.
#[derive(Clone, Debug)]
pub(crate) struct MarkUpdate {
    pub(crate) target: Atom,
    pub(crate) before: Option<Mark>,
    pub(crate) after: Option<Mark>,
}

impl MarkUpdate {
    /// Returns the update as a change of an operation.
    pub(crate) fn change(&self, branch: BranchId) -> Change {
        let boxed = |mark: &Option<Mark>| mark.clone().map(Box::new);
        Change::Mark { branch, target: self.target, before: boxed(&self.before), after: boxed(&self.after) }
    }

    /// Returns the update as a write.
    pub(crate) fn write(&self, branch: BranchId) -> Write {
        let expect = self.before.as_ref().map(|mark| mark.revision);
        Write::PutMark { branch, target: self.target, expect, mark: self.after.clone() }
    }
}

/// Returns a person's pin on an atom.
pub(crate) fn pin_on(target: Atom) -> Mark {
    Mark {
        target,
        kind: MarkKind::Sticky,
        by: Actor::User,
        note: None,
        inherited_from: None,
        revision: 0,
        counted: None,
        renewals: 0,
        origin: None,
        code: None,
    }
}

/// Returns the mark that results from a step; `None` if the step removes it.
pub(crate) fn resulting_mark(
    input: &TurnEndInput<'_>,
    to: ItemChange,
    (target, code): (Atom, Option<&CodeRef>),
    before: Option<&Mark>,
) -> Option<Mark> {
    let lease = MarkKind::leased(input.rules.policy.lease_turns.max(1));
    let (kind, renewals) = match to {
        ItemChange::Ephemeral => (MarkKind::Ephemeral, 0),
        ItemChange::Lease => (lease, 0),
        ItemChange::Renew => (lease, before.map_or(0, |mark| mark.renewals) + 1),
        ItemChange::End | ItemChange::Suggest => return None,
    };
    Some(Mark {
        kind,
        by: Actor::Engine,
        revision: before.map_or(0, |mark| mark.revision) + 1,
        counted: input.live.card.user.and_then(|id| input.session.tree.get(id)).map(|head| head.key),
        renewals,
        code: code.cloned().map(Box::new),
        ..pin_on(target)
    })
}

/// Returns the state that a mark gives its item; an expired lease gives none.
pub(crate) fn state_of_mark(mark: Option<&Mark>) -> ItemState {
    match mark.map(|mark| mark.kind) {
        None | Some(MarkKind::Leased { turns: LeaseTurns::Ended }) => ItemState::None,
        Some(kind) => ItemState::of(kind),
    }
}

pub(crate) fn step_text(to: ItemChange) -> &'static str {
    match to {
        ItemChange::Ephemeral => "kept for one call",
        ItemChange::Lease => "leased",
        ItemChange::End => "dropped",
        ItemChange::Renew | ItemChange::Suggest => "checked",
    }
}

fn step(input: &TurnEndInput<'_>, item: Atom, (from, to): (ItemState, ItemState), reason: String) -> Write {
    let (item, turn, branch) = (Subject::Item(item), Some(input.head.key), Some(input.branch.id));
    let transition = Transition { item, from, to, reason, turn, branch, by: Actor::Engine, at: input.head.at };
    Write::PutTransition { session: input.branch.session, transition: Box::new(transition) }
}

pub(crate) fn suggestion_transition(input: &TurnEndInput<'_>, item: Atom, reason: String) -> Write {
    step(input, item, (ItemState::Leased, ItemState::Suggested), reason)
}

/// Returns the transition of a mark that changed; `None` for a lease that only counted down.
pub(crate) fn mark_transition(
    input: &TurnEndInput<'_>,
    moved: &MarkUpdate,
    decided: Option<&(ItemState, String)>,
) -> Option<Write> {
    let (from, to) = (state_of_mark(moved.before.as_ref()), state_of_mark(moved.after.as_ref()));
    let reason = match decided {
        Some((_, words)) => words.clone(),
        None if from == to => return None,
        None if from == ItemState::Leased => "the lease ended".into(),
        None => "used in its call".into(),
    };
    Some(step(input, moved.target, (from, to), reason))
}

/// Returns the message that a person excluded and that `item` names by its own id, if the act is about what is sent: a
/// pin, a lease, an inclusion, or the removal of a mark then concerns the message instead of its turn, because the
/// exclusion of the message would outweigh a mark on the turn.
pub(crate) fn excluded_message(session: &Session, branch: &Branch, item: &ItemName, act: Act) -> Option<Atom> {
    let concerns = match act {
        Act::Set { kind, .. } => !kind.excludes(),
        Act::Lease { .. } | Act::Clear => true,
        Act::Reply => false,
    };
    let slot = match item {
        ItemName::TurnOf(node) => session.slot(*node).ok()?,
        ItemName::Named { text, message: false } => lookup::node(session, branch, text).ok()?,
        ItemName::Named { .. }
        | ItemName::Atom(_)
        | ItemName::Note(_)
        | ItemName::Message(_)
        | ItemName::Span { .. } => return None,
    };
    let key = session.tree.head(slot).key;
    let is_on =
        |target: &Atom| matches!(target, Atom::Message { node } | Atom::Episode { call: node, .. } if *node == key);
    let mark = branch.marks.iter().find(|mark| mark.kind.excludes() && is_on(&mark.target));
    mark.filter(|_| concerns).map(|mark| mark.target)
}

/// Returns the message that a row of it stands for; `None` for the row of a retrieved message, which stands for its whole
/// turn. The row of instructions, of a hidden message, or of a message with its own mark stands for the message.
pub(crate) fn message_of_row(session: &Session, branch: &Branch, slot: Slot) -> Option<Atom> {
    let head = session.tree.head(slot);
    let message = Atom::Message { node: head.key };
    let own = head.hidden || head.role == Role::System || branch.marks.iter().any(|mark| mark.target == message);
    own.then_some(message)
}

/// Returns how many messages of a turn have an exclusion of their own; 0 if the atom is not a turn.
pub(crate) fn excluded_in(session: &Session, branch: &Branch, turn: &Atom) -> usize {
    let Atom::Turn { user, tip } = turn else { return 0 };
    let Some((user, tip)) = session.tree.by_key(*user).zip(session.tree.by_key(*tip)) else { return 0 };
    let is_inside = |slot| session.tree.contains(user, slot) && session.tree.contains(slot, tip);
    let excluded = branch.marks.iter().filter(|mark| mark.kind.excludes());
    let messages = excluded.filter_map(|mark| match mark.target {
        Atom::Message { node } | Atom::Episode { call: node, .. } => session.tree.by_key(node),
        Atom::Preamble { .. } | Atom::Turn { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
    });
    messages.filter(|slot| is_inside(*slot)).count()
}

/// Returns the note of a mark on an atom. Fails for atoms that cannot be marked. `row` is the atom's row, if the last
/// plan drawn has one.
pub(crate) fn noted(
    session: &Session,
    branch: &Branch,
    atom: &Atom,
    row: Option<&Row>,
) -> Result<Option<String>, Failure> {
    let mark = branch.marks.iter().find(|mark| mark.target == *atom);
    if mark.is_some() {
        return Ok(mark.and_then(|mark| mark.note.clone()));
    }
    let refused = match crate::engine::plans::snapshot::anchor_key(atom) {
        Some(key) if session.tree.by_key(key).is_some() => return Ok(None),
        Some(_) => Failure::user("Your message is always included.").todo("Change its text instead."),
        None if matches!(atom, Atom::Range { .. }) => {
            Failure::user("This row represents many turns.").todo("Open it and select a turn.")
        }
        None if *atom == Atom::code_search() => {
            Failure::user("This row is the search of the code; marks have no effect on it.")
                .todo("Mark the code that it found; `pleach focus PATH` focuses it on a file, folder, or symbol.")
        }
        None => row.and_then(Row::unmarkable).map_or_else(
            || {
                Failure::user("The settings control this text; marks have no effect on it.")
                    .todo("Change instructions in the settings, and the state block in its editor.")
            },
            |row| Failure::user(row.why).todo(row.change),
        ),
    };
    Err(refused)
}

/// Returns the notice about an act that changes nothing; `None` if it changes the mark. A lasting exclusion also
/// excludes the item from the next request.
pub(super) fn unchanged(before: Option<&Mark>, after: Option<&Mark>) -> Option<&'static str> {
    let Some((before, after)) = before.zip(after) else {
        return (before.is_none() && after.is_none()).then_some("No change: the item has no mark.");
    };
    if (before.kind, after.kind) == (MarkKind::Exclude, MarkKind::ExcludeOnce) {
        return Some("Already excluded; x includes it.");
    }
    if (before.kind, after.kind) == (MarkKind::Sticky, MarkKind::IncludeOnce) {
        return Some("Already pinned, so every request includes it.");
    }
    let is_same = (before.kind, &before.note, before.by) == (after.kind, &after.note, after.by);
    is_same.then_some(match after.kind {
        MarkKind::Sticky => "Already pinned.",
        MarkKind::Leased { .. } => "Already leased for at least that long.",
        MarkKind::IncludeOnce | MarkKind::Ephemeral => "Already included in the next request.",
        MarkKind::Exclude => "Already excluded.",
        MarkKind::ExcludeOnce => "Already excluded from the next request.",
    })
}

/// Returns the sentence about a changed mark, without its period.
pub(super) fn sentence(before: Option<MarkKind>, after: Option<MarkKind>, items: &str) -> String {
    match (before, after) {
        (_, Some(MarkKind::Sticky)) => format!("Pinned {items}"),
        (_, Some(MarkKind::Leased { turns: LeaseTurns::TASK })) => format!("Leased {items} until the task ends"),
        (_, Some(MarkKind::Leased { turns })) => {
            format!("Leased {items} for {}", counted(u32::from(turns).into(), "turn"))
        }
        (_, Some(MarkKind::Exclude)) => format!("Excluded {items}"),
        (_, Some(MarkKind::ExcludeOnce)) => format!("Excluded {items} from the next request"),
        (_, Some(MarkKind::IncludeOnce | MarkKind::Ephemeral)) => format!("Included {items} in the next request"),
        (Some(kind), None) if kind.pins() => format!("Unpinned {items}"),
        (Some(kind), None) if kind.excludes() => format!("Removed the exclusion of {items}"),
        (_, None) => format!("Removed the mark of {items}"),
    }
}

/// Whether an update puts another mark in place of a pin.
pub(super) fn replaces_pin(update: &MarkUpdate) -> bool {
    let is_pin = |mark: &Mark| mark.kind == MarkKind::Sticky;
    update.before.as_ref().is_some_and(is_pin) && update.after.as_ref().is_some_and(|mark| !is_pin(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::engine::plans::sources::suggested_pins;

    fn mark(kind: MarkKind, by: Actor, renewals: u32) -> Mark {
        let target = Atom::Turn { user: Hash::of(b"asked"), tip: Hash::of(b"answered") };
        Mark { kind, by, revision: 1, renewals, ..pin_on(target) }
    }

    #[test]
    fn an_ended_lease_stands_nowhere() {
        let ended = MarkKind::Leased { turns: LeaseTurns::Ended };
        for (kind, state) in [
            (ended, ItemState::None),
            (MarkKind::leased(2), ItemState::Leased),
            (MarkKind::Sticky, ItemState::Sticky),
            (MarkKind::Exclude, ItemState::Excluded),
            (MarkKind::Ephemeral, ItemState::Ephemeral),
        ] {
            assert_eq!(state_of_mark(Some(&mark(kind, Actor::User, 0))), state);
        }
        assert_eq!(state_of_mark(None), ItemState::None);
    }

    #[test]
    fn a_pin_is_suggested_for_what_the_program_leased_often_enough() {
        for (kind, by, renewals, after, earned) in [
            (MarkKind::leased(2), Actor::Engine, 3, 3, true),
            (MarkKind::leased(2), Actor::Engine, 2, 3, false),
            (MarkKind::leased(2), Actor::Engine, 0, 0, false),
            (MarkKind::leased(2), Actor::User, 3, 3, false),
            (MarkKind::Sticky, Actor::Engine, 3, 3, false),
        ] {
            let found = suggested_pins::earned(&mark(kind, by, renewals), after);
            assert_eq!(found, earned.then(|| Hash::of(b"asked")), "{kind:?} {by:?} {renewals} {after}");
        }
    }
}
