//! State of the request overlay: the list of the plan's rows under headings, the cursor, and the selection.
//! Not for: solving the plan, or the effect of an action on it.

use super::model_filter::{Group, Heading, ListArrangement, RowFilter};
use super::model_preview::ActionPreview;
use super::model_range::RangeTurn;
use super::model_sent::SentCall;
use crate::domain::base::{Hash, NodeId, RunId};
use crate::domain::call::UnusedItem;
use crate::domain::conversation::Atom;
use crate::domain::planning::row_counts::{RowCounts, is_blank};
use crate::domain::planning::{Blocked, ContextPlan, ItemHistory, Row, Section, StateRequestOutcome, Verdict};
use crate::domain::tool::ToolCost;
use crate::tui::model::list::ListCursor;
use crate::tui::model::typed_line::TypedLine;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Why a text of the program can't be marked.
pub(crate) const SETTINGS_CONTROL: &str = "The settings control this text; marks have no effect on it.";

/// One line of the list. A `usize` in a variant is an index into the plan's rows, or into the contents of its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Heading of a section, with the section's tokens.
    Section(Section, u32),
    /// Tokens of the tool definitions, which have no row in the plan.
    Tools(u32),
    /// One tool, by its index in the plan's `tool_costs`.
    Tool(usize),
    /// Tokens of the message overhead.
    Framing(u32),
    /// Separator before the suggested pins, with their number.
    Suggested(usize),
    /// Separator before the rows that are left out, with the number and tokens of their items (see [`RowCounts::out`]).
    Excluded(u64, u64),
    /// Separator before the request for a state block.
    NotAsked,
    /// The request for a state block, if it is not made and has no row in the plan.
    StateRequest,
    /// Heading of rows of one kind or with one reason, with their number and tokens.
    Group(Heading, usize, u64),
    /// A row of the plan.
    Row(usize),
    /// A message inside a row: row, message.
    Item(usize, usize),
    /// A turn inside a range: row, turn.
    RangeTurn(usize, usize),
}

impl Entry {
    /// The index of the row that a line shows or belongs to; None for a heading, a separator, and a line about tools.
    fn row(self) -> Option<usize> {
        match self {
            Self::Row(at) | Self::Item(at, _) | Self::RangeTurn(at, _) => Some(at),
            Self::Section(..)
            | Self::Tools(_)
            | Self::Tool(_)
            | Self::Framing(_)
            | Self::Suggested(_)
            | Self::Excluded(..)
            | Self::NotAsked
            | Self::StateRequest
            | Self::Group(..) => None,
        }
    }
}

/// The content of the overlay: a solved plan, or why none could be solved.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// A solved plan.
    Plan(Arc<ContextPlan>),
    /// The required items that exceed the budget.
    Blocked(Arc<Blocked>),
}

impl Content {
    /// The content for a request that does not fit: the required items, section by section, then the items that are
    /// left out.
    pub fn blocked(blocked: &Blocked) -> Self {
        let mut all = blocked.clone();
        let place = |row: &Row| blocked.rows.iter().position(|other| other.section() == row.section());
        all.rows.sort_by_key(place);
        all.rows.append(&mut all.left_out);
        Self::Blocked(Arc::new(all))
    }

    /// Returns the rows of the plan, whether it was solved or blocked.
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
    /// The call whose request is shown, which can only be read; None for the next request, whose rows can be marked.
    pub sent: Option<Box<SentCall>>,
    /// The plan shown; None until the first plan arrives.
    pub content: Option<Content>,
    /// Why the next request does not ask for a state block, unless a row of the plan says so.
    pub state_request: Option<StateRequestOutcome>,
    /// Counts over its rows.
    pub counts: RowCounts,
    /// Lines of the list, as `rebuild` built them.
    pub entries: Vec<Entry>,
    /// Index of the selected line in `entries`.
    pub cursor: usize,
    /// Keys of the rows whose messages or turns are listed.
    pub opened: HashSet<Hash>,
    /// Whether the tools are listed one by one.
    pub tools_opened: bool,
    /// Text of the filter, in the syntax of `RowFilter`.
    pub filter: TypedLine,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// Texts of rows and messages that were requested, by the atom's key.
    pub texts: HashMap<Hash, Arc<str>>,
    /// State changes of items as sentences, oldest first, by the atom's key.
    pub steps: HashMap<Hash, Vec<String>>,
    /// How the newest calls sent an item, by the atom's key.
    pub recent_history: HashMap<Hash, ItemHistory>,
    /// Keys of the atoms whose history was requested and answered.
    pub history_answered: HashSet<Hash>,
    /// Turns of the ranges that were opened, by the range's key.
    pub range_turns: HashMap<Hash, Vec<RangeTurn>>,
    /// Items selected for an action on several at once.
    pub selection: HashSet<Atom>,
    /// Number of changes of `selection`.
    pub selection_version: u64,
    /// Order and grouping of the list.
    pub arrangement: ListArrangement,
    /// Preview of the action on the selected items.
    pub preview: ActionPreview,
    /// Included rows that no answer used; None until the engine answered.
    pub unused: Option<Vec<UnusedItem>>,
    /// Whether history, scores, hashes, and the figures of the budget are shown.
    pub details: bool,
    /// Rows of the detail pane that are scrolled off its top.
    pub detail_scroll: usize,
    /// Height of the list when it was last drawn, in rows.
    pub page: u16,
}

impl RequestScreen {
    /// Shows a plan. The cursor stays on its item; data loaded for the previous plan is dropped.
    pub fn show(&mut self, content: Content) {
        let selected = self.selected_atom();
        self.counts = RowCounts::of(content.rows());
        self.content = Some(content);
        self.texts.clear();
        self.steps.clear();
        self.recent_history.clear();
        self.history_answered.clear();
        self.drop_missing();
        self.rebuild();
        self.select_atom(selected);
    }

    /// Rebuilds the lines of the list.
    pub fn rebuild(&mut self) {
        let Some(content) = &self.content else { return };
        let rows = content.rows();
        let filter = RowFilter::parse(&self.filter);
        let turn = |at: usize| self.counts.turn_of_card(&rows[at]).filter(|_| self.arrangement.group == Group::Section);
        let matches = |at: usize| filter.matches(&rows[at]) && !is_blank(&rows[at]);
        let mut indices: Vec<usize> =
            (0..rows.len()).filter(|at| matches(*at) || turn(*at).is_some_and(matches)).collect();
        let mut entries = Vec::with_capacity(rows.len() + 16);
        match self.arrangement.group {
            Group::Section => self.list_by_section(rows, &indices, &mut entries),
            Group::None => {
                self.arrangement.order.sort(rows, &mut indices);
                self.push_rows(rows, &indices, &mut entries);
            }
            group @ (Group::Kind | Group::Reason) => self.list_by_heading(rows, &indices, group, &mut entries),
        }
        self.entries = entries;
        self.cursor = self.cursor.min(self.entries.len().saturating_sub(1));
    }

    /// Appends rows, and after each open row its messages and turns.
    fn push_rows(&self, rows: &[Row], part: &[usize], entries: &mut Vec<Entry>) {
        for &at in part {
            entries.push(Entry::Row(at));
            if self.opened.contains(&rows[at].atom.key()) {
                entries.extend((0..rows[at].items.len()).map(|item| Entry::Item(at, item)));
                entries.extend((0..self.turns_in_range(&rows[at]).len()).map(|turn| Entry::RangeTurn(at, turn)));
            }
        }
    }

    fn list_by_section(&self, rows: &[Row], indices: &[usize], entries: &mut Vec<Entry>) {
        let order = self.arrangement.order;
        let mut turns_of_cards = Vec::new();
        let included: Vec<usize> = indices.iter().copied().filter(|at| rows[*at].included()).collect();
        for part in included.chunk_by(|a, b| rows[*a].section() == rows[*b].section()) {
            if let Some(section) = rows[part[0]].section() {
                let tokens = rows.iter().filter(|r| r.section() == Some(section)).map(|r| r.tokens).sum();
                entries.push(Entry::Section(section, tokens));
            }
            let mut part = part.to_vec();
            order.sort(rows, &mut part);
            self.push_rows(rows, &self.counts.under_their_turns(rows, part, &mut turns_of_cards), entries);
        }
        if let (Some(Content::Plan(plan)), true) = (&self.content, self.filter.is_empty()) {
            let any = plan.tools > 0 || !plan.tool_costs.is_empty();
            entries.extend(any.then_some(Entry::Tools(plan.tools)));
            entries.extend((0..plan.tool_costs.len()).filter(|_| self.tools_opened).map(Entry::Tool));
            entries.extend((plan.framing > 0).then_some(Entry::Framing(plan.framing)));
        }
        if let (Some(Content::Blocked(blocked)), true) = (&self.content, self.filter.is_empty()) {
            entries.extend((blocked.tools() > 0).then(|| Entry::Tools(blocked.tools())));
            entries.extend((blocked.framing() > 0).then(|| Entry::Framing(blocked.framing())));
        }
        let of = |wanted: fn(&Verdict) -> bool| {
            let mut part: Vec<usize> = indices.iter().copied().filter(|at| wanted(&rows[*at].verdict)).collect();
            order.sort(rows, &mut part);
            part
        };
        let suggested = of(|verdict| matches!(verdict, Verdict::Suggested));
        if !suggested.is_empty() {
            entries.push(Entry::Suggested(suggested.len()));
            self.push_rows(rows, &suggested, entries);
        }
        let mut out = of(|verdict| matches!(verdict, Verdict::Out { .. }));
        out.retain(|at| self.counts.cards_of(&rows[*at]) == 0);
        if self.lists_state_request() {
            entries.extend([Entry::NotAsked, Entry::StateRequest]);
        }
        if !out.is_empty() {
            let count = out.iter().map(|at| self.counts.left_out(&rows[*at])).sum();
            let tokens = out.iter().map(|at| self.counts.tokens_out(&rows[*at])).sum();
            entries.push(Entry::Excluded(count, tokens));
            self.push_rows(rows, &self.counts.out_under_their_turns(rows, &out), entries);
        }
    }

    fn list_by_heading(&self, rows: &[Row], indices: &[usize], group: Group, entries: &mut Vec<Entry>) {
        let mut parts: Vec<(Heading, Vec<usize>)> = Vec::new();
        for at in indices {
            let Some(heading) = Heading::of(group, &rows[*at]) else { continue };
            match parts.iter_mut().find(|(known, _)| *known == heading) {
                Some((_, part)) => part.push(*at),
                None => parts.push((heading, vec![*at])),
            }
        }
        for (heading, mut part) in parts {
            self.arrangement.order.sort(rows, &mut part);
            let counted = part.iter().filter(|at| self.counts.cards_of(&rows[**at]) == 0);
            let tokens = counted.map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Group(heading, part.len(), tokens));
            self.push_rows(rows, &part, entries);
        }
    }

    /// Changes order and grouping. The cursor stays on its item.
    pub fn arrange(&mut self, arrangement: ListArrangement) {
        let selected = self.selected_atom();
        self.arrangement = arrangement;
        self.rebuild();
        self.select_atom(selected);
    }

    /// Moves the cursor to the line of an atom, if it is listed.
    pub(super) fn select_atom(&mut self, atom: Option<Atom>) {
        let found = atom.and_then(|atom| self.entries.iter().position(|e| self.atom(*e) == Some(atom)));
        if let Some(at) = found {
            self.cursor = at;
        }
        self.cursor().step(0);
    }

    /// Moves the cursor to the message that the request asks, if it is listed.
    pub(super) fn select_question(&mut self) {
        let rows = self.content.as_ref().map(Content::rows).unwrap_or_default();
        let asks = |entry: &Entry| matches!(entry, Entry::Row(at) if is_question(&rows[*at]));
        self.cursor = self.entries.iter().position(asks).unwrap_or(self.cursor);
    }

    /// Why a line cannot be marked, or None if it can.
    pub(crate) fn fixed(&self, entry: Entry) -> Option<&'static str> {
        if entry == Entry::StateRequest {
            return Some(SETTINGS_CONTROL);
        }
        let row = self.content.as_ref()?.rows().get(entry.row()?)?;
        if matches!(entry, Entry::RangeTurn(..)) { None } else { fixed(row) }
    }

    /// The cursor, which passes over headings.
    pub fn cursor(&mut self) -> ListCursor<'_> {
        use Entry as E;
        let entries = &self.entries;
        let list = ListCursor::new(&mut self.cursor, entries.len()).with_details(&mut self.detail_scroll);
        list.only(|at| match entries[at] {
            E::Row(_) | E::Item(..) | E::RangeTurn(..) | E::Tools(_) | E::Tool(_) | E::StateRequest => true,
            E::Section(..) | E::Framing(_) | E::Suggested(_) | E::NotAsked | E::Excluded(..) | E::Group(..) => false,
        })
    }

    /// The row under the cursor, with the index of the message if the cursor is on one.
    pub fn selected(&self) -> Option<(&Row, Option<usize>)> {
        let entry = *self.entries.get(self.cursor)?;
        let row = self.content.as_ref()?.rows().get(entry.row()?)?;
        Some((row, if let Entry::Item(_, item) = entry { Some(item) } else { None }))
    }

    /// The tool under the cursor.
    pub fn selected_tool(&self) -> Option<&ToolCost> {
        let Some(Content::Plan(plan)) = &self.content else { return None };
        let Entry::Tool(at) = *self.entries.get(self.cursor)? else { return None };
        plan.tool_costs.get(at)
    }

    /// Whether the cursor is on the line of all tools.
    pub fn on_tools(&self) -> bool {
        matches!(self.entries.get(self.cursor), Some(Entry::Tools(_)))
    }

    /// Expands or collapses the list of tools.
    pub fn unfold_tools(&mut self) {
        self.tools_opened = !self.tools_opened;
        self.rebuild();
    }

    /// The atom of the line under the cursor; None on a heading or a tool.
    pub fn selected_atom(&self) -> Option<Atom> {
        self.entries.get(self.cursor).and_then(|entry| self.atom(*entry))
    }

    /// The node of the line under the cursor: its message, or the first message of its row.
    pub fn selected_node(&self) -> Option<NodeId> {
        if let Some(turn) = self.selected_range_turn() {
            return Some(turn.node);
        }
        let (row, item) = self.selected()?;
        node_of(row, item)
    }

    pub(super) fn atom(&self, entry: Entry) -> Option<Atom> {
        let row = self.content.as_ref()?.rows().get(entry.row()?)?;
        if let Entry::Item(_, item) = entry {
            return row.items.get(item).map(|item| Atom::Message { node: item.key });
        }
        if let Entry::RangeTurn(_, turn) = entry {
            return self.turns_in_range(row).get(turn).map(|turn| turn.atom);
        }
        Some(row.atom)
    }

    /// The turns of a range that was opened; empty for other rows.
    pub fn turns_in_range(&self, row: &Row) -> &[RangeTurn] {
        self.range_turns.get(&row.atom.key()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The turn of a range under the cursor.
    pub fn selected_range_turn(&self) -> Option<&RangeTurn> {
        let Entry::RangeTurn(at, turn) = *self.entries.get(self.cursor)? else { return None };
        self.turns_in_range(self.content.as_ref()?.rows().get(at)?).get(turn)
    }
}

/// The node of a message in a row, or the row's own message, or its first.
pub(crate) fn node_of(row: &Row, item: Option<usize>) -> Option<NodeId> {
    match item {
        Some(item) => row.items.get(item).and_then(|item| item.node),
        None => row.source.message.or_else(|| row.items.iter().find_map(|item| item.node)),
    }
}

/// Whether a row is the message that the request asks.
pub(super) fn is_question(row: &Row) -> bool {
    row.section() == Some(Section::UserMessage)
}

/// Why a row cannot be marked, or None if it can.
pub(crate) fn fixed(row: &Row) -> Option<&'static str> {
    row.unmarkable().map(|row| row.why)
}

/// The purpose of a request of this screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPending {
    /// To preview the changes that the action on the selected items would make.
    Preview,
    /// To show the text of a row or of a message in it, of the next request or of a call.
    Text(Option<RunId>, Atom),
    /// To show the state changes of an item.
    Steps(Atom),
    /// To show how the newest calls sent an item.
    History(Atom),
    /// To show which rows no answer used.
    Unused,
    /// To show the request of a call.
    Sent,
    /// To show the exact bytes of a call.
    Bytes,
}
