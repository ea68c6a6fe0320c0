//! Answers side by side: one prompt sent with several models or settings, or a stored call and its repetition.
//! Not for: whole branches (`compare`).

pub mod model;
pub(crate) mod update;
pub(crate) mod update_models;
pub(crate) mod view;

use crate::domain::base::BranchId;
use crate::tui::screens::screen::prelude::*;
use model::RaceScreen;

impl Screen for RaceScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Variants, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let (wanted, seen) = view::draw(view, self, cache, area, buf);
        self.scroll.seen = seen;
        wanted
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.scroll.by(by);
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(half(self.scroll.seen.1) * way);
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::keep)
    }

    fn next_pane(&mut self, step: i64) -> Outcome {
        self.select_next(step);
        Outcome::Done
    }

    fn shows(&self, branch: BranchId) -> bool {
        self.columns.iter().any(|column| column.branch == Some(branch))
    }
}
