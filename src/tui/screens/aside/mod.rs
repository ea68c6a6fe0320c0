//! The pane for a side question and its answer.
//! Not for: messages of the conversation (`chat`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::conversation::state;
use crate::tui::screens::screen::prelude::*;
use model::AsidePane;

impl Screen for AsidePane {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Variants, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, cache, area, buf);
        Vec::new()
    }

    fn full(&self) -> bool {
        false
    }

    fn travel(&mut self, _stride: Stride, by: i64) {
        self.scroll.by(by);
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(half(self.scroll.seen.1) * way);
    }

    fn copy(&mut self) -> Copied {
        Copied::Text(state::strip(&self.text, self.card.is_some()))
    }

    fn leave(&mut self) -> Outcome {
        Outcome::Then(update::leave)
    }

    fn cancel(&mut self) -> Outcome {
        self.leave()
    }
}
