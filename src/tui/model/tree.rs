//! The session's tree as a place: stretches of messages between branch points, in the order in which they are read.
//! Not for: single messages (`conversation`), or the list of branches (`panel`).
//!
//! A stretch ends where the tree parts, where a branch stands, or at a leaf. What goes on along the branch stood on stays at
//! its indentation; the other ways stand before it, one step further in. So depth counts turnings and not messages.

use super::session::Session;
use crate::domain::ids::{BranchId, NodeId};
use crate::domain::mark::MarkKind;
use crate::domain::message::Role;
use crate::domain::tree::{Slot, Tree};
use std::collections::{HashMap, HashSet};

/// A stretch of messages with nothing turning off inside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its first message.
    pub first: Slot,
    /// Its last message.
    pub last: Slot,
    /// Turnings above it.
    pub depth: u32,
    /// It turns off here.
    pub side: bool,
    /// Messages in it.
    pub messages: u32,
    /// Messages that follow below it, on all ways.
    pub below: u32,
    /// On the path of the branch stood on.
    pub on_path: bool,
    /// A message in it is pinned on some branch.
    pub pinned: bool,
    /// The branches that stand at its end.
    pub branches: Vec<BranchId>,
    /// Stretches above it.
    level: u32,
    /// The place after all that is below it.
    end: usize,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct Grove {
    /// All stretches.
    pub all: Vec<Row>,
    /// Those that are shown, by place.
    pub shown: Vec<usize>,
    /// The selected one among the shown.
    pub cursor: usize,
    /// First messages of stretches below which nothing is shown.
    pub folded: HashSet<NodeId>,
    /// What was typed to filter.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// Rows that there was room for, when last drawn.
    pub page: usize,
    /// A message that no branch holds, for which this was opened, and its stretch.
    pub wanted: Option<(NodeId, Slot)>,
    by_first: HashMap<Slot, usize>,
}

impl Grove {
    /// The tree of a session, with the stretch selected that holds a message; else the end of the branch stood on.
    #[must_use]
    pub fn new(session: &Session, node: Option<NodeId>) -> Self {
        let mut grove = Self::default();
        grove.rebuild(session);
        let head = session.branch().and_then(|branch| branch.head);
        let wanted = node.or(head).and_then(|id| session.tree.slot(id));
        if let Some(slot) = wanted {
            grove.select(&session.tree, slot);
        }
        grove
    }

    /// Works everything out again; the selection stays on its message.
    pub fn rebuild(&mut self, session: &Session) {
        let selected = self.selected().map(|row| row.first);
        self.all = rows(session);
        self.by_first = self.all.iter().enumerate().map(|(at, row)| (row.first, at)).collect();
        self.list(session);
        if let Some(slot) = selected {
            self.select(&session.tree, slot);
        }
    }

    /// Works out what is shown.
    pub fn list(&mut self, session: &Session) {
        let words = self.filter.trim().to_lowercase();
        let mut at = 0;
        self.shown.clear();
        while let Some(row) = self.all.get(at) {
            let folded = self.folded.contains(&session.tree.head(row.first).id);
            if words.is_empty() || matches(session, row, &words) {
                self.shown.push(at);
            }
            at = if folded && words.is_empty() { row.end } else { at + 1 };
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// The selected stretch.
    #[must_use]
    pub fn selected(&self) -> Option<&Row> {
        self.shown.get(self.cursor).and_then(|at| self.all.get(*at))
    }

    /// Whether nothing is shown below a stretch although something follows.
    #[must_use]
    pub fn is_folded(&self, tree: &Tree, row: &Row) -> bool {
        row.below > 0 && self.folded.contains(&tree.head(row.first).id)
    }

    /// Moves.
    pub fn step(&mut self, by: i64) {
        let last = self.shown.len().saturating_sub(1);
        let steps = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        self.cursor =
            if by < 0 { self.cursor.saturating_sub(steps) } else { self.cursor.saturating_add(steps).min(last) };
    }

    /// Folds what is below the selected stretch; where there is nothing, or it is folded, goes to the one above.
    pub fn fold(&mut self, session: &Session) {
        let Some(row) = self.selected() else { return };
        let (level, id) = (row.level, session.tree.head(row.first).id);
        if row.below > 0 && !self.folded.contains(&id) && self.filter.is_empty() {
            self.folded.insert(id);
            return self.list(session);
        }
        let above = |at: &usize| self.all[self.shown[*at]].level < level;
        if let Some(at) = (0..self.cursor).rev().find(above) {
            self.cursor = at;
        }
    }

    /// Shows what is below the selected stretch; where it is shown, goes into it.
    pub fn unfold(&mut self, session: &Session) {
        let Some(row) = self.selected() else { return };
        let (below, id) = (row.below, session.tree.head(row.first).id);
        if self.folded.remove(&id) {
            self.list(session);
        } else if below > 0 {
            self.step(1);
        }
    }

    /// Selects the stretch that holds a message; what is folded above it is opened.
    pub fn select(&mut self, tree: &Tree, slot: Slot) {
        let mut up = std::iter::successors(Some(slot), |slot| tree.parent(*slot));
        let Some(at) = up.find_map(|slot| self.by_first.get(&slot).copied()) else { return };
        let level = self.all[at].level;
        let mut above = level;
        let mut opened = false;
        for row in self.all[..at].iter().rev() {
            if row.level < above {
                above = row.level;
                opened |= self.folded.remove(&tree.head(row.first).id);
            }
        }
        if opened {
            self.shown = self.visible(tree);
        }
        if let Ok(cursor) = self.shown.binary_search(&at) {
            self.cursor = cursor;
        }
    }

    fn visible(&self, tree: &Tree) -> Vec<usize> {
        let mut at = 0;
        let mut shown = Vec::new();
        while let Some(row) = self.all.get(at) {
            shown.push(at);
            at = if self.folded.contains(&tree.head(row.first).id) { row.end } else { at + 1 };
        }
        shown
    }
}

/// The messages of a stretch.
fn slots<'a>(tree: &'a Tree, row: &Row) -> impl Iterator<Item = Slot> + 'a {
    let last = row.last;
    std::iter::successors(Some(row.first), move |slot| {
        (*slot != last).then(|| tree.children(Some(*slot)).first().copied()).flatten()
    })
}

/// The words by which a stretch is known: its first question, else its first message.
#[must_use]
pub fn title<'a>(tree: &'a Tree, row: &Row) -> &'a str {
    let asked = slots(tree, row).take(4).find(|slot| tree.head(*slot).role == Role::User);
    tree.head(asked.unwrap_or(row.first)).preview.as_str()
}

fn matches(session: &Session, row: &Row, words: &str) -> bool {
    let named = |id: &BranchId| session.find(*id).is_some_and(|branch| has(&branch.name, words));
    row.branches.iter().any(named) || slots(&session.tree, row).any(|slot| has(&session.tree.head(slot).preview, words))
}

/// Whether words stand in a text, in any case. Plain text is not copied for it.
fn has(text: &str, words: &str) -> bool {
    if text.is_ascii() && words.is_ascii() {
        let (text, words) = (text.as_bytes(), words.as_bytes());
        return words.is_empty() || text.windows(words.len()).any(|part| part.eq_ignore_ascii_case(words));
    }
    text.to_lowercase().contains(words)
}

fn rows(session: &Session) -> Vec<Row> {
    let tree = &session.tree;
    let mut heads: HashMap<Slot, Vec<BranchId>> = HashMap::new();
    for branch in session.branches.iter().filter(|b| !b.archived || b.id == session.current) {
        if let Some(slot) = branch.head.and_then(|id| tree.slot(id)) {
            heads.entry(slot).or_default().push(branch.id);
        }
    }
    let path = session.branch().and_then(|branch| branch.head).and_then(|id| tree.slot(id));
    let mut on_path = vec![false; tree.len()];
    for slot in path.map(|tip| tree.path(tip)).unwrap_or_default() {
        on_path[slot as usize] = true;
    }
    let pinned = pinned(session);
    let main = |ways: &[Slot]| ways.iter().find(|slot| on_path[**slot as usize]).or(ways.last()).copied();
    let mut all: Vec<Row> = Vec::new();
    let mut todo: Vec<(Slot, u32, u32, bool)> =
        tree.children(None).iter().rev().map(|root| (*root, 0, 0, false)).collect();
    while let Some((first, depth, level, side)) = todo.pop() {
        let (mut last, mut messages, mut pin) = (first, 1, pinned.contains(&first));
        while let [only] = tree.children(Some(last))
            && !heads.contains_key(&last)
        {
            last = *only;
            messages += 1;
            pin |= pinned.contains(&last);
        }
        let ways = tree.children(Some(last));
        let on = main(ways);
        todo.extend(on.map(|slot| (slot, depth, level + 1, false)));
        let others = ways.iter().rev().filter(|slot| Some(**slot) != on);
        todo.extend(others.map(|slot| (*slot, depth + 1, level + 1, true)));
        let branches = heads.get(&last).cloned().unwrap_or_default();
        let on_path = on_path[first as usize];
        all.push(Row { first, last, depth, side, messages, below: 0, on_path, pinned: pin, branches, level, end: 0 });
    }
    measure(&mut all);
    all
}

/// Works out where what is below each stretch ends, and how many messages that is.
fn measure(all: &mut [Row]) {
    let mut sums = vec![0_u32; all.len() + 1];
    let mut open: Vec<usize> = Vec::new();
    for at in 0..all.len() {
        sums[at + 1] = sums[at] + all[at].messages;
        while let Some(before) = open.last().copied().filter(|before| all[*before].level >= all[at].level) {
            all[before].end = at;
            open.pop();
        }
        open.push(at);
    }
    for at in open {
        all[at].end = all.len();
    }
    for at in 0..all.len() {
        all[at].below = sums[all[at].end] - sums[at + 1];
    }
}

/// The messages that are pinned on some branch.
fn pinned(session: &Session) -> HashSet<Slot> {
    let marks = session.branches.iter().flat_map(|branch| &branch.marks);
    let sticky = marks.filter(|mark| matches!(mark.kind, MarkKind::Sticky));
    sticky.filter_map(|mark| session.tree.by_key(mark.target.key())).collect()
}
