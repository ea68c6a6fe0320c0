//! State of the conversation pane: the messages of the branch's path with their marks, the selection, and the scroll
//! position.
//! Not for: wrapping the visible messages (the view).

use super::search::ConversationSearch;
use crate::domain::base::{BranchId, Failure, Hash, NodeId};
use crate::domain::conversation::{Atom, Branch, End, Mark, MarkKind, Role, Slot, Tree};
use crate::tui::model::list::nearest;
use crate::tui::model::session::Session;
use std::collections::{HashMap, HashSet};

/// How many new messages at the end of a path are appended at most; a larger number causes a rebuild.
const MAX_APPENDED: usize = 1_000;

/// The anchor of the scroll position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScrollAnchor {
    /// The end of the conversation stays visible.
    #[default]
    Bottom,
    /// This row of this message is at the top.
    At {
        /// Index of the message on the path; the path's length for the open turn.
        block: usize,
        /// Row of the message.
        row: usize,
    },
}

/// The rows of the conversation as last drawn. While nothing but the notice changes, the first row stays the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrawnRows {
    /// The first visible row: index of a message, and a row of it.
    pub top: (usize, usize),
    /// Width and height of the pane, including the rows that a notice covers.
    pub size: (u16, u16),
    /// Number of messages, number of rows from `top` to the end, at most one more than the pane has, and a hash of the
    /// last rows.
    pub content: (usize, usize, u64),
}

/// The conversation pane.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// The path, root first.
    pub path: Vec<Slot>,
    /// The mark that applies to each message of the path.
    pub marks: Vec<Option<MarkKind>>,
    /// Sum of the bytes up to and including each message, for the scroll bar.
    pub weight: Vec<u64>,
    /// Index of the selected message.
    pub cursor: usize,
    /// The scroll position.
    pub place: ScrollAnchor,
    /// Rows still to be scrolled; applied by the view, which knows the heights.
    pub scroll: i64,
    /// Whether the view should scroll to the selected message.
    pub reveal: bool,
    /// Number of rows that were visible when the pane was last drawn.
    pub page: u16,
    /// Height of the pane when last drawn, including the rows that a notice covers.
    pub height: u16,
    /// The rows as last drawn.
    pub drawn: DrawnRows,
    /// Messages whose folded parts are expanded.
    pub opened: HashSet<NodeId>,
    /// The search of the conversation, if one is active.
    pub search: Option<ConversationSearch>,
    /// The failures of the branches' last turns.
    pub failed: HashMap<BranchId, Failure>,
    branch: Option<BranchId>,
    /// Marks of the branch that `marks` was computed for.
    marked: Vec<Mark>,
    stale: bool,
}

impl Conversation {
    /// Updates the path. Returns the index of the first message that is new on it.
    pub fn rebuild(&mut self, session: &Session) -> usize {
        let Some(branch) = session.branch() else {
            self.path.clear();
            return 0;
        };
        let tip = branch.head.and_then(|head| session.tree.slot(head));
        if let Some(from) = self.extend(&session.tree, branch, tip) {
            return from;
        }
        let path = tip.map(|tip| session.tree.path(tip)).unwrap_or_default();
        let same = self.path.iter().zip(&path).take_while(|(a, b)| a == b).count();
        let moved = self.branch != Some(branch.id);
        let at_end = self.cursor + 1 >= self.path.len();
        self.path = path;
        self.marks = marks(&session.tree, &self.path, 0, branch);
        let mut sum = 0;
        self.weight = self.path.iter().map(|slot| weigh(&mut sum, session.tree.head(*slot).bytes)).collect();
        self.branch = Some(branch.id);
        self.marked.clone_from(&branch.marks);
        self.stale = false;
        if moved {
            self.place = ScrollAnchor::Bottom;
            self.search = None;
        }
        self.recount();
        if moved || at_end || self.cursor >= self.path.len() {
            self.cursor = self.path.len().saturating_sub(1);
        }
        if moved { self.path.len() } else { same }
    }

    /// Appends new messages at the end of the path. Returns None if anything else changed.
    fn extend(&mut self, tree: &Tree, branch: &Branch, tip: Option<Slot>) -> Option<usize> {
        let (tip, last) = (tip?, *self.path.last()?);
        if self.stale || self.branch != Some(branch.id) || self.marked != branch.marks {
            return None;
        }
        let fresh: Vec<Slot> = std::iter::successors(Some(tip), |at| tree.parent(*at))
            .take_while(|at| *at != last)
            .take(MAX_APPENDED + 1)
            .collect();
        let above = fresh.last().map_or(Some(last), |first| tree.parent(*first));
        if above != Some(last) || fresh.len() > MAX_APPENDED {
            return None;
        }
        let (old, at_end) = (self.path.len(), self.cursor + 1 >= self.path.len());
        self.path.extend(fresh.into_iter().rev());
        // A mark on a turn applies to its messages, so the marks of the last turn are computed again.
        let asks = |slot: &Slot| tree.head(*slot).role == Role::User;
        let from = self.path[..old].iter().rposition(asks).unwrap_or(0);
        self.marks.truncate(from);
        self.marks.extend(marks(tree, &self.path, from, branch));
        let mut sum = self.weight.last().copied().unwrap_or(0);
        self.weight.extend(self.path[old..].iter().map(|slot| weigh(&mut sum, tree.head(*slot).bytes)));
        if at_end {
            self.cursor = self.path.len() - 1;
        }
        self.recount();
        Some(old)
    }

    /// Recomputes the matches of the search.
    fn recount(&mut self) {
        if let Some(search) = &mut self.search {
            search.unread = self.path.len();
            search.recount(&self.path);
        }
    }

    /// Forces a rebuild, because a message of the path changed.
    pub fn forget(&mut self) {
        self.stale = true;
    }

    /// The selected message.
    pub fn selected(&self) -> Option<Slot> {
        self.path.get(self.cursor).copied()
    }

    /// The user message of the turn at a position of the path.
    pub fn asked_by(&self, tree: &Tree, position: usize) -> Option<Slot> {
        let before = self.path.get(..=position)?;
        before.iter().rev().copied().find(|slot| tree.head(*slot).role == Role::User)
    }

    /// Number of messages after the turn of this message, not counting tool results.
    pub fn later_than(&self, tree: &Tree, node: NodeId) -> usize {
        let Some(at) = self.path.iter().position(|slot| tree.head(*slot).id == node) else { return 0 };
        let later = self.path.get(at + 1..).unwrap_or_default();
        let next = later.iter().position(|slot| tree.head(*slot).role == Role::User).unwrap_or(later.len());
        later[next..].iter().filter(|slot| tree.head(**slot).role != Role::Tool).count()
    }

    /// Number of messages after this one, not counting tool results.
    pub fn after(&self, tree: &Tree, node: NodeId) -> usize {
        let Some(at) = self.path.iter().position(|slot| tree.head(*slot).id == node) else { return 0 };
        self.path[at + 1..].iter().filter(|slot| tree.head(**slot).role != Role::Tool).count()
    }

    /// The last message, if its turn ended without a complete answer: an answer that was cut off, or the result of a tool
    /// call.
    pub fn unfinished(&self, tree: &Tree) -> Option<NodeId> {
        let head = tree.head(*self.path.last()?);
        let is_cut = match head.role {
            Role::Assistant => !matches!(head.end, End::Complete | End::Removed),
            Role::Tool => true,
            Role::User | Role::System => false,
        };
        is_cut.then_some(head.id)
    }

    /// Selects a message and scrolls to it.
    pub fn select(&mut self, position: usize) {
        self.point_at(position);
        self.reveal = true;
    }

    /// The message at a position of the path, or if that message is blank, the nearest one that is not: first in
    /// direction `way`, then in the other direction.
    pub fn nearest_shown(&self, tree: &Tree, position: usize, way: i64) -> usize {
        nearest(position, self.path.len(), way, |at| !tree.head(self.path[at]).is_blank())
    }

    /// Selects a visible message, without scrolling.
    pub fn point_at(&mut self, position: usize) {
        self.cursor = position.min(self.path.len().saturating_sub(1));
    }

    /// Scrolls to the end and follows it.
    pub fn follow(&mut self) {
        self.place = ScrollAnchor::Bottom;
        self.drawn = DrawnRows::default();
        self.scroll = 0;
        self.reveal = false;
    }
}

fn weigh(sum: &mut u64, bytes: u64) -> u64 {
    *sum += bytes + 120;
    *sum
}

/// The marks of the messages of a path from a position on, which is the first message or begins a turn. A mark on a turn
/// stays with the version that was marked: it is inactive while the turn has another answer.
fn marks(tree: &Tree, path: &[Slot], from: usize, branch: &Branch) -> Vec<Option<MarkKind>> {
    let on_path = |key| tree.by_key(key).is_some_and(|slot| path.get(tree.depth(slot) as usize) == Some(&slot));
    let mut by_key: HashMap<Hash, MarkKind> = HashMap::new();
    let mut turns: HashMap<Hash, MarkKind> = HashMap::new();
    for mark in &branch.marks {
        match mark.target {
            Atom::Turn { user, tip } if on_path(tip) => drop(turns.insert(user, mark.kind)),
            Atom::Preamble { first: key } | Atom::Message { node: key } | Atom::Episode { call: key, .. } => {
                by_key.insert(key, mark.kind);
            }
            Atom::Turn { .. } | Atom::Section { .. } | Atom::Range { .. } => {}
        }
    }
    let mut turn = None;
    let mut of_slot = |slot: &Slot| {
        let head = tree.head(*slot);
        if head.role == Role::User {
            turn = turns.get(&head.key).copied();
            return by_key.get(&head.key).copied().or(turn);
        }
        by_key.get(&head.key).copied().or(turn.filter(|kind| kind.excludes()))
    };
    path[from..].iter().map(&mut of_slot).collect()
}
