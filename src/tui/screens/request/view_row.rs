//! Draws one row of the request overlay: state sign, turn, title, reason in words, and tokens.
//! Not for: headings, messages inside rows, and tools (`view`).

use super::model::RequestScreen;
use super::model_filter::Group;
use crate::domain::conversation::MarkKind;
use crate::domain::planning::{DecidedBy, Planned, Row, RowKind, Section, Verdict};
use crate::tui::chat::view::next_request;
use crate::tui::model::row_titles::row_title;
use crate::tui::view::prelude::*;

/// Columns that the reason leaves to the title.
const TITLE: usize = 24;
/// Columns below which a reason is not shown.
const LEAST: usize = 8;

/// The sign before a row and its ink: a mark's glyph, `!` for an item that a limit forced out, or a dot, dash, or check
/// for other items.
fn state_sign(view: &ViewContext<'_>, row: &Row, quoted: bool) -> (Ink, String) {
    let glyphs = &view.theme.glyphs;
    match row.pin {
        Some(MarkKind::Sticky) => return (Ink::Pinned, format!("{} ", glyphs.pin)),
        Some(MarkKind::Leased { turns }) => return (Ink::Leased, format!("{}{turns} ", glyphs.lease)),
        Some(MarkKind::Exclude | MarkKind::ExcludeOnce) => return (Ink::Good, format!("{} ", glyphs.out)),
        Some(MarkKind::IncludeOnce) => return (Ink::Good, format!("{} ", glyphs.once)),
        Some(MarkKind::Ephemeral) => return (Ink::Leased, format!("{}1 ", glyphs.lease)),
        None => {}
    }
    match (&row.verdict, row.reason.decided_by()) {
        _ if quoted => (Ink::Dim, format!("{} ", glyphs.kept)),
        _ if next_request::is_forced_out(row) => (Ink::Warn, "! ".to_owned()),
        (Verdict::Suggested, _) => (Ink::Accent, format!("{} ", next_request::SUGGESTED)),
        (Verdict::Out { .. }, DecidedBy::Person) => (Ink::Good, format!("{} ", glyphs.out)),
        (Verdict::Out { .. }, DecidedBy::Program | DecidedBy::Limit) => {
            (Ink::Dim, format!("{} ", next_request::LEFT_OUT))
        }
        (Verdict::In { .. }, DecidedBy::Person) => (Ink::Good, format!("{} ", glyphs.ok)),
        (Verdict::In { .. }, DecidedBy::Program | DecidedBy::Limit) => (Ink::Dim, format!("{} ", glyphs.kept)),
    }
}

/// Whether the next request first differs at this row from the last call of the branch, which ends the cached prefix.
/// The open turn always differs, so it does not count.
pub(crate) fn breaks_at(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row) -> bool {
    if overlay.sent().is_some() {
        return false;
    }
    let Some(Planned::Plan { breaks: Some(at), .. }) = view.model.plan.shown.as_ref().map(|shown| &shown.solved) else {
        return false;
    };
    let differs = row.text == Some(*at) || row.items.iter().any(|item| item.key == *at);
    differs && row.included() && row.section() != Some(Section::UserMessage)
}

/// Draws a row.
pub(crate) fn draw(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let quoted = overlay.counts.cards_of(row) > 0;
    let ink = match row.verdict {
        Verdict::In { .. } => Ink::Text,
        Verdict::Out { .. } => Ink::Excluded,
        Verdict::Suggested => Ink::Dim,
    };
    let mut label = label(view, overlay, row, quoted);
    let tokens = text::short(u64::from(row.tokens));
    let tokens = if quoted { format!("of {tokens}") } else { tokens };
    // Aligns the ends of the reasons.
    let blank = overlay.counts.widest.saturating_sub(tokens.len());
    let room = usize::from(area.width).saturating_sub(label.width() + tokens.len() + 2);
    let right = why(view, overlay, row, room.saturating_sub(TITLE + blank + 2));
    let why_room = if right.pieces.is_empty() { 0 } else { right.width() + blank + 2 };
    let (empty, broken) = (row.title.is_empty() && row.included(), breaks_at(view, overlay, row));
    let sign = if broken && why_room == 0 { format!("{} ", glyphs.differs) } else { String::new() };
    let title = match (empty, overlay.sent()) {
        (true, Some(_)) => "(no text)",
        (true, None) => "(nothing typed yet)",
        (false, _) => &row_title(row),
    };
    let title_room = room.saturating_sub(why_room + text::width(&sign));
    label.push(if empty { Ink::Dim } else { ink }, &text::fit(title, title_room, glyphs.ellipsis));
    let mut value = right;
    if why_room > 0 {
        value.push(Ink::Dim, &format!("  {}", " ".repeat(blank)));
    }
    value.push(Ink::Warn, &sign);
    value.push(if quoted { Ink::Dim } else { ink }, &tokens);
    paint::pair(view.theme, &label, &value, area, buf);
}

/// The start of a row: the fold sign, the state sign, and the turn. A card under its turn's row is indented instead.
fn label(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, quoted: bool) -> Line {
    let glyphs = &view.theme.glyphs;
    let fold = match (row.items.len() > 1 || row.kind == RowKind::Range, overlay.opened.contains(&row.atom.key())) {
        (false, _) => " ",
        (true, false) => glyphs.folded,
        (true, true) => glyphs.opened,
    };
    let (pin_ink, pin) = state_sign(view, row, quoted);
    let mut label = Line::of(Ink::Dim, &format!(" {fold} "));
    let under = overlay.arrangement.group == Group::Section && overlay.counts.turn_of_card(row).is_some();
    if under {
        label.push(Ink::Dim, "      ");
    }
    label.push(pin_ink, &pin);
    if let Some(turn) = row.source.turn.filter(|_| !under) {
        label.push(Ink::Dim, &format!("{turn:>3} "));
    }
    let branch = view.model.branch().filter(|_| overlay.sent().is_none());
    let mark = branch.and_then(|branch| branch.marks.iter().find(|mark| mark.target == row.atom));
    if mark.and_then(|mark| mark.origin.as_ref()).is_some_and(|origin| view.stale(origin)) {
        label.push(Ink::Warn, "stale ");
    }
    label
}

/// The reason in at most `room` columns, and whether the cache breaks here; empty if there is no room.
fn why(view: &ViewContext<'_>, overlay: &RequestScreen, row: &Row, room: usize) -> Line {
    let glyphs = &view.theme.glyphs;
    let mut why = match overlay.counts.cards_of(row) {
        0 => row.reason_label(),
        count => format!("{} included", text::counted(count as u64, "card")),
    };
    let out = matches!(row.verdict, Verdict::Out { .. }) && overlay.arrangement.group != Group::Section;
    if out && overlay.counts.cards_of(row) == 0 && !why.starts_with("left out") {
        why.insert_str(0, "left out: ");
    }
    if breaks_at(view, overlay, row) {
        let words = format!("{} cache breaks here", glyphs.differs);
        let with = Line::of(Ink::Dim, &format!("{why} {} ", glyphs.dot));
        let lines =
            [with.clone().with(Ink::Warn, &words), with.with(Ink::Warn, glyphs.differs), Line::of(Ink::Warn, &words)];
        return lines.into_iter().find(|line| line.width() <= room).unwrap_or_default();
    }
    if room < LEAST {
        return Line::new();
    }
    let ink = match (row.reason.decided_by(), row.included()) {
        (DecidedBy::Person, _) => Ink::Good,
        (DecidedBy::Limit, false) => Ink::Warn,
        (DecidedBy::Limit, true) | (DecidedBy::Program, _) => Ink::Dim,
    };
    let used = match (overlay.use_of(row), overlay.unused_row(row)) {
        (Some(item), _) if item.by.is_empty() => Some((Ink::Dim, "not used")),
        (Some(_), _) => Some((Ink::Good, "used")),
        (None, Some(_)) => Some((Ink::Dim, "not used")),
        (None, None) => None,
    };
    let used = used.map_or_else(Line::new, |(ink, words)| Line::of(ink, &format!(" {} {words}", glyphs.dot)));
    let left = room.saturating_sub(used.width());
    if left < LEAST.min(text::width(&why)) {
        return Line::of(ink, &text::fit(&why, room, glyphs.ellipsis));
    }
    Line::of(ink, &text::fit(&why, left, glyphs.ellipsis)).and(used)
}
