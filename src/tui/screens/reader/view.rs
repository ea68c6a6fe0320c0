//! Draws a whole text, as Markdown or exactly.
//! Not for: laying out the rows (`tui::text`).

use super::model::Reader;
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;

pub(crate) fn draw(
    view: &ViewContext<'_>,
    reader: &Reader,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> (usize, usize) {
    let title = paint::cut(view.theme, Ink::Heading, &reader.title, usize::from(area.width.saturating_sub(6)));
    let words = [(Action::ScrollDown, "on"), (Action::Copy, "copy"), (Action::Leave, "close")];
    let inside = view.screen(title, view.keys_line(When::Panel, &words, usize::from(area.width)), area, buf);
    let width = inside.width.saturating_sub(1).max(1);
    let rows = cache.rows(CacheKey::Text(reader.key, reader.exact), width, || {
        let room = usize::from(width);
        if reader.exact {
            TextRows::exact(&reader.text, room, Ink::Text)
        } else {
            TextRows::all(&reader.text, room, Ink::Text)
        }
    });
    paint::lines(view.theme, rows.iter().skip(reader.scroll), inside, buf);
    let page = usize::from(inside.height);
    paint::thumb(view.theme, reader.scroll, rows.len(), page, inside, buf);
    (rows.len(), page)
}
