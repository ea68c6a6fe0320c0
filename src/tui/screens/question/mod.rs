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

    fn travel(&mut self, action: Action, by: i64) {
        match action {
            Action::ScrollUp | Action::ScrollDown => self.scroll.by(by),
            _ => self.cursor = shift(self.cursor, by, self.choices.len().saturating_sub(1)),
        }
    }

    fn wheel(&mut self, rows: i64) {
        if self.scroll.last() > 0 {
            self.scroll.by(rows);
        } else {
            self.travel(Action::Down, rows.signum());
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

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Open => Outcome::Then(update::choose),
            _ => Outcome::Pass,
        }
    }
}
