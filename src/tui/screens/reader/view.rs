//! Draws a whole text, as Markdown or exactly.
//! Not for: laying out the rows (`tui::text`).

use super::model::Reader;
use crate::tui::model::keys::{Action, When};
use crate::tui::screens::summaries::view_accepted;
use crate::tui::text::markdown::TextRows;
use crate::tui::theme::Ink;
use crate::tui::view::cache::{Cache, CacheKey};
use crate::tui::view::{ViewContext, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(crate) fn draw(
    view: &ViewContext<'_>,
    reader: &Reader,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> (usize, usize) {
    paint::clear(area, buf);
    let title = paint::cut(view.theme, Ink::Heading, &reader.title, usize::from(area.width.saturating_sub(6)));
    let inside = view.frame(title, true, area, buf);
    if area.height >= 2 {
        let words = [(Action::ScrollDown, "on"), (Action::Copy, "copy"), (Action::Leave, "close")];
        let line = view_accepted::hint_line(view, When::Panel, &words, usize::from(area.width));
        paint::caption(view.theme, line, Rect { y: area.bottom() - 1, height: 1, ..area }, buf);
    }
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
    let count = |n: usize| u64::try_from(n).unwrap_or(0);
    paint::thumb(view.theme, count(reader.scroll), count(rows.len()), count(page), inside, buf);
    (rows.len(), page)
}
