//! The screen of all keys, and the hint of the keys that may follow the first of several.
//! Not for: the guides (`crate::guides`).

pub mod model;
pub(crate) mod view;
pub(crate) mod view_next_keys;

use crate::tui::screens::screen::prelude::*;
use model::HelpScreen;

impl Screen for HelpScreen {
    fn places(&self) -> &'static [KeyPlace] {
        PANEL
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let last = view::draw(view, self.scroll, area, buf);
        self.scroll = self.scroll.min(last);
        Vec::new()
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.scroll = shift(self.scroll, by, usize::MAX / 4);
    }
}
