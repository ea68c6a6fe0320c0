//! State of the branches panel: the tree of branches and, below it, the newest ends of the message tree without a
//! branch. Rows are rebuilt when branches change.
//! Not for: other nodes (`screens::tree`).

use crate::domain::base::plain_text;
use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::domain::conversation::Slot;
use crate::tui::model::session::Session;
use std::collections::{HashMap, HashSet};

/// How many ends without a branch are listed at most.
const ENDS: usize = 24;

/// A leaf of the message tree that is not the head of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnnamedEnd {
    /// The leaf.
    pub node: NodeId,
    /// Beginning of its text, not sanitized.
    pub title: String,
    /// Number of messages on its path.
    pub messages: u32,
}

/// A branch in the panel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub branch: BranchId,
    /// For each level above, whether a guide line passes this row.
    pub past: Vec<bool>,
    /// Whether it is its parent's last child.
    pub last: bool,
    /// Number of messages on its path.
    pub messages: u32,
}

/// The branches panel.
#[derive(Clone, Debug, Default)]
pub struct BranchPanel {
    pub rows: Vec<Row>,
    /// Leaves without a branch, newest first, at most 24.
    pub ends: Vec<UnnamedEnd>,
    /// Number of all leaves without a branch.
    pub all_ends: usize,
    /// Index of the line under the cursor; ends are counted after the branches.
    pub cursor: usize,
    /// Whether archived branches are shown.
    pub archived: bool,
    /// The leaves among the first `known` nodes of the session.
    leaves: Vec<Slot>,
    known: usize,
    session: Option<SessionId>,
    /// Index of the top row, if the wheel moved it.
    pub wheeled: Option<usize>,
}

impl BranchPanel {
    /// Rebuilds the rows. The cursor stays on its branch.
    pub fn rebuild(&mut self, session: &Session) {
        let selected = self.rows.get(self.cursor).map(|row| row.branch);
        let shown: HashSet<BranchId> = session
            .branches
            .iter()
            .filter(|b| self.archived || !b.archived || b.id == session.current)
            .map(|b| b.id)
            .collect();
        let mut children: HashMap<Option<BranchId>, Vec<usize>> = HashMap::new();
        for (at, branch) in session.branches.iter().enumerate().filter(|(_, b)| shown.contains(&b.id)) {
            let parent = branch.parent.filter(|parent| shown.contains(parent) && *parent != branch.id);
            children.entry(parent).or_default().push(at);
        }
        self.rows.clear();
        let mut todo: Vec<(usize, Vec<bool>, bool)> = Vec::new();
        push_level(&mut todo, children.get(&None), &[]);
        while let Some((at, past, last)) = todo.pop() {
            let branch = &session.branches[at];
            let head = branch.head.and_then(|head| session.tree.slot(head));
            let messages = head.map_or(0, |slot| session.tree.depth(slot) + 1);
            let mut below = past.clone();
            below.push(!last);
            push_level(&mut todo, children.get(&Some(branch.id)), &below);
            self.rows.push(Row { branch: branch.id, past, last, messages });
        }
        self.find_ends(session);
        let wanted = selected.unwrap_or(session.current);
        self.cursor = self.rows.iter().position(|row| row.branch == wanted).unwrap_or(0);
    }

    /// Clears the panel, because another session is open or the same one was loaded again.
    pub fn forget(&mut self) {
        self.rows.clear();
        self.leaves.clear();
        (self.known, self.session) = (0, None);
    }

    /// The branch under the cursor.
    pub fn selected(&self) -> Option<BranchId> {
        self.rows.get(self.cursor).map(|row| row.branch)
    }

    /// Finds the leaves that are not the head of a branch.
    fn find_ends(&mut self, session: &Session) {
        let tree = &session.tree;
        if self.session != Some(session.card.id) || self.known > tree.len() {
            (self.session, self.known) = (Some(session.card.id), 0);
            self.leaves.clear();
        }
        let fresh = self.known..tree.len();
        self.known = tree.len();
        self.leaves.extend(fresh.filter_map(|slot| Slot::try_from(slot).ok()));
        self.leaves.retain(|slot| tree.children(Some(*slot)).is_empty());
        let heads = session.branches.iter().filter_map(|branch| branch.head);
        let heads: HashSet<Slot> = heads.filter_map(|id| tree.slot(id)).collect();
        let mut ends: Vec<Slot> = self.leaves.iter().copied().filter(|slot| !heads.contains(slot)).collect();
        self.all_ends = ends.len();
        let newest = |slot: &Slot| std::cmp::Reverse((tree.head(*slot).at, *slot));
        if ends.len() > ENDS {
            ends.select_nth_unstable_by_key(ENDS, newest);
            ends.truncate(ENDS);
        }
        ends.sort_by_key(newest);
        let listed = ends.into_iter().map(|slot| {
            let head = tree.head(slot);
            let title = plain_text::beginning(head).into_owned();
            UnnamedEnd { node: head.id, title, messages: tree.depth(slot) + 1 }
        });
        self.ends = listed.collect();
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.rows.len() + self.ends.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The end without a branch under the cursor.
    pub fn selected_end(&self) -> Option<&UnnamedEnd> {
        self.cursor.checked_sub(self.rows.len()).and_then(|at| self.ends.get(at))
    }

    /// Moves the cursor to a branch.
    pub fn select(&mut self, branch: BranchId) {
        if let Some(at) = self.rows.iter().position(|row| row.branch == branch) {
            self.cursor = at;
        }
    }
}

fn push_level(todo: &mut Vec<(usize, Vec<bool>, bool)>, level: Option<&Vec<usize>>, past: &[bool]) {
    let level = level.map(Vec::as_slice).unwrap_or_default();
    todo.extend(level.iter().enumerate().rev().map(|(nth, at)| (*at, past.to_vec(), nth + 1 == level.len())));
}
