//! A read-only text.
//! Not for: texts that are edited (`text_editor`).

pub mod model;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Reader;

impl Screen for Reader {
    fn places(&self) -> &'static [KeyPlace] {
        PANEL
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, cache, area, buf);
        Vec::new()
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.scroll.by(by);
    }

    fn copy(&mut self) -> Copied {
        Copied::Text(self.text.to_string())
    }
}
