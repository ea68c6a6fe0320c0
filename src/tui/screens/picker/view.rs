//! Draws a list that is filtered by typing, as a box over the chat.
//! Not for: filtering (`model`).

use super::model::{self, Choice, GAP, Kind, Picker, PickerRow, TITLES};
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, picker: &Picker, area: Rect, buf: &mut Buffer) {
    let place = place(picker, area);
    let (title, hint) = heading(view, picker.kind);
    let mut title = Line::of(Ink::Heading, title);
    if !picker.entries.is_empty() {
        let (shown, all) = (picker.shown.len() as u64, picker.entries.len() as u64);
        let count = if shown < all { format!("{shown} of {all}") } else { text::number(all) };
        title.push(Ink::Dim, &format!(" {} {count}", view.theme.glyphs.dot));
    }
    if picker.columns.iter().any(|columns| !columns[1].is_empty()) {
        title.push(Ink::Dim, &format!(" {} $ per million tokens", view.theme.glyphs.dot));
    }
    let hint = paint::cut(view.theme, Ink::Dim, &hint, usize::from(place.width.saturating_sub(6)));
    let inside = view.screen(title, hint, place, buf);
    if inside.is_empty() {
        return;
    }
    let mut line = Line::of(Ink::Accent, "/ ").with(Ink::Text, &picker.filter).with(Ink::Accent, "_");
    if picker.loading {
        line.push(Ink::Dim, &format!("  {} searching", view.theme.glyphs.running));
    }
    paint::line(view.theme, &line, inside, buf);
    let list = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    if picker.shown.is_empty() && !picker.loading {
        paint::line(view.theme, &Line::of(Ink::Dim, "  no matches"), list, buf);
    }
    entries(view, picker, list, buf);
}

/// Draws the headings and entries that fit.
fn entries(view: &ViewContext<'_>, picker: &Picker, list: Rect, buf: &mut Buffer) {
    // One column of padding on both sides.
    let widths = widths(picker, usize::from(list.width.saturating_sub(2)));
    let mut list = list;
    if list.height > 1 && widths.1.iter().any(|width| *width > 0) {
        let titles = in_columns(&TITLES.map(str::to_owned), "", widths);
        paint::line(view.theme, &Line::of(Ink::Dim, " ").and(titles), list, buf);
        list = Rect { y: list.y + 1, height: list.height - 1, ..list };
    }
    let rows = picker.rows();
    let selected = rows.iter().position(|row| *row == PickerRow::Entry(picker.cursor)).unwrap_or(0);
    let from = (selected + 1).saturating_sub(usize::from(list.height));
    for (what, row) in rows.iter().skip(from).zip(list.rows()) {
        let at = match what {
            PickerRow::Heading(title) => {
                paint::line(view.theme, &Line::of(Ink::Heading, title), row, buf);
                continue;
            }
            PickerRow::Entry(at) => *at,
        };
        let Some(entry) = picker.shown.get(at).and_then(|entry| picker.entries.get(*entry)) else { continue };
        let ink = if matches!(entry.choice, Choice::Explain(_)) { Ink::Dim } else { Ink::Text };
        // One column of padding on the right.
        let padded = Rect { width: row.width.saturating_sub(1), ..row };
        let label = entry.label.replace('●', view.theme.glyphs.branch);
        let marks = picker.marks.get(at).map(Vec::as_slice).unwrap_or_default();
        let columns = picker.shown.get(at).and_then(|entry| picker.columns.get(*entry));
        if let Some(columns) = columns.filter(|columns| columns.iter().any(|column| !column.is_empty())) {
            let shortened = shorten(&label, widths.0, view.theme.glyphs.ellipsis);
            let marks = if shortened == label { marks } else { &[] };
            let line = highlighted(ink, &shortened, marks).and(in_columns(columns, &shortened, widths));
            paint::line(view.theme, &line, padded, buf);
        } else {
            let value = paint::cut(view.theme, Ink::Dim, &entry.detail, usize::from(row.width) / 2);
            let room = usize::from(padded.width).saturating_sub(value.width() + 3);
            let label = text::fit(&label, room, view.theme.glyphs.ellipsis);
            paint::pair(view.theme, &highlighted(ink, &label, marks), &value, padded, buf);
        }
        view.entry(row, at, at == picker.cursor, buf);
    }
}

/// The widths of the labels and of the columns in rows of `room` columns of the screen.
fn widths(picker: &Picker, room: usize) -> (usize, [usize; 5]) {
    let with_columns = picker.entries.iter().zip(&picker.columns).filter(|(_, columns)| !columns[0].is_empty());
    let (mut labels, mut wanted) = (0, [0; 5]);
    for (entry, columns) in with_columns {
        labels = labels.max(text::width(&entry.label));
        for (width, column) in wanted.iter_mut().zip(columns) {
            *width = (*width).max(text::width(column));
        }
    }
    for (width, title) in wanted.iter_mut().zip(TITLES).filter(|(width, _)| **width > 0) {
        *width = (*width).max(title.len());
    }
    model::fitting(labels, wanted, room)
}

/// The columns after a label, numbers aligned at the right.
fn in_columns(columns: &model::Columns, label: &str, (labels, widths): (usize, [usize; 5])) -> Line {
    let mut line = Line::of(Ink::Dim, &" ".repeat(labels.saturating_sub(text::width(label))));
    for (at, (column, width)) in columns.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0) {
        let pad = " ".repeat(width.saturating_sub(text::width(column)));
        let gap = " ".repeat(GAP);
        let last = at + 1 == columns.len();
        line.push(Ink::Dim, &if last { format!("{gap}{column}{pad}") } else { format!("{gap}{pad}{column}") });
    }
    line
}

/// A label in at most `room` columns of the screen; of a longer one, the middle is left out.
fn shorten(label: &str, room: usize, ellipsis: &str) -> String {
    if text::width(label) <= room || room < 8 {
        return text::fit(label, room, ellipsis);
    }
    let end = (room - text::width(ellipsis)) / 2;
    let begin = room - text::width(ellipsis) - end;
    format!("{}{ellipsis}{}", text::fit(label, begin, ""), text::fit_end(label, end))
}

/// Title and keys of a list.
fn heading(view: &ViewContext<'_>, kind: Kind) -> (&'static str, String) {
    let key = |action| view.key_in(action, When::Picker);
    let (new, rename, delete) = (key(Action::New), key(Action::Rename), key(Action::Delete));
    match kind {
        Kind::Sessions => {
            ("Sessions", format!("type to search  Enter opens  {new} new  {rename} rename  {delete} delete"))
        }
        Kind::Models => ("Models", "type to filter  Enter uses it on this branch".to_owned()),
        Kind::ReplayModels(_) => ("Replay the call with", "type to filter  Enter sends it".to_owned()),
        Kind::ReplayItems => ("Replay the call without", "type to filter  Enter sends it".to_owned()),
        Kind::Memories => {
            let dismiss = key(Action::Dismiss);
            ("Memories", format!("Enter confirms  {rename} edit  {dismiss} dismiss  {delete} delete  {new} new"))
        }
        Kind::Labels => ("Labeled and starred messages", "type to filter  Enter goes to it".to_owned()),
        Kind::Themes => ("Theme", "previewed as you move  Enter keeps it  Esc restores the previous theme".to_owned()),
        Kind::Copies => ("Copy", "type to filter  Enter copies it".to_owned()),
        Kind::CompareWith => ("Compare with", "type to filter  Enter compares the two branches".to_owned()),
        Kind::Rules => ("Tool rules", format!("{delete} removes a rule")),
        Kind::Palette => ("All actions", "type to filter  Enter runs it".to_owned()),
    }
}

/// Where the list is drawn. The list of themes is small and at the side, so that the previewed theme is visible.
/// Other lists are as high as they need for all entries; that of sessions, whose entries the store searches, has a fixed
/// height.
fn place(picker: &Picker, area: Rect) -> Rect {
    if picker.kind != Kind::Themes {
        let most = area.height.saturating_sub(4).clamp(6, 30);
        let needed =
            u16::try_from(picker.entries.len() + picker.headings.len() + usize::from(!picker.columns.is_empty()) + 3)
                .unwrap_or(u16::MAX);
        let height = if picker.kind == Kind::Sessions { most } else { needed.clamp(6, most) };
        return paint::centered(area, 100, height);
    }
    let (width, height) = (area.width.min(72), area.height.min(11));
    let within = Rect { x: area.right() - width, y: area.y + area.height.min(1), ..area };
    Rect { width, height: height.min(area.height - area.height.min(1)), ..within }
}

/// A label with the letters at these positions highlighted.
fn highlighted(ink: Ink, label: &str, marks: &[usize]) -> Line {
    let mut line = Line::of(ink, " ");
    let mut run = String::new();
    let mut lit = false;
    for (at, c) in label.chars().enumerate() {
        let now = marks.binary_search(&at).is_ok();
        if now != lit && !run.is_empty() {
            line.push(if lit { Ink::Match } else { ink }, &run);
            run.clear();
        }
        lit = now;
        run.push(c);
    }
    line.push(if lit { Ink::Match } else { ink }, &run);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_label_is_left_out() {
        assert_eq!(shorten("anthropic/claude-sonnet-4.5-thinking", 20, "…"), "anthropic/…-thinking");
        assert_eq!(shorten("gpt-4.1-mini", 12, "…"), "gpt-4.1-mini");
        for room in 0..40 {
            assert!(text::width(&shorten("qwen3-coder-480b-日本語-instruct", room, "...")) <= room, "{room}");
        }
    }

    #[test]
    fn columns_are_aligned() {
        let columns = |context: &str, price: &str| [context, price, price, "", "own"].map(str::to_owned);
        let widths = (6, [5, 4, 0, 0, 3]);
        let row = |label: &str, columns| format!("{label}{}", in_columns(&columns, label, widths).plain());
        assert_eq!(row("abc", columns("33k", "free")), "abc       33k  free  own");
        assert_eq!(row("abcdef", columns("1.05M", "")), "abcdef  1.05M        own");
    }
}
