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

    fn travel(&mut self, action: Action, by: i64) {
        match action {
            Action::ScrollUp | Action::ScrollDown => self.scroll.by(by),
            _ => self.step(by),
        }
    }

    fn detail(&mut self, way: i64) {
        self.scroll.by(way * 8);
    }

    fn select(&mut self, row: usize) {
        self.step(by(self.cursor, row));
    }

    fn update(&mut self, action: Action, _out: &mut Vec<Cmd>) -> Outcome {
        match action {
            Action::Open => Outcome::Then(update::enter),
            Action::ToggleTool => Outcome::Then(update::toggle),
            Action::RestartServer => Outcome::Then(update::restart),
            Action::ApproveTool => Outcome::Then(update::approve),
            _ => Outcome::Pass,
        }
    }
}
