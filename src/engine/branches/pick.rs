//! Copies items of one branch to another, or merges the result of a branch. The copy is a pinned text that records its
//! origin; an item that both branches share is only marked.
//! Not for: marks on a branch's own messages (`marks`).

use super::mark_state::{MarkUpdate, pin_on};
use super::marks::{apply_to, turn_at};
use crate::context::render::render_forms;
use crate::domain::base::{BranchId, Failure, Fields, Hash};
use crate::domain::call::tokens::counted;
use crate::domain::conversation::mark::Origin;
use crate::domain::conversation::{Actor, Atom, Branch, Mark, MarkKind, Role, Slot, tree};
use crate::engine::api::{Answer, ItemName};
use crate::engine::core::{Core, content};
use crate::engine::sessions::session::{Session, undoable};
use crate::engine::sessions::state::Sessions;
use crate::store::Store;
use crate::store::types::Write;

/// A mark and its replacement.
type Swap = (Option<Mark>, Mark);

impl Core {
    /// Copies items of one branch to another, each as a separate text or all as one text (undoable).
    pub(crate) fn pick(
        &mut self,
        from: BranchId,
        items: &[ItemName],
        onto: BranchId,
        together: bool,
    ) -> Result<Answer, Failure> {
        let (source, target) = self.sessions.two_branches(from, onto)?;
        let mut swaps: Vec<Swap> = Vec::new();
        let mut parts: Vec<Vec<Slot>> = Vec::new();
        let mut shared = 0;
        for item in items {
            let (atom, _) = match pinned_text(&source, item) {
                Some(atom) => (atom, None),
                None => self.target(&source, item)?,
            };
            if let Some(mark) = source.marks.iter().find(|mark| mark.target == atom && mark.note.is_some()) {
                swaps.push(swap_for(&target, copy_of(mark, &source)));
                continue;
            }
            let session = self.sessions.of_branch(from)?;
            let slots = slots_of(session, &source, &atom)?;
            let tip = slots.last().copied().zip(session.head(&target));
            if tip.is_some_and(|(slot, head)| session.tree.contains(slot, head)) {
                for atom in turns_of(session, &source, atom, &slots) {
                    let own = source.marks.iter().find(|mark| mark.target == atom && mark.kind.pins());
                    let kind = own.map_or(MarkKind::Sticky, |mark| mark.kind);
                    let mark = Mark { kind, inherited_from: Some(source.name.clone()), ..pin_on(atom) };
                    swaps.push(swap_for(&target, mark));
                    shared += 1;
                }
            } else {
                parts.push(slots);
            }
        }
        if together {
            let mut all: Vec<Slot> = parts.concat();
            let session = self.sessions.of_branch(from)?;
            all.sort_unstable_by_key(|slot| session.tree.depth(*slot));
            all.dedup();
            parts = if all.is_empty() { Vec::new() } else { vec![all] };
        }
        for slots in &parts {
            let mark = text_mark(&self.sessions, &self.store, &source, slots, false)?;
            swaps.push(swap_for(&target, mark));
        }
        if swaps.is_empty() {
            return Err(Failure::user("Select a message or a pinned text to pick."));
        }
        let what = match (swaps.len() - shared, shared) {
            (0, 1) => format!("pinned 1 item on {} without a copy: it is there already", target.name),
            (0, shared) => format!("pinned {shared} items on {} without copies: they are there already", target.name),
            (picked, 0) => format!("picked {} of {} for {}", counted(picked as u64, "item"), source.name, target.name),
            (picked, shared) => {
                let all = picked + shared;
                format!("picked {all} items of {} for {}, {shared} of them only pinned there", source.name, target.name)
            }
        };
        self.apply_swaps(onto, swaps, &what)
    }

    /// Merges the result of a branch (its last turn) into another branch, or into its parent branch (undoable). It
    /// replaces an earlier result of the same branch there.
    pub(crate) fn return_result(&mut self, from: BranchId, onto: Option<BranchId>) -> Result<Answer, Failure> {
        let parent = self.sessions.branch(from)?.parent;
        let onto = onto.or(parent).ok_or_else(|| {
            Failure::user("This branch was not forked from another branch.")
                .todo("Name the branch that gets the result.")
        })?;
        let (source, target) = self.sessions.two_branches(from, onto)?;
        let session = self.sessions.of_branch(from)?;
        let path = session.path(&source);
        let shared = |slot: &Slot| session.head(&target).is_some_and(|head| session.tree.contains(*slot, head));
        let own: Vec<Slot> = path.iter().copied().filter(|slot| !shared(slot)).collect();
        if own.is_empty() {
            return Err(Failure::user(format!(
                "The branch {} has no messages that {} lacks.",
                source.name, target.name
            )));
        }
        let mark = text_mark(&self.sessions, &self.store, &source, &own, true)?;
        let is_old = |mark: &&Mark| mark.origin.as_ref().is_some_and(|origin| origin.result && origin.branch == from);
        let old = target.marks.iter().find(is_old).cloned();
        let what = format!("returned the result of {} to {}", source.name, target.name);
        self.apply_swaps(onto, vec![(old, mark)], &what)
    }

    /// Writes marks to a branch as one operation.
    fn apply_swaps(&mut self, onto: BranchId, swaps: Vec<Swap>, what: &str) -> Result<Answer, Failure> {
        let mut changes = Vec::new();
        let mut writes = Vec::new();
        for (old, new) in swaps {
            let (before, gone) =
                if old.as_ref().is_some_and(|old| old.target == new.target) { (old, None) } else { (None, old) };
            if let Some(gone) = gone {
                let removal = MarkUpdate { target: gone.target, before: Some(gone), after: None };
                writes.push(removal.write(onto));
                changes.push(removal.change(onto));
            }
            let revision = before.as_ref().map_or(0, |mark| mark.revision) + 1;
            let update = MarkUpdate { target: new.target, before, after: Some(Mark { revision, ..new }) };
            let change = update.change(onto);
            writes.push(update.write(onto));
            writes.extend(self.mark_step(&change, "copied from another branch"));
            changes.push(change);
        }
        let session = self.sessions.branch(onto)?.session;
        writes.push(self.setup.operation(session, what.to_owned(), changes.clone()));
        self.store.write(writes)?;
        self.sessions.with_branch(onto, |branch| apply_to(branch, &changes));
        self.show_branch(onto);
        Ok(undoable(what))
    }
}

/// Writes messages as a text for another branch. A result contains only the last turn but links to all messages.
fn text_mark(
    sessions: &Sessions,
    store: &Store,
    source: &Branch,
    slots: &[Slot],
    result: bool,
) -> Result<Mark, Failure> {
    let session = sessions.of_branch(source.id)?;
    let asks = |slot: &Slot| session.tree.head(*slot).role == Role::User;
    let from = slots.iter().rposition(asks).filter(|_| result).unwrap_or(0);
    let text = text_of(store, session, &slots[from..])?;
    if text.trim().is_empty() {
        return Err(Failure::user("The item has no text to copy."));
    }
    let path = session.path(source);
    let depth = slots.first().map_or(0, |slot| session.tree.depth(*slot) as usize);
    let asked = path.iter().take(depth + 1).filter(|slot| asks(slot)).count();
    let turns = tree::turns(&session.tree, slots).len();
    let head = |slot: Option<&Slot>| slot.map(|slot| session.tree.head(*slot));
    let first = head(slots.first()).ok_or_else(|| Failure::user("Select an item first."))?;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let origin = Origin {
        branch: source.id,
        name: source.name.clone(),
        turn: Some(count(asked)).filter(|turn| *turn > 0),
        turns: count(turns),
        node: first.id,
        sources: slots.iter().map(|slot| session.tree.head(*slot).key).collect(),
        head: head(path.last()).map(|head| head.key).unwrap_or_default(),
        result,
    };
    let key = Fields::new("origin").json(&origin).text(&text).finish();
    let mark = pin_on(Atom::Section { text: key });
    Ok(Mark { note: Some(text), inherited_from: Some(source.name.clone()), origin: Some(Box::new(origin)), ..mark })
}

/// Returns the writes that remove texts copied from messages that are deleted permanently, on all branches of a
/// session.
pub(crate) fn remove_copied_texts(session: &Session, keys: &[Hash]) -> Vec<Write> {
    let made = |mark: &&Mark| mark.origin.as_ref().is_some_and(|o| o.sources.iter().any(|key| keys.contains(key)));
    let of = |branch: &Branch| -> Vec<Write> {
        let removal = |mark: &Mark| MarkUpdate { target: mark.target, before: Some(mark.clone()), after: None };
        branch.marks.iter().filter(made).map(|mark| removal(mark).write(branch.id)).collect()
    };
    session.branches.iter().flat_map(of).collect()
}

/// Returns messages as the text of a card.
pub(crate) fn text_of(store: &Store, session: &Session, slots: &[Slot]) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for slot in slots {
        let head = session.tree.head(*slot);
        parts.push((head.role, content(store, head.id)?));
    }
    Ok(render_forms::card_body(parts.iter().map(|(role, content)| (*role, content))))
}

impl Sessions {
    /// Returns two different branches of one session.
    fn two_branches(&self, from: BranchId, onto: BranchId) -> Result<(Branch, Branch), Failure> {
        let session = self.of_branch(from)?;
        if from == onto {
            return Err(Failure::user("The text is already on that branch.").todo("Choose another branch."));
        }
        Ok((session.branch(from)?.clone(), session.branch(onto)?.clone()))
    }
}

/// Returns the pinned text that is named by a unique prefix of the id that lists show.
fn pinned_text(branch: &Branch, item: &ItemName) -> Option<Atom> {
    let ItemName::Named { text, .. } = item else { return None };
    let begins = |mark: &&Mark| text.len() >= 6 && mark.target.key().to_string().starts_with(text.as_str());
    let mut found = branch.marks.iter().filter(|mark| mark.note.is_some()).filter(begins);
    found.next().filter(|_| found.next().is_none()).map(|mark| mark.target)
}

/// Returns a copy of a pinned text for another branch.
fn copy_of(mark: &Mark, source: &Branch) -> Mark {
    Mark { inherited_from: Some(source.name.clone()), by: Actor::User, counted: None, ..mark.clone() }
}

fn swap_for(target: &Branch, mark: Mark) -> Swap {
    (target.marks.iter().find(|known| known.target == mark.target).cloned(), mark)
}

/// Returns the turns of a range of messages, or any other item itself.
fn turns_of(session: &Session, branch: &Branch, atom: Atom, slots: &[Slot]) -> Vec<Atom> {
    if !matches!(atom, Atom::Range { .. }) {
        return vec![atom];
    }
    let asked = slots.iter().filter(|slot| session.tree.head(**slot).role == Role::User);
    asked.map(|slot| turn_at(session, branch, *slot)).collect()
}

/// Returns the nodes of an atom on a branch.
fn slots_of(session: &Session, branch: &Branch, atom: &Atom) -> Result<Vec<Slot>, Failure> {
    let none = || Failure::user("Only messages and pinned texts can be picked.");
    let at = |key: Hash| session.tree.by_key(key);
    let (first, last) = match atom {
        Atom::Turn { user, tip } => (*user, *tip),
        Atom::Episode { call, tip } => (*call, *tip),
        Atom::Message { node } => (*node, *node),
        Atom::Range { first, last } => (*first, *last),
        Atom::Preamble { first } => (*first, *first),
        Atom::Section { .. } => return Err(none()),
    };
    let (first, last) = at(first).zip(at(last)).ok_or_else(none)?;
    if !session.tree.contains(first, last) {
        return Err(Failure::user("The range ends before it starts."));
    }
    if !session.head(branch).is_some_and(|head| session.tree.contains(last, head)) {
        return Err(Failure::user(format!("That message is not on {}.", branch.name)));
    }
    let depth = session.tree.depth(first) as usize;
    Ok(session.tree.path(last).into_iter().skip(depth).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::SessionId;
    use uuid::Uuid;

    fn branch(name: &str, marks: Vec<Mark>) -> Branch {
        let id = BranchId(Uuid::nil());
        Branch { name: name.into(), marks, ..Branch::new(id, SessionId(Uuid::nil()), name, None, 1) }
    }

    fn note(text: &str, by: Actor) -> Mark {
        let target = Atom::Section { text: Hash::of(text.as_bytes()) };
        Mark { note: Some(text.into()), by, counted: Some(Hash::of(b"call")), revision: 4, ..pin_on(target) }
    }

    #[test]
    fn a_pinned_text_is_copied_as_the_persons_own() {
        for by in [Actor::User, Actor::Engine, Actor::Model] {
            let mark = Mark { kind: MarkKind::IncludeOnce, ..note("text", by) };
            let copy = copy_of(&mark, &branch("side", Vec::new()));
            assert_eq!((copy.by, copy.counted, copy.inherited_from.as_deref()), (Actor::User, None, Some("side")));
            assert_eq!((copy.target, copy.kind, copy.note.as_deref()), (mark.target, mark.kind, Some("text")));
        }
    }

    #[test]
    fn pinned_texts_are_named_by_a_prefix_of_their_id() {
        let (one, two) = (note("one", Actor::User), note("two", Actor::User));
        let plain = pin_on(Atom::Message { node: Hash::of(b"three") });
        let id = |mark: &Mark| mark.target.key().to_string();
        let (of_one, of_plain) = (id(&one), id(&plain));
        let on = branch("side", vec![one.clone(), two.clone(), plain]);
        let named = |text: &str| pinned_text(&on, &ItemName::Named { text: text.into(), message: false });
        assert_eq!(
            (named(&of_one), named(&of_one[..6]), named(&of_one[..5])),
            (Some(one.target), Some(one.target), None)
        );
        assert_eq!((named(&of_plain), named("000000"), named("")), (None, None, None));
        assert_eq!(pinned_text(&on, &ItemName::Note(of_one.clone())), None);
        let twice = branch("side", vec![one.clone(), one.clone()]);
        assert_eq!(
            pinned_text(&twice, &ItemName::Named { text: of_one, message: false }),
            None,
            "it must be the only one"
        );
        assert_eq!(swap_for(&on, Mark { revision: 9, ..two.clone() }).0, Some(two));
        assert_eq!(swap_for(&branch("other", Vec::new()), one.clone()), (None, one));
    }
}
