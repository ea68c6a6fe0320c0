//! The operations that undo and redo skip: operations whose reversal would leave later messages on no open branch, and
//! marks that calls have used up. Also the sentence that names them.
//! Not for: carrying out undo and redo (`undo`).

use crate::domain::base::{BranchId, NodeId};
use crate::domain::conversation::{Change, Operation, Role, Slot};
use crate::engine::sessions::session::{Session, capital};
use crate::engine::sessions::state::Sessions;

/// How many skipped operations of one reason a sentence names.
const NAMED: usize = 3;

/// An operation that undo or redo skipped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Skip {
    /// Why, as a clause: `main has later messages`.
    reason: String,
    /// The operation, and where an earlier version is: `edited a message`.
    what: String,
}

impl Skip {
    /// An operation that is skipped for this reason.
    pub(super) fn new(reason: impl Into<String>, op: &Operation) -> Self {
        Self { reason: reason.into(), what: uncapitalized(&op.what) }
    }

    /// Returns the sentence about an operation that was not `done` (undone or redone).
    pub(super) fn sentence(&self, done: &str) -> String {
        sentence(done, &self.reason, std::slice::from_ref(&self.what))
    }
}

/// The operations that undo or redo skipped.
#[derive(Default)]
pub(super) struct Skipped {
    /// The operations whose marks calls have used, for display.
    pub(super) used_up: Vec<String>,
    /// The operations that cannot be reversed.
    pub(super) stranding: Vec<Skip>,
}

impl Skipped {
    /// Returns the sentences about the operation that was `done` (undone or redone) and about the skipped ones.
    pub(super) fn sentence(&self, done: &str, what: &str) -> String {
        let what = uncapitalized(what);
        match self.sentences(done).as_str() {
            "" => format!("{}: {what}.", capital(done)),
            skipped => format!("{skipped} {} instead: {what}.", capital(done)),
        }
    }

    /// Returns the sentences for the case that nothing is left to `act` (undo or redo).
    pub(super) fn nothing_left(&self, act: &str) -> String {
        let done = if act == "undo" { "undone" } else { "redone" };
        match self.sentences(done).as_str() {
            "" => format!("There is nothing to {act}."),
            skipped => format!("{skipped} There is nothing else to {act}."),
        }
    }

    /// Returns a sentence for each reason to skip operations; empty if there are none.
    fn sentences(&self, done: &str) -> String {
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for Skip { reason, what } in &self.stranding {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, all)) => all.push(what.clone()),
                None => reasons.push((reason, vec![what.clone()])),
            }
        }
        match self.used_up.len() {
            0 => {}
            1 => reasons.push(("a call has used the mark", self.used_up.clone())),
            _ => reasons.push(("calls have used the marks", self.used_up.clone())),
        }
        let sentences = reasons.iter().map(|(reason, all)| sentence(done, reason, all));
        sentences.collect::<Vec<_>>().join(" ")
    }
}

/// `Not undone because main has later messages: forked b; renamed c.`
fn sentence(done: &str, reason: &str, all: &[String]) -> String {
    format!("Not {done} because {reason}: {}.", first_of(all))
}

/// Returns a text with its first letter in lower case.
pub(super) fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the first operations, and how many more there are.
fn first_of(what: &[String]) -> String {
    let named = what.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match what.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// The version, from 1, and the number of versions of the message where the path to `old` leaves the path to `head`;
/// `None` if it does not leave that path.
fn version_of(session: &Session, old: Slot, head: Slot) -> Option<(usize, usize)> {
    let left = session.tree.path(old).into_iter().find(|slot| !session.tree.contains(*slot, head))?;
    let (place, count) = session.tree.place(left);
    Some((place + 1, count))
}

impl Sessions {
    /// Returns which operation must be skipped and why, if carrying out these changes would archive a branch that has
    /// gained messages since the operation, or take the name from one; otherwise `None`.
    #[deny(clippy::wildcard_enum_match_arm)]
    pub(super) fn strands_messages(&self, op: &Operation, changes: &[Change], undoing: bool) -> Option<Skip> {
        let session = self.current().ok()?;
        let closed: Vec<BranchId> = changes.iter().filter_map(|change| closed_by(session, change, undoing)).collect();
        let archives = changes.iter().any(|change| matches!(change, Change::Archived { .. }));
        let renamed = changes.iter().filter_map(|change| match change {
            Change::Name { branch, .. } if archives && undoing => Some(*branch),
            Change::Name { .. }
            | Change::Mark { .. }
            | Change::Head { .. }
            | Change::Archived { .. }
            | Change::Forked { .. }
            | Change::Overrides { .. }
            | Change::Title { .. }
            | Change::Summaries { .. }
            | Change::State { .. }
            | Change::Memory { .. }
            | Change::Tag { .. }
            | Change::File { .. } => None,
        });
        let gaining = |id: &BranchId| gained(session, *id, op, &closed);
        let found = closed.iter().copied().find(gaining).or_else(|| {
            let at = |id: &BranchId| gained(session, *id, op, &[*id]);
            renamed.filter(|id| !closed.contains(id)).find(at)
        })?;
        let name = &session.branch(found).ok()?.name;
        Some(Skip::new(format!("{name} has later messages"), op))
    }

    /// Returns why a `change` of an operation cannot be reversed. For a branch that went on, it says where the earlier
    /// version is.
    pub(super) fn changed_since(&self, op: &Operation, change: &Change) -> Skip {
        let skip = Skip::new("later actions changed it", op);
        if let Change::Head { branch, before, after } = change
            && let Ok(session) = self.current()
            && let Ok(branch) = session.branch(*branch)
            && let Some(head) = session.head(branch)
        {
            let slot = |id: Option<NodeId>| id.and_then(|id| session.tree.slot(id));
            if slot(*before).is_some_and(|left| left != head && session.tree.contains(left, head)) {
                let version = slot(*after).and_then(|old| version_of(session, old, head));
                let place = version.map_or_else(String::new, |(place, count)| {
                    format!(" (h in the messages shows the earlier version, {place} of {count})")
                });
                let reason = format!("{} has later messages", branch.name);
                return Skip { reason, what: format!("{}{place}", skip.what) };
            }
        }
        skip
    }

    /// Returns a sentence about the messages that undoing a fork or a race archived with its branches; empty if there
    /// are none.
    pub(super) fn archived_messages(&self, op: &Operation) -> String {
        let Ok(session) = self.current() else { return String::new() };
        let forked = forked(op);
        let has_messages = |id: &&BranchId| own_messages(session, **id, op, &forked).is_some_and(|own| !own.is_empty());
        let with: Vec<&str> =
            forked.iter().filter(has_messages).filter_map(|id| Some(session.branch(*id).ok()?.name.as_str())).collect();
        let Some((last, first)) = with.split_last() else { return String::new() };
        if first.is_empty() {
            return format!(" The messages on {last} are archived with it; the session tree shows them.");
        }
        let first = first.join(", ");
        format!(" The messages on {first} and {last} are archived with them; the session tree shows them.")
    }

    /// Returns `sentence` about a redone operation, with a sentence about the current branch if the operation restored
    /// branches, because that switches to none of them.
    pub(super) fn redone(&self, op: &Operation, sentence: String) -> String {
        let Ok(session) = self.current() else { return sentence };
        let forked = forked(op);
        let stays = !forked.is_empty() && !forked.contains(&session.current);
        match session.branch(session.current) {
            Ok(here) if stays => format!("{sentence} You are on {}.", here.name),
            _ => sentence,
        }
    }
}

/// The branches that an operation created.
fn forked(op: &Operation) -> Vec<BranchId> {
    let of = |change: &Change| if let Change::Forked { branch } = change { Some(*branch) } else { None };
    op.changes.iter().filter_map(of).collect()
}

/// The branch that a change archives, if that can strand messages. Undoing a fork other than a race's closes the branch
/// with its messages, and redo brings both back.
fn closed_by(session: &Session, change: &Change, undoing: bool) -> Option<BranchId> {
    match change {
        Change::Forked { branch } if undoing && is_raced(session, *branch) => Some(*branch),
        Change::Archived { branch, after: true, .. } => Some(*branch),
        Change::Forked { .. }
        | Change::Archived { .. }
        | Change::Mark { .. }
        | Change::Head { .. }
        | Change::Name { .. }
        | Change::Overrides { .. }
        | Change::Title { .. }
        | Change::Summaries { .. }
        | Change::State { .. }
        | Change::File { .. }
        | Change::Tag { .. }
        | Change::Memory { .. } => None,
    }
}

/// Whether a branch has messages newer than an operation that exist on no open branch except the `closed` ones. The
/// turn of a race belongs to the operation that started the race.
fn gained(session: &Session, id: BranchId, op: &Operation, closed: &[BranchId]) -> bool {
    let Some(own) = own_messages(session, id, op, closed) else { return false };
    if is_raced(session, id) && forked(op).contains(&id) {
        return own.iter().filter(|slot| session.tree.head(**slot).role == Role::User).count() > 1;
    }
    !own.is_empty()
}

/// The messages of a branch that are newer than an operation and exist on no open branch except the `closed` ones.
fn own_messages(session: &Session, id: BranchId, op: &Operation, closed: &[BranchId]) -> Option<Vec<Slot>> {
    let tip = session.head(session.branch(id).ok()?)?;
    let others = session.branches.iter().filter(|other| !other.archived && !closed.contains(&other.id));
    let others: Vec<_> = others.filter_map(|other| session.head(other)).collect();
    let later = session.tree.path(tip).into_iter().filter(|slot| session.tree.head(*slot).at > op.at);
    Some(later.filter(|slot| !others.iter().any(|head| session.tree.contains(*slot, *head))).collect())
}

fn is_raced(session: &Session, id: BranchId) -> bool {
    session.races.iter().any(|race| race.branch == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_tell_what_was_not_undone_and_what_was_undone_instead() {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let skip = |reason: &str, what: &str| Skip { reason: reason.to_owned(), what: what.to_owned() };
        let none = Skipped::default();
        assert_eq!(none.sentence("undone", "Pinned"), "Undone: pinned.");
        assert_eq!(none.nothing_left("redo"), "There is nothing to redo.");
        let stranding =
            vec![skip("c has later messages", "forked b"), skip("c has later messages", "kept a (mode Off)")];
        let both = Skipped { used_up: texts(&["excluded"]), stranding };
        let skipped = "because c has later messages: forked b; kept a (mode Off). ";
        assert_eq!(
            both.sentence("undone", "pinned"),
            format!(
                "Not undone {skipped}Not undone because a call has used the mark: excluded. Undone instead: pinned."
            )
        );
        assert_eq!(
            both.nothing_left("redo"),
            format!(
                "Not redone {skipped}Not redone because a call has used the mark: excluded. There is nothing else to redo."
            )
        );
        let many = Skipped { used_up: texts(&["a", "b", "c", "d", "e"]), ..Skipped::default() };
        assert!(many.nothing_left("undo").contains("calls have used the marks: a; b; c; and 2 more."));
    }
}
