//! The usage of calls, as charts: the visible columns and the selected call.
//! Not for: the figures (`domain::call::ledger`), or their appearance (`view`).

use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::call::ledger::{CallCost, Ledger};
use crate::tui::model::list::shift;

/// The state of the charts.
#[derive(Clone, Debug)]
pub struct UsageScreen {
    /// The branch.
    pub branch: BranchId,
    /// Shows all branches of the session.
    pub whole: bool,
    /// The figures, once they are loaded.
    pub ledger: Option<Box<Ledger>>,
    /// The ticket of the request.
    pub ticket: u64,
    /// The selected call.
    pub cursor: usize,
    /// The first column.
    pub from: usize,
    /// The number of visible columns when last drawn.
    pub page: usize,
    /// The first chart, if there is no room for all.
    pub chart: usize,
}

impl UsageScreen {
    /// An empty screen whose figures were requested with this ticket.
    #[must_use]
    pub fn new(branch: BranchId, whole: bool, ticket: u64) -> Self {
        Self { branch, whole, ledger: None, ticket, cursor: usize::MAX, from: 0, page: 1, chart: 0 }
    }

    /// Shows figures. The selection stays on its call; initially the newest call is selected, and stays selected while
    /// calls are added.
    pub fn show(&mut self, ledger: Box<Ledger>) {
        let last = self.ledger.as_ref().is_none_or(|old| self.cursor.saturating_add(1) >= old.calls.len());
        let selected = self.selected().map(|call| call.run).filter(|_| !last);
        let found = selected.and_then(|run| ledger.calls.iter().position(|call| call.run == run));
        self.cursor = found.unwrap_or(usize::MAX).min(ledger.calls.len().saturating_sub(1));
        self.ledger = Some(ledger);
        self.settle(self.page);
    }

    /// The calls.
    #[must_use]
    pub fn calls(&self) -> &[CallCost] {
        self.ledger.as_ref().map(|ledger| ledger.calls.as_slice()).unwrap_or_default()
    }

    /// The selected call.
    #[must_use]
    pub fn selected(&self) -> Option<&CallCost> {
        self.calls().get(self.cursor)
    }

    /// The selected call's id.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.selected().map(|call| call.run)
    }

    /// Moves the selection along the calls.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.calls().len().saturating_sub(1));
        self.settle(self.page);
    }

    /// Moves by pages of columns.
    pub fn leaf(&mut self, way: i64) {
        self.step(way.signum() * i64::try_from(self.page.saturating_sub(1)).unwrap_or(1).max(1));
    }

    /// Sets the number of visible columns; the columns scroll only as far as the selection requires.
    pub fn settle(&mut self, page: usize) {
        self.page = page.max(1);
        let count = self.calls().len();
        let low = self.cursor.saturating_add(1).saturating_sub(self.page);
        self.from = self.from.clamp(low.min(count), self.cursor.max(low)).min(count.saturating_sub(self.page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::item_use::UseTotals;
    use crate::domain::call::ledger::Totals;
    use crate::domain::call::run::RunStatus;
    use uuid::Uuid;

    fn ledger(count: u128) -> Box<Ledger> {
        let branch = BranchId(Uuid::nil());
        let call = |n: u128| CallCost {
            run: RunId(Uuid::from_u128(n)),
            branch,
            turn: None,
            round: 1,
            at: 0,
            status: RunStatus::Complete,
            model: String::new(),
            title: String::new(),
            est: 1,
            input: None,
            output: None,
            cached: None,
            cost_micro: None,
            error_milli: None,
            uses: None,
        };
        let calls = (0..count).map(call).collect();
        Box::new(Ledger {
            branch,
            whole: false,
            calls,
            older: 0,
            totals: Totals::default(),
            uses: UseTotals::default(),
        })
    }

    #[test]
    fn columns_move_only_as_far_as_they_must() {
        let mut sheet = UsageScreen::new(BranchId(Uuid::nil()), false, 1);
        sheet.show(ledger(0));
        assert_eq!((sheet.cursor, sheet.run()), (0, None));
        sheet.step(-1);
        sheet.show(ledger(10));
        sheet.settle(4);
        assert_eq!((sheet.cursor, sheet.from), (9, 6), "the newest first");
        sheet.step(-2);
        assert_eq!((sheet.cursor, sheet.from), (7, 6));
        sheet.step(-3);
        assert_eq!((sheet.cursor, sheet.from), (4, 4));
        sheet.leaf(1);
        assert_eq!((sheet.cursor, sheet.from), (7, 4));
        sheet.show(ledger(11));
        assert_eq!(sheet.cursor, 7, "it stays on its call");
        sheet.step(i64::MAX / 2);
        sheet.show(ledger(12));
        assert_eq!((sheet.cursor, sheet.from), (11, 8), "and on the newest, while calls come");
        sheet.settle(100);
        assert_eq!(sheet.from, 0, "all are seen");
    }
}
