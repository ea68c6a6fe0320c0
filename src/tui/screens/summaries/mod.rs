//! The screens of summaries: a draft beside its sources, and the list of accepted summaries.
//! Not for: writing them (the engine).

pub mod model;
pub mod model_effect;
pub(crate) mod update;
pub(crate) mod update_effect;
pub(crate) mod update_modules;
pub(crate) mod view;
pub(crate) mod view_accepted;

use crate::tui::screens::screen::prelude::*;
use model::{DraftScreen, SummaryList};

impl Screen for DraftScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Summaries, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let measured = view::draw(view, self, cache, area, buf);
        (self.seen, self.source_scroll) = (measured.seen, measured.source_scroll);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.seen.2)
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.step(by);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn detail(&mut self, way: i64) {
        self.scroll_sources(half(self.seen.2) * way);
    }

    fn open(&mut self) -> Outcome {
        update::toggle_sources(self);
        Outcome::Done
    }

    fn leave(&mut self) -> Outcome {
        Outcome::Then(update::leave)
    }

    fn copy(&mut self) -> Copied {
        Copied::of(self.draft.as_ref().and_then(|draft| draft.summary.text.clone()))
    }

    fn next_pane(&mut self, step: i64) -> Outcome {
        self.focus_next(step);
        Outcome::Done
    }

    fn after(&self) -> Option<Run> {
        Some(update_effect::request_preview)
    }

    fn due(&self, _now: u64) -> Option<u64> {
        self.preview.due
    }
}

impl Screen for SummaryList {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Summaries, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view_accepted::draw(view, self, area, buf);
        Vec::new()
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.cards.len()).with_details(&mut self.scroll))
    }

    fn detail(&mut self, way: i64) {
        self.scroll = shift(self.scroll, way * 8, 4_000);
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::read)
    }

    fn copy(&mut self) -> Copied {
        Copied::of(self.selected().and_then(|card| card.summary.text.clone()))
    }
}
