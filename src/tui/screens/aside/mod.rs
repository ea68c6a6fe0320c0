//! The pane for a side question and its answer.
//! Not for: messages of the conversation (`chat`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::conversation::state;
use crate::tui::screens::screen::prelude::*;
use model::AsidePane;

impl Screen for AsidePane {
    fn places(&self) -> &'static [When] {
        &[When::Variants, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, cache, area, buf);
        Vec::new()
    }

    fn full(&self) -> bool {
        false
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.scroll.by(by);
    }

    fn update(&mut self, action: Action, out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Copy => out.push(Cmd::Copy(state::strip(&self.text, self.card.is_some()))),
            Action::Leave | Action::Clear => return Outcome::Then(update::leave),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }
}
