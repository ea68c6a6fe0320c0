//! The screen that compares two branches side by side.
//! Not for: answers to one prompt (`race`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::CompareView;

impl Screen for CompareView {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Compare, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, cache, area, buf);
        Vec::new()
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.step(if by.abs() > i64::MAX / 4 { by } else { by.signum() });
    }

    fn wheel(&mut self, rows: i64) {
        self.scroll(isize::try_from(rows).unwrap_or(0));
    }

    fn detail(&mut self, way: i64) {
        self.wheel(way * 8);
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::enter(model))
    }

    fn next_pane(&mut self, _step: i64) -> Outcome {
        self.turn();
        Outcome::Done
    }
}
