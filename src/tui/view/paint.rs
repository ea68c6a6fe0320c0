//! Writes lines, frames, and bars into the buffer's cells. No other file writes cells.
//! Not for: choosing the contents (`chat::view`, `screens`).

use super::cache::Cache;
use crate::domain::conversation::Tag;
use crate::tui::model::typed_line::TypedLine;
use crate::tui::text::{self, Line};
use crate::tui::theme::{Ink, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Borders, Clear, Widget};

/// Replaces the signs in texts with ASCII characters of the same width. Titles have `...` already, where their width was
/// computed; elsewhere an ellipsis has the width of one period.
pub(crate) fn replace_signs(buf: &mut Buffer) {
    for cell in &mut buf.content {
        let sign = match cell.symbol() {
            "·" | "•" | "…" => ".",
            "≈" => "~",
            "≠" => "!",
            "–" | "—" | "−" => "-",
            "←" | "‹" => "<",
            "→" | "›" => ">",
            "↑" => "^",
            "↓" => "v",
            "✓" => "+",
            "✗" | "✕" | "×" => "x",
            "‘" | "’" => "'",
            "“" | "”" => "\"",
            _ => continue,
        };
        cell.set_symbol(sign);
    }
}

/// Draws one line at the top of `area`, cut at its right edge.
pub(crate) fn line(theme: &Theme, line: &Line, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let (mut x, end) = (area.x, area.right());
    for piece in &line.pieces {
        let room = usize::from(end - x);
        if room == 0 {
            break;
        }
        let style = theme.style(piece.ink);
        let (next, _) = buf.set_stringn(x, area.y, &piece.text, room, style);
        if style.add_modifier.contains(Modifier::UNDERLINED) {
            without_edges(&piece.text, Rect { x, width: next - x, height: 1, ..area }, buf);
        }
        x = next;
    }
}

/// Removes the underline from the spaces before and after a text.
fn without_edges(text: &str, cells: Rect, buf: &mut Buffer) {
    let spaces = |count: usize| u16::try_from(count).unwrap_or(u16::MAX).min(cells.width);
    let (before, after) = (spaces(text.len() - text.trim_start().len()), spaces(text.len() - text.trim_end().len()));
    let plain = Style::new().remove_modifier(Modifier::UNDERLINED);
    buf.set_style(Rect { width: before, ..cells }, plain);
    buf.set_style(Rect { x: cells.right() - after, width: after, ..cells }, plain);
}

/// Draws one line with its code highlighted, if known, and its links.
pub(crate) fn colored(theme: &Theme, row: &Line, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
    let tinted = cache.colors.highlighted(row);
    if row.shaded {
        buf.set_style(area.intersection(buf.area), theme.style(Ink::CodeBackground));
    }
    line(theme, tinted.as_ref().unwrap_or(row), area, buf);
    let Some(links) = &cache.links else { return };
    let mut at = usize::from(area.x);
    for piece in &row.pieces {
        let wide = text::width(&piece.text);
        if let Some([a, b, c]) = piece.link.as_ref().and_then(|address| links.number(address)) {
            let (x, wide) = (u16::try_from(at).unwrap_or(u16::MAX), u16::try_from(wide).unwrap_or(u16::MAX));
            let cells = Rect { x, width: wide, height: 1, ..area }.intersection(area).intersection(buf.area);
            buf.set_style(cells, Style::default().underline_color(Color::Rgb(a, b, c)));
        }
        at += wide;
    }
}

/// Draws lines from the top of `area` down.
pub(crate) fn lines<'a>(theme: &Theme, all: impl IntoIterator<Item = &'a Line>, area: Rect, buf: &mut Buffer) {
    all.into_iter().zip(area.rows()).for_each(|(text, row)| line(theme, text, row, buf));
}

/// Draws lines from the top of `area` down, with highlighted code on its own background.
pub(crate) fn colored_lines<'a>(
    theme: &Theme,
    all: impl IntoIterator<Item = &'a Line>,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) {
    for (line, row) in all.into_iter().zip(area.rows()) {
        colored(theme, line, cache, row, buf);
    }
}

/// Draws a line at the right edge.
pub(crate) fn right(theme: &Theme, text: &Line, area: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(text.width()).unwrap_or(u16::MAX).min(area.width);
    let area = Rect { x: area.right() - wide, width: wide, ..area };
    line(theme, text, area, buf);
}

/// Appends a text that is being typed, with its cursor, in at most `room` columns: of a long text the end before the
/// cursor.
pub(crate) fn typed(line: Line, typed: &TypedLine, room: usize) -> Line {
    let before = text::fit_end(typed.before(), room.saturating_sub(1));
    let left = room.saturating_sub(text::width(&before) + 1);
    line.with(Ink::Text, &before).with(Ink::Accent, "_").with(Ink::Text, &text::fit(typed.behind(), left, ""))
}

/// Appends the sign of a favorite and a message's label to a line.
pub(crate) fn tag(theme: &Theme, line: &mut Line, tag: &Tag) {
    if tag.favorite {
        line.push(Ink::Warn, &format!("{} ", theme.glyphs.favorite));
    }
    if !tag.label.is_empty() {
        line.push(Ink::Heading, &format!("[{}] ", tag.label));
    }
}

/// Applies the style of the selected line to an area.
pub(crate) fn select(theme: &Theme, area: Rect, buf: &mut Buffer) {
    mark(theme, Ink::Selected, area, buf);
}

/// Applies the style of an ink to cells.
pub(crate) fn mark(theme: &Theme, ink: Ink, area: Rect, buf: &mut Buffer) {
    buf.set_style(area.intersection(buf.area), theme.style(ink));
}

/// The area inside a frame.
pub(crate) fn inside(area: Rect) -> Rect {
    if area.width < 3 || area.height < 2 {
        return area;
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Draws a title and returns the area for the contents. An area that spans the top of the screen gets a rule after its
/// title; any other gets a box. Frames need three columns and two rows.
pub(super) fn frame(theme: &Theme, title: Line, area: Rect, buf: &mut Buffer) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 3 || area.height < 2 {
        return area;
    }
    let edge = Rect { height: 1, ..area };
    if edge == (Rect { height: 1, ..buf.area }) {
        page_title(theme, title, edge, buf);
    } else {
        let style = theme.style(Ink::Focus);
        Block::new().borders(Borders::ALL).border_set(theme.glyphs.frame).border_style(style).render(area, buf);
        caption(theme, title, edge, buf);
    }
    inside(area)
}

/// Draws a title followed by a rule.
fn page_title(theme: &Theme, title: Line, edge: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(title.width() + 2).unwrap_or(u16::MAX);
    caption(theme, title, edge, buf);
    rule(theme, Rect { x: edge.x.saturating_add(wide), width: edge.width.saturating_sub(wide), ..edge }, buf);
}

/// Draws text on the upper or lower edge of a frame, with a space at both ends.
pub(crate) fn caption(theme: &Theme, title: Line, edge: Rect, buf: &mut Buffer) {
    if title.pieces.is_empty() || edge.width < 5 {
        return;
    }
    let boxed = buf.cell((edge.x, edge.y)).is_some_and(|corner| corner.symbol() != " ");
    let room = if boxed { Rect { x: edge.x + 1, width: edge.width - 2, ..edge } } else { edge };
    let mut padded = Line::new();
    padded.push_safe(Ink::Text, " ");
    padded.pieces.extend(title.fit(usize::from(room.width - 2), theme.glyphs.ellipsis).pieces);
    padded.push_safe(Ink::Text, " ");
    // Text on a frame must not inherit the frame's color.
    let wide = u16::try_from(padded.width()).unwrap_or(u16::MAX).min(room.width);
    buf.set_style(Rect { width: wide, ..room }.intersection(buf.area), Style::reset());
    line(theme, &padded, room, buf);
}

/// Clears an area.
pub(crate) fn clear(area: Rect, buf: &mut Buffer) {
    Clear.render(area.intersection(buf.area), buf);
}

/// Draws a horizontal line along the top of an area.
pub(crate) fn rule(theme: &Theme, area: Rect, buf: &mut Buffer) {
    line(theme, &Line::of(Ink::Border, &theme.glyphs.rule.repeat(usize::from(area.width))), area, buf);
}

/// Splits a body that is at least `wide` columns wide into a list of `left` columns and a pane next to it, and any
/// other body into a list of `top` rows and a pane below it.
pub(crate) fn split(body: Rect, wide: u16, left: u16, top: u16) -> (Rect, Rect) {
    if body.width >= wide {
        return (Rect { width: left, ..body }, Rect { x: body.x + left + 3, width: body.width - left - 3, ..body });
    }
    (Rect { height: top, ..body }, Rect { y: body.y + top, height: body.height - top, ..body })
}

/// Draws the line between the parts of a [`split`] body: a vertical line next to the list, or a horizontal line below
/// it. Returns the area that is left for the pane.
pub(crate) fn divide(theme: &Theme, body: Rect, pane: Rect, buf: &mut Buffer) -> Rect {
    if pane.width < body.width {
        left_rule(theme, pane, buf);
        return pane;
    }
    rule(theme, pane, buf);
    Rect { y: pane.y + 1, height: pane.height.saturating_sub(1), ..pane }
}

/// Draws a vertical line to the left of a pane, with a column between.
pub(crate) fn left_rule(theme: &Theme, pane: Rect, buf: &mut Buffer) {
    for row in pane.rows() {
        let edge = Rect { x: pane.x.saturating_sub(2), width: 1, ..row };
        line(theme, &Line::of(Ink::Border, theme.glyphs.pipe.trim_end()), edge, buf);
    }
}

/// Applies the theme's background to every cell that has no colors.
pub(super) fn background(theme: &Theme, buf: &mut Buffer) {
    let style = theme.style(Ink::Background);
    for cell in &mut buf.content {
        if let Some(bg) = style.bg.filter(|_| cell.bg == Color::Reset) {
            cell.bg = bg;
        }
        if let Some(fg) = style.fg.filter(|_| cell.fg == Color::Reset) {
            cell.fg = fg;
        }
    }
}

/// Draws a label on the left and a value on the right side of a row; a label that is too long ends with an ellipsis.
pub(crate) fn pair(theme: &Theme, label: &Line, value: &Line, area: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(value.width()).unwrap_or(u16::MAX).min(area.width);
    let room = Rect { width: area.width.saturating_sub(wide + u16::from(wide > 0)), ..area };
    line(theme, &label.clone().fit(usize::from(room.width), theme.glyphs.ellipsis), room, buf);
    right(theme, value, area, buf);
}

/// Index of the first visible row of a list that keeps its cursor in the middle of the page.
pub(crate) fn first_row(cursor: usize, count: usize, page: usize) -> usize {
    cursor.saturating_sub(page / 2).min(count.saturating_sub(page))
}

/// Draws a scroll thumb at the right edge of an area.
pub(crate) fn thumb(theme: &Theme, at: usize, of: usize, page: usize, area: Rect, buf: &mut Buffer) {
    let rows = usize::from(area.height);
    if of <= page || rows == 0 || area.width == 0 {
        return;
    }
    let size = (rows * page / of).clamp(1, rows);
    let top = ((rows - size) * at.min(of - page)) / (of - page);
    for row in top..top + size {
        let y = area.y + u16::try_from(row).unwrap_or(0);
        buf.set_stringn(area.right() - 1, y, theme.glyphs.thumb, 1, theme.style(Ink::Dim));
    }
}

/// A text cut to a width, as a line.
pub(crate) fn cut(theme: &Theme, ink: Ink, raw: &str, room: usize) -> Line {
    Line::of(ink, &text::fit(raw, room, theme.glyphs.ellipsis))
}

/// A centered area of at most this size.
pub(crate) fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}
