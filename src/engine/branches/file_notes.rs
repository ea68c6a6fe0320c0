//! The note that tells the model that a person undid or redid file changes, usually those of a tool call. It is sent in
//! the next completed turn's calls only, because the messages about the change stay in the conversation.
//! Not for: changing the files (`turns::consent`), or the operations themselves (`undo`).

use super::mark_state::pin_on;
use crate::domain::base::Hash;
use crate::domain::conversation::{Actor, Atom, Branch, Change, Mark, MarkKind};

/// Returns the change of the branch's marks that adds the note about these changes, or removes the note about their
/// reversal, which was not sent yet; `None` if no file changes.
pub(super) fn change(branch: &Branch, changes: &[Change], undone: bool) -> Option<Change> {
    let paths: Vec<&str> = changes.iter().filter_map(path).collect();
    if paths.is_empty() {
        return None;
    }
    let on = |target: Atom| branch.marks.iter().find(|mark| mark.target == target && mark.by == Actor::Engine);
    let (note, opposite) = (text(&paths, undone), target(&text(&paths, !undone)));
    if let Some(unsent) = on(opposite) {
        let before = Some(Box::new(unsent.clone()));
        return Some(Change::Mark { branch: branch.id, target: opposite, before, after: None });
    }
    let target = target(&note);
    let before = on(target).cloned().map(Box::new);
    let after = Mark { kind: MarkKind::IncludeOnce, by: Actor::Engine, note: Some(note), ..pin_on(target) };
    Some(Change::Mark { branch: branch.id, target, before, after: Some(Box::new(after)) })
}

fn path(change: &Change) -> Option<&str> {
    if let Change::File { path, .. } = change { Some(path) } else { None }
}

fn text(paths: &[&str], undone: bool) -> String {
    let mut paths = paths.to_vec();
    paths.sort_unstable();
    paths.dedup();
    let files = paths.join(", ");
    if undone {
        format!("The user undid an earlier change of {files}. The content is as it was before that change.")
    } else {
        format!("The user redid a change of {files} that had been undone.")
    }
}

fn target(note: &str) -> Atom {
    Atom::Section { text: Hash::of(note.as_bytes()) }
}
