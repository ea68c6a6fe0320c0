//! The operations that undo and redo skip: operations whose reversal would leave later messages on no open branch, and
//! marks that calls have used up. Also the sentence that names them.
//! Not for: carrying out undo and redo (`undo`).

use crate::domain::base::{BranchId, NodeId};
use crate::domain::conversation::{Change, Operation, Role, Slot};
use crate::engine::sessions::session::{Session, capital};
use crate::engine::sessions::state::Sessions;

/// How many skipped operations of one reason a sentence names.
const NAMED: usize = 3;

/// The operations that undo or redo skipped.
#[derive(Default)]
pub(super) struct Skipped {
    /// The operations whose marks calls have used, for display.
    pub(super) used_up: Vec<String>,
    /// The operations that later messages depend on, each with its reason.
    pub(super) stranding: Vec<String>,
}

impl Skipped {
    /// Returns the sentences about the operation that was `done` (undone or redone) and about the skipped ones.
    pub(super) fn sentence(&self, done: &str, what: &str) -> String {
        let what = uncapitalized(what);
        match self.clause() {
            None => format!("{}: {what}.", capital(done)),
            Some(clause) => format!("Not {done}: {clause}. {} instead: {what}.", capital(done)),
        }
    }

    /// Returns the sentences for the case that nothing is left to `act` (undo or redo).
    pub(super) fn nothing_left(&self, act: &str) -> String {
        match self.clause() {
            None => format!("There is nothing to {act}."),
            Some(clause) => {
                let done = if act == "undo" { "undone" } else { "redone" };
                format!("Not {done}: {clause}. There is nothing else to {act}.")
            }
        }
    }

    /// Returns the skipped operations as a part of a sentence; `None` if there are none.
    fn clause(&self) -> Option<String> {
        let used_up: Vec<String> = self.used_up.iter().map(|what| uncapitalized(what)).collect();
        let used = match &used_up[..] {
            [] => None,
            [only] => Some(format!("a call has used the mark ({only})")),
            all => Some(format!("calls have used the marks ({})", first_of(all))),
        };
        let stranding = by_reason(&self.stranding);
        let stranding = Some(&stranding).filter(|all| !all.is_empty()).map(|all| first_of(all));
        let parts: Vec<String> = stranding.into_iter().chain(used).collect();
        Some(parts.join("; ")).filter(|clause| !clause.is_empty())
    }
}

/// Joins skipped operations with the same reason: `main has later messages (forked b; renamed c)`.
fn by_reason(stranding: &[String]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for text in stranding {
        let (reason, what) = text.strip_suffix(')').and_then(|text| text.split_once(" (")).unwrap_or((text, ""));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(what.to_owned()),
            None => reasons.push((reason, vec![what.to_owned()])),
        }
    }
    let named = |(reason, all): (&str, Vec<String>)| match all.as_slice() {
        [what] if what.is_empty() => reason.to_owned(),
        all => format!("{reason} ({})", first_of(all)),
    };
    reasons.into_iter().map(named).collect()
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
    pub(super) fn strands_messages(&self, op: &Operation, changes: &[Change], undoing: bool) -> Option<String> {
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
        Some(format!("{name} has later messages ({})", uncapitalized(&op.what)))
    }

    /// Returns why a `change` of an operation cannot be reversed, as a part of a sentence. For a branch that went on, it
    /// says where the earlier version is.
    pub(super) fn changed_since(&self, op: &Operation, change: &Change) -> String {
        let what = uncapitalized(&op.what);
        if let Change::Head { branch, before, after } = change
            && let Ok(session) = self.current()
            && let Ok(branch) = session.branch(*branch)
            && let Some(head) = session.head(branch)
        {
            let slot = |id: Option<NodeId>| id.and_then(|id| session.tree.slot(id));
            if slot(*before).is_some_and(|left| left != head && session.tree.contains(left, head)) {
                let version = slot(*after).and_then(|old| version_of(session, old, head));
                let place = version.map_or_else(String::new, |(place, count)| {
                    format!("; h in the messages shows the earlier version, {place} of {count}")
                });
                return format!("{} has later messages ({what}{place})", branch.name);
            }
        }
        format!("later actions changed it ({what})")
    }

    /// Returns a sentence about the later messages of a branch that undoing its fork archived; empty if it has none.
    pub(super) fn archived_messages(&self, op: &Operation) -> String {
        let Ok(session) = self.current() else { return String::new() };
        let forked = op.changes.iter().find_map(|change| match change {
            Change::Forked { branch } if gained(session, *branch, op, &[*branch]) => session.branch(*branch).ok(),
            _ => None,
        });
        forked.map_or_else(String::new, |branch| {
            format!(" The messages on {} are archived with it; the session tree shows them.", branch.name)
        })
    }
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
    let Ok(branch) = session.branch(id) else { return false };
    let Some(tip) = session.head(branch) else { return false };
    let others = session.branches.iter().filter(|other| !other.archived && !closed.contains(&other.id));
    let others: Vec<_> = others.filter_map(|other| session.head(other)).collect();
    let later = session.tree.path(tip).into_iter().filter(|slot| session.tree.head(*slot).at > op.at);
    let own = later.filter(|slot| !others.iter().any(|head| session.tree.contains(*slot, *head)));
    let starts_race = is_raced(session, id)
        && op.changes.iter().any(|change| matches!(change, Change::Forked { branch } if *branch == id));
    if starts_race {
        return own.filter(|slot| session.tree.head(*slot).role == Role::User).count() > 1;
    }
    own.count() > 0
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
        let none = Skipped::default();
        assert_eq!(none.sentence("undone", "Pinned"), "Undone: pinned.");
        assert_eq!(none.nothing_left("redo"), "There is nothing to redo.");
        let both = Skipped { used_up: texts(&["Excluded"]), stranding: texts(&["c has later messages (forked b)"]) };
        let clause = "c has later messages (forked b); a call has used the mark (excluded)";
        assert_eq!(both.sentence("undone", "pinned"), format!("Not undone: {clause}. Undone instead: pinned."));
        assert_eq!(both.nothing_left("redo"), format!("Not redone: {clause}. There is nothing else to redo."));
        let same = texts(&["main has later messages (forked b)", "main has later messages (forked c)", "no"]);
        let same = Skipped { stranding: same, ..Skipped::default() }.nothing_left("undo");
        assert_eq!(
            same,
            "Not undone: main has later messages (forked b; forked c); no. There is nothing else to undo."
        );
        let many = Skipped { used_up: texts(&["a", "b", "c", "d", "e"]), ..Skipped::default() };
        assert!(many.nothing_left("undo").contains("calls have used the marks (a; b; c; and 2 more)."));
    }
}
