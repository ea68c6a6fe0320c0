//! The screen for a tool call that needs approval.
//! Not for: calls that ran (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::ApprovalScreen;

impl Screen for ApprovalScreen {
    fn places(&self) -> &'static [When] {
        &[When::Consent, When::Panel, When::Always]
    }

    fn full(&self) -> bool {
        false
    }

    fn foot(&self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect) -> Option<u16> {
        Some(view::height(view, self, cache, area))
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let (seen, starts) = view::draw(view, self, cache, area, buf);
        self.drawn(seen, starts);
        Vec::new()
    }

    fn travel(&mut self, action: Action, by: i64) {
        match action {
            Action::ScrollUp | Action::ScrollDown => self.shift(by),
            _ => self.step(by),
        }
    }

    fn wheel(&mut self, rows: i64) {
        self.shift(rows);
    }

    fn detail(&mut self, way: i64) {
        self.shift(half(self.seen.1) * way);
    }
}
