//! State of the panel of the next request: the items that it lists, in its order, and the selected item.
//! Not for: drawing them (`chat::view::next_request`), or the list of all rows (`screens::request::model`).

use crate::domain::conversation::Atom;
use crate::domain::planning::row_counts::RowCounts;
use crate::domain::planning::{ContextPlan, Row, Section};
use crate::tui::model::list::ListCursor;

/// A part of the panel that lists items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PanelPart {
    /// Items that this section includes.
    Section(Section),
    /// Suggested pins.
    Suggested,
    LeftOut,
}

/// An item of the panel.
#[derive(Clone, Copy, Debug)]
pub struct PanelItem<'a> {
    pub row: &'a Row,
    pub part: PanelPart,
    /// The number of items that it represents: a range of turns is all of its turns.
    pub count: u64,
}

/// The items of a plan: those of each section that lists its items, then the suggested pins, then the items that are left
/// out.
pub fn items(plan: &ContextPlan) -> Vec<PanelItem<'_>> {
    let mut all = Vec::new();
    for (section, _) in plan.sections().into_iter().filter(|(section, tokens)| *tokens > 0 && lists_items(*section)) {
        let from = all.len();
        let rows = plan.rows.iter().filter(|row| row.section() == Some(section));
        all.extend(rows.map(|row| PanelItem { row, part: PanelPart::Section(section), count: 1 }));
        if section == Section::Recent {
            all[from..].reverse();
        }
    }
    all.extend(plan.suggested().map(|row| PanelItem { row, part: PanelPart::Suggested, count: 1 }));
    let counts = RowCounts::of(&plan.rows);
    let out = plan.excluded().map(|row| PanelItem { row, part: PanelPart::LeftOut, count: counts.left_out(row) });
    all.extend(out.filter(|item| item.count > 0));
    all
}

/// Whether the panel lists the items of a section.
fn lists_items(section: Section) -> bool {
    use Section as S;
    match section {
        S::StickyPins
        | S::LeasedPins
        | S::SessionSummary
        | S::LaneSummary
        | S::Retrieved
        | S::Recent
        | S::DuringTurn => true,
        S::System | S::Personality | S::Guidelines | S::State | S::Orientation | S::QuotedReply | S::UserMessage => {
            false
        }
    }
}

/// The selection in the panel.
#[derive(Clone, Debug, Default)]
pub struct NextRequestPanel {
    /// The selected item; None before any was selected.
    atom: Option<Atom>,
    /// The index of the selected item when it was selected, for a plan that no longer lists it.
    at: usize,
    /// Height of the panel when it was last drawn, in rows.
    pub page: u16,
}

impl NextRequestPanel {
    /// The index of the selected item among the items of the current plan.
    pub fn index(&self, items: &[PanelItem<'_>]) -> usize {
        let found = items.iter().position(|item| Some(item.row.atom) == self.atom);
        found.unwrap_or(self.at).min(items.len().saturating_sub(1))
    }

    /// The row of the selected item.
    pub fn selected<'a>(&self, plan: &'a ContextPlan) -> Option<&'a Row> {
        let items = items(plan);
        items.get(self.index(&items)).map(|item| item.row)
    }

    /// Moves the selection by `by` items.
    pub fn step(&mut self, plan: &ContextPlan, by: i64) {
        let items = items(plan);
        let mut at = self.index(&items);
        ListCursor::new(&mut at, items.len()).step(by);
        self.select(&items, at);
    }

    /// Selects an item by its index.
    pub fn put(&mut self, plan: &ContextPlan, at: usize) {
        self.select(&items(plan), at);
    }

    fn select(&mut self, items: &[PanelItem<'_>], at: usize) {
        (self.at, self.atom) = (at, items.get(at).map(|item| item.row.atom));
    }
}
