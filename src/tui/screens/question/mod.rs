//! A question with a list of choices.
//! Not for: tool calls that need approval (`approval`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Question;

impl Screen for Question {
    fn places(&self) -> &'static [KeyPlace] {
        TYPING
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn full(&self) -> bool {
        false
    }

    fn page(&self) -> Option<usize> {
        Some(self.scroll.seen.1)
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.choices.len()))
    }

    fn paged_text(&mut self) -> Option<&mut Scroll> {
        Some(&mut self.scroll)
    }

    fn wheel(&mut self, rows: i64) {
        if self.scroll.last() > 0 {
            self.scroll.by(rows);
        } else {
            self.travel(Stride::Row, rows.signum());
        }
    }

    fn type_in(&mut self, chord: Chord) -> Outcome {
        let wanted = chord.typed().map(|c| c.to_ascii_lowercase());
        let Some(at) = self.choices.iter().position(|(key, ..)| Some(*key) == wanted) else { return Outcome::Done };
        self.cursor = at;
        Outcome::Then(update::choose)
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::choose)
    }
}
