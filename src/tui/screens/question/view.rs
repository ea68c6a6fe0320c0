//! Draws a question in a box with its choices below.
//! Not for: the effect of a choice (`update`).

use super::model::Question;
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, question: &Question, area: Rect, buf: &mut Buffer) {
    let width = area.width.saturating_sub(4).clamp(1, 76);
    let room = usize::from(width.saturating_sub(4)).max(1);
    let mut rows = Vec::new();
    for words in &question.words {
        rows.extend(TextRows::plain(words, room, Ink::Text));
    }
    rows.push(Line::new());
    let first = rows.len();
    for (key, words, _) in &question.choices {
        let words = paint::cut(view.theme, Ink::Text, words, room.saturating_sub(4));
        let mut line = Line::of(Ink::Accent, &format!(" {key}  "));
        line.pieces.extend(words.pieces);
        rows.push(line);
    }
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let place = paint::centered(area, width, height);
    let inside = view.screen(Line::of(Ink::Warn, &question.title), Line::new(), place, buf);
    let over = rows.len().saturating_sub(usize::from(inside.height)).min(first);
    let within = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    paint::lines(view.theme, rows.iter().skip(over), within, buf);
    for at in 0..question.choices.len() {
        let y = inside.y.saturating_add(u16::try_from(first - over + at).unwrap_or(0));
        view.item(Rect { y, height: 1, ..inside }.intersection(inside), at);
    }
    let y = inside.y.saturating_add(u16::try_from(first - over + question.cursor).unwrap_or(0));
    if y < inside.bottom() {
        paint::select(view.theme, Rect { y, height: 1, ..inside }, buf);
    }
}
