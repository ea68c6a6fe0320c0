//! A session's tree of nodes in memory, the path of a branch, and the turns and episodes on it.
//! Not for: contents (which stay in the store) or marks.

use super::message::{NodeHead, Role};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use std::collections::HashMap;
use std::ops::Range;

/// A node's index in a [`Tree`]; never changes.
pub type Slot = u32;

/// All nodes of one session, by slot, with parents before children.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<NodeHead>,
    parents: Vec<Option<Slot>>,
    children: Vec<Vec<Slot>>,
    depths: Vec<u32>,
    by_id: HashMap<NodeId, Slot>,
    by_key: HashMap<Hash, Slot>,
    roots: Vec<Slot>,
}

impl Tree {
    /// Builds a tree from heads in any order. A head whose parent is missing becomes a root.
    pub fn build(heads: Vec<NodeHead>) -> Self {
        let mut tree = Self::default();
        let known: std::collections::HashSet<NodeId> = heads.iter().map(|head| head.id).collect();
        let mut waiting: HashMap<NodeId, Vec<NodeHead>> = HashMap::new();
        let mut ready = Vec::new();
        for head in heads {
            match head.parent.filter(|parent| known.contains(parent) && !tree.by_id.contains_key(parent)) {
                Some(parent) => waiting.entry(parent).or_default().push(head),
                None => ready.push(head),
            }
            while let Some(head) = ready.pop() {
                ready.extend(waiting.remove(&head.id).unwrap_or_default());
                tree.insert(head);
            }
        }
        tree
    }

    /// Adds a node, or replaces the head of a known one, and returns its slot. A node without a known parent becomes a
    /// root.
    pub fn insert(&mut self, head: NodeHead) -> Slot {
        if let Some(slot) = self.by_id.get(&head.id).copied() {
            self.nodes[slot as usize] = head;
            return slot;
        }
        let slot = Slot::try_from(self.nodes.len()).unwrap_or(Slot::MAX);
        let parent = head.parent.and_then(|id| self.by_id.get(&id).copied());
        self.depths.push(parent.map_or(0, |p| self.depths[p as usize] + 1));
        self.by_id.insert(head.id, slot);
        self.by_key.insert(head.key, slot);
        let ord = head.ord;
        self.nodes.push(head);
        self.parents.push(parent);
        self.children.push(Vec::new());
        let nodes = &self.nodes;
        let siblings = match parent {
            Some(parent) => &mut self.children[parent as usize],
            None => &mut self.roots,
        };
        let at = siblings.partition_point(|s| nodes[*s as usize].ord <= ord);
        siblings.insert(at, slot);
        slot
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the tree has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the head of the node in a slot.
    pub fn head(&self, slot: Slot) -> &NodeHead {
        &self.nodes[slot as usize]
    }

    /// Returns the slot of a node; `None` if the tree does not contain it.
    pub fn slot(&self, id: NodeId) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// Returns the head of a node; `None` if the tree does not contain it.
    pub fn get(&self, id: NodeId) -> Option<&NodeHead> {
        self.slot(id).map(|slot| self.head(slot))
    }

    /// Returns the slot of the node with this key; `None` if the tree does not contain it.
    pub fn by_key(&self, key: Hash) -> Option<Slot> {
        self.by_key.get(&key).copied()
    }

    /// Returns the parent's slot; `None` for a root.
    pub fn parent(&self, slot: Slot) -> Option<Slot> {
        self.parents[slot as usize]
    }

    /// Returns the slots of a node's children, in order; of the roots for `None`.
    pub fn children(&self, slot: Option<Slot>) -> &[Slot] {
        slot.map_or(&self.roots, |slot| &self.children[slot as usize])
    }

    /// Returns the depth of a node; a root has depth 0.
    pub fn depth(&self, slot: Slot) -> u32 {
        self.depths[slot as usize]
    }

    /// Returns all heads in slot order (parents before children).
    pub fn heads(&self) -> impl Iterator<Item = &NodeHead> {
        self.nodes.iter()
    }

    /// Returns the slots from the root to `tip`, both included.
    pub fn path(&self, tip: Slot) -> Vec<Slot> {
        let mut path = Vec::with_capacity(self.depth(tip) as usize + 1);
        let mut at = Some(tip);
        while let Some(slot) = at {
            path.push(slot);
            at = self.parent(slot);
        }
        path.reverse();
        path
    }

    /// Returns whether `above` is `below` or one of its ancestors.
    pub fn contains(&self, above: Slot, below: Slot) -> bool {
        let mut at = below;
        while self.depth(at) > self.depth(above) {
            match self.parent(at) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        at == above
    }

    /// Returns the nearest common ancestor of two nodes, which may be one of them; `None` if they share no root.
    pub fn common_ancestor(&self, mut a: Slot, mut b: Slot) -> Option<Slot> {
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = self.parent(a)?;
            } else {
                b = self.parent(b)?;
            }
        }
        Some(a)
    }

    /// Returns the leaf that is reached from a node by following the last child at each step.
    pub fn leaf(&self, slot: Slot) -> Slot {
        let mut at = slot;
        while let Some(last) = self.children[at as usize].last() {
            at = *last;
        }
        at
    }

    /// Returns a node's index among its siblings, from 0, and their number.
    pub fn place(&self, slot: Slot) -> (usize, usize) {
        let siblings = self.children(self.parent(slot));
        (siblings.iter().position(|s| *s == slot).unwrap_or(0), siblings.len())
    }
}

/// A turn on a path: a user message and everything before the next one. Also the preamble.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The nodes, as positions on the path.
    pub nodes: Range<usize>,
    /// Whether it begins with a user message; false for the preamble.
    pub asked: bool,
}

/// Splits a path into turns. Every position is in exactly one turn.
pub fn turns(tree: &Tree, path: &[Slot]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (position, slot) in path.iter().enumerate() {
        let asks = tree.head(*slot).role == Role::User;
        match turns.last_mut() {
            Some(turn) if !asks => turn.nodes.end = position + 1,
            Some(_) | None => turns.push(Turn { nodes: position..position + 1, asked: asks }),
        }
    }
    turns
}

/// Returns the episodes within a range of a path, as ranges of positions: each an assistant message with calls and the
/// results after it.
pub fn episodes(tree: &Tree, path: &[Slot], nodes: Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for position in nodes {
        let head = tree.head(path[position]);
        match head.role {
            Role::Assistant if head.calls > 0 => {
                found.push(position..position + 1);
                open = true;
            }
            Role::Tool if open => {
                if let Some(last) = found.last_mut() {
                    last.end = position + 1;
                }
            }
            Role::System | Role::User | Role::Assistant | Role::Tool => open = false,
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::domain::conversation::message::{End, node_key};
    use uuid::Uuid;

    pub(crate) fn head(id: u128, parent: Option<u128>, role: Role) -> NodeHead {
        let key = node_key(None, role, None, u32::try_from(id).unwrap(), None);
        NodeHead {
            id: NodeId(Uuid::from_u128(id)),
            key,
            parent: parent.map(|p| NodeId(Uuid::from_u128(p))),
            ord: u32::try_from(id).unwrap(),
            role,
            end: End::Complete,
            at: 0,
            bytes: 0,
            calls: 0,
            hidden: false,
            imported: false,
            content: None,
            preview: String::new(),
            model: None,
            name: None,
            lane: String::new(),
            external_id: None,
        }
    }

    #[test]
    fn builds_from_any_order() {
        let heads = vec![
            head(3, Some(2), Role::User),
            head(4, Some(2), Role::User),
            head(2, Some(1), Role::Assistant),
            head(1, None, Role::User),
        ];
        let tree = Tree::build(heads);
        assert_eq!(tree.len(), 4);
        for slot in 0..4 {
            assert_eq!(tree.by_key(tree.head(slot).key), Some(slot));
        }
        assert_eq!(tree.by_key(Hash::of(b"another")), None);
        let tip = tree.slot(NodeId(Uuid::from_u128(4))).unwrap();
        assert_eq!(tree.path(tip).len(), 3);
        let other = tree.slot(NodeId(Uuid::from_u128(3))).unwrap();
        assert_eq!(tree.place(other), (0, 2));
        assert_eq!(tree.head(tree.common_ancestor(tip, other).unwrap()).id, NodeId(Uuid::from_u128(2)));
        assert_eq!(turns(&tree, &tree.path(tip)).len(), 2);
    }

    #[test]
    fn ancestors_are_on_the_path() {
        let parents = [None, Some(1), Some(1), Some(2), Some(4), Some(2), Some(3)];
        let tree = Tree::build((1..).zip(parents).map(|(id, parent)| head(id, parent, Role::User)).collect());
        for (above, below) in (0..7).flat_map(|above| (0..7).map(move |below| (above, below))) {
            assert_eq!(tree.contains(above, below), tree.path(below).contains(&above), "{above} {below}");
        }
    }

    #[test]
    fn preamble_and_episodes() {
        let mut call = head(3, Some(2), Role::Assistant);
        call.calls = 2;
        let heads = vec![
            head(1, None, Role::System),
            head(2, Some(1), Role::User),
            call,
            head(4, Some(3), Role::Tool),
            head(5, Some(4), Role::Tool),
            head(6, Some(5), Role::Assistant),
        ];
        let tree = Tree::build(heads);
        let path = tree.path(tree.slot(NodeId(Uuid::from_u128(6))).unwrap());
        let turns = turns(&tree, &path);
        assert_eq!(turns.len(), 2);
        assert!(!turns[0].asked);
        assert_eq!(episodes(&tree, &path, turns[1].nodes.clone()), vec![2..5]);
    }
}
