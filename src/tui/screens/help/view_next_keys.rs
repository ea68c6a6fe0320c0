//! Draws the hint at the foot of the screen of which keys may follow the first of several, shown after a delay.
//! Not for: all keys (`view`).

use crate::tui::view::prelude::*;

/// From this width on, the hint has three columns.
const WIDE: u16 = 100;

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let model = view.model;
    if !model.shows_key_hints() || area.width < 12 || area.height < 5 {
        return;
    }
    let cells = cells(view);
    let room = usize::from(area.width - 4);
    let widest = cells.iter().map(Cell::width).max().unwrap_or(0) + 3;
    let columns = if area.width >= WIDE { 3 } else { 2 };
    let cell = widest.clamp(1, (room / columns).max(1));
    let across = (room / cell).max(1);
    let most = usize::from(area.height.saturating_sub(4)).max(1);
    let rows = cells.len().div_ceil(across).clamp(1, most);
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    let pressed: Vec<String> = model.input.sequence.iter().map(ToString::to_string).collect();
    let title = Line::of(Ink::Heading, &pressed.join(" ")).with(Ink::Dim, " then one of these");
    let hidden = cells.iter().skip(rows * across).filter(|cell| matches!(cell, Cell::Key { .. })).count();
    let more = if hidden > 0 { format!("{hidden} more in the help  ") } else { String::new() };
    let inside = view.screen(title, Line::of(Ink::Dim, &format!("{more}Esc closes")), place, buf);
    for (at, what) in cells.iter().take(rows * across).enumerate() {
        let (column, row) = (at / rows, at % rows);
        let shift = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let spot = Rect {
            x: inside.x.saturating_add(shift(1 + column * cell)),
            y: inside.y.saturating_add(shift(row)),
            width: shift(cell.saturating_sub(1)),
            height: 1,
        };
        let left = usize::from(spot.width);
        let line = match what {
            Cell::Heading(title) => Line::of(Ink::Heading, title),
            Cell::Key { key, does } => {
                let key = format!("{key:>3}  ");
                let does = text::fit(does, left.saturating_sub(text::width(&key)), view.theme.glyphs.ellipsis);
                Line::of(Ink::Accent, &key).with(Ink::Text, &does)
            }
        };
        paint::line(view.theme, &line, spot.intersection(inside), buf);
    }
}

/// One place in the hint.
enum Cell {
    /// The heading of a group of actions.
    Heading(&'static str),
    /// A key with a short description of its action.
    Key {
        /// The key, with an ellipsis if more keys follow.
        key: String,
        /// A short description of the action.
        does: &'static str,
    },
}

impl Cell {
    fn width(&self) -> usize {
        match self {
            Self::Heading(title) => text::width(title),
            Self::Key { key, does } => text::width(key).max(3) + 2 + text::width(does),
        }
    }
}

/// From this number of keys on, they are grouped under headings.
const MANY: usize = 9;

fn cells(view: &ViewContext<'_>) -> Vec<Cell> {
    let model = view.model;
    let typed = &model.input.sequence;
    let mut keys: Vec<_> = model.keys.continuations(typed, &model.places()).into_iter().collect();
    let grouped = keys.len() >= MANY;
    if grouped {
        keys.sort_by_key(|(_, binding)| binding.run.group());
    }
    let mut cells = Vec::new();
    let mut last = None;
    for (next, binding) in keys {
        let group = binding.run.group();
        if grouped && last != Some(group) {
            cells.push(Cell::Heading(group.title()));
            last = Some(group);
        }
        let more = if binding.on.count() > typed.len() + 1 { view.theme.glyphs.ellipsis } else { "" };
        cells.push(Cell::Key { key: format!("{next}{more}"), does: binding.run.short() });
    }
    cells
}
