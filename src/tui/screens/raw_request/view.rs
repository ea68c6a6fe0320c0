//! Draws the exact bytes of a request block by block, with rows broken after each `\n` and marks for invisible
//! characters.
//! Not for: changing the bytes.

use super::model::{RawRequestScreen, Row};
use crate::domain::base::Safe;
use crate::tui::view::prelude::*;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Indentation of the bytes, in columns.
const INDENT: u16 = 2;

/// A piece of text that is never broken, with whether it ends a row and whether it is a quotation mark.
struct Unit<'a> {
    text: &'a str,
    ends_row: bool,
    quote: bool,
}

/// Splits text into graphemes and whole escapes.
fn units(text: &str) -> impl Iterator<Item = Unit<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let len = if first == '\\' {
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        } else {
            rest.graphemes(true).next().map_or(first.len_utf8(), str::len)
        };
        let (text, after) = rest.split_at(len);
        rest = after;
        Some(Unit { text, ends_row: matches!(text, "\\n" | "\n" | "\r\n"), quote: text == "\"" })
    })
}

/// Whether a character looks like a space but is a different character.
fn is_unusual_space(c: char) -> bool {
    matches!(u32::from(c), 0xA0 | 0x1680 | 0x2000..=0x200A | 0x202F | 0x205F | 0x3000)
}

/// The drawn form of a unit, and whether it is a mark for something invisible.
fn rendered(unit: &str) -> (String, bool) {
    if unit.chars().any(is_unusual_space) {
        use std::fmt::Write as _;
        let mut out = String::new();
        for c in unit.chars() {
            if is_unusual_space(c) {
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
            } else {
                out.push_str(Safe::exact(&c.to_string()).as_str());
            }
        }
        return (out, true);
    }
    if unit == "\n" || unit == "\r\n" {
        return (unit.replace('\r', "⟨U+000D⟩").replace('\n', ""), unit.len() > 1);
    }
    let shown = Safe::exact(unit);
    let marked = shown.as_str() != unit;
    (shown.as_str().to_owned(), marked)
}

/// Breaks bytes into rows of at most `room` columns: after line ends, else after a space, else anywhere.
fn break_rows(
    body: &str,
    whole: Range<usize>,
    room: usize,
    mut quoted: bool,
    put: &mut impl FnMut(Range<usize>, bool),
) {
    let (mut start, mut used, mut at) = (whole.start, 0, whole.start);
    let (mut began, mut space) = (quoted, None);
    for unit in units(&body[whole.clone()]) {
        let wide = text::width(&rendered(unit.text).0);
        if used + wide > room && at > start {
            let (cut, then) = match space.take() {
                Some((cut, before, then)) if before * 3 > room * 2 => (cut, then),
                _ => (at, quoted),
            };
            put(start..cut, began);
            used = if cut == at { 0 } else { width_of(&body[cut..at]) };
            (start, began) = (cut, then);
            if used + wide > room && at > start {
                put(start..at, began);
                (start, used, began) = (at, 0, quoted);
            }
        }
        at += unit.text.len();
        used += wide;
        quoted ^= unit.quote;
        if unit.ends_row {
            put(start..at, began);
            (start, used, began, space) = (at, 0, quoted, None);
        } else if unit.text == " " {
            space = Some((at, used, quoted));
        }
    }
    if at > start {
        put(start..at, began);
    }
}

fn width_of(text: &str) -> usize {
    units(text).map(|unit| text::width(&rendered(unit.text).0)).sum()
}

/// Whether the text ends inside a quoted string, given whether it begins inside one.
fn ends_quoted(text: &str, quoted: bool) -> bool {
    units(text).fold(quoted, |quoted, unit| quoted ^ unit.quote)
}

/// Rebuilds the rows if the width or the blocks changed.
pub(crate) fn settle(raw: &mut RawRequestScreen, area: Rect) {
    let inside = crate::tui::view::layout::inside(area);
    let width = inside.width.saturating_sub(INDENT + 1).max(8);
    if raw.made != (width, raw.state) {
        let selected = raw.rows.get(raw.cursor).cloned();
        let mut rows = Vec::new();
        let mut quoted = false;
        for (at, fold) in raw.folds.iter().enumerate() {
            rows.push(Row::Head(at));
            if !raw.closed.contains(&at) {
                let room = usize::from(width);
                let mut put = |range: Range<usize>, quoted: bool| rows.push(Row::Bytes(at, range, quoted));
                break_rows(&raw.body, fold.range.clone(), room, quoted, &mut put);
            }
            quoted = ends_quoted(&raw.body[fold.range.clone()], quoted);
        }
        (raw.rows, raw.made) = (rows, (width, raw.state));
        match selected {
            Some(Row::Bytes(_, range, _)) if raw.follow.is_none() => raw.follow = Some(range.start),
            Some(head) => raw.cursor = raw.rows.iter().position(|row| *row == head).unwrap_or(raw.cursor),
            None => {}
        }
    }
    raw.settle();
}

/// Draws the screen. Returns the height of its list.
pub(crate) fn draw(view: &ViewContext<'_>, raw: &RawRequestScreen, area: Rect, buf: &mut Buffer) -> usize {
    let inside = view.full_screen(title(raw), hints(view, raw, usize::from(area.width)), area, buf);
    if inside.is_empty() {
        return 1;
    }
    let top = Rect { height: 1, ..inside };
    paint::line(view.theme, &figures(view, raw, usize::from(top.width)), top, buf);
    let list = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    let page = usize::from(list.height);
    let from = paint::first_row(raw.cursor, raw.rows.len(), page);
    for ((at, row), place) in raw.rows.iter().enumerate().skip(from).zip(list.rows()) {
        let place = Rect { width: place.width.saturating_sub(1), ..place };
        match row {
            Row::Head(fold) => head(view, raw, *fold, place, buf),
            Row::Bytes(_, range, quoted) => {
                let within = Rect { x: place.x + INDENT, width: place.width.saturating_sub(INDENT), ..place };
                paint::line(view.theme, &bytes(raw, range.clone(), *quoted), within, buf);
            }
        }
        view.entry(place, at, at == raw.cursor, buf);
    }
    paint::thumb(view.theme, from, raw.rows.len(), page, list, buf);
    page
}

fn title(raw: &RawRequestScreen) -> Line {
    let words = match (&raw.edit, raw.sent) {
        (Some(_), _) => "Edited by hand, not sent yet",
        (None, None) => "The exact request",
        (None, Some(true)) => "The exact request, as it was sent",
        (None, Some(false)) => "The request as it would be rendered now",
    };
    let mut line = Line::of(Ink::Heading, words);
    if raw.searching || !raw.search.is_empty() {
        let typed = if raw.searching { raw.search.with_cursor() } else { raw.search.to_string() };
        line.push(Ink::Accent, &format!("  / {typed}"));
        let found = match raw.hits.len() {
            0 if raw.search.is_empty() => String::new(),
            0 => "  no matches".to_owned(),
            n => format!("  {} of {n}", raw.hit + 1),
        };
        line.push(Ink::Dim, &found);
    }
    line
}

fn hints(view: &ViewContext<'_>, raw: &RawRequestScreen, width: usize) -> Line {
    let (hand, next) = (raw.edit.is_some(), raw.sent.is_none());
    let words = [
        (hand, Action::SendEdited, "send exactly these bytes"),
        (next, Action::EditRequest, if hand { "keep editing" } else { "edit once and send" }),
        (next, Action::EditJson, "edit as JSON"),
        (true, Action::Open, "fold"),
        (true, Action::Filter, "search"),
        (!raw.hits.is_empty(), Action::NextHit, "next"),
        (true, Action::Leave, "close"),
        (true, Action::Copy, "copy"),
        (!hand, Action::Group, "by section"),
        (true, Action::FoldAll, "fold all"),
    ];
    let words: Vec<_> = words.into_iter().filter(|(on, ..)| *on).map(|(_, action, word)| (action, word)).collect();
    view.keys_line(KeyPlace::Request, &words, width)
}

/// Figures of the request: `5,213 of 8,000 tokens (estimated) · 21,004 bytes · request 0be9c598`; for an edited request, also
/// whether it fits the budget.
fn figures(view: &ViewContext<'_>, raw: &RawRequestScreen, room: usize) -> Line {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let tail = format!("{dot}{} bytes{dot}request {}", text::number(raw.body.len() as u64), raw.digest.short());
    let sum = |n: u32, of: u32| format!("{} of {} tokens (estimated)", text::number(n.into()), text::number(of.into()));
    let Some(hand) = &raw.edit else {
        return paint::cut(view.theme, Ink::Dim, &format!("{}{tail}", sum(raw.tokens.0, raw.tokens.1)), room);
    };
    let Some(counted) = hand.counted else {
        return paint::cut(view.theme, Ink::Dim, &format!("counting its tokens{tail}"), room);
    };
    let figures = sum(counted.tokens, counted.budget);
    if counted.tokens > counted.room {
        let over = text::number((counted.tokens - counted.room).into());
        let words = format!("{figures}: {over} too many for the budget; it is not sent{tail}");
        return paint::cut(view.theme, Ink::Danger, &words, room);
    }
    let changed = match counted.changed {
        0 => "every message is as planned".to_owned(),
        n => format!("{} not as planned", text::counted(n.into(), "message")),
    };
    let words = if hand.sending { "sending".to_owned() } else { format!("{figures}{dot}{changed}{tail}") };
    paint::cut(view.theme, Ink::Text, &words, room)
}

fn head(view: &ViewContext<'_>, raw: &RawRequestScreen, fold: usize, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let Some(of) = raw.folds.get(fold) else { return };
    let sign = if raw.closed.contains(&fold) { glyphs.folded } else { glyphs.opened };
    let mut value = of.tokens.map_or_else(String::new, |tokens| format!("{}  ", text::counted(tokens.into(), "token")));
    value.push_str(&text::number(of.range.len() as u64));
    value.push_str(" bytes");
    let room = usize::from(area.width).saturating_sub(text::width(&value) + 4);
    let label = Line::of(Ink::Dim, &format!("{sign} "));
    let label = label.with(Ink::Heading, &text::fit(&of.title, room, glyphs.ellipsis));
    paint::pair(view.theme, &label, &Line::of(Ink::Dim, &value), area, buf);
}

/// A row of bytes. Matches are highlighted, as are marks and spaces at the end of a line or a string.
fn bytes(raw: &RawRequestScreen, range: Range<usize>, mut quoted: bool) -> Line {
    let row = &raw.body[range.clone()];
    let all: Vec<Unit<'_>> = units(row).collect();
    let after = raw.body[range.end..].chars().next();
    let mut line = Line::new();
    let mut at = range.start;
    let first = raw.hits.partition_point(|hit| hit + raw.search.len() <= range.start);
    for (n, unit) in all.iter().enumerate() {
        let hit = raw.hits[first..].iter().take_while(|hit| **hit < at + unit.text.len());
        let hit = hit.zip(first..).find(|(hit, _)| at < **hit + raw.search.len());
        let trails = quoted && unit.text == " " && {
            let rest = all[n..].iter().find(|next| next.text != " ");
            rest.map_or(after == Some('"'), |next| next.ends_row || next.quote)
        };
        let (shown, marked) = if trails { ("·".to_owned(), true) } else { rendered(unit.text) };
        let ink = match hit {
            Some((_, which)) if which == raw.hit => Ink::Selected,
            Some(_) => Ink::Accent,
            None if marked => Ink::Warn,
            None if unit.text.starts_with('\\') => Ink::Dim,
            None => Ink::Text,
        };
        match line.pieces.last_mut() {
            Some(last) if last.ink == ink => last.text.push_str(&shown),
            _ => line.push_safe(ink, &shown),
        }
        at += unit.text.len();
        quoted ^= unit.quote;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::hash::Hash;
    use crate::domain::base::ids::BranchId;
    use crate::domain::call::request::RawRequest;
    use crate::domain::planning::draft::Draft;
    use proptest::prelude::*;

    fn raw(body: &str) -> RawRequestScreen {
        let digest = Hash::of(body.as_bytes());
        let request = RawRequest { body: body.into(), digest, parts: Vec::new(), tokens: 1, budget: 2 };
        RawRequestScreen::new(BranchId(uuid::Uuid::nil()), Draft::default(), request)
    }

    #[test]
    fn invisible_characters_are_marked() {
        let body = "{\"content\":\"a\u{a0}b \u{202e}c\u{200b}  \\n\\\"d \", \"x\": 1}";
        let raw = raw(body);
        let mut rows = Vec::new();
        break_rows(body, 0..body.len(), 60, false, &mut |range, quoted| rows.push((range, quoted)));
        let shown: Vec<String> =
            rows.iter().map(|(range, quoted)| bytes(&raw, range.clone(), *quoted).plain()).collect();
        let first = "{\"content\":\"a⟨U+00A0⟩b ⟨U+202E⟩c⟨U+200B⟩··\\n";
        assert_eq!(shown, [first, "\\\"d·\", \"x\": 1}"]);
    }

    /// The room after a space may be too narrow for the next unit.
    #[test]
    fn wide_units_after_a_late_space_get_their_own_row() {
        let body = "\u{a0} 0\\\"\u{a0}";
        let mut rows: Vec<&str> = Vec::new();
        break_rows(body, 0..body.len(), 10, false, &mut |range, _| rows.push(&body[range]));
        assert_eq!(rows, ["\u{a0} ", "0\\\"", "\u{a0}"]);
    }

    proptest! {
        #[test]
        fn rows_are_the_bytes_and_fit(
            text in "(\\PC|\n|\t| |\u{a0}|\u{200b}|\u{1b}|\"|\\\\){0,80}", room in 10_usize..40
        ) {
            let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string();
            let mut rows: Vec<(Range<usize>, bool)> = Vec::new();
            break_rows(&body, 0..body.len(), room, false, &mut |range, quoted| rows.push((range, quoted)));
            let whole: String = rows.iter().map(|(range, _)| &body[range.clone()]).collect();
            prop_assert_eq!(&whole, &body);
            let raw = raw(&body);
            for (range, quoted) in rows {
                let line = bytes(&raw, range.clone(), quoted);
                let one = units(&body[range.clone()]).count() == 1;
                prop_assert!(one || line.width() <= room, "{}", line.plain());
                prop_assert!(!line.plain().chars().any(char::is_control));
                prop_assert_eq!(ends_quoted(&body[..range.start], false), quoted);
            }
        }
    }
}
