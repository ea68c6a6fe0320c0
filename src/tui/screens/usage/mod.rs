//! Charts of the calls' tokens, cost, cached share, and estimation errors.
//! Not for: the rows of one call (`calls`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::UsageScreen;

impl Screen for UsageScreen {
    fn places(&self) -> &'static [When] {
        &[When::Usage, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.fit_columns(view::page(self, area));
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, action: Action, by: i64) {
        match action {
            Action::ScrollUp | Action::ScrollDown => self.page_by(by),
            Action::Up | Action::Down => self.chart = shift(self.chart, by, 4),
            _ => self.step(by),
        }
    }

    fn wheel(&mut self, rows: i64) {
        self.step(rows);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::CallBefore => self.step(-1),
            Action::CallAfter => self.step(1),
            Action::Open => return Outcome::Then(update::enter),
            Action::Details => return Outcome::Then(update::text),
            Action::WholeSession => return Outcome::Then(update::whole),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }
}
