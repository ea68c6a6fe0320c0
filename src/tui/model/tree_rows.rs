//! The segments of a session's tree, in display order. A new message at the end of a segment only extends it; when the
//! tree forks or another branch becomes current, all segments are built again.
//! Not for: folding and filtering (`screens::tree::model`).
//!
//! A segment ends where the tree forks, at a branch's head, or at a leaf. The continuation on the current branch keeps
//! the indentation; other continuations come before it, indented by one step, also those of a branch that starts at the
//! end of another branch. Therefore the depth counts forks, not messages.

use crate::domain::base::BranchId;
use crate::domain::conversation::{Branch, MarkKind, Slot, Tree};
use crate::tui::model::session::Session;
use std::collections::{BTreeMap, HashSet};

/// A run of messages without a fork inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its first message.
    pub first: Slot,
    /// Its last message.
    pub last: Slot,
    /// Number of forks above it.
    pub depth: u32,
    pub messages: u32,
    /// Number of messages below it.
    pub below: u32,
    /// Number of segments above it on its path.
    pub(crate) level: u32,
    /// Index after the last segment below it.
    pub(crate) end: u32,
    /// Whether it leaves the main line at a fork.
    pub side: bool,
    /// One bit for each guide line before it, from left to right: set if the line has ended above this row, or ends at
    /// it.
    pub closed: u64,
    /// Whether it is on the current branch's path.
    pub on_path: bool,
}

/// The inputs of the segments; the segments are updated when they change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Basis {
    nodes: usize,
    heads: BTreeMap<Slot, Vec<BranchId>>,
    tip: Option<Slot>,
}

impl Basis {
    fn of(tree: &Tree, branches: &[Branch], current: BranchId) -> Self {
        let mut heads: BTreeMap<Slot, Vec<BranchId>> = BTreeMap::new();
        let mut tip = None;
        for branch in branches.iter().filter(|branch| !branch.archived || branch.id == current) {
            let Some(slot) = branch.head.and_then(|id| tree.slot(id)) else { continue };
            heads.entry(slot).or_default().push(branch.id);
            tip = tip.or((branch.id == current).then_some(slot));
        }
        Self { nodes: tree.len(), heads, tip }
    }
}

/// All segments, in display order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeRows {
    /// The segments.
    pub rows: Vec<Row>,
    /// Index of each message's segment, by slot.
    places: Vec<u32>,
    basis: Basis,
    /// Number of rebuilds; data derived from indices is invalid after it changes.
    pub version: u64,
}

impl TreeRows {
    /// Updates the segments after a change of the tree or of the branches.
    pub fn sync(&mut self, tree: &Tree, branches: &[Branch], current: BranchId) {
        let basis = Basis::of(tree, branches, current);
        if basis == self.basis {
            return;
        }
        if !self.grow(tree, &basis) {
            self.build(tree, &basis);
            self.version += 1;
        }
        self.basis = basis;
    }

    /// The branches whose head is the end of a segment.
    pub fn branches(&self, row: &Row) -> &[BranchId] {
        self.basis.heads.get(&row.last).map(Vec::as_slice).unwrap_or_default()
    }

    /// Index of a message's segment.
    pub fn place(&self, slot: Slot) -> Option<usize> {
        self.places.get(slot as usize).map(|at| *at as usize)
    }

    /// Indices of the segments with a message that is pinned on any branch.
    pub fn pinned(&self, session: &Session) -> HashSet<usize> {
        let marks = session.branches.iter().flat_map(|branch| &branch.marks);
        let sticky = marks.filter(|mark| matches!(mark.kind, MarkKind::Sticky));
        let slots = sticky.filter_map(|mark| session.tree.by_key(mark.target.ends()?.1));
        slots.filter_map(|slot| self.place(slot)).collect()
    }

    fn build(&mut self, tree: &Tree, basis: &Basis) {
        let mut on_path = vec![false; tree.len()];
        for slot in basis.tip.map(|tip| tree.path(tip)).unwrap_or_default() {
            on_path[slot as usize] = true;
        }
        let mut stands = vec![false; tree.len()];
        for slot in basis.heads.keys() {
            stands[*slot as usize] = true;
        }
        let main = |ways: &[Slot]| ways.iter().find(|slot| on_path[**slot as usize]).or(ways.last()).copied();
        self.rows.clear();
        self.places.clear();
        self.places.resize(tree.len(), 0);
        let mut todo: Vec<(Slot, u32, u32, bool, u64)> =
            tree.children(None).iter().rev().map(|root| (*root, 0, 0, false, 0)).collect();
        while let Some((first, depth, level, side, closed)) = todo.pop() {
            let place = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
            let (mut last, mut messages) = (first, 1);
            self.places[first as usize] = place;
            while let [only] = tree.children(Some(last))
                && !stands[last as usize]
            {
                last = *only;
                messages += 1;
                self.places[last as usize] = place;
            }
            let ways = tree.children(Some(last));
            // Where a branch ends, all messages below belong to other branches, which are its children.
            let on = main(ways).filter(|_| !stands[last as usize]);
            todo.extend(on.map(|slot| (slot, depth, level + 1, false, closed)));
            let others = ways.iter().rev().filter(|slot| Some(**slot) != on).enumerate();
            todo.extend(others.map(|(nth, slot)| {
                let closes = nth == 0 && on.is_none();
                let column = if closes { 1_u64.checked_shl(depth).unwrap_or(0) } else { 0 };
                (*slot, depth + 1, level + 1, true, closed | column)
            }));
            let on_path = on_path[first as usize];
            self.rows.push(Row { first, last, depth, messages, below: 0, level, end: 0, side, closed, on_path });
        }
        measure(&mut self.rows);
    }

    /// Extends segments by new messages at their ends. Returns false if anything else happened; then `build` is needed.
    fn grow(&mut self, tree: &Tree, basis: &Basis) -> bool {
        let old = &self.basis;
        if self.rows.is_empty() || basis.nodes < old.nodes {
            return false;
        }
        let fresh = old.nodes..basis.nodes;
        let slots = || fresh.clone().filter_map(|slot| Slot::try_from(slot).ok());
        // Checked before anything is changed: a new message must be the only child of a segment's last message.
        let follows = |slot: Slot| {
            let Some(above) = tree.parent(slot) else { return false };
            let ends = |place: &u32| self.rows[*place as usize].last == above;
            let known = self.places.get(above as usize).is_none_or(ends);
            known && tree.children(Some(above)).len() == 1 && !basis.heads.contains_key(&above)
        };
        // A head that has left the end of a segment must have moved on; no head may be inside a segment. Whether a
        // branch ends at a fork decides which continuation keeps the indentation.
        let ended = |slot: &Slot| tree.children(Some(*slot)).iter().all(|child| *child as usize >= old.nodes);
        let arrived = basis.heads.keys().filter(|slot| !old.heads.contains_key(slot));
        let mut arrived = arrived.filter(|slot| (**slot as usize) < old.nodes);
        if arrived.any(|slot| !tree.children(Some(*slot)).is_empty()) {
            return false;
        }
        let left = old.heads.keys().filter(|slot| !basis.heads.contains_key(slot));
        let at_end = |slot: &Slot| {
            let known = self.places.get(*slot as usize);
            known.is_none_or(|place| self.rows[*place as usize].last == *slot)
        };
        if !slots().all(follows) || !left.into_iter().all(ended) || !basis.heads.keys().all(at_end) {
            return false;
        }
        let on = |tip: Option<Slot>| tip.map(|tip| std::iter::successors(Some(tip), |at| tree.parent(*at)));
        let same = on(basis.tip).and_then(|mut up| up.find(|slot| (*slot as usize) < old.nodes));
        if same != old.tip
            || basis.heads.keys().any(|slot| *slot as usize >= old.nodes && tree.children(Some(*slot)).len() == 1)
        {
            return false;
        }
        let mut grown: BTreeMap<u32, u32> = BTreeMap::new();
        for slot in slots() {
            let Some(place) = tree.parent(slot).and_then(|above| self.places.get(above as usize).copied()) else {
                return false;
            };
            self.places.push(place);
            let row = &mut self.rows[place as usize];
            (row.last, row.messages) = (slot, row.messages + 1);
            *grown.entry(place).or_default() += 1;
        }
        for (place, count) in grown {
            let mut level = self.rows[place as usize].level;
            for row in self.rows[..place as usize].iter_mut().rev() {
                if row.level < level {
                    (level, row.below) = (row.level, row.below + count);
                }
            }
        }
        true
    }
}

/// Computes the end and the number of messages below each segment.
fn measure(all: &mut [Row]) {
    let mut sums = vec![0_u32; all.len() + 1];
    let mut open: Vec<usize> = Vec::new();
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    for at in 0..all.len() {
        sums[at + 1] = sums[at] + all[at].messages;
        while let Some(before) = open.last().copied().filter(|before| all[*before].level >= all[at].level) {
            all[before].end = place(at);
            open.pop();
        }
        open.push(at);
    }
    for at in open {
        all[at].end = place(all.len());
    }
    for at in 0..all.len() {
        all[at].below = sums[all[at].end as usize] - sums[at + 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::ids::{NodeId, SessionId};
    use crate::domain::conversation::message::{NodeHead, Role};
    use proptest::prelude::*;
    use uuid::Uuid;

    fn head(n: u128, parent: Option<u128>) -> NodeHead {
        crate::domain::conversation::tree::tests::head(n, parent, Role::User)
    }

    fn branch(n: u128, head: Option<u128>) -> Branch {
        let head = head.map(|n| NodeId(Uuid::from_u128(n)));
        Branch::new(BranchId(Uuid::from_u128(n)), SessionId(Uuid::nil()), "", head, 0)
    }

    #[test]
    fn a_branch_that_starts_at_the_end_of_another_is_its_child() {
        let mut tree = Tree::default();
        for (n, parent) in [(1, None), (2, Some(1)), (3, Some(2)), (4, Some(3)), (5, Some(4))] {
            tree.insert(head(n, parent));
        }
        let branches = [branch(1, Some(2)), branch(2, Some(4))];
        for current in &branches {
            let mut rows = TreeRows::default();
            rows.sync(&tree, &branches, current.id);
            let drawn: Vec<(Slot, u32, bool, u64)> =
                rows.rows.iter().map(|row| (row.first, row.depth, row.side, row.closed)).collect();
            assert_eq!(drawn, [(0, 0, false, 0), (2, 1, true, 1), (4, 2, true, 3)]);
        }
    }

    proptest! {
        /// Extended segments equal rebuilt ones, however the tree grows and branches move; every message is in its
        /// segment.
        #[test]
        fn extended_segments_equal_rebuilt_ones(steps in prop::collection::vec((0_u8..8, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..60)) {
            let mut tree = Tree::default();
            let mut branches = vec![branch(1, None), branch(2, None), branch(3, None)];
            let mut current = branches[0].id;
            let mut tree_rows = TreeRows::default();
            for (n, (what, which, whose)) in (10_u128..).zip(steps) {
                let at = whose.index(branches.len());
                match what {
                    // A branch advances: its new node is its head.
                    0..=3 => {
                        let above = branches[at].head.map(|id| id.0.as_u128());
                        tree.insert(head(n, above));
                        branches[at].head = Some(NodeId(Uuid::from_u128(n)));
                    }
                    4 if !tree.is_empty() => {
                        let above = tree.heads().nth(which.index(tree.len())).unwrap().id.0.as_u128();
                        tree.insert(head(n, Some(above)));
                    }
                    5 if !tree.is_empty() => {
                        branches[at].head = Some(tree.heads().nth(which.index(tree.len())).unwrap().id);
                    }
                    6 => current = branches[at].id,
                    7 => branches[at].archived = !branches[at].archived,
                    _ => {}
                }
                tree_rows.sync(&tree, &branches, current);
                let mut fresh = TreeRows::default();
                fresh.sync(&tree, &branches, current);
                prop_assert_eq!(&tree_rows.rows, &fresh.rows);
                prop_assert_eq!(&tree_rows.places, &fresh.places);
                prop_assert_eq!(tree_rows.rows.iter().map(|row| row.messages as usize).sum::<usize>(), tree.len());
            }
        }
    }
}
