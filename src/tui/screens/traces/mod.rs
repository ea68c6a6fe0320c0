//! The screen of the tool calls of a branch or of the session.
//! Not for: approving one (`approval`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::domain::base::RunId;
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::session::Session;
use crate::tui::screens::screen::prelude::*;
use model::Traces;

impl Screen for Traces {
    fn places(&self) -> &'static [KeyPlace] {
        if self.filtering { TYPING } else { &[KeyPlace::Tools, KeyPlace::Panel, KeyPlace::Always] }
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

    fn travel(&mut self, _stride: Stride, by: i64) {
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

    fn copy(&mut self) -> Copied {
        Copied::Then(update::copy)
    }

    fn whole_session(&mut self) -> Outcome {
        self.whole = !self.whole;
        Outcome::Then(|model, _| model.sync_screens())
    }

    fn details(&mut self) -> Outcome {
        self.details = !self.details;
        Outcome::Done
    }

    fn to_message(&mut self) -> Outcome {
        Outcome::Then(update::to_message)
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        self.filtering.then_some(&mut self.filter)
    }

    fn open(&mut self) -> Outcome {
        self.enter();
        Outcome::Done
    }

    fn leave(&mut self) -> Outcome {
        if Self::leave(self) { Outcome::Done } else { Outcome::Pass }
    }

    fn filter(&mut self) {
        (self.filtering, self.opened) = (true, false);
    }

    fn sync(&mut self, session: &mut Session, conversation: &Conversation, live: Option<RunId>) {
        Self::sync(self, session, conversation, live);
    }

    fn after(&self) -> Option<Run> {
        Some(update::request_texts)
    }
}
