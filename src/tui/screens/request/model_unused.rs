//! Lists a second time, under a separator, the rows that consecutive calls sent although no answer used them.
//! Not for: finding unused rows (`domain::call::item_use`).

use super::model::{Entry, RequestScreen};
use crate::domain::call::UnusedItem;
use crate::domain::planning::Row;

impl RequestScreen {
    /// Stores which rows no answer used, and lists them if there are any.
    pub fn show_unused(&mut self, unused: Vec<UnusedItem>) {
        let any = !unused.is_empty();
        self.unused = Some(unused);
        if any {
            self.rebuild();
        }
    }

    /// The record of an included row that no answer used; None for other rows.
    pub fn unused_row(&self, row: &Row) -> Option<&UnusedItem> {
        self.unused.iter().flatten().find(|item| item.atom == row.atom && row.included())
    }

    /// Appends the unused rows under their separator, collapsed.
    pub(super) fn push_unused(&self, rows: &[Row], indices: &[usize], entries: &mut Vec<Entry>) {
        let found: Vec<usize> = indices.iter().copied().filter(|at| self.unused_row(&rows[*at]).is_some()).collect();
        if !found.is_empty() {
            let tokens = found.iter().map(|at| u64::from(rows[*at].tokens)).sum();
            entries.push(Entry::Unused(found.len(), tokens));
            entries.extend(found.into_iter().map(Entry::Row));
        }
    }
}
