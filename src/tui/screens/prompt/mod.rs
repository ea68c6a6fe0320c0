//! A prompt for one line of text.
//! Not for: longer texts (`text_editor`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Prompt;

impl Screen for Prompt {
    fn places(&self) -> &'static [KeyPlace] {
        TYPING
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn full(&self) -> bool {
        false
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        Some(&mut self.text)
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::submit)
    }
}
