//! The exact bytes of a request, in blocks, which can be edited by hand for one call.
//! Not for: its rows (`request`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::RawRequestScreen;

impl Screen for RawRequestScreen {
    fn places(&self) -> &'static [When] {
        if self.searching { TYPING } else { &[When::Request, When::Panel, When::Always] }
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        view::settle(self, area);
        view::draw(view, self, area, buf);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page)
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.step(by);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn line(&mut self) -> Option<&mut String> {
        self.searching.then_some(&mut self.search)
    }

    fn line_changed(&mut self) -> Outcome {
        self.search_body();
        Outcome::Done
    }

    fn update(&mut self, action: Action, out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Filter => self.searching = true,
            Action::Open if self.searching => self.searching = false,
            Action::Open => self.fold(),
            Action::FoldAll => self.fold_all(),
            Action::NextHit => self.next_hit(false),
            Action::PrevHit => self.next_hit(true),
            Action::Group => self.regroup(),
            Action::Copy => out.push(Cmd::Copy(self.body.to_string())),
            Action::SendEdited => return Outcome::Then(update::send_edited),
            Action::Leave | Action::Clear => return Outcome::Then(|model, _| update::leave(model)),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }
}
