//! The screen for a tool call that needs approval.
//! Not for: calls that ran (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;
pub(crate) mod view_inline;

use crate::tui::screens::screen::prelude::*;
use model::ApprovalScreen;

impl Screen for ApprovalScreen {
    fn places(&self) -> &'static [KeyPlace] {
        if self.reason.is_some() { TYPING } else { &[KeyPlace::Approval, KeyPlace::Panel, KeyPlace::Always] }
    }

    fn full(&self) -> bool {
        false
    }

    fn footer(&self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect) -> Option<u16> {
        Some(view::height(view, self, cache, area))
    }

    fn above_composer(&self) -> bool {
        true
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let (seen, end, starts) = view::draw(view, self, cache, area, buf);
        self.drawn(seen, end, starts);
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
        self.scroll.by(half(self.scroll.seen.1) * way);
    }

    fn details(&mut self) -> Outcome {
        self.details = !self.details;
        Outcome::Done
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        self.reason.as_mut()
    }

    fn open(&mut self) -> Outcome {
        if self.reason.is_some() { Outcome::Then(update::deny_with_reason) } else { Outcome::Done }
    }

    fn leave(&mut self) -> Outcome {
        if self.reason.take().is_some() { Outcome::Done } else { Outcome::Pass }
    }
}
