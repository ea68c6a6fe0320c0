//! A text area over the whole screen, for editing a text.
//! Not for: items with versions (`editor`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::model::typed_line::text_input;
use crate::tui::screens::screen::prelude::*;
use model::{Editor, editable};

impl Screen for Editor {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Editor, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn type_in(&mut self, chord: Chord) -> Outcome {
        self.area.input(text_input(chord));
        Outcome::Done
    }

    fn paste(&mut self, text: &str) -> Outcome {
        self.area.insert_str(editable(text));
        Outcome::Done
    }

    fn leave(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::leave(model))
    }

    fn cancel(&mut self) -> Outcome {
        self.leave()
    }
}
