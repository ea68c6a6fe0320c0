//! A list that is filtered by typing: sessions, models, actions, and others.
//! Not for: lists with more than one line per entry.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Picker;

impl Screen for Picker {
    fn places(&self) -> &'static [When] {
        TYPING
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn full(&self) -> bool {
        false
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.cursor = shift(self.cursor, by, self.shown.len().saturating_sub(1));
    }

    fn wheel(&mut self, rows: i64) {
        self.travel(Stride::Row, rows.signum());
    }

    fn select(&mut self, row: usize) {
        self.cursor = row.min(self.shown.len().saturating_sub(1));
    }

    fn line(&mut self) -> Option<&mut String> {
        Some(&mut self.filter)
    }

    fn line_changed(&mut self) -> Outcome {
        self.cursor = 0;
        self.apply_filter();
        Outcome::Then(update::filter_changed)
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::choose)
    }
}
