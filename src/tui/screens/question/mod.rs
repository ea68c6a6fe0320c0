//! A question with a list of choices.
//! Not for: tool calls that need approval (`approval`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::Question;

impl Screen for Question {
    fn places(&self) -> &'static [When] {
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

    fn travel(&mut self, stride: Stride, by: i64) {
        match stride {
            Stride::Page => self.scroll.by(by),
            Stride::Row | Stride::End => self.cursor = shift(self.cursor, by, self.choices.len().saturating_sub(1)),
        }
    }

    fn wheel(&mut self, rows: i64) {
        if self.scroll.last() > 0 {
            self.scroll.by(rows);
        } else {
            self.travel(Stride::Row, rows.signum());
        }
    }

    fn select(&mut self, row: usize) {
        self.cursor = row.min(self.choices.len().saturating_sub(1));
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
