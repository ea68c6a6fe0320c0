//! The path of a branch in the form that planning needs: slots, turns, sizes. It is cached, so that the cost of a
//! keystroke does not grow with the history.
//! Not for: the part of it that a plan considers (`plans::snapshot`).

use crate::domain::base::{Hash, NodeId};
use crate::domain::conversation::tree::Turn;
use crate::domain::conversation::{End, Lane, NodeHead, Role, Slot, Tree};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of cached paths: a few branches between which a person switches.
const KEPT: usize = 4;

/// The facts about a node that a search of older messages uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathNode {
    pub(crate) key: Hash,
    pub(crate) id: NodeId,
    pub(crate) at: i64,
    pub(crate) role: Role,
    /// Whether it has text that may be sent.
    pub(crate) speaks: bool,
}

impl PathNode {
    pub(crate) fn of(head: &NodeHead) -> Self {
        let speaks = !head.hidden && head.end != End::Removed && head.bytes > 0 && head.role != Role::System;
        Self { key: head.key, id: head.id, at: head.at, role: head.role, speaks }
    }
}

/// The nodes and turns of a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathView {
    pub(crate) slots: Vec<Slot>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) nodes: Arc<Vec<PathNode>>,
    /// The system messages.
    pub(crate) system: Vec<Slot>,
    /// For each turn, the bytes of all turns before it.
    sums: Vec<u64>,
    /// The lane of each turn, as a number.
    lanes: Vec<LaneNumber>,
}

/// A lane as a number, so that many can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneNumber(u64);

impl LaneNumber {
    /// For a stored text.
    pub(crate) fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        if !text.is_empty() {
            Lane::read(text).text().hash(&mut hasher);
        }
        Self(if text.is_empty() { 0 } else { hasher.finish() })
    }
}

impl PathView {
    /// Returns the path from the root to `tip`.
    pub(crate) fn of(tree: &Tree, tip: Slot) -> Self {
        let mut view = Self::default();
        for slot in tree.path(tip) {
            view.grow(tree, slot);
        }
        view
    }

    /// Appends one node.
    fn grow(&mut self, tree: &Tree, slot: Slot) {
        let head = tree.head(slot);
        let position = self.slots.len();
        let asks = head.role == Role::User;
        match self.turns.last_mut() {
            Some(turn) if !asks => turn.nodes.end = position + 1,
            last => {
                let before = last.map_or(0, |turn| size(tree, &self.slots[turn.nodes.clone()]));
                self.sums.push(self.sums.last().copied().unwrap_or(0) + before);
                self.turns.push(Turn { nodes: position..position + 1, asked: asks });
                self.lanes.push(LaneNumber::of(&head.lane));
            }
        }
        if head.role == Role::System {
            self.system.push(slot);
        }
        self.slots.push(slot);
        Arc::make_mut(&mut self.nodes).push(PathNode::of(head));
    }

    /// Returns the bytes of a range of turns.
    pub(crate) fn bytes(&self, tree: &Tree, turns: Range<usize>) -> u64 {
        let Some(last) = turns.end.checked_sub(1).filter(|last| *last >= turns.start) else { return 0 };
        let all = self.sums[last] + size(tree, &self.slots[self.turns[last].nodes.clone()]);
        all - self.sums[turns.start]
    }

    /// Whether a turn is in a lane.
    pub(crate) fn is_in(&self, turn: usize, lane: LaneNumber) -> bool {
        self.lanes.get(turn) == Some(&lane)
    }

    /// The turn at a position.
    pub(crate) fn turn_at(&self, position: usize) -> usize {
        self.turns.partition_point(|turn| turn.nodes.end <= position)
    }

    /// Returns 1 if messages precede the first question, and 0 otherwise.
    pub(crate) fn preamble(&self) -> usize {
        usize::from(self.turns.first().is_some_and(|turn| !turn.asked))
    }

    /// Returns the number of a turn by its index: 1 for the first question, 0 for the messages before it.
    pub(crate) fn number(&self, turn: usize) -> u32 {
        u32::try_from((turn + 1).saturating_sub(self.preamble())).unwrap_or(u32::MAX)
    }

    /// Returns the index of the turn that contains a message; `None` if the message is not on the path.
    pub(crate) fn turn_of(&self, tree: &Tree, key: Hash) -> Option<usize> {
        position(tree, &self.slots, key).map(|at| self.turn_at(at))
    }
}

/// Returns the position of a message on a path; `None` if it is not on it.
pub(crate) fn position(tree: &Tree, path: &[Slot], key: Hash) -> Option<usize> {
    let slot = tree.by_key(key)?;
    let at = tree.depth(slot) as usize;
    (path.get(at) == Some(&slot)).then_some(at)
}

fn size(tree: &Tree, slots: &[Slot]) -> u64 {
    slots.iter().map(|slot| tree.head(*slot).bytes).sum()
}

/// A cache of the last used paths, newest first.
#[derive(Default)]
pub(crate) struct Paths(Mutex<Vec<Arc<PathView>>>);

impl Paths {
    /// Returns the path to `tip`. If the path to its parent is cached, extends that path.
    pub(crate) fn get(&self, tree: &Tree, tip: Option<Slot>) -> Arc<PathView> {
        let Some(tip) = tip else { return Arc::default() };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = |wanted: Slot| move |view: &Arc<PathView>| view.slots.last() == Some(&wanted);
        let view = if let Some(at) = known.iter().position(ends(tip)) {
            known.remove(at)
        } else if let Some(at) = tree.parent(tip).and_then(|parent| known.iter().position(ends(parent))) {
            let mut view = known.remove(at);
            Arc::make_mut(&mut view).grow(tree, tip);
            view
        } else {
            Arc::new(PathView::of(tree, tip))
        };
        known.insert(0, view.clone());
        known.truncate(KEPT);
        view
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::conversation::tree::turns;
    use proptest::prelude::*;

    pub(crate) fn head(id: u128, parent: Option<u128>, role: Role) -> NodeHead {
        NodeHead {
            at: i64::try_from(id).unwrap(),
            bytes: u64::try_from(id % 97).unwrap(),
            ..crate::domain::conversation::tree::tests::head(id, parent, role)
        }
    }

    #[test]
    fn empty_hidden_removed_and_system_messages_have_no_text_to_send() {
        let usual = NodeHead { bytes: 1, ..head(1, None, Role::Assistant) };
        assert!(PathNode::of(&usual).speaks);
        for silent in [
            NodeHead { bytes: 0, ..usual.clone() },
            NodeHead { hidden: true, ..usual.clone() },
            NodeHead { end: End::Removed, ..usual.clone() },
            NodeHead { role: Role::System, ..usual },
        ] {
            assert!(!PathNode::of(&silent).speaks, "{silent:?}");
        }
    }

    #[test]
    fn a_message_belongs_to_its_turn_while_it_is_on_the_path() {
        let roles = [Role::System, Role::User, Role::Assistant, Role::User, Role::Assistant];
        let mut heads: Vec<NodeHead> =
            roles.into_iter().zip(1..).map(|(role, id)| head(id, (id > 1).then(|| id - 1), role)).collect();
        heads.push(head(9, Some(4), Role::Assistant));
        let tree = Tree::build(heads.clone());
        let path = PathView::of(&tree, tree.slot(heads[4].id).unwrap());
        let of = |at: usize| path.turn_of(&tree, heads[at].key);
        assert_eq!((0..6).map(of).collect::<Vec<_>>(), [Some(0), Some(1), Some(1), Some(2), Some(2), None]);
        assert_eq!(path.turn_of(&tree, Hash::default()), None);
    }

    proptest! {
        /// A cached path that grew node by node equals a path that is read whole.
        #[test]
        fn a_path_grows_with_its_branch(roles in proptest::collection::vec((0_u8..4, 0_usize..4), 1..40)) {
            let heads: Vec<NodeHead> = roles.iter().zip(1_u128..).map(|((role, lane), id)| {
                let role = [Role::User, Role::Assistant, Role::Tool, Role::System][usize::from(*role)];
                let lane = ["", "a", "topic:a", "reply:a"][*lane].to_owned();
                NodeHead { lane, ..head(id, (id > 1).then(|| id - 1), role) }
            }).collect();
            let tree = Tree::build(heads.clone());
            let paths = Paths::default();
            for head in &heads {
                let tip = tree.slot(head.id).unwrap();
                let path = paths.get(&tree, Some(tip));
                let all = || path.slots.iter().map(|slot| tree.head(*slot));
                prop_assert_eq!(&path.slots, &tree.path(tip));
                prop_assert_eq!(&path.turns, &turns(&tree, &path.slots));
                prop_assert_eq!(&*path.nodes, &all().map(PathNode::of).collect::<Vec<_>>());
                let system = all().filter(|head| head.role == Role::System).filter_map(|head| tree.slot(head.id));
                prop_assert_eq!(&path.system, &system.collect::<Vec<_>>());
                for (at, turn) in path.turns.iter().enumerate() {
                    let lane = |text: &str| Lane::read(text).text();
                    let own = lane(&tree.head(path.slots[turn.nodes.start]).lane);
                    for text in ["", "a", "topic:a", "reply:a"] {
                        prop_assert_eq!(path.is_in(at, LaneNumber::of(text)), own == lane(text));
                    }
                    let bytes: u64 = all().skip(turn.nodes.start).map(|head| head.bytes).sum();
                    prop_assert_eq!(path.bytes(&tree, at..path.turns.len()), bytes);
                }
            }
        }
    }
}
