//! The line for searching the conversation, which stays visible above.
//! Not for: the search itself (`chat::update::search`).

pub mod model;
pub(crate) mod view;

use crate::tui::chat::update::search;
use crate::tui::screens::screen::prelude::*;
use crate::tui::view::layout;
use model::ConversationSearchScreen;

impl Screen for ConversationSearchScreen {
    fn places(&self) -> &'static [KeyPlace] {
        TYPING
    }

    fn full(&self) -> bool {
        false
    }

    fn footer(&self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect) -> Option<u16> {
        // The height of the composer, which the line replaces.
        Some(layout::composer_height(view.model, area))
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        Some(&mut self.text)
    }

    fn line_changed(&mut self) -> Outcome {
        Outcome::Then(|model, _| search::typed(model))
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(|model, _| search::keep(model))
    }

    fn leave(&mut self) -> Outcome {
        Outcome::Then(|model, _| search::cancel(model))
    }

    fn cancel(&mut self) -> Outcome {
        self.leave()
    }
}
