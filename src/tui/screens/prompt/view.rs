//! Draws a prompt; of a long line, its end.
//! Not for: the purpose of the line (`update`).

use super::model::Prompt;
use crate::tui::text::Line;
use crate::tui::theme::Ink;
use crate::tui::view::{ViewContext, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) fn draw(look: &ViewContext<'_>, prompt: &Prompt, area: Rect, buf: &mut Buffer) {
    let place = paint::centered(area, 70, 3);
    paint::clear(place, buf);
    let title = paint::cut(look.theme, Ink::Heading, &prompt.title, usize::from(place.width.saturating_sub(6)));
    let inside = look.frame(title, true, place, buf);
    let shown = crate::domain::base::safe_text::Safe::line(&prompt.text);
    let mut line = Line::of(Ink::Text, shown.as_str()).with(Ink::Accent, "_");
    let over = line.width().saturating_sub(usize::from(inside.width));
    if over > 0 {
        let tail: String = shown.as_str().chars().skip(over + 1).collect();
        line = Line::of(Ink::Text, &tail).with(Ink::Accent, "_");
    }
    paint::line(look.theme, &line, inside, buf);
}
