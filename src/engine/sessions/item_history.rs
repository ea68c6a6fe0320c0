//! The state changes of a branch's items, or of one item, with titles and turns, for display.
//! Not for: making state changes (`turns::reflect`, `memory`).

use super::path::PathView;
use super::session::{Session, lineage, reaches};
use super::titles::first_words;
use crate::domain::base::{BranchId, Failure, Hash, SessionId};
use crate::domain::conversation::{Atom, Branch, Change, Mark, Memory, NodeHead, Subject, Transition};
use crate::domain::planning::RowKind;
use crate::engine::api::{Answer, BranchAnswer, TransitionReport};
use crate::engine::core::Core;
use crate::engine::plans::snapshot::anchor_key;
use crate::engine::sessions::state::Sessions;
use crate::store::Store;
use std::collections::HashMap;

/// The maximum number of state changes, newest first.
const MOST: usize = 500;

impl Core {
    /// Names an item in a sentence: `turn 3`, `a message of turn 3`, or the title of what is no message. `mark` is its
    /// mark.
    pub(crate) fn item_in_words(&self, branch: &Branch, target: &Atom, mark: Option<&Mark>) -> String {
        let number = self.sessions.of_branch(branch.id).ok().and_then(|session| {
            let path = session.paths.get(&session.tree, session.head(branch));
            let turn = path.turn_of(&session.tree, anchor_key(target)?)?;
            Some(path.number(turn)).filter(|number| *number > 0)
        });
        match (target, number) {
            (Atom::Message { .. }, Some(number)) => format!("a message of turn {number}"),
            (_, Some(number)) => format!("turn {number}"),
            (_, None) => mark
                .and_then(section_name)
                .map(|title| quoted(&title))
                .or_else(|| self.unmarked_item_in_words(branch, target))
                .unwrap_or_else(|| "the item".to_owned()),
        }
    }

    /// Names an item that is no turn and whose mark has no title: a memory, rules, a row of the last drawn plan, or the
    /// messages before the first turn.
    fn unmarked_item_in_words(&self, branch: &Branch, target: &Atom) -> Option<String> {
        if *target == Atom::code_map() {
            return Some("the code map".to_owned());
        }
        let memories = self.store.memories(Some(branch.session)).unwrap_or_default();
        if let Some(memory) = memories.iter().find(|memory| memory.atom() == *target) {
            return Some(format!("the memory {}", quoted(&memory.text)));
        }
        let rows = self.plans.drawn.get(&branch.id).into_iter().flat_map(|drawn| &drawn.solved.plan.rows);
        if let Some(row) = rows.into_iter().find(|row| row.atom == *target && !row.title.is_empty()) {
            let is_rules = row.kind == RowKind::Rules;
            return Some(if is_rules { format!("the rules {}", first_words(&row.title)) } else { quoted(&row.title) });
        }
        let files = self.tools.project.knows(target).then(|| self.tools.project.rules_files(&[], 0).list);
        if let Some(file) = files.into_iter().flatten().find(|file| file.atom == *target) {
            return Some(format!("the rules {}", file.path));
        }
        let tree = &self.sessions.of_branch(branch.id).ok()?.tree;
        let preview = &tree.head(tree.by_key(anchor_key(target)?)?).preview;
        Some(quoted(preview))
    }
}

/// Returns the first words of a text in quotes, with an ellipsis if the text has more lines.
fn quoted(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = first_words(lines.next().unwrap_or_default());
    let more = if lines.next().is_some() && !first.ends_with('…') { "…" } else { "" };
    format!("\"{first}{more}\"")
}

/// Returns the state changes that apply on a branch, oldest first: the changes of one item, or all.
pub(crate) fn steps(sessions: &Sessions, store: &Store, id: BranchId, atom: Option<&Atom>) -> Result<Answer, Failure> {
    let branch = sessions.branch(id)?;
    let session = sessions.of_branch(id)?;
    let path = session.paths.get(&session.tree, session.head(&branch));
    let memories = store.memories(Some(branch.session))?;
    let titles = section_titles(store, branch.session, &memories)?;
    let mut steps = match atom {
        None => store.transitions(branch.session)?,
        Some(atom) => store.steps_of(branch.session, &keys(session, &branch, &path, &memories, atom))?,
    };
    let lines = lineage(&session.branches, &branch);
    steps.retain(|step| step.branch.is_none_or(|of| reaches(&lines, of, step.at)));
    let older = steps.len().saturating_sub(MOST);
    let newest = steps.split_off(older).into_iter();
    Ok(BranchAnswer::Steps(newest.map(|step| report(session, &path, &memories, &titles, step)).collect()).into())
}

/// Returns the title of an item that is no message, if it is a memory, or has or had a mark in the session.
pub(crate) fn section_title(store: &Store, session: SessionId, atom: &Atom) -> Result<Option<String>, Failure> {
    let memories = store.memories(Some(session))?;
    Ok(section_titles(store, session, &memories)?.remove(atom))
}

/// Returns the titles of memories and of everything else that is no message and has or had a mark in the session:
/// notes by their text, symbols by their name.
fn section_titles(store: &Store, session: SessionId, memories: &[Memory]) -> Result<HashMap<Atom, String>, Failure> {
    let mut titles: HashMap<Atom, String> =
        memories.iter().map(|memory| (memory.atom(), memory.text.clone())).collect();
    titles.insert(Atom::code_search(), "search of the code".to_owned());
    for op in store.ops(session)? {
        for change in op.changes {
            let Change::Mark { before, after, .. } = change else { continue };
            let marks = [before, after].into_iter().flatten();
            titles.extend(marks.filter_map(|mark| Some((mark.target, section_name(&mark)?))));
        }
    }
    Ok(titles)
}

/// Returns the storage keys of an item's state changes; for a turn, also the keys of its messages' changes.
fn keys(session: &Session, branch: &Branch, path: &PathView, memories: &[Memory], atom: &Atom) -> Vec<Hash> {
    let mut keys = vec![Subject::Item(*atom).key()];
    let memory = memories.iter().find(|memory| memory.atom() == *atom);
    keys.extend(memory.map(|memory| Subject::Memory(memory.id).key()));
    let turn = match atom {
        Atom::Turn { user: key, .. } | Atom::Message { node: key } => path.turn_of(&session.tree, *key),
        Atom::Episode { .. } | Atom::Preamble { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
    };
    if let Some(turn) = turn {
        let nodes = path.turns[turn].nodes.clone();
        let heads: Vec<&NodeHead> = nodes.map(|at| session.tree.head(path.slots[at])).collect();
        let tip = heads.last().map(|head| head.key).unwrap_or_default();
        let user = heads.first().map(|head| head.key).unwrap_or_default();
        keys.push(Subject::Item(Atom::Turn { user, tip }).key());
        keys.extend(heads.iter().map(|head| Subject::Item(Atom::Message { node: head.key }).key()));
        let own = |target: &Atom| matches!(target, Atom::Turn { user: of, .. } if *of == user);
        let marks = branch.marks.iter().filter(|mark| own(&mark.target));
        keys.extend(marks.map(|mark| Subject::Item(mark.target).key()));
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the title of a marked note or symbol.
fn section_name(mark: &Mark) -> Option<String> {
    mark.code.as_ref().map(|code| code.title()).or_else(|| mark.note.clone())
}

fn report(
    session: &Session,
    path: &PathView,
    memories: &[Memory],
    titles: &HashMap<Atom, String>,
    step: Transition,
) -> TransitionReport {
    let number =
        |key: Hash| path.turn_of(&session.tree, key).map(|turn| path.number(turn)).filter(|number| *number > 0);
    let node = match step.item {
        Subject::Item(atom) => anchor_key(&atom),
        Subject::Memory(_) => None,
    };
    let first = match step.item {
        Subject::Item(Atom::Turn { user, .. }) => Some(user),
        Subject::Item(_) | Subject::Memory(_) => node,
    };
    let head = first.and_then(|key| session.tree.by_key(key)).map(|slot| session.tree.head(slot).preview.clone());
    let title = match step.item {
        Subject::Memory(id) => memories.iter().find(|memory| memory.id == id).map(|memory| memory.text.clone()),
        Subject::Item(atom @ Atom::Section { .. }) => {
            Some(titles.get(&atom).cloned().unwrap_or_else(|| "a note, a rules file, or code".to_owned()))
        }
        Subject::Item(_) => head,
    };
    TransitionReport {
        turn: node.and_then(number),
        at_turn: step.turn.and_then(number),
        title: title.unwrap_or_else(|| "a deleted item".to_owned()),
        step,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_text_of_several_lines_is_named_by_its_first_line() {
        assert_eq!(quoted("first\nsecond"), "\"first…\"");
        assert_eq!(quoted("We use PostgreSQL 16.\n"), "\"We use PostgreSQL 16\"");
    }
}
