//! Rows that were sent repeatedly and never used by an answer, listed again under their own heading.
//! Not for: finding them (`domain::call::item_use`).

use super::model::{Entry, RequestScreen};
use crate::domain::call::item_use::UnusedItem;
use crate::domain::planning::plan::Row;

impl RequestScreen {
    /// Sets the unused rows.
    pub fn show_unused(&mut self, unused: Vec<UnusedItem>) {
        let any = !unused.is_empty();
        self.unused = Some(unused);
        if any {
            self.list();
        }
    }

    /// The facts about an unused row.
    #[must_use]
    pub fn unused_row(&self, row: &Row) -> Option<&UnusedItem> {
        self.unused.iter().flatten().find(|item| item.atom == row.atom && row.included())
    }

    /// Lists the unused rows, without their messages.
    pub(super) fn put_unused(&self, rows: &[Row], places: &[usize], entries: &mut Vec<Entry>) {
        let found: Vec<usize> = places.iter().copied().filter(|at| self.unused_row(&rows[*at]).is_some()).collect();
        if !found.is_empty() {
            let tokens = found.iter().map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Unused(found.len(), tokens));
            entries.extend(found.into_iter().map(Entry::Row));
        }
    }
}
