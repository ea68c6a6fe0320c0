//! The screen of the tool calls of a branch or of the session.
//! Not for: approving one (`approval`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::base::ids::RunId;
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::session::Session;
use crate::tui::screens::screen::prelude::*;
use model::Traces;

impl Screen for Traces {
    fn places(&self) -> &'static [When] {
        if self.filtering { TYPING } else { &[When::Tools, When::Panel, When::Always] }
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let measured = view::draw(view, self, cache, area, buf);
        (self.scroll.seen, self.page) = (measured.seen, measured.page);
        self.scroll.by(0);
        measured.wanted
    }

    fn page(&self) -> Option<usize> {
        Some(if self.opened { self.scroll.seen.1 } else { self.page })
    }

    fn travel(&mut self, _action: Action, by: i64) {
        self.step(by);
    }

    fn wheel(&mut self, rows: i64) {
        self.step(rows.signum());
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(half(self.scroll.seen.1) * way);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn line(&mut self) -> Option<&mut String> {
        self.filtering.then_some(&mut self.filter)
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Leave if self.leave() => {}
            Action::Filter => (self.filtering, self.opened) = (true, false),
            Action::Open => self.enter(),
            Action::Copy => return Outcome::Then(update::copy),
            Action::WholeSession => return Outcome::Then(update::whole_session),
            _ => return Outcome::Pass,
        }
        Outcome::Done
    }

    fn sync(&mut self, session: &mut Session, conversation: &Conversation, live: Option<RunId>) {
        Self::sync(self, session, conversation, live);
    }

    fn after(&self) -> Option<Run> {
        Some(update::request_texts)
    }
}
