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
    let words = [(Action::ScrollDown, "next page"), (Action::Copy, "copy"), (Action::Leave, "close")];
    let inside = view.full_screen(title, view.keys_line(KeyPlace::Panel, &words, usize::from(area.width)), area, buf);
    let width = inside.width.saturating_sub(1).max(1);
    let rows = cache.rows(CacheKey::Text(reader.key, reader.exact), width, || {
        let room = usize::from(width);
        if reader.exact {
            TextRows::exact(&reader.text, room, Ink::Text)
        } else {
            TextRows::all(&reader.text, room, Ink::Text)
        }
    });
    view.scrolled(&rows, reader.scroll.top, inside, buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::Model;
    use crate::tui::model::list::Scroll;
    use crate::tui::theme::Theme;

    /// On a wider screen the text has fewer rows than the scroll position was made for.
    #[test]
    fn the_end_of_a_text_stays_visible_on_a_wider_screen() {
        let (theme, model) = (Theme::built_in("dark", false), Model::default());
        let scroll = Scroll { top: 90, ..Scroll::default() };
        let reader = Reader { scroll, ..Reader::new("Title", "§ ".repeat(100), false) };
        let area = Rect::new(0, 0, 80, 24);
        let mut buf = Buffer::empty(area);
        draw(&ViewContext { theme: &theme, model: &model }, &reader, &mut Cache::default(), area, &mut buf);
        assert!(buf.content.iter().any(|cell| cell.symbol() == "§"));
    }
}
