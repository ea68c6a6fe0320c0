//! Painting: lines into cells, frames, bars. The only file that writes to the buffer's cells.
//! Not for: choosing the content.

use super::cache::Cache;
use crate::domain::conversation::tag::Tag;
use crate::tui::text::{self, Line};
use crate::tui::theme::{Ink, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::{Block, Borders, Clear, Widget};

/// Writes one line at the top of `area`, cut at its right edge.
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

/// Writes one line with known highlighting and its links.
pub(crate) fn colored(theme: &Theme, row: &Line, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
    let tinted = cache.colors.tinted(row);
    if row.shaded {
        buf.set_style(area.intersection(buf.area), theme.style(Ink::CodeGround));
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

/// Writes lines from the top of `area` down.
pub(crate) fn lines<'a>(theme: &Theme, all: impl IntoIterator<Item = &'a Line>, area: Rect, buf: &mut Buffer) {
    for (line_, row) in all.into_iter().zip(area.rows()) {
        line(theme, line_, row, buf);
    }
}

/// Writes lines from the top of `area` down, with highlighted code on its own background.
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

/// Writes a line at the right edge.
pub(crate) fn right(theme: &Theme, text: &Line, area: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(text.width()).unwrap_or(u16::MAX).min(area.width);
    let area = Rect { x: area.right() - wide, width: wide, ..area };
    line(theme, text, area, buf);
}

/// A message's star and name.
pub(crate) fn tag(theme: &Theme, line: &mut Line, tag: &Tag) {
    if tag.favourite {
        line.push(Ink::Warn, &format!("{} ", theme.glyphs.star));
    }
    if !tag.label.is_empty() {
        line.push(Ink::Heading, &format!("[{}] ", tag.label));
    }
}

/// Highlights a selected row across its whole width.
pub(crate) fn select(theme: &Theme, area: Rect, buf: &mut Buffer) {
    buf.set_style(area.intersection(buf.area), theme.style(Ink::Selected));
}

/// Gives cells the style of an ink, without other modifiers.
pub(crate) fn mark(theme: &Theme, ink: Ink, area: Rect, buf: &mut Buffer) {
    buf.set_style(area.intersection(buf.area), theme.style(ink));
}

/// A title above its content; returns the room inside. A full-width area at the top has a rule after its title and no
/// box; an area over others has a box. Frames need three columns and two rows.
pub(super) fn frame(theme: &Theme, title: Line, focus: bool, area: Rect, buf: &mut Buffer) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 3 || area.height < 2 {
        return area;
    }
    let edge = Rect { height: 1, ..area };
    if edge == (Rect { height: 1, ..buf.area }) {
        page_title(theme, title, edge, buf);
        return Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 };
    }
    let ink = if focus { Ink::Focus } else { Ink::Border };
    let block = Block::new().borders(Borders::ALL).border_set(theme.glyphs.frame).border_style(theme.style(ink));
    let inside = block.inner(area);
    block.render(area, buf);
    caption(theme, title, edge, buf);
    inside
}

/// A title followed by a rule.
fn page_title(theme: &Theme, title: Line, edge: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(title.width() + 2).unwrap_or(u16::MAX);
    caption(theme, title, edge, buf);
    let rule = Rect { x: edge.x.saturating_add(wide), width: edge.width.saturating_sub(wide), ..edge };
    line(theme, &Line::of(Ink::Border, &theme.glyphs.rule.repeat(usize::from(rule.width))), rule, buf);
}

/// Text on the upper or lower edge of a frame or a page, with a space at both ends.
pub(crate) fn caption(theme: &Theme, title: Line, edge: Rect, buf: &mut Buffer) {
    if title.pieces.is_empty() || edge.width < 5 {
        return;
    }
    let mut padded = Line::new();
    padded.push_safe(Ink::Text, " ");
    padded.pieces.extend(title.pieces);
    padded.push_safe(Ink::Text, " ");
    let boxed = buf.cell((edge.x, edge.y)).is_some_and(|corner| corner.symbol() != " ");
    let room = if boxed { Rect { x: edge.x + 1, width: edge.width - 2, ..edge } } else { edge };
    // Words on a frame are words and not frame: they do not take over its color.
    let wide = u16::try_from(padded.width()).unwrap_or(u16::MAX).min(room.width);
    buf.set_style(Rect { width: wide, ..room }.intersection(buf.area), Style::reset());
    line(theme, &padded, room, buf);
}

/// Empties an area.
pub(crate) fn wipe(area: Rect, buf: &mut Buffer) {
    Clear.render(area.intersection(buf.area), buf);
}

/// A vertical line at the left of a pane, followed by an empty column.
pub(crate) fn beside(theme: &Theme, pane: Rect, buf: &mut Buffer) {
    for row in pane.rows() {
        let edge = Rect { x: pane.x.saturating_sub(2), width: 1, ..row };
        line(theme, &Line::of(Ink::Border, theme.glyphs.pipe.trim_end()), edge, buf);
    }
}

/// Applies the theme's background to every cell that has no color of its own.
pub(super) fn ground(theme: &Theme, buf: &mut Buffer) {
    let style = theme.style(Ink::Ground);
    for cell in &mut buf.content {
        if let Some(bg) = style.bg.filter(|_| cell.bg == Color::Reset) {
            cell.bg = bg;
        }
        if let Some(fg) = style.fg.filter(|_| cell.fg == Color::Reset) {
            cell.fg = fg;
        }
    }
}

/// A label at the left and a value at the right of one row; the label is cut first.
pub(crate) fn pair(theme: &Theme, label: &Line, value: &Line, area: Rect, buf: &mut Buffer) {
    let wide = u16::try_from(value.width()).unwrap_or(u16::MAX).min(area.width);
    let room = Rect { width: area.width.saturating_sub(wide + u16::from(wide > 0)), ..area };
    line(theme, label, room, buf);
    right(theme, value, area, buf);
}

/// A scroll thumb on the right edge of a frame.
pub(crate) fn thumb(theme: &Theme, at: u64, of: u64, page: u64, area: Rect, buf: &mut Buffer) {
    let rows = u64::from(area.height);
    if of <= page || rows == 0 || area.width == 0 {
        return;
    }
    let size = (rows * page / of).clamp(1, rows);
    let top = ((rows - size) * at.min(of - page)) / (of - page);
    for row in top..top + size {
        let y = area.y + u16::try_from(row).unwrap_or(0);
        let style: Style = theme.style(Ink::Dim);
        buf.set_stringn(area.right() - 1, y, theme.glyphs.thumb, 1, style);
    }
}

/// A text cut to a width, as a line.
pub(crate) fn cut(theme: &Theme, ink: Ink, raw: &str, room: usize) -> Line {
    Line::of(ink, &text::fit(raw, room, theme.glyphs.ellipsis))
}

/// A box in the middle, of at most this size.
pub(crate) fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}
