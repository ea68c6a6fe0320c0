//! Draws a list that is filtered by typing, as a box over the chat.
//! Not for: filtering (`model`).

use super::model::{Choice, Kind, Picker, PickerRow};
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, picker: &Picker, area: Rect, buf: &mut Buffer) {
    let place = place(picker.kind, area);
    let (title, hint) = heading(view, picker.kind);
    let mut title = Line::of(Ink::Heading, title);
    if !picker.entries.is_empty() {
        let (shown, all) = (picker.shown.len() as u64, picker.entries.len() as u64);
        let count = if shown < all { format!("{shown} of {all}") } else { text::number(all) };
        title.push(Ink::Dim, &format!(" {} {count}", view.theme.glyphs.dot));
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
        let value = paint::cut(view.theme, Ink::Dim, &entry.detail, usize::from(row.width) / 2);
        // One column of padding on the right.
        let padded = Rect { width: row.width.saturating_sub(1), ..row };
        let room = usize::from(padded.width).saturating_sub(value.width() + 3);
        let label = text::fit(&entry.label.replace('●', view.theme.glyphs.branch), room, view.theme.glyphs.ellipsis);
        let marks = picker.marks.get(at).map(Vec::as_slice).unwrap_or_default();
        paint::pair(view.theme, &highlighted(ink, &label, marks), &value, padded, buf);
        view.entry(row, at, at == picker.cursor, buf);
    }
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
fn place(kind: Kind, area: Rect) -> Rect {
    if kind != Kind::Themes {
        return paint::centered(area, 100, area.height.saturating_sub(4).clamp(6, 30));
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
