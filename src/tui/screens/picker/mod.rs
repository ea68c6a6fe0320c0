//! A list that is filtered by typing: sessions, models, actions, and others.
//! Not for: lists with more than one line per entry.

pub mod model;
pub(crate) mod update;
pub(crate) mod update_lanes;
pub(crate) mod view;

use crate::tui::model::keys::Key;
use crate::tui::model::typed_line::text_input;
use crate::tui::screens::screen::prelude::*;
use crate::tui::screens::{approval, memories};
use model::{Choice, Kind, Picker};

impl Screen for Picker {
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

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(ListCursor::new(&mut self.cursor, self.shown.len()))
    }

    fn wheel(&mut self, rows: i64) {
        self.travel(Stride::Row, rows.signum());
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        Some(&mut self.filter)
    }

    fn type_in(&mut self, chord: Chord) -> Outcome {
        if self.kind == Kind::RaceModels && chord == Chord::plain(Key::Char(' ')) {
            self.toggle();
            return Outcome::Done;
        }
        if self.filter.input(text_input(chord)) { self.line_changed() } else { Outcome::Done }
    }

    fn line_changed(&mut self) -> Outcome {
        self.cursor = 0;
        self.apply_filter();
        Outcome::Then(update::filter_changed)
    }

    fn edit_list(&mut self, edit: ListEdit) -> Outcome {
        match (self.kind, edit) {
            (Kind::Rules, ListEdit::Delete) => Outcome::Then(approval::update::take_off),
            (Kind::Memories, ListEdit::New) => Outcome::Then(|model, _| memories::update::add_prompt(model)),
            (Kind::Memories, ListEdit::Rename) => Outcome::Then(|model, _| memories::update::edit_prompt(model)),
            (Kind::Memories, ListEdit::Delete) => Outcome::Then(memories::update::delete),
            (Kind::Sessions, ListEdit::New) => Outcome::Then(|model, _| update::new_session(model)),
            (Kind::Sessions, ListEdit::Rename) => Outcome::Then(|model, _| update::rename_session(model)),
            (Kind::Sessions, ListEdit::Delete) => Outcome::Then(|model, _| update::ask_to_delete(model)),
            (Kind::Rules, ListEdit::New | ListEdit::Rename)
            | (
                Kind::Models
                | Kind::ReplayModels(_)
                | Kind::RaceModels
                | Kind::ReplayItems
                | Kind::Labels
                | Kind::Themes
                | Kind::Palette
                | Kind::Copies
                | Kind::CompareWith
                | Kind::Lanes,
                ListEdit::New | ListEdit::Rename | ListEdit::Delete,
            ) => Outcome::Pass,
        }
    }

    fn dismiss(&mut self) -> Outcome {
        if self.kind == Kind::Memories { Outcome::Then(memories::update::dismiss) } else { Outcome::Pass }
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::choose)
    }

    fn tried_theme(&self) -> Option<&str> {
        let Choice::Theme(name) = &self.selected()?.choice else { return None };
        Some(name)
    }
}
