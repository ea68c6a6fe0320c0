//! A list that is filtered by typing: sessions, models, actions, and others.
//! Not for: lists with more than one line per entry.

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Picker;
use update::ListEdit;

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

    fn travel(&mut self, _action: Action, by: i64) {
        self.cursor = shift(self.cursor, by, self.shown.len().saturating_sub(1));
    }

    fn wheel(&mut self, rows: i64) {
        self.travel(Action::Down, rows.signum());
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

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Open => Outcome::Then(update::choose),
            Action::New => Outcome::Then(|model, out| update::manage(model, ListEdit::New, out)),
            Action::Rename => Outcome::Then(|model, out| update::manage(model, ListEdit::Rename, out)),
            Action::Delete => Outcome::Then(|model, out| update::manage(model, ListEdit::Delete, out)),
            _ => Outcome::Pass,
        }
    }
}
