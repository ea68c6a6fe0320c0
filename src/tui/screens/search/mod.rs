//! Search over the messages of all sessions.
//! Not for: searching the conversation (`conversation_search`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::SearchScreen;

impl Screen for SearchScreen {
    fn places(&self) -> &'static [KeyPlace] {
        TYPING
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.page = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page + 1)
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.found.messages.len()))
    }

    fn wheel(&mut self, rows: i64) {
        self.travel(Stride::Row, rows.signum());
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        Some(&mut self.line)
    }

    fn line_changed(&mut self) -> Outcome {
        Outcome::Then(update::changed)
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::choose)
    }
}
