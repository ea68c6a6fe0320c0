//! Draws a question in a box: its text, which scrolls if it does not fit, and its choices below.
//! Not for: the effect of a choice (`update`).

use super::model::Question;
use crate::tui::view::layout;
use crate::tui::view::prelude::*;

/// Rows of the text that stay visible before choices are left out.
const LEAST_TEXT: usize = 3;

/// Draws the question. Returns the number of rows of its text and the height of their view.
pub(crate) fn draw(view: &ViewContext<'_>, question: &Question, area: Rect, buf: &mut Buffer) -> (usize, usize) {
    let width = area.width.saturating_sub(4).clamp(1, 76);
    let room = usize::from(width.saturating_sub(4)).max(1);
    let rows: Vec<Line> = question.words.iter().flat_map(|words| TextRows::plain(words, room, Ink::Text)).collect();
    let count = question.choices.len();
    let wanted = u16::try_from(rows.len() + count + 3).unwrap_or(u16::MAX);
    let place = paint::centered(area, width, wanted);
    let height = usize::from(layout::inside(place).height);
    let fits = rows.len() + 1 + count <= height;
    let listed = if fits { count } else { count.min(height.saturating_sub(LEAST_TEXT).max(1)) };
    let page = if fits { rows.len() } else { height.saturating_sub(listed) };
    let more = more(question.scroll.top, (rows.len(), page));
    let keys = more.iter().map(|(action, words)| (*action, words.as_str()));
    let keys: Vec<_> = keys.chain([(Action::Open, "choose"), (Action::Leave, "close")]).collect();
    let keys = view.keys_line(KeyPlace::Picker, &keys, usize::from(width));
    let inside = view.screen(Line::of(Ink::Warn, &question.title), keys, place, buf);
    let rows_of = |from: usize, count: usize| {
        let row = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        Rect { y: inside.y.saturating_add(row(from)), height: row(count), ..inside }.intersection(inside)
    };
    let text = rows_of(0, page);
    let seen = view.scrolled(
        &rows,
        question.scroll.top,
        Rect { x: text.x + 1, width: text.width.saturating_sub(1), ..text },
        buf,
    );
    let first = paint::first_row(question.cursor, count, listed);
    let list = rows_of(page + usize::from(fits), listed);
    for ((at, (key, words, _)), row) in question.choices.iter().enumerate().skip(first).zip(list.rows()) {
        let words = paint::cut(view.theme, Ink::Text, words, room.saturating_sub(4));
        paint::line(view.theme, &Line::of(Ink::Accent, &format!("  {key}  ")).and(words), row, buf);
        view.entry(row, at, at == question.cursor, buf);
    }
    seen
}

/// The action that shows more of a text that does not fit; None for a text that fits.
fn more(scroll: usize, (count, page): (usize, usize)) -> Option<(Action, String)> {
    let below = count.saturating_sub(scroll + page);
    (count > page).then(|| match below {
        0 => (Action::ScrollUp, "back".to_owned()),
        _ => (Action::ScrollDown, text::counted(below as u64, "more row")),
    })
}
