//! The request overlay: the rows of the plan by section, suggested pins, left-out rows; the selected row and the open
//! rows.
//! Not for: planning, or the effect of an action on the plan.

use super::model_filter::{Group, Heading, ListArrangement, RowFilter};
use super::model_preview::ActOutcome;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::NodeId;
use crate::domain::call::item_use::UnusedItem;
use crate::domain::conversation::mark::{Atom, MarkKind};
use crate::domain::conversation::tree::{self, Tree};
use crate::domain::planning::diff::ItemHistory;
use crate::domain::planning::plan::{Blocked, ContextPlan, Row, RowKind, Verdict};
use crate::domain::planning::policy::Section;
use crate::domain::tool::cards::ToolCost;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One line of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A section with its tokens.
    Section(Section, u32),
    /// Tokens of the tool definitions, which are not a row.
    Tools(u32),
    /// A tool, by its index in the plan.
    Tool(usize),
    /// Tokens of the message overhead.
    Framing(u32),
    /// The heading of suggested pins.
    Suggested(usize),
    /// The heading of unused items, with their tokens.
    Unused(usize, u64),
    /// The heading of left-out items, with their tokens.
    Excluded(usize, u64),
    /// The heading of another group: its count and tokens.
    Group(Heading, usize, u64),
    /// A row of the plan.
    Row(usize),
    /// A message inside a row.
    Item(usize, usize),
    /// A turn inside a range row.
    Past(usize, usize),
}

/// A turn in a range row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeTurn {
    /// The turn.
    pub atom: Atom,
    /// Its number on the path.
    pub number: u32,
    /// Its first message.
    pub node: NodeId,
    /// First words, unsanitized.
    pub title: String,
    /// Its approximate tokens (a quarter of its bytes).
    pub tokens: u64,
}

/// The displayed content.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A plan.
    Plan(Arc<ContextPlan>),
    /// A request that does not fit.
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

/// The request overlay.
#[derive(Clone, Debug, Default)]
pub struct RequestScreen {
    /// The displayed content.
    pub content: Option<Content>,
    /// The lines.
    pub entries: Vec<Entry>,
    /// The selected line.
    pub cursor: usize,
    /// Expanded rows.
    pub opened: HashSet<Hash>,
    /// The list of tools is expanded.
    pub tools_opened: bool,
    /// The filter.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// Loaded texts of rows, by atom.
    pub texts: HashMap<Hash, Arc<str>>,
    /// The history of items as sentences, by atom, oldest first.
    pub steps: HashMap<Hash, Vec<String>>,
    /// The newest calls of items, by atom, oldest first.
    pub lately: HashMap<Hash, ItemHistory>,
    /// Items whose newest calls were requested and received.
    pub told: HashSet<Hash>,
    /// The turns of expanded ranges, by atom.
    pub past: HashMap<Hash, Vec<RangeTurn>>,
    /// Selected rows, for an action on several items.
    pub taken: HashSet<Atom>,
    /// Increases with every change of `taken`.
    pub takes: u64,
    /// The sort order and grouping of the list.
    pub arranged: ListArrangement,
    /// The preview of the current action.
    pub ahead: ActOutcome,
    /// Rows that no answer used; `None` until they are requested.
    pub unused: Option<Vec<UnusedItem>>,
    /// History, scores, hashes, and the figures of the budget are shown.
    pub details: bool,
    /// Scrolled rows of the detail pane.
    pub detail_scroll: usize,
    /// Rows the list had when last drawn.
    pub page: u16,
}

impl RequestScreen {
    /// Shows a plan. The selection stays on its item; texts of the old plan are dropped.
    pub fn show(&mut self, content: Content) {
        let selected = self.selected_atom();
        self.content = Some(content);
        self.texts.clear();
        self.steps.clear();
        self.lately.clear();
        self.told.clear();
        self.drop_gone();
        self.list();
        self.go_to(selected);
    }

    /// Deselects rows that no longer exist.
    fn drop_gone(&mut self) {
        let Some(content) = self.content.as_ref().filter(|_| !self.taken.is_empty()) else { return };
        let rows = content.rows().iter();
        let inside = |row: &Row| row.items.iter().map(|item| Atom::Message { node: item.key }).collect::<Vec<_>>();
        let mut there: HashSet<Atom> = rows.flat_map(|row| inside(row).into_iter().chain([row.atom])).collect();
        there.extend(self.past.values().flatten().map(|turn| turn.atom));
        let before = self.taken.len();
        self.taken.retain(|atom| there.contains(atom));
        self.takes += u64::from(before != self.taken.len());
    }

    /// Recomputes the lines.
    pub fn list(&mut self) {
        let Some(content) = &self.content else { return };
        let rows = content.rows();
        let sieve = RowFilter::read(&self.filter);
        let mut places: Vec<usize> = (0..rows.len()).filter(|at| sieve.lets(&rows[*at])).collect();
        let mut entries = Vec::with_capacity(rows.len() + 16);
        match self.arranged.group {
            Group::Section => self.by_section(rows, &places, &mut entries),
            Group::None => {
                self.arranged.order.sort(rows, &mut places);
                for at in &places {
                    self.put(rows, *at, &mut entries);
                }
            }
            group => self.by_heading(rows, &places, group, &mut entries),
        }
        self.entries = entries;
        self.cursor = self.cursor.min(self.entries.len().saturating_sub(1));
    }

    /// Adds a row with its expanded content.
    fn put(&self, rows: &[Row], at: usize, entries: &mut Vec<Entry>) {
        entries.push(Entry::Row(at));
        if self.opened.contains(&rows[at].atom.key()) {
            entries.extend((0..rows[at].items.len()).map(|item| Entry::Item(at, item)));
            entries.extend((0..self.past_of(&rows[at]).len()).map(|turn| Entry::Past(at, turn)));
        }
    }

    fn by_section(&self, rows: &[Row], places: &[usize], entries: &mut Vec<Entry>) {
        let order = self.arranged.order;
        let goes: Vec<usize> = places.iter().copied().filter(|at| rows[*at].included()).collect();
        for part in goes.chunk_by(|a, b| rows[*a].section() == rows[*b].section()) {
            if let Some(section) = rows[part[0]].section() {
                let tokens = rows.iter().filter(|r| r.section() == Some(section)).map(|r| r.tokens).sum();
                entries.push(Entry::Section(section, tokens));
            }
            let mut part = part.to_vec();
            order.sort(rows, &mut part);
            let part = under_turns(rows, part);
            for at in part {
                self.put(rows, at, entries);
            }
        }
        if let (Some(Content::Plan(plan)), true) = (&self.content, self.filter.is_empty()) {
            let any = plan.tools > 0 || !plan.tool_costs.is_empty();
            entries.extend(any.then_some(Entry::Tools(plan.tools)));
            entries.extend((0..plan.tool_costs.len()).filter(|_| self.tools_opened).map(Entry::Tool));
            entries.extend((plan.framing > 0).then_some(Entry::Framing(plan.framing)));
        }
        let of = |wanted: fn(&Verdict) -> bool| {
            let mut part: Vec<usize> = places.iter().copied().filter(|at| wanted(&rows[*at].verdict)).collect();
            order.sort(rows, &mut part);
            part
        };
        let suggested = of(|verdict| matches!(verdict, Verdict::Suggested));
        if !suggested.is_empty() {
            entries.push(Entry::Suggested(suggested.len()));
            for at in suggested {
                self.put(rows, at, entries);
            }
        }
        self.put_unused(rows, places, entries);
        let out = of(|verdict| matches!(verdict, Verdict::Out { .. }));
        if !out.is_empty() {
            let tokens = out.iter().map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Excluded(out.len(), tokens));
            for at in out {
                self.put(rows, at, entries);
            }
        }
    }

    fn by_heading(&self, rows: &[Row], places: &[usize], group: Group, entries: &mut Vec<Entry>) {
        let mut parts: Vec<(Heading, Vec<usize>)> = Vec::new();
        for at in places {
            let Some(heading) = Heading::of(group, &rows[*at]) else { continue };
            match parts.iter_mut().find(|(known, _)| *known == heading) {
                Some((_, part)) => part.push(*at),
                None => parts.push((heading, vec![*at])),
            }
        }
        for (heading, mut part) in parts {
            self.arranged.order.sort(rows, &mut part);
            let tokens = part.iter().map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Group(heading, part.len(), tokens));
            for at in part {
                self.put(rows, at, entries);
            }
        }
    }

    /// Changes the order or grouping; the selection stays on its line.
    pub fn arrange(&mut self, arranged: ListArrangement) {
        let selected = self.selected_atom();
        self.arranged = arranged;
        self.list();
        self.go_to(selected);
    }

    /// Selects the line of an atom, if it is listed.
    fn go_to(&mut self, atom: Option<Atom>) {
        let found = atom.and_then(|atom| self.entries.iter().position(|e| self.atom(*e) == Some(atom)));
        if let Some(at) = found {
            self.cursor = at;
        }
        self.land(1);
    }

    /// Selects or deselects the current row for an action on several items, and moves on. Returns a sentence if the row
    /// cannot be selected.
    pub fn take(&mut self) -> Result<(), &'static str> {
        let Some(entry) = self.entries.get(self.cursor).copied() else { return Ok(()) };
        if matches!(entry, Entry::Tools(_) | Entry::Tool(_)) {
            return Err("Switch tools one by one.");
        }
        let Some(atom) = self.atom(entry) else { return Ok(()) };
        if let Some(why) = self.fixed(entry) {
            return Err(why);
        }
        if !self.taken.remove(&atom) {
            self.taken.insert(atom);
        }
        self.takes += 1;
        self.step(1);
        Ok(())
    }

    /// Selects all listed rows that allow actions; if all are selected, deselects them.
    pub fn take_all(&mut self) {
        let can = |entry: &Entry| matches!(entry, Entry::Row(_) | Entry::Past(..)) && self.fixed(*entry).is_none();
        let all: Vec<Atom> = self.entries.iter().filter(|e| can(e)).filter_map(|e| self.atom(*e)).collect();
        if all.iter().all(|atom| self.taken.contains(atom)) {
            self.taken.retain(|atom| !all.contains(atom));
        } else {
            self.taken.extend(all);
        }
        self.takes += 1;
    }

    /// Deselects all rows. False if none was selected.
    pub fn deselect_all(&mut self) -> bool {
        let any = !self.taken.is_empty();
        self.taken.clear();
        self.takes += u64::from(any);
        any
    }

    /// Whether a row is selected.
    #[must_use]
    pub fn is_taken(&self, entry: Entry) -> bool {
        !self.taken.is_empty() && self.atom(entry).is_some_and(|atom| self.taken.contains(&atom))
    }

    /// Why a row cannot be marked; `None` if it can.
    pub(crate) fn fixed(&self, entry: Entry) -> Option<&'static str> {
        let row = match entry {
            Entry::Row(at) | Entry::Item(at, _) => self.content.as_ref()?.rows().get(at)?,
            _ => return None,
        };
        let open = row.section() == Some(Section::UserMessage);
        match row.kind {
            _ if row.pin.is_some() => None,
            RowKind::Range => Some("This row stands for many turns: open it and select turns one by one."),
            RowKind::Turn | RowKind::Card | RowKind::Preamble | RowKind::Message if !open => None,
            RowKind::Note | RowKind::Memory | RowKind::Rules | RowKind::Skills | RowKind::Module | RowKind::Code => {
                None
            }
            _ if open => Some("Your message is always included."),
            _ => Some("Settings control this text, not marks."),
        }
    }

    /// The selected items in the order of the list, followed by those that are not listed.
    #[must_use]
    pub fn taken(&self) -> Vec<Atom> {
        let listed = self.entries.iter().filter_map(|entry| self.atom(*entry));
        let mut all: Vec<Atom> = listed.filter(|atom| self.taken.contains(atom)).collect();
        let mut rest: Vec<Atom> = self.taken.iter().filter(|atom| !all.contains(atom)).copied().collect();
        rest.sort_unstable();
        all.extend(rest);
        all
    }

    /// The total tokens of the selected rows.
    #[must_use]
    pub fn taken_tokens(&self) -> u64 {
        let rows = self.content.as_ref().map(Content::rows).unwrap_or_default();
        let item = |item: &crate::domain::planning::plan::Item| self.taken.contains(&Atom::Message { node: item.key });
        let of = |row: &Row| {
            if self.taken.contains(&row.atom) {
                return u64::from(row.tokens);
            }
            row.items.iter().filter(|at| item(at)).map(|item| u64::from(item.tokens)).sum()
        };
        let past = self.past.values().flatten().filter(|turn| self.taken.contains(&turn.atom)).map(|turn| turn.tokens);
        rows.iter().map(of).sum::<u64>() + past.sum::<u64>()
    }

    /// Whether all selected items have a mark of this kind.
    #[must_use]
    pub fn all_have(&self, kind: MarkKind) -> bool {
        let rows = self.content.as_ref().map(Content::rows).unwrap_or_default();
        let same = |pin: Option<MarkKind>| {
            pin.is_some_and(|pin| std::mem::discriminant(&pin) == std::mem::discriminant(&kind))
        };
        self.taken.iter().all(|atom| rows.iter().any(|row| row.atom == *atom && same(row.pin)))
    }

    /// Moves the cursor by this number of lines, past headings.
    pub fn step(&mut self, by: i64) {
        let last = i64::try_from(self.entries.len()).unwrap_or(i64::MAX).saturating_sub(1).max(0);
        let here = i64::try_from(self.cursor).unwrap_or(0);
        self.cursor = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
        self.detail_scroll = 0;
        self.land(if by < 0 { -1 } else { 1 });
    }

    /// Moves from a heading to the next line that allows actions, first in direction `way`, then in the other.
    pub fn land(&mut self, way: i64) {
        let acts = |e: &Entry| {
            matches!(e, Entry::Row(_) | Entry::Item(..) | Entry::Past(..) | Entry::Tools(_) | Entry::Tool(_))
        };
        let Some(here) = self.entries.get(self.cursor) else { return };
        if acts(here) {
            return;
        }
        let after = self.entries[self.cursor..].iter().position(acts).map(|n| self.cursor + n);
        let before = self.entries[..self.cursor].iter().rposition(acts);
        let found = if way < 0 { before.or(after) } else { after.or(before) };
        self.cursor = found.unwrap_or(self.cursor);
    }

    /// The row with the cursor, and the message inside it, if one is selected.
    #[must_use]
    pub fn selected(&self) -> Option<(&Row, Option<usize>)> {
        let rows = self.content.as_ref()?.rows();
        match *self.entries.get(self.cursor)? {
            Entry::Row(at) | Entry::Past(at, _) => Some((rows.get(at)?, None)),
            Entry::Item(at, item) => Some((rows.get(at)?, Some(item))),
            _ => None,
        }
    }

    /// The selected tool.
    #[must_use]
    pub fn selected_tool(&self) -> Option<&ToolCost> {
        match (self.content.as_ref()?, *self.entries.get(self.cursor)?) {
            (Content::Plan(plan), Entry::Tool(at)) => plan.tool_costs.get(at),
            _ => None,
        }
    }

    /// Whether the cursor is on the row of all tools.
    #[must_use]
    pub fn on_tools(&self) -> bool {
        matches!(self.entries.get(self.cursor), Some(Entry::Tools(_)))
    }

    /// Expands or folds the list of tools.
    pub fn unfold_tools(&mut self) {
        self.tools_opened = !self.tools_opened;
        self.list();
    }

    /// The atom of the line with the cursor.
    #[must_use]
    pub fn selected_atom(&self) -> Option<Atom> {
        self.entries.get(self.cursor).and_then(|entry| self.atom(*entry))
    }

    /// The node of the line with the cursor: of its message, or the first of its row.
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
            _ => None,
        }
    }

    /// The turns of an expanded range.
    #[must_use]
    pub fn past_of(&self, row: &Row) -> &[RangeTurn] {
        self.past.get(&row.atom.key()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The selected turn of a range.
    #[must_use]
    pub fn selected_past(&self) -> Option<&RangeTurn> {
        match (self.content.as_ref()?.rows(), *self.entries.get(self.cursor)?) {
            (rows, Entry::Past(at, turn)) => self.past_of(rows.get(at)?).get(turn),
            _ => None,
        }
    }
}

/// Groups the cards of one turn below each other, at the position of the turn's first card.
fn under_turns(rows: &[Row], part: Vec<usize>) -> Vec<usize> {
    let turn = |at: usize| rows[at].source.turn.filter(|_| rows[at].kind == RowKind::Card);
    let mut sorted: Vec<usize> = Vec::with_capacity(part.len());
    for at in part {
        let same = turn(at).and_then(|of| sorted.iter().rposition(|before| turn(*before) == Some(of)));
        sorted.insert(same.map_or(sorted.len(), |before| before + 1), at);
    }
    sorted
}

/// The turns of a session that a range covers, newest first: between the keys of its first and its last node.
#[must_use]
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
