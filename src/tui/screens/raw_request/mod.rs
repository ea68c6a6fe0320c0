//! The exact bytes of a request, in blocks, which can be edited by hand for one call.
//! Not for: its rows (`request`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::RawRequestScreen;

impl Screen for RawRequestScreen {
    fn places(&self) -> &'static [KeyPlace] {
        if self.searching { TYPING } else { &[KeyPlace::Request, KeyPlace::Panel, KeyPlace::Always] }
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::settle(self, area);
        self.page = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page)
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.rows.len()))
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        self.searching.then_some(&mut self.search)
    }

    fn line_changed(&mut self) -> Outcome {
        self.search_body();
        Outcome::Done
    }

    fn open(&mut self) -> Outcome {
        if self.searching {
            self.searching = false;
        } else {
            self.fold();
        }
        Outcome::Done
    }

    fn filter(&mut self) {
        self.searching = true;
    }

    fn copy(&mut self) -> Copied {
        Copied::Text(self.body.to_string())
    }

    fn group(&mut self) -> Outcome {
        self.regroup();
        Outcome::Done
    }

    fn step_hit(&mut self, step: i64) -> Outcome {
        self.next_hit(step < 0);
        Outcome::Done
    }

    fn leave(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::leave(model))
    }

    fn cancel(&mut self) -> Outcome {
        self.leave()
    }
}
