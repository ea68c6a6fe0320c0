//! State of the usage charts: the visible columns and the selected call.
//! Not for: the figures (`domain::call::ledger`) or drawing (`view`).

use crate::domain::base::{BranchId, RunId};
use crate::domain::call::{CallCost, Ledger};
use crate::tui::model::list::shift;

/// Charts of the calls of a branch or a session.
#[derive(Clone, Debug)]
pub struct UsageScreen {
    pub branch: BranchId,
    /// Whether the calls of all branches of the session are shown.
    pub whole: bool,
    /// The figures; None until they are loaded.
    pub ledger: Option<Box<Ledger>>,
    /// Ticket of the newest request.
    pub ticket: u64,
    /// Index of the selected call.
    pub cursor: usize,
    /// Index of the first visible call.
    pub from: usize,
    /// How many columns fit, as last drawn.
    pub page: usize,
    /// Index of the first visible chart, if not all fit.
    pub chart: usize,
}

impl UsageScreen {
    /// Creates the screen while its figures are being loaded under `ticket`.
    pub fn new(branch: BranchId, whole: bool, ticket: u64) -> Self {
        Self { branch, whole, ledger: None, ticket, cursor: usize::MAX, from: 0, page: 1, chart: 0 }
    }

    /// Stores the figures. The selection stays on its call, or on the newest call if that was selected.
    pub fn show(&mut self, ledger: Box<Ledger>) {
        let last = self.ledger.as_ref().is_none_or(|old| self.cursor.saturating_add(1) >= old.calls.len());
        let selected = self.run().filter(|_| !last);
        let found = selected.and_then(|run| ledger.calls.iter().position(|call| call.run == run));
        self.cursor = found.unwrap_or(usize::MAX).min(ledger.calls.len().saturating_sub(1));
        self.ledger = Some(ledger);
        self.fit_columns(self.page);
    }

    /// The calls, oldest first.
    pub fn calls(&self) -> &[CallCost] {
        self.ledger.as_ref().map(|ledger| ledger.calls.as_slice()).unwrap_or_default()
    }

    /// The selected call.
    pub fn selected(&self) -> Option<&CallCost> {
        self.calls().get(self.cursor)
    }

    /// The selected call's id.
    pub fn run(&self) -> Option<RunId> {
        self.selected().map(|call| call.run)
    }

    /// Moves the selection by `by` calls.
    pub fn step(&mut self, by: i64) {
        self.cursor = shift(self.cursor, by, self.calls().len().saturating_sub(1));
        self.fit_columns(self.page);
    }

    /// Moves by pages of columns.
    pub fn page_by(&mut self, way: i64) {
        self.step(way.signum() * i64::try_from(self.page.saturating_sub(1)).unwrap_or(1).max(1));
    }

    /// Stores the number of columns that fit, and scrolls just far enough to show the selection.
    pub fn fit_columns(&mut self, page: usize) {
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
    fn columns_scroll_just_far_enough() {
        let mut screen = UsageScreen::new(BranchId(Uuid::nil()), false, 1);
        screen.show(ledger(0));
        assert_eq!((screen.cursor, screen.run()), (0, None));
        screen.step(-1);
        screen.show(ledger(10));
        screen.fit_columns(4);
        assert_eq!((screen.cursor, screen.from), (9, 6), "the newest first");
        screen.step(-2);
        assert_eq!((screen.cursor, screen.from), (7, 6));
        screen.step(-3);
        assert_eq!((screen.cursor, screen.from), (4, 4));
        screen.page_by(1);
        assert_eq!((screen.cursor, screen.from), (7, 4));
        screen.show(ledger(11));
        assert_eq!(screen.cursor, 7, "it stays on its call");
        screen.step(i64::MAX / 2);
        screen.show(ledger(12));
        assert_eq!((screen.cursor, screen.from), (11, 8), "and on the newest, while calls come");
        screen.fit_columns(100);
        assert_eq!(screen.from, 0, "all are seen");
    }
}
