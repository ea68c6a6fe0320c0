//! Previews of the next request under other settings, side by side.
//! Not for: sending it (`chat::update::ask`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::WhatIfScreen;

impl Screen for WhatIfScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Variants, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        let rows = self.len();
        Some(ListCursor::new(&mut self.cursor, rows).with_details(&mut self.scroll))
    }

    fn detail(&mut self, way: i64) {
        self.scroll = shift(self.scroll, way * 4, 400);
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::take)
    }
}
