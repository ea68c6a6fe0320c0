//! The screen of tools and MCP servers, with the tokens that each costs.
//! Not for: tool calls (`traces`).

pub mod model;
pub(crate) mod update;
pub(crate) mod view;

use crate::tui::screens::screen::prelude::*;
use model::ToolsScreen;

impl Screen for ToolsScreen {
    fn places(&self) -> &'static [KeyPlace] {
        &[KeyPlace::Mcp, KeyPlace::Panel, KeyPlace::Always]
    }

    fn view(&mut self, view: &ViewContext<'_>, _cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        self.scroll.seen = view::draw(view, self, area, buf);
        Vec::new()
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        let rows = self.entries().len();
        Some(ListCursor::new(&mut self.cursor, rows).with_details(&mut self.scroll.top))
    }

    fn paged_text(&mut self) -> Option<&mut Scroll> {
        Some(&mut self.scroll)
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(way * 8);
    }

    fn open(&mut self) -> Outcome {
        Outcome::Then(update::enter)
    }
}
