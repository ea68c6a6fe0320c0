//! The context overlay: the rows of the plan by section, what is suggested, what is out; which is selected and open.
//! Not for: solving, or what an act does to the plan.

use super::picker;
use crate::domain::diff::ItemHistory;
use crate::domain::hash::Hash;
use crate::domain::ids::NodeId;
use crate::domain::mark::Atom;
use crate::domain::plan::{Blocked, ContextPlan, Row, Verdict};
use crate::domain::policy::Section;
use crate::domain::tree::{self, Tree};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A section with its tokens.
    Section(Section, u32),
    /// The border to what is only suggested.
    Suggested(usize),
    /// The border to what is out, with its tokens.
    Excluded(usize, u64),
    /// A row of the plan.
    Row(usize),
    /// A message inside a row.
    Item(usize, usize),
    /// A turn inside a range.
    Past(usize, usize),
}

/// A turn that shares a range's row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Past {
    /// The turn.
    pub atom: Atom,
    /// Its number on the path.
    pub number: u32,
    /// Its first message.
    pub node: NodeId,
    /// First words, unsanitised.
    pub title: String,
    /// About how many tokens (a quarter of its bytes).
    pub tokens: u64,
}

/// What a plan or a refusal has to show.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A plan.
    Plan(Arc<ContextPlan>),
    /// What does not fit.
    Blocked(Arc<Blocked>),
}

impl Content {
    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        match self {
            Self::Plan(plan) => &plan.rows,
            Self::Blocked(blocked) => &blocked.rows,
        }
    }
}

/// The overlay.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// What is shown.
    pub content: Option<Content>,
    /// The lines.
    pub entries: Vec<Entry>,
    /// The selected line.
    pub cursor: usize,
    /// Rows whose messages are shown.
    pub opened: HashSet<Hash>,
    /// What the list is filtered by.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// Texts of rows that were asked for, by atom.
    pub texts: HashMap<Hash, Arc<str>>,
    /// What happened to items, by atom, as sentences, oldest first.
    pub steps: HashMap<Hash, Vec<String>>,
    /// How items went in the newest calls, by atom, oldest first.
    pub lately: HashMap<Hash, ItemHistory>,
    /// Items whose newest calls were asked about and answered for.
    pub told: HashSet<Hash>,
    /// The turns of ranges that were opened, by atom.
    pub past: HashMap<Hash, Vec<Past>>,
    /// Rows of the detail pane that are scrolled past.
    pub detail_scroll: usize,
    /// Rows the list had when last drawn.
    pub page: u16,
}

impl Overlay {
    /// Takes a plan in. The selection stays on its item; texts of the old plan are dropped.
    pub fn show(&mut self, content: Content) {
        let selected = self.selected_atom();
        self.content = Some(content);
        self.texts.clear();
        self.steps.clear();
        self.lately.clear();
        self.told.clear();
        self.list();
        let found = selected.and_then(|atom| self.entries.iter().position(|e| self.atom(*e) == Some(atom)));
        if let Some(at) = found {
            self.cursor = at;
        }
        self.land(1);
    }

    /// Works the lines out again.
    pub fn list(&mut self) {
        let Some(content) = &self.content else { return };
        let rows = content.rows();
        let mut entries = Vec::with_capacity(rows.len() + 16);
        let hit = |row: &Row| self.filter.is_empty() || picker::matches(&row.title, &self.filter);
        let put = |entries: &mut Vec<Entry>, at: usize| {
            entries.push(Entry::Row(at));
            if self.opened.contains(&rows[at].atom.key()) {
                entries.extend((0..rows[at].items.len()).map(|item| Entry::Item(at, item)));
                entries.extend((0..self.past_of(&rows[at]).len()).map(|turn| Entry::Past(at, turn)));
            }
        };
        let mut section = None;
        for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.included() && hit(row)) {
            if row.section() != section {
                section = row.section();
                if let Some(section) = section {
                    let tokens = rows.iter().filter(|r| r.section() == Some(section)).map(|r| r.tokens).sum();
                    entries.push(Entry::Section(section, tokens));
                }
            }
            put(&mut entries, at);
        }
        let suggested: Vec<usize> =
            (0..rows.len()).filter(|at| matches!(rows[*at].verdict, Verdict::Suggested) && hit(&rows[*at])).collect();
        if !suggested.is_empty() {
            entries.push(Entry::Suggested(suggested.len()));
            for at in suggested {
                put(&mut entries, at);
            }
        }
        let out: Vec<usize> =
            (0..rows.len()).filter(|at| matches!(rows[*at].verdict, Verdict::Out { .. }) && hit(&rows[*at])).collect();
        if !out.is_empty() {
            let tokens = out.iter().map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Excluded(out.len(), tokens));
            for at in out {
                put(&mut entries, at);
            }
        }
        self.entries = entries;
        self.cursor = self.cursor.min(self.entries.len().saturating_sub(1));
    }

    /// Moves the selection by so many lines, past headings.
    pub fn step(&mut self, by: i64) {
        let last = i64::try_from(self.entries.len()).unwrap_or(i64::MAX).saturating_sub(1).max(0);
        let here = i64::try_from(self.cursor).unwrap_or(0);
        self.cursor = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
        self.detail_scroll = 0;
        self.land(if by < 0 { -1 } else { 1 });
    }

    /// Leaves a heading for the next line that can be acted on, first in direction `way`, then in the other.
    pub fn land(&mut self, way: i64) {
        let acts = |e: &Entry| matches!(e, Entry::Row(_) | Entry::Item(..) | Entry::Past(..));
        let Some(here) = self.entries.get(self.cursor) else { return };
        if acts(here) {
            return;
        }
        let after = self.entries[self.cursor..].iter().position(acts).map(|n| self.cursor + n);
        let before = self.entries[..self.cursor].iter().rposition(acts);
        let found = if way < 0 { before.or(after) } else { after.or(before) };
        self.cursor = found.unwrap_or(self.cursor);
    }

    /// The selected row, and the message inside it where one is selected.
    #[must_use]
    pub fn selected(&self) -> Option<(&Row, Option<usize>)> {
        let rows = self.content.as_ref()?.rows();
        match *self.entries.get(self.cursor)? {
            Entry::Row(at) | Entry::Past(at, _) => Some((rows.get(at)?, None)),
            Entry::Item(at, item) => Some((rows.get(at)?, Some(item))),
            Entry::Section(..) | Entry::Suggested(_) | Entry::Excluded(..) => None,
        }
    }

    /// What the selected line stands for.
    #[must_use]
    pub fn selected_atom(&self) -> Option<Atom> {
        self.entries.get(self.cursor).and_then(|entry| self.atom(*entry))
    }

    /// The node of the selected line: of its message, or the first of its row.
    #[must_use]
    pub fn selected_node(&self) -> Option<NodeId> {
        if let Some(turn) = self.selected_past() {
            return Some(turn.node);
        }
        let (row, item) = self.selected()?;
        match item {
            Some(item) => row.items.get(item).and_then(|item| item.node),
            None => row.source.message.or_else(|| row.items.iter().find_map(|item| item.node)),
        }
    }

    fn atom(&self, entry: Entry) -> Option<Atom> {
        let rows = self.content.as_ref()?.rows();
        match entry {
            Entry::Row(at) => rows.get(at).map(|row| row.atom),
            Entry::Item(at, item) => {
                rows.get(at).and_then(|row| row.items.get(item)).map(|item| Atom::Message { node: item.key })
            }
            Entry::Past(at, turn) => self.past_of(rows.get(at)?).get(turn).map(|turn| turn.atom),
            Entry::Section(..) | Entry::Suggested(_) | Entry::Excluded(..) => None,
        }
    }

    /// The turns of a range that was opened.
    #[must_use]
    pub fn past_of(&self, row: &Row) -> &[Past] {
        self.past.get(&row.atom.key()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The selected turn of a range.
    #[must_use]
    pub fn selected_past(&self) -> Option<&Past> {
        match (self.content.as_ref()?.rows(), *self.entries.get(self.cursor)?) {
            (rows, Entry::Past(at, turn)) => self.past_of(rows.get(at)?).get(turn),
            _ => None,
        }
    }
}

/// The turns of a session that a range covers, newest first: between its first and its last node's key.
#[must_use]
pub fn turns_of_range(tree: &Tree, range: &Row) -> Vec<Past> {
    let Atom::Range { first, last } = range.atom else { return Vec::new() };
    let (Some(from), Some(to)) = (tree.by_key(first), tree.by_key(last)) else { return Vec::new() };
    let path = tree.path(to);
    let start = tree.depth(from) as usize;
    let numbers = tree::turns(tree, &path).into_iter().filter(|turn| turn.asked).zip(1_u32..);
    let covered = numbers.filter(|(turn, _)| turn.nodes.start >= start);
    let mut found: Vec<Past> = covered
        .map(|(turn, number)| {
            let heads = || turn.nodes.clone().map(|at| tree.head(path[at]));
            let user = tree.head(path[turn.nodes.start]);
            Past {
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
