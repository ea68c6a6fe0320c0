//! The screens of the call history: the list of calls, the differences between two calls, and the history of an item.
//! Not for: charts (`usage`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod view_diff;

use crate::tui::screens::screen::prelude::*;
use model::{Calls, DiffView, HistoryScreen};

impl Screen for Calls {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Calls, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.cards.len()).with_details(&mut self.scroll))
    }

    fn detail(&mut self, way: i64) {
        self.scroll = shift(self.scroll, way * 4, 4_000);
    }

    fn details(&mut self) -> Outcome {
        Outcome::Then(update::plan)
    }

    fn item_history(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::explain_history(model))
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::enter)
    }
}

impl Screen for DiffView {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Calls, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        (self.page, self.scroll) = view_diff::draw(view, self, area, buf);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page.into())
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(self.cursor())
    }

    fn detail(&mut self, way: i64) {
        self.scroll = shift(self.scroll, way * 8, 4_000);
    }

    fn details(&mut self) -> Outcome {
        Outcome::Then(update::later_request)
    }

    fn item_history(&mut self) -> Outcome {
        Outcome::Then(update::history)
    }

    fn open(&mut self) -> Outcome {
        self.item_history()
    }
}

impl Screen for HistoryScreen {
    fn places(&self) -> &'static [KeyPlace] {
        PANEL
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view_diff::draw_history(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.scroll.by(by);
    }
}
