//! The screen of tools and MCP servers, with the tokens that each costs.
//! Not for: tool calls (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::ToolsScreen;

impl Screen for ToolsScreen {
    fn places(&self) -> &'static [When] {
        &[When::Mcp, When::Panel, When::Always]
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

    fn detail(&mut self, way: i64) {
        self.scroll.by(way * 8);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::enter)
    }
}
