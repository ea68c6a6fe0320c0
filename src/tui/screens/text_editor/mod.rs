//! A text area over the whole screen, for editing a text.
//! Not for: items with versions (`editor`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::chat::update::typing::text_input;
use crate::tui::screens::screen::prelude::*;
use model::{Editor, editable};

impl Screen for Editor {
    fn places(&self) -> &'static [When] {
        &[When::Editor, When::Always]
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

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Save => Outcome::Then(update::save),
            Action::Leave | Action::Clear => Outcome::Then(|model, _| update::leave(model)),
            _ => Outcome::Pass,
        }
    }
}
