//! Draws the differences between two calls, grouped by kind, each with its cause, and the details of the difference
//! under the cursor; also the history of an item over the calls of a branch.
//!
//! ```text
//! ┌ call …9e8c on main → the next call on main ──────────────────┐
//! │ 830 → 1,120 tokens (+290, estimated) · mode Light → Off            │
//! │ 3 rows (630 tokens, estimated) are in both, unchanged              │
//! │ added 1                              +8 │ your message …     │   below 100 columns stacked
//! │   turn 4  What about hornets?  you   +8 │ by you: …          │
//! └ keys ────────────────────────────────────────────────────────┘
//! ```
//! Not for: the list of calls (`view`).

use super::model::{DiffView, Entry, HistoryScreen};
use crate::domain::base::{plain_text, time};
use crate::domain::planning::{
    CallRef, Cause, CauseKind, DiffKind, ItemDiff, ItemHistory, ItemInCall, ItemPlace, PlanDiff,
};
use crate::tui::view::prelude::*;

/// How many spans of an item's history the request overlay shows, newest first.
const RECENT_SPANS: usize = 3;
/// Height of the head, in rows.
const HEAD: u16 = 3;

fn split(inside: Rect) -> (Rect, Rect) {
    let head = inside.height.min(HEAD);
    let body = Rect { y: inside.y + head, height: inside.height - head, ..inside };
    paint::split(body, 100, body.width * 60 / 100, (body.height * 3 / 5).max(body.height.min(3)))
}

/// Returns the height of the list, and the scroll position of the detail, at most to its last row.
pub(crate) fn draw(view: &ViewContext<'_>, screen: &DiffView, area: Rect, buf: &mut Buffer) -> (u16, usize) {
    let title = screen.diff.as_ref().map_or_else(|| "What changed".to_owned(), |diff| title(view, diff));
    let title = paint::cut(view.theme, Ink::Heading, &title, usize::from(area.width.saturating_sub(6)));
    let words = [(Action::Open, "item history"), (Action::DetailDown, "scroll the detail"), (Action::Leave, "close")];
    let words = if screen.entries.is_empty() { &words[2..] } else { &words };
    let inside = view.full_screen(title, view.keys_line(KeyPlace::Calls, words, usize::from(area.width)), area, buf);
    let Some(diff) = &screen.diff else {
        paint::line(view.theme, &Line::of(Ink::Dim, "Comparing the two plans."), inside, buf);
        return (0, 0);
    };
    head(view, diff, inside, buf);
    let (list, detail) = split(inside);
    if screen.entries.is_empty() {
        let words = "Every item is included or left out as before.";
        paint::lines(view.theme, &TextRows::plain(words, usize::from(list.width).max(1), Ink::Text), list, buf);
        return (list.height, 0);
    }
    entries(view, screen, diff, list, buf);
    let Some(delta) = screen.selected() else { return (list.height, 0) };
    let rows = detail_rows(view, delta, usize::from(detail.width).max(1));
    let scroll = screen.scroll.min(rows.len().saturating_sub(1));
    let room = paint::divide(view.theme, inside, detail, buf);
    paint::lines(view.theme, rows.iter().skip(scroll), room, buf);
    (list.height, scroll)
}

fn title(view: &ViewContext<'_>, diff: &PlanDiff) -> String {
    let (mut from, mut to) = (named(view, &diff.before), named(view, &diff.after));
    if let (true, Some(before), Some(after)) = (from == to, diff.before.at, diff.after.at) {
        let seconds = |at: i64| format!(":{:02}", at.div_euclid(1_000).rem_euclid(60));
        from.push_str(&seconds(before));
        to.push_str(&seconds(after));
    }
    if from == to {
        (from, to) = (format!("{from} (earlier)"), format!("{to} (later)"));
    }
    format!("What changed: {from} {} {to}", view.theme.glyphs.becomes)
}

/// Names a call: `main 14:02`, or `the next call on main`.
fn named(view: &ViewContext<'_>, call: &CallRef) -> String {
    match call.at {
        Some(at) => format!("{} {}", call.name, time::clock(at, view.model.facts.offset)),
        None if call.run.is_none() && !call.name.is_empty() => format!("the next call on {}", call.name),
        None => format!("plan {}", call.plan.short()),
    }
}

fn signed(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "+" };
    format!("{sign}{}", text::number(n.unsigned_abs()))
}

fn head(view: &ViewContext<'_>, diff: &PlanDiff, area: Rect, buf: &mut Buffer) {
    let becomes = view.theme.glyphs.becomes;
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let (old, new) = (diff.before.tokens, diff.after.tokens);
    let mut sum = Line::of(
        Ink::Heading,
        &format!("{} {becomes} {}", text::number(u64::from(old)), text::counted(u64::from(new), "token")),
    );
    sum.push(Ink::Accent, &format!(" ({}, estimated)", signed(i64::from(new) - i64::from(old))));
    for setting in &diff.settings {
        let [before, after] = &setting.shown;
        sum.push(Ink::Text, &format!("{dot}{} {before} {becomes} {after}", setting.name));
    }
    let rows = text::counted(u64::from(diff.same), "row");
    let verb = if diff.same == 1 { "is" } else { "are" };
    let same = format!(
        "{rows} ({}, estimated) {verb} in both, unchanged",
        text::counted(u64::from(diff.same_tokens), "token")
    );
    let last = Rect { y: area.y + 2, height: 1, ..area };
    paint::lines(view.theme, &[sum, Line::of(Ink::Dim, &same)], area, buf);
    if area.height > 2 {
        paint::right(view.theme, &Line::of(Ink::Dim, "tokens"), Rect { width: split(area).0.width, ..last }, buf);
    }
}

fn entries(view: &ViewContext<'_>, screen: &DiffView, diff: &PlanDiff, area: Rect, buf: &mut Buffer) {
    let page = usize::from(area.height);
    let from = paint::first_row(screen.cursor, screen.entries.len(), page);
    for ((at, entry), row) in screen.entries.iter().enumerate().skip(from).zip(area.rows()) {
        match *entry {
            Entry::Kind(kind, count, tokens) => {
                let label = Line::of(ink(kind), &format!("{} {count}", kind.title()));
                paint::pair(view.theme, &label, &Line::of(Ink::Dim, &signed(tokens)), row, buf);
            }
            Entry::Overhead(tokens) => {
                let label = Line::of(Ink::Accent, "message overhead and tools");
                paint::pair(view.theme, &label, &Line::of(Ink::Dim, &signed(tokens)), row, buf);
            }
            Entry::Delta(index) => {
                if let Some(delta) = diff.deltas.get(index) {
                    one(view, delta, row, buf);
                }
            }
        }
        view.entry(row, at, at == screen.cursor, buf);
    }
}

fn ink(kind: DiffKind) -> Ink {
    match kind {
        DiffKind::Entered => Ink::Good,
        DiffKind::Left => Ink::Excluded,
        DiffKind::Moved | DiffKind::Changed | DiffKind::Reason => Ink::Accent,
        DiffKind::Shortened | DiffKind::Lengthened => Ink::Leased,
    }
}

fn one(view: &ViewContext<'_>, delta: &ItemDiff, area: Rect, buf: &mut Buffer) {
    let ellipsis = view.theme.glyphs.ellipsis;
    let label = text::fit(&delta.label(), 10, ellipsis);
    let gap = " ".repeat(10_usize.saturating_sub(text::width(&label)));
    let mut line = Line::of(Ink::Dim, &format!("  {label}{gap} "));
    let tokens = match delta.tokens() {
        0 => String::new(),
        n => signed(n),
    };
    let by = delta.causes.first().map_or("", |cause| cause.by.title());
    let mut right = Line::of(by_ink(delta.causes.first()), by);
    right.push(Ink::Text, &format!("{tokens:>8}"));
    let room = usize::from(area.width).saturating_sub(line.width() + right.width() + 1);
    line.push(Ink::Text, &text::fit(&delta.title, room, ellipsis));
    paint::pair(view.theme, &line, &right, area, buf);
}

fn by_ink(cause: Option<&Cause>) -> Ink {
    match cause.map(|cause| cause.by) {
        Some(CauseKind::You) => Ink::You,
        Some(CauseKind::Model) => Ink::Model,
        Some(CauseKind::Lease) => Ink::Leased,
        _ => Ink::Dim,
    }
}

/// The details of a difference: the change, its causes, and the reasons before and after.
fn detail_rows(view: &ViewContext<'_>, delta: &ItemDiff, room: usize) -> Vec<Line> {
    let also: Vec<&str> = delta.kinds.iter().map(|kind| kind.title()).collect();
    let mut rows = TextRows::plain(&delta.title, room, Ink::Text);
    rows.truncate(3);
    let words = format!("{}, {}: {}", delta.label(), also.join(" and "), delta.to_text(view.theme.glyphs.becomes));
    rows.extend(TextRows::plain(&words, room, Ink::Dim));
    for cause in &delta.causes {
        rows.extend(cause_rows(view, cause, room));
    }
    if delta.causes.is_empty() {
        rows.extend(TextRows::plain("No known action or rule caused this.", room, Ink::Dim));
    }
    for (name, place) in [("before", &delta.before), ("now", &delta.after)] {
        if let Some(place) = place {
            rows.extend(TextRows::plain(&format!("{name}: {}", place.reason.sentence()), room, Ink::Dim));
        }
    }
    rows
}

/// A cause: `by you: You pinned it. (14:02)`
fn cause_rows(view: &ViewContext<'_>, cause: &Cause, room: usize) -> Vec<Line> {
    let at = cause.at.map_or_else(String::new, |at| format!(" ({})", time::clock(at, view.model.facts.offset)));
    TextRows::plain(&format!("by {}: {}{at}", cause.by.title(), cause.words), room, Ink::Accent)
}

fn place_words(place: Option<&ItemPlace>) -> String {
    place.map_or_else(|| "absent".to_owned(), |place| format!("{}. {}", place.to_text(), place.reason.sentence()))
}

/// How the newest calls sent an item, for the details in the request overlay.
pub(crate) fn recent_calls(view: &ViewContext<'_>, history: &ItemHistory, room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    for stay in history.stays.iter().rev().take(RECENT_SPANS) {
        let at = stay.to.at.map_or_else(String::new, |at| format!("{} ", time::clock(at, view.model.facts.offset)));
        let calls = text::counted(u64::from(stay.calls), "call");
        let by = stay.causes.first().map_or_else(String::new, |cause| format!(", by {}", cause.by.title()));
        let place = stay.place.as_ref().map_or_else(|| "absent".to_owned(), ItemPlace::to_text);
        rows.extend(TextRows::plain(&format!("{} {at}{calls}: {place}{by}", view.theme.glyphs.dot), room, Ink::Dim));
    }
    rows
}

/// The history of an item. Returns its rows and the visible rows.
pub(crate) fn draw_history(
    view: &ViewContext<'_>,
    screen: &HistoryScreen,
    area: Rect,
    buf: &mut Buffer,
) -> (usize, usize) {
    let history = &screen.history;
    let turn = history.turn.map_or_else(String::new, |turn| format!("turn {turn}: "));
    let words = format!("History of {turn}{}", plain_text::line(history.title.lines().next().unwrap_or_default()));
    let title = paint::cut(view.theme, Ink::Heading, &words, usize::from(area.width.saturating_sub(6)));
    let words = [(Action::Leave, "close")];
    let inside = view.full_screen(title, view.keys_line(KeyPlace::Panel, &words, usize::from(area.width)), area, buf);
    let rows = history_rows(view, history, usize::from(inside.width.saturating_sub(1)).max(1));
    view.scrolled(&rows, screen.scroll.top, inside, buf)
}

/// The whole history, newest first.
fn history_rows(view: &ViewContext<'_>, history: &ItemHistory, room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    if history.stays.is_empty() {
        rows.push(Line::of(Ink::Dim, "Not sent in any call of this branch."));
    }
    for stay in history.stays.iter().rev() {
        rows.extend(TextRows::plain(&span(view, stay), room, Ink::Heading));
        let ink = if stay.place.as_ref().is_some_and(|place| place.included) { Ink::Text } else { Ink::Excluded };
        rows.extend(TextRows::plain(&place_words(stay.place.as_ref()), room, ink));
        for cause in &stay.causes {
            rows.extend(cause_rows(view, cause, room));
        }
        rows.push(Line::new());
    }
    if !history.steps.is_empty() {
        rows.push(Line::of(Ink::Heading, "Changes to this item"));
    }
    for step in history.steps.iter().rev() {
        rows.extend(TextRows::plain(&format!("{}  {}", view.date_time(step.at), step.words), room, Ink::Text));
    }
    rows
}

/// The heading of a span: `2026-11-22 14:02 – 2026-11-22 14:09, 3 calls on main`
fn span(view: &ViewContext<'_>, stay: &ItemInCall) -> String {
    let from = stay.from.at.map_or_else(|| "not sent".to_owned(), |at| view.date_time(at));
    let to = stay.to.at.filter(|_| stay.calls > 1).map_or_else(String::new, |at| format!(" – {}", view.date_time(at)));
    format!("{from}{to}, {} on {}", text::counted(u64::from(stay.calls), "call"), stay.from.name)
}
