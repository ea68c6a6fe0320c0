//! Marks whose messages are not on the path of a request: inactive until the path contains them again.
//! Not for: their rows and warnings (`context::explain`).

use super::snapshot::anchor_key;
use crate::domain::conversation::{Branch, Mark, NodeHead, Role, Slot, Tree};
use crate::engine::sessions::session::Session;

/// A mark whose message is not on the path.
#[derive(Clone, Debug)]
pub(crate) struct InactiveNode {
    pub(crate) mark: Mark,
    /// The message; `None` if it was deleted.
    pub(crate) head: Option<NodeHead>,
    /// Whether the path has another version of the message.
    pub(crate) replaced: bool,
}

type Sorted = (Vec<Mark>, Vec<InactiveNode>);

/// Returns the active marks (notes always are) and the inactive ones, in an order that does not depend on when they
/// were made, so that undo and a restart give the same plan.
pub(super) fn sort_marks(session: &Session, branch: &Branch, path: &[Slot], replaces: bool) -> Sorted {
    let tree = &session.tree;
    let on_path = |slot: Slot| path.get(tree.depth(slot) as usize) == Some(&slot);
    let mut active = Vec::new();
    let mut inactive = Vec::new();
    for mark in &branch.marks {
        match anchor_key(&mark.target) {
            None => active.push(mark.clone()),
            Some(key) => match tree.by_key(key) {
                Some(slot) if on_path(slot) => active.push(mark.clone()),
                slot => inactive.push(InactiveNode {
                    mark: mark.clone(),
                    head: slot.map(|slot| tree.head(slot).clone()),
                    replaced: mark.inherited_from.is_none()
                        && slot.is_some_and(|slot| is_replaced(tree, path, slot, replaces)),
                }),
            },
        }
    }
    active.sort_unstable_by_key(|mark: &Mark| mark.target);
    inactive.sort_unstable_by_key(|node: &InactiveNode| node.mark.target);
    (active, inactive)
}

/// Whether the path has another version of a message that is not on it, or of an earlier message of the same turn.
/// `drafted` says whether the draft is that version.
fn is_replaced(tree: &Tree, path: &[Slot], slot: Slot, drafted: bool) -> bool {
    let on_path = |slot: &Slot| path.get(tree.depth(*slot) as usize) == Some(slot);
    let mut first = slot;
    while let Some(above) = tree.parent(first).filter(|above| !on_path(above)) {
        if tree.head(first).role == Role::User {
            return false;
        }
        first = above;
    }
    match path.get(tree.depth(first) as usize) {
        Some(other) => tree.head(*other).role == tree.head(first).role,
        None => drafted && tree.parent(first) == path.last().copied(),
    }
}
