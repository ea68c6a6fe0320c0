//! The editor of versioned items: state blocks, summaries, memories, policies, rules, skills, and module summaries.
//! Not for: the message that is being written (`chat::model::composer`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::summary::versions::EditableKind;
use crate::tui::screens::screen::prelude::*;
use model::EditorScreen;

impl Screen for EditorScreen {
    fn places(&self) -> &'static [When] {
        &[When::Editors, When::Panel, When::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, action: Action, by: i64) {
        match action {
            Action::ScrollUp | Action::ScrollDown => self.scroll.by(by),
            _ => self.step(by),
        }
    }

    fn wheel(&mut self, rows: i64) {
        self.scroll.by(rows);
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(way * 8);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::OlderVersion => self.step_version(1),
            Action::NewerVersion => self.step_version(-1),
            Action::TurnView => self.next_comparison(),
            Action::NextPane => return Outcome::Then(|model, out| update::switch_kind(model, 1, out)),
            Action::PrevPane => return Outcome::Then(|model, out| update::switch_kind(model, -1, out)),
            Action::Leave if self.kind == EditableKind::Modules => return Outcome::Then(update::leave_modules),
            Action::Open | Action::EditText => return Outcome::Then(|model, _| update::edit(model)),
            Action::CopyPolicy => return Outcome::Then(|model, _| update::copy(model)),
            Action::RewriteModule => return Outcome::Then(update::write_again),
            Action::ToggleRules => return Outcome::Then(update::switch),
            Action::UsePolicy => return Outcome::Then(update::take),
            Action::TryPolicy => return Outcome::Then(update::try_out),
            Action::Undo => return Outcome::Then(|model, out| update::undo(model, false, out)),
            Action::Redo => return Outcome::Then(|model, out| update::undo(model, true, out)),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }
}
