//! Draws the current notice: above the composer's text, or at the bottom of a screen over the chat.
//! Not for: when a notice ends (`model::status`).

use crate::domain::base::Safe;
use crate::tui::model::Model;
use crate::tui::model::status::Severity;
use crate::tui::screens::screen::Screen;
use crate::tui::text::wrap;
use crate::tui::view::prelude::*;

/// The most rows of a notice.
const MAX_NOTICE_ROWS: u16 = 4;
/// The most rows of a notice while a call needs approval.
const MAX_NOTICE_ROWS_BESIDE_APPROVAL: u16 = 2;
/// The most rows of a notice over a screen that covers the chat.
const MAX_ROWS_OVER: u16 = 2;
/// A screen over the chat keeps a row free for notices if its area has more rows than this.
const MAX_HEIGHT_LOW: u16 = 12;
/// From this width on, the number of other notices stands in full words.
const MIN_WIDTH_NOTICE_TAIL: u16 = 110;

/// Draws the current notice on the rows of the area; a longer notice is cut at its end.
pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let lines = lines(view, area.width, area.height);
    if !lines.is_empty() {
        paint::clear(area, buf);
        paint::lines(view.theme, &lines, area, buf);
    }
}

/// The current notice at this width, on at most `most` lines; none without a notice.
fn lines(view: &ViewContext<'_>, width: u16, most: u16) -> Vec<Line> {
    let Some(shown) = view.model.status.shown().filter(|_| most > 0) else { return Vec::new() };
    let (ink, sign) = match shown.severity {
        Severity::Notice => (Ink::Accent, view.theme.glyphs.dot),
        Severity::Warning => (Ink::Warn, "!"),
        Severity::Alarm => (Ink::Danger, "!!"),
    };
    let mut rows = wrapped(view.model, width);
    if rows.len() > usize::from(most) {
        let rest = rows.split_off(usize::from(most) - 1).join(" ");
        rows.push(text::fit(&rest, room(view.model, width), view.theme.glyphs.ellipsis));
    }
    let last = rows.len() - 1;
    let line = |(at, row): (usize, String)| {
        let lead = if at == 0 { sign.to_owned() } else { " ".repeat(text::width(sign)) };
        let tail = if at == last { tail(view.model, width) } else { String::new() };
        Line::of(ink, &format!(" {lead} {row}")).with(Ink::Dim, &tail)
    };
    rows.into_iter().enumerate().map(line).collect()
}

/// The rows of the current notice at this width; none without a notice.
fn wrapped(model: &Model, width: u16) -> Vec<String> {
    let Some(shown) = model.status.shown() else { return Vec::new() };
    let text = with_bound_keys(&model.keys, model.places(), &shown.text);
    let words: Vec<&str> = text.split_whitespace().collect();
    wrap::rows(Safe::line(&words.join(" ")).as_str(), room(model, width), 0)
}

impl ViewContext<'_> {
    /// Draws a screen that covers the terminal, as [`Self::screen`] does, with the current notice at the bottom. Returns the
    /// area above the notice.
    pub(crate) fn full_screen(&self, title: Line, keys: Line, area: Rect, buf: &mut Buffer) -> Rect {
        above(self, self.screen(title, keys, area, buf))
    }
}

/// Places the current notice on the lowest row of a screen's area, which is kept free for notices; a longer notice also
/// covers the row above. On a low screen, the notice covers the line of keys below the area. [`draw_over`] draws the
/// notice. Returns the area above the free row.
pub(crate) fn above(view: &ViewContext<'_>, inside: Rect) -> Rect {
    let above = without_notice(inside);
    let (bottom, most) = if above == inside { (inside.bottom() + 1, 1) } else { (inside.bottom(), MAX_ROWS_OVER) };
    let rows = u16::try_from(wrapped(view.model, inside.width).len()).unwrap_or(u16::MAX).min(most);
    view.model.status.place.set(Rect { y: bottom - rows, height: rows, ..inside });
    above
}

/// Draws the current notice over a screen that placed it.
pub(crate) fn draw_over(view: &ViewContext<'_>, buf: &mut Buffer) {
    draw(view, view.model.status.place.take(), buf);
}

/// A screen's area without the row for notices.
pub(crate) fn without_notice(inside: Rect) -> Rect {
    Rect { height: inside.height - u16::from(inside.height > MAX_HEIGHT_LOW), ..inside }
}

/// How many rows the current notice gets at this width, on a screen of this height: at most a sixth of them, and at
/// most four, or two beside a call that needs approval; 0 without a notice.
pub(crate) fn rows_at(model: &Model, width: u16, height: u16) -> u16 {
    let wanted = u16::try_from(wrapped(model, width).len()).unwrap_or(u16::MAX);
    let asks =
        model.layers.last().is_some_and(Screen::above_composer) || model.live.values().any(|live| live.asks.is_some());
    let most = if asks { MAX_NOTICE_ROWS_BESIDE_APPROVAL } else { MAX_NOTICE_ROWS };
    wanted.min((height / 6).clamp(1, most))
}

fn room(model: &Model, width: u16) -> usize {
    usize::from(width).saturating_sub(text::width(&tail(model, width)) + 4).max(1)
}

/// The number of other notices, and the key that dismisses this one.
fn tail(model: &Model, width: u16) -> String {
    let key = model.keys.key(Action::Leave);
    match model.status.more() {
        0 => String::new(),
        more if width < MIN_WIDTH_NOTICE_TAIL => format!(" (+{} · {key})", text::counted(more as u64, "notice")),
        more => format!(" ({}, {key} closes)", text::counted(more as u64, "more notice")),
    }
}
