//! Draws the screen from the model.
//!
//! ```text
//!  session ▸ branch                              model · cost
//! ─────────────────────────────────────────┬───────────────────
//!                                          │ Branches
//!               conversation               │ Next request
//!                                          │ Tools
//! ─ CTX: Light ────────────────────────────┴───────────────────
//!  a notice, when there is one
//!  > composer
//!  keys
//! ```
//!
//! From 160 columns on there are two sidebars: branches and tools on the left, the next request on the right. Below 100
//! columns, and in the layout `narrow`, one pane is visible at a time and the header contains the meter; in the layout
//! `zen` only conversation and composer are visible. A notice covers the lowest rows of the panes while it is shown, so
//! that no other row moves.
//! Not for: colors (`theme`) or changing the model (`update`).

pub mod cache;
pub mod frame;
pub(crate) mod layout;
pub(crate) mod paint;
pub(crate) mod prelude;

use crate::domain::base::time;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::keys::{Action, KeyPlace};
use crate::tui::model::pointer::{HitArea, Target};
use crate::tui::text::markdown::MarkdownStyle;
use crate::tui::text::{self, Line};
use crate::tui::theme::{Ink, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Largest width of prose, in columns; longer lines are hard to read.
const PROSE: usize = 100;

/// The maximum number of keys in a line of keys.
pub(crate) const MAX_HINTS: usize = 7;

/// The context that every view gets.
pub struct ViewContext<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) model: &'a Model,
}

impl ViewContext<'_> {
    /// Records a clickable area for the mouse.
    fn hit(&self, area: Rect, target: Target) {
        if self.model.facts.mouse && !area.is_empty() {
            self.model.pointer.hits.borrow_mut().push(HitArea { area, target });
        }
    }

    /// Records a row of a pane for the mouse.
    pub(crate) fn row(&self, pane: Focus, area: Rect, at: usize) {
        self.hit(area, Target::Row(pane, at));
    }

    /// Records a row of a screen for the mouse.
    pub(crate) fn item(&self, area: Rect, at: usize) {
        self.hit(area, Target::Item(at));
    }

    /// Completes a drawn row of a screen's list: records it for the mouse and marks it if it is selected.
    pub(crate) fn entry(&self, area: Rect, at: usize, selected: bool, buf: &mut Buffer) {
        self.item(area, at);
        if selected {
            paint::select(self.theme, area, buf);
        }
    }

    /// Draws rows from `scroll` on, but no further than to the last page, with a scroll thumb. Returns the number of
    /// rows and the height of the area.
    pub(crate) fn scrolled(&self, rows: &[Line], scroll: usize, area: Rect, buf: &mut Buffer) -> (usize, usize) {
        let page = usize::from(area.height);
        let from = scroll.min(rows.len().saturating_sub(page));
        paint::lines(self.theme, &rows[from..], area, buf);
        paint::thumb(self.theme, from, rows.len(), page, area, buf);
        (rows.len(), page)
    }

    pub(crate) fn focused(&self, focus: Focus) -> bool {
        self.model.focus == focus && self.model.layers.is_empty()
    }

    pub(crate) fn key(&self, action: Action) -> String {
        self.model.keys.key(action)
    }

    pub(crate) fn key_in(&self, action: Action, when: KeyPlace) -> String {
        self.model.keys.key_in(action, when)
    }

    /// A time in the person's zone: `2026-11-22 12:01`.
    pub(crate) fn date_time(&self, at: i64) -> String {
        let offset = self.model.facts.offset;
        format!("{} {}", time::date(at, offset), time::clock(at, offset))
    }

    /// Whether a result was merged from a branch that has new messages since.
    pub(crate) fn stale(&self, origin: &crate::domain::conversation::mark::Origin) -> bool {
        let Some(session) = &self.model.session else { return false };
        let head = session.find(origin.branch).and_then(|branch| branch.head).and_then(|id| session.tree.get(id));
        origin.stale(head.map(|head| head.key))
    }

    /// The style of Markdown: prose limited to a readable width.
    pub(crate) fn markdown(&self) -> MarkdownStyle {
        MarkdownStyle::of(&self.theme.glyphs).prose(PROSE)
    }

    /// Draws a panel's title. Returns the area below it.
    pub(crate) fn panel(&self, title: &str, value: &Line, of: Focus, area: Rect, buf: &mut Buffer) -> Rect {
        let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let ink = if self.focused(of) { Ink::Focus } else { Ink::Heading };
        paint::pair(self.theme, &Line::of(ink, title), value, Rect { height: inside.height.min(1), ..inside }, buf);
        Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside }
    }

    /// Clears the area, and draws a screen's title and, at the lower edge, its line of keys. Returns the area inside.
    pub(crate) fn screen(&self, title: Line, keys: Line, area: Rect, buf: &mut Buffer) -> Rect {
        paint::clear(area, buf);
        let inside = paint::frame(self.theme, title, area, buf);
        self.footer(keys, area, buf);
        inside
    }

    /// Draws a line of keys at the lower edge of an area.
    pub(crate) fn footer(&self, keys: Line, area: Rect, buf: &mut Buffer) {
        if area.height >= 2 {
            paint::caption(self.theme, keys, Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
        }
    }

    /// Keys with their descriptions: as many as fit into `width` columns, at most [`MAX_HINTS`]. The help has the rest.
    pub(crate) fn keys_line(&self, when: KeyPlace, words: &[(Action, &str)], width: usize) -> Line {
        hints_line(words.iter().map(|(action, word)| (self.key_in(*action, when), *word)), width)
    }
}

/// Keys with their descriptions: as many as fit into `width` columns, at most [`MAX_HINTS`].
pub(crate) fn hints_line<'a>(hints: impl Iterator<Item = (String, &'a str)>, width: usize) -> Line {
    let mut line = Line::new();
    let mut shown = 0;
    for (key, word) in hints {
        if shown == MAX_HINTS || line.width() + text::width(&key) + text::width(word) + 7 > width {
            continue;
        }
        shown += 1;
        line.push(Ink::Accent, &format!("{}{key}", if line.pieces.is_empty() { "" } else { "  " }));
        line.push(Ink::Dim, &format!(" {word}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::keymap::Keymap;

    #[test]
    fn a_line_of_keys_names_at_most_seven() {
        let model = Model { keys: Keymap::built_in(), ..Model::default() };
        let theme = Theme::built_in("dark", false);
        let view = ViewContext { theme: &theme, model: &model };
        let effects: Vec<(Action, &str)> = Action::ALL.iter().take(20).map(|action| (*action, "effect")).collect();
        assert_eq!(view.keys_line(KeyPlace::Always, &effects, 500).plain().matches(" effect").count(), MAX_HINTS);
        assert_eq!(view.keys_line(KeyPlace::Always, &effects, 20).plain().matches(" effect").count(), 1);
    }
}
