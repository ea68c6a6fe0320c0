//! Finds messages and branches of an open session by typed names, and shortens ids.
//! Not for: sessions and marked items, which the engine finds.

use super::stop::Stop;
use crate::domain::base::{Failure, NodeId};
use crate::domain::conversation::resolve;
use crate::domain::conversation::{Branch, NodeHead, Role, Slot, Tree};
use crate::engine::api::SessionView;

/// Builds the session's tree.
pub(super) fn tree(view: &SessionView) -> Tree {
    Tree::build(view.nodes.clone())
}

/// Returns the message with this name. The path of the open branch has precedence.
pub(super) fn message<'a>(view: &'a SessionView, text: &str) -> Result<&'a NodeHead, Stop> {
    named(view, text, resolve::message)
}

/// Returns the message after which a new branch starts.
pub(super) fn end<'a>(view: &'a SessionView, text: &str) -> Result<&'a NodeHead, Stop> {
    named(view, text, resolve::end)
}

/// Returns the id of the call that the text names by the number of its turn, or by `last`; otherwise the text itself,
/// which is the prefix of an id.
pub(super) fn call(view: &SessionView, text: &str) -> Result<String, Stop> {
    let tree = tree(view);
    let path = branch(view, None).map(|branch| path(&tree, branch)).unwrap_or_default();
    let found = resolve::call(&tree, &path, view.runs.iter(), text)?;
    Ok(found.map_or_else(|| text.to_owned(), |id| id.to_string()))
}

fn named<'a>(
    view: &'a SessionView,
    text: &str,
    find: fn(&Tree, &[Slot], &str) -> Result<Slot, Failure>,
) -> Result<&'a NodeHead, Stop> {
    let tree = tree(view);
    let path = branch(view, None).map(|branch| path(&tree, branch)).unwrap_or_default();
    let found = tree.head(find(&tree, &path, text)?).id;
    let head = view.nodes.iter().find(|head| head.id == found);
    Ok(head.ok_or_else(Failure::message_gone)?)
}

/// Returns a branch by its id, a unique prefix of its id, or its name; without a text, the current branch.
pub(super) fn branch<'a>(view: &'a SessionView, text: Option<&str>) -> Result<&'a Branch, Stop> {
    if let Some(text) = text {
        return Ok(resolve::branch(&view.branches, text)?);
    }
    let current = view.branches.iter().find(|branch| branch.id == view.current);
    Ok(current.ok_or_else(|| resolve::no_branch("last used"))?)
}

/// Returns the slots of a branch's path.
pub(super) fn path(tree: &Tree, branch: &Branch) -> Vec<Slot> {
    branch.head.and_then(|head| tree.slot(head)).map(|slot| tree.path(slot)).unwrap_or_default()
}

/// Returns the user message of the turn that a message belongs to.
pub(super) fn user_message_of(view: &SessionView, node: NodeId) -> Result<NodeId, Stop> {
    let tree = tree(view);
    let mut at = tree.slot(node);
    while let Some(slot) = at {
        if tree.head(slot).role == Role::User {
            return Ok(tree.head(slot).id);
        }
        at = tree.parent(slot);
    }
    Err(Failure::user("Nothing to regenerate: the message does not follow any of your messages.").into())
}

/// Returns the number of characters that distinguish the ids of all messages of the session, at least 8.
pub(super) fn id_length(view: &SessionView) -> usize {
    enough(view.nodes.iter().map(|head| head.id))
}

/// Returns the number of characters that distinguish these ids, at least 8.
pub(super) fn enough(ids: impl Iterator<Item = impl std::fmt::Display>) -> usize {
    let mut ids: Vec<String> = ids.map(|id| id.to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    let same = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(same).max().unwrap_or_default().max(7) + 1
}

/// Returns the first characters of an id.
pub(super) fn short(id: impl std::fmt::Display, enough: usize) -> String {
    id.to_string().chars().take(enough).collect()
}
