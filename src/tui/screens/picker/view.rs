//! Draws a list that is filtered by typing, as a box over the chat.
//! Not for: filtering (`model`).

use super::model::{self, Choice, Entry, GAP, Kind, Picker, PickerRow, TITLES, WORDS};
use crate::tui::model::keys::in_menu_room;
use crate::tui::view::hints_line;
use crate::tui::view::prelude::*;
use std::borrow::Cow;

pub(crate) fn draw(view: &ViewContext<'_>, picker: &Picker, area: Rect, buf: &mut Buffer) {
    let place = place(picker, area);
    let mut title = Line::of(Ink::Heading, title(picker.kind));
    let can_open = |entry: &Entry| !matches!(entry.choice, Choice::Explain(_));
    if picker.entries.iter().any(can_open) {
        let shown = picker.shown.iter().filter_map(|at| picker.entries.get(*at)).filter(|entry| can_open(entry));
        let all = picker.entries.iter().filter(|entry| can_open(entry)).count() as u64;
        let shown = shown.count() as u64;
        let count = if shown < all { format!("{shown} of {all}") } else { text::number(all) };
        title.push(Ink::Dim, &format!(" {} {count}", view.theme.glyphs.dot));
    }
    if picker.columns.iter().any(|columns| !columns[1].is_empty()) {
        title.push(Ink::Dim, &format!(" {} $ per million tokens", view.theme.glyphs.dot));
    }
    // Without an entry to act on, only the keys that need none.
    let can_act = picker.shown.iter().any(|at| picker.entries.get(*at).is_some_and(can_open));
    let needs_none = |action: Action| matches!(action, Action::New | Action::Leave);
    let words: Vec<_> =
        keys(picker.kind).iter().copied().filter(|(action, _)| can_act || needs_none(*action)).collect();
    let mut keys = view.keys_line(KeyPlace::Picker, &words, usize::from(place.width));
    if picker.kind == Kind::RaceModels {
        title.push(Ink::Accent, &format!(" {} {} chosen", view.theme.glyphs.dot, picker.chosen.len()));
        keys = race_keys(view, picker, usize::from(place.width));
    }
    let inside = view.screen(title, keys, place, buf);
    if inside.is_empty() {
        return;
    }
    let mut line = paint::typed(Line::of(Ink::Accent, "/ "), &picker.filter, usize::MAX);
    if picker.filter.is_empty() {
        line.push(Ink::Dim, &format!(" {}", invitation(picker.kind)));
    }
    if picker.loading {
        line.push(Ink::Dim, &format!("  {} searching", view.theme.glyphs.running));
    }
    paint::line(view.theme, &line, inside, buf);
    let list = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    if picker.shown.is_empty() && !picker.loading {
        paint::line(view.theme, &Line::of(Ink::Dim, "  No entry matches; shorten the text to see more."), list, buf);
    }
    match &picker.entries[..] {
        // A list without entries says why on as many rows as that takes.
        [Entry { label, choice: Choice::Explain(_), .. }] if !picker.shown.is_empty() => {
            let text = Rect { x: list.x + 1, width: list.width.saturating_sub(2), ..list };
            paint::lines(view.theme, &TextRows::plain(label, usize::from(text.width), Ink::Dim), text, buf);
        }
        _ => entries(view, picker, list, buf),
    }
}

/// The keys of a list in which several entries can be chosen.
fn race_keys(view: &ViewContext<'_>, picker: &Picker, width: usize) -> Line {
    let (count, key) = (picker.chosen.len(), |action| view.key_in(action, KeyPlace::Picker));
    let ask = format!("ask {count} models");
    let ask = (count > 1).then(|| (key(Action::Open), ask.as_str()));
    let choose = if count > 1 { "choose" } else { "choose two or more" };
    hints_line(ask.into_iter().chain([("Space".to_owned(), choose), (key(Action::Leave), "back")]), width)
}

/// The label of an entry, after a box that shows whether it is chosen in a list where several can be.
fn label_of(view: &ViewContext<'_>, picker: &Picker, at: usize, entry: &Entry) -> String {
    let label = entry.label.replace('●', view.theme.glyphs.branch);
    match (picker.kind, picker.chosen.contains(&at)) {
        (Kind::RaceModels, true) => format!("[x] {label}"),
        (Kind::RaceModels, false) if matches!(entry.choice, Choice::Model { .. }) => format!("[ ] {label}"),
        _ => label,
    }
}

/// Draws the headings and entries that fit.
fn entries(view: &ViewContext<'_>, picker: &Picker, list: Rect, buf: &mut Buffer) {
    // One column of padding on both sides.
    let widths = widths(view, picker, usize::from(list.width.saturating_sub(2)));
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
        let Some(of) = picker.shown.get(at).copied() else { continue };
        let Some(entry) = picker.entries.get(of) else { continue };
        let is_dim = picker.is_far(of) || matches!(entry.choice, Choice::Explain(_));
        let ink = if is_dim { Ink::Dim } else { Ink::Text };
        // One column of padding on the right.
        let padded = Rect { width: row.width.saturating_sub(1), ..row };
        let label = label_of(view, picker, of, entry);
        let before = label.chars().count() - entry.label.chars().count();
        let marks: Vec<usize> = picker.marks.get(at).into_iter().flatten().map(|mark| mark + before).collect();
        let columns = picker.columns.get(of);
        if let Some(columns) = columns.filter(|columns| columns.iter().any(|column| !column.is_empty())) {
            let shortened = shorten(&label, widths.0, view.theme.glyphs.ellipsis);
            let marks = if shortened == label { &marks[..] } else { &[] };
            let line = highlighted(ink, &shortened, marks).and(in_columns(columns, &shortened, widths));
            paint::line(view.theme, &line, padded, buf);
        } else {
            // The detail gets half of the row, and the part of the other half that the label leaves.
            let width = usize::from(padded.width);
            let room = (width / 2).max(width.saturating_sub(text::width(&label) + 3));
            let detail = if picker.kind == Kind::Sessions {
                text::first_parts(&entry.detail, " · ", room)
            } else {
                &entry.detail
            };
            let value = paint::cut(view.theme, Ink::Dim, detail, room);
            let room = width.saturating_sub(value.width() + 3);
            let label = text::fit(&with_short_description(&label, entry, room), room, view.theme.glyphs.ellipsis);
            paint::pair(view.theme, &highlighted(ink, &label, &marks), &value, padded, buf);
        }
        view.entry(row, at, at == picker.cursor, buf);
    }
}

/// The label with as much of the description of an action or a command as fits in `room` columns.
fn with_short_description<'a>(label: &'a str, entry: &Entry, room: usize) -> Cow<'a, str> {
    let sentence = entry.choice.sentence();
    let name = label.strip_suffix(in_menu_room(sentence, usize::MAX)).filter(|_| !sentence.is_empty());
    let Some(name) = name.filter(|_| text::width(label) > room) else { return label.into() };
    format!("{name}{}", in_menu_room(sentence, room.saturating_sub(text::width(name)))).into()
}

/// The widths of the labels and of the columns in rows of `room` columns of the screen.
fn widths(view: &ViewContext<'_>, picker: &Picker, room: usize) -> (usize, [usize; 6]) {
    let with_columns = picker.entries.iter().enumerate().zip(&picker.columns);
    let (mut labels, mut wanted) = (0, [0; 6]);
    for ((at, entry), columns) in with_columns.filter(|(_, columns)| !columns[0].is_empty()) {
        labels = labels.max(text::width(&label_of(view, picker, at, entry)));
        for (width, column) in wanted.iter_mut().zip(columns) {
            *width = (*width).max(text::width(column));
        }
    }
    for (width, title) in wanted.iter_mut().zip(TITLES).filter(|(width, _)| **width > 0) {
        *width = (*width).max(title.len());
    }
    model::fitting(labels, wanted, room)
}

/// The columns after a label, numbers aligned on the right.
fn in_columns(columns: &model::Columns, label: &str, (labels, widths): (usize, [usize; 6])) -> Line {
    let mut line = Line::of(Ink::Dim, &" ".repeat(labels.saturating_sub(text::width(label))));
    for (at, (column, width)) in columns.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0) {
        let pad = " ".repeat(width.saturating_sub(text::width(column)));
        let gap = " ".repeat(GAP);
        line.push(Ink::Dim, &if at >= WORDS { format!("{gap}{column}{pad}") } else { format!("{gap}{pad}{column}") });
    }
    line
}

/// A label in at most `room` columns of the screen; the middle of a longer label is left out.
fn shorten(label: &str, room: usize, ellipsis: &str) -> String {
    if text::width(label) <= room || room < 8 {
        return text::fit(label, room, ellipsis);
    }
    let end = (room - text::width(ellipsis)) / 2;
    let begin = room - text::width(ellipsis) - end;
    format!("{}{ellipsis}{}", text::fit(label, begin, ""), text::fit_end(label, end))
}

/// The title of a list.
fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Sessions => "Sessions",
        Kind::Models => "Models",
        Kind::ReplayModels(_) => "Replay the call with",
        Kind::RaceModels => "Race: choose models",
        Kind::ReplayItems => "Replay the call without",
        Kind::Memories => "Memories",
        Kind::Labels => "Labels and favorites",
        Kind::Themes => "Theme",
        Kind::Copies => "Copy",
        Kind::CompareWith => "Compare with",
        Kind::Lanes => "Lanes of this branch",
        Kind::Rules => "Tool rules",
        Kind::Palette => "All actions and commands",
    }
}

/// The keys of a list.
fn keys(kind: Kind) -> &'static [(Action, &'static str)] {
    use Action as A;
    match kind {
        Kind::Sessions => {
            &[(A::Open, "open"), (A::New, "new"), (A::Rename, "rename"), (A::Delete, "delete"), (A::Leave, "close")]
        }
        Kind::Models => &[(A::Open, "use on this branch"), (A::Leave, "close")],
        Kind::RaceModels => &[(A::Leave, "close")],
        Kind::ReplayModels(_) | Kind::ReplayItems => &[(A::Open, "send"), (A::Leave, "close")],
        Kind::Memories => &[
            (A::Open, "confirm"),
            (A::Rename, "edit"),
            (A::Dismiss, "dismiss"),
            (A::Delete, "delete"),
            (A::New, "new"),
            (A::Leave, "close"),
        ],
        Kind::Labels => &[(A::Open, "go to"), (A::Leave, "close")],
        Kind::Themes => &[(A::Open, "keep"), (A::Leave, "restore the previous theme")],
        Kind::Copies => &[(A::Open, "copy"), (A::Leave, "close")],
        Kind::CompareWith => &[(A::Open, "compare"), (A::Leave, "close")],
        Kind::Lanes => &[(A::Open, "use for the next message"), (A::Leave, "close")],
        Kind::Rules => &[(A::Delete, "remove"), (A::Leave, "close")],
        Kind::Palette => &[(A::Open, "run"), (A::Leave, "close")],
    }
}

/// The hint in an empty filter.
fn invitation(kind: Kind) -> &'static str {
    match kind {
        Kind::Sessions => "type to search",
        Kind::Themes => "type to filter; the selected theme is previewed",
        Kind::RaceModels => "type to filter; /race mode:off mode:heavy TEXT compares modes",
        Kind::Lanes => "type to filter; /lane NAME begins another lane",
        Kind::Models
        | Kind::ReplayModels(_)
        | Kind::ReplayItems
        | Kind::Memories
        | Kind::Labels
        | Kind::Copies
        | Kind::CompareWith
        | Kind::Rules
        | Kind::Palette => "type to filter",
    }
}

/// The place of the list. The list of themes is small and at the side, so that the previewed theme is visible. Other
/// lists are high enough for all entries; the list of sessions, whose entries the store searches, has a fixed height.
fn place(picker: &Picker, area: Rect) -> Rect {
    if picker.kind != Kind::Themes {
        let most = area.height.saturating_sub(4).clamp(6, 30);
        let needed =
            u16::try_from(picker.entries.len() + picker.headings.len() + usize::from(!picker.columns.is_empty()) + 3)
                .unwrap_or(u16::MAX);
        let height = if picker.kind == Kind::Sessions { most } else { needed.clamp(6, most) };
        return paint::centered(area, most_columns(picker), height);
    }
    let widest = picker.entries.iter().map(|entry| text::width(&entry.label)).max().unwrap_or_default();
    let width = area.width.min(u16::try_from(widest + 6).unwrap_or(u16::MAX).max(60));
    let height = area.height.min(11);
    let within = Rect { x: area.right() - width, y: area.y + area.height.min(1), ..area };
    Rect { width, height: height.min(area.height - area.height.min(1)), ..within }
}

/// The most columns of a list. Only the descriptions in the list of all actions need more than the usual width.
fn most_columns(picker: &Picker) -> u16 {
    if picker.kind != Kind::Palette {
        return 100;
    }
    let width = |entry: &Entry| text::width(&entry.label) + text::width(&entry.detail) + 8;
    u16::try_from(picker.entries.iter().map(width).max().unwrap_or(0)).unwrap_or(u16::MAX).clamp(100, 150)
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
        let columns = |context: &str, price: &str| [context, price, price, "", "tools", "own"].map(str::to_owned);
        let widths = (6, [5, 4, 0, 0, 8, 3]);
        let row = |label: &str, columns| format!("{label}{}", in_columns(&columns, label, widths).plain());
        assert_eq!(row("abc", columns("33k", "free")), "abc       33k  free  tools     own");
        assert_eq!(row("abcdef", columns("1.05M", "")), "abcdef  1.05M        tools     own");
    }
}
