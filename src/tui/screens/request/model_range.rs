//! The turns that one row of the request overlay represents, if a plan names a range of older turns in one row.
//! Not for: rows of single turns (`model`).

use crate::domain::base::NodeId;
use crate::domain::conversation::tree;
use crate::domain::conversation::{Atom, Tree};
use crate::domain::planning::Row;

/// A turn that a range's row represents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeTurn {
    pub atom: Atom,
    /// Number of the turn on the path, from 1.
    pub number: u32,
    /// First message of the turn.
    pub node: NodeId,
    /// First words of the user message, not sanitized.
    pub title: String,
    /// Estimated tokens: a quarter of the bytes.
    pub tokens: u64,
}

/// The turns of a session that a range covers, newest first. Empty if an end of the range is not in the tree.
pub fn turns_of_range(tree: &Tree, range: &Row) -> Vec<RangeTurn> {
    let Atom::Range { first, last } = range.atom else { return Vec::new() };
    let (Some(from), Some(to)) = (tree.by_key(first), tree.by_key(last)) else { return Vec::new() };
    let path = tree.path(to);
    let start = tree.depth(from) as usize;
    let numbers = tree::turns(tree, &path).into_iter().filter(|turn| turn.asked).zip(1_u32..);
    let covered = numbers.filter(|(turn, _)| turn.nodes.start >= start);
    let mut found: Vec<RangeTurn> = covered
        .map(|(turn, number)| {
            let heads = || turn.nodes.clone().map(|at| tree.head(path[at]));
            let user = tree.head(path[turn.nodes.start]);
            RangeTurn {
                atom: Atom::Turn { user: user.key, tip: tree.head(path[turn.nodes.end - 1]).key },
                number,
                node: user.id,
                title: user.preview.clone(),
                tokens: heads().map(|head| head.bytes / 4).sum(),
            }
        })
        .collect();
    found.reverse();
    found
}
