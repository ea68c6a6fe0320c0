//! Draws a prompt, with the end of a long line.
//! Not for: the purpose of the line (`update`).

use super::model::Prompt;
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, prompt: &Prompt, area: Rect, buf: &mut Buffer) {
    let place = paint::centered(area, 70, 3);
    let title = paint::cut(view.theme, Ink::Heading, &prompt.title, usize::from(place.width.saturating_sub(6)));
    let keys = [(Action::Open, "confirm"), (Action::Leave, "cancel")];
    let keys = view.keys_line(KeyPlace::Picker, &keys, usize::from(place.width));
    let inside = view.screen(title, keys, place, buf);
    let line = paint::typed(Line::new(), &prompt.text, usize::from(inside.width));
    paint::line(view.theme, &line, inside, buf);
}
