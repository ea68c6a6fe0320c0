//! Charts of the calls' tokens, cost, cached share, and estimation errors.
//! Not for: the rows of one call (`calls`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::UsageScreen;

impl Screen for UsageScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Usage, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.fit_columns(view::page(self, area));
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, stride: Stride, by: i64) {
        match stride {
            Stride::Page => self.page_by(by),
            Stride::Row => self.chart = shift(self.chart, by, 4),
            Stride::End => self.step(by),
        }
    }

    fn wheel(&mut self, rows: i64) {
        self.step(rows);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn details(&mut self) -> Outcome {
        Outcome::Then(update::text)
    }

    fn step_call(&mut self, step: i64) -> Outcome {
        self.step(step);
        Outcome::Done
    }

    fn whole_session(&mut self) -> Outcome {
        Outcome::Then(update::whole)
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::enter)
    }
}
