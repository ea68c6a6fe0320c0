//! The screens of the call history: the list of calls, the differences between two calls, and the history of an item.
//! Not for: charts (`usage`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod view_diff;

use crate::tui::screens::screen::prelude::*;
use model::{Calls, DiffView, HistoryScreen};

impl Screen for Calls {
    fn places(&self) -> &'static [When] {
        &[When::Calls, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.step(by);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::ChooseCall => self.choose(),
            Action::Open => return Outcome::Then(update::enter),
            Action::Details => return Outcome::Then(update::plan),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }
}

impl Screen for DiffView {
    fn places(&self) -> &'static [When] {
        &[When::Calls, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.page = view_diff::list_rows(area);
        view_diff::draw(view, self, area, buf);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page.into())
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.step(by);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn detail(&mut self, way: i64) {
        self.scroll = shift(self.scroll, way * 8, 4_000);
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Open => Outcome::Then(update::history),
            _ => Outcome::Pass,
        }
    }
}

impl Screen for HistoryScreen {
    fn places(&self) -> &'static [When] {
        &[When::Calls, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view_diff::draw_history(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.scroll.by(by);
    }
}
