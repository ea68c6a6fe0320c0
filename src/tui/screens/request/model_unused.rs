//! The rows that consecutive calls sent although no answer used them.
//! Not for: finding unused rows (`domain::call::item_use`).

use super::model::RequestScreen;
use crate::domain::call::UnusedItem;
use crate::domain::planning::Row;

impl RequestScreen {
    /// Stores which rows no answer used.
    pub fn show_unused(&mut self, unused: Vec<UnusedItem>) {
        self.unused = Some(unused);
    }

    /// The record of an included row that no answer used; None for other rows.
    pub fn unused_row(&self, row: &Row) -> Option<&UnusedItem> {
        self.unused.iter().flatten().find(|item| item.atom == row.atom && row.included())
    }
}
