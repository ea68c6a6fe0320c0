//! The editor of versioned items: state blocks, summaries, memories, policies, rules, skills, and module summaries.
//! Not for: the message that is being written (`chat::model::composer`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::summary::EditableKind;
use crate::tui::screens::screen::prelude::*;
use model::EditorScreen;

impl Screen for EditorScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Editors, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn travel(&mut self, stride: Stride, by: i64) {
        match stride {
            Stride::Page => self.scroll.by(by),
            Stride::Row | Stride::End => self.step(by),
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

    fn undo(&mut self, redo: bool) -> Outcome {
        Outcome::Then(if redo {
            |model, out| update::undo(model, true, out)
        } else {
            |model, out| update::undo(model, false, out)
        })
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::edit(model))
    }

    fn leave(&mut self) -> Outcome {
        if self.kind == EditableKind::Modules { Outcome::Then(update::leave_modules) } else { Outcome::Pass }
    }

    fn next_pane(&mut self, step: i64) -> Outcome {
        Outcome::Then(if step > 0 {
            |model, out| update::switch_kind(model, 1, out)
        } else {
            |model, out| update::switch_kind(model, -1, out)
        })
    }
}
