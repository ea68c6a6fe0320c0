//! Draws the hint of the keys that may follow a key sequence's first key, at the bottom of the screen after a delay.
//! Not for: all keys (`view`).

use crate::tui::view::prelude::*;

/// From this width on, the hint has three columns.
const WIDE: u16 = 100;

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let model = view.model;
    if !model.shows_key_hints() || area.width < 12 || area.height < 5 {
        return;
    }
    let groups = groups(view);
    let room = usize::from(area.width - 4);
    let widest = groups.iter().flat_map(KeyGroup::cells).map(|cell| cell.width()).max().unwrap_or(0) + 3;
    let most = if area.width >= WIDE { 3 } else { 2 };
    let cell = widest.clamp(1, (room / most).max(1));
    let across = (room / cell).max(1);
    let columns = columns(&groups, across, usize::from(area.height.saturating_sub(4)).max(1));
    let rows = columns.iter().take(across).map(Vec::len).max().unwrap_or(0).max(1);
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    let pressed: Vec<String> = model.input.sequence.iter().map(ToString::to_string).collect();
    let title = Line::of(Ink::Heading, &pressed.join(" ")).with(Ink::Dim, " then one of these");
    let hidden = columns.iter().skip(across).flatten().filter(|cell| matches!(cell, Cell::Key { .. })).count();
    let more = if hidden > 0 { format!("{hidden} more in the help  ") } else { String::new() };
    let keys = view.keys_line(KeyPlace::Always, &[(Action::Leave, "close")], room);
    let inside = view.screen(title, Line::of(Ink::Dim, &more).and(keys), place, buf);
    let shift = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    for (column, cells) in columns.iter().take(across).enumerate() {
        let x = inside.x.saturating_add(shift(1 + column * cell));
        for (row, what) in cells.iter().enumerate() {
            let y = inside.y.saturating_add(shift(row));
            let spot = Rect { x, y, width: shift(cell.saturating_sub(1)), height: 1 };
            let line = what.line(usize::from(spot.width), view.theme.glyphs.ellipsis);
            paint::line(view.theme, &line, spot.intersection(inside), buf);
        }
    }
}

/// One place in the hint.
#[derive(Clone, PartialEq, Debug)]
enum Cell {
    /// The heading of a group of actions, and whether the group continues from the column before.
    Heading(&'static str, bool),
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
            Self::Heading(title, _) => text::width(title),
            Self::Key { key, does } => text::width(key).max(3) + 2 + text::width(does),
        }
    }

    fn line(&self, room: usize, ellipsis: &str) -> Line {
        match self {
            Self::Heading(title, continued) => {
                let line = Line::of(Ink::Heading, title).with(Ink::Dim, if *continued { " (continued)" } else { "" });
                line.fit(room, ellipsis)
            }
            Self::Key { key, does } => {
                let key = format!("{key:>3}  ");
                let does = text::fit(does, room.saturating_sub(text::width(&key)), ellipsis);
                Line::of(Ink::Accent, &key).with(Ink::Text, &does)
            }
        }
    }
}

/// Keys under one heading, or without a heading if there are few.
struct KeyGroup {
    heading: Option<&'static str>,
    keys: Vec<Cell>,
}

impl KeyGroup {
    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.heading.map(|title| Cell::Heading(title, false)).into_iter().chain(self.keys.iter().cloned())
    }
}

/// How many rows more than needed the columns may have so that no group is divided.
const WHOLE_GROUPS: usize = 4;

/// Arranges the groups in columns, with as few rows as `across` columns allow, at most `most`; groups that do not fit
/// are in additional columns. A group is divided only if that saves many rows; it repeats its heading where it continues.
fn columns(groups: &[KeyGroup], across: usize, most: usize) -> Vec<Vec<Cell>> {
    let arranged = |rows: usize, whole: bool| {
        let mut columns: Vec<Vec<Cell>> = vec![Vec::new()];
        for group in groups {
            let heading = group.heading.filter(|_| rows > 1);
            for (at, key) in group.keys.iter().enumerate() {
                let used = columns.last().map_or(0, Vec::len);
                let keys = if whole && at == 0 { group.keys.len() } else { 1 };
                let needed = keys + usize::from(at == 0 && heading.is_some());
                let next = used > 0 && used + needed > rows;
                if next {
                    columns.push(Vec::new());
                }
                if let Some(column) = columns.last_mut() {
                    let shown = heading.filter(|_| next || at == 0);
                    column.extend(shown.map(|title| Cell::Heading(title, at > 0)));
                    column.push(key.clone());
                }
            }
        }
        columns
    };
    let fits = |columns: &Vec<Vec<Cell>>| columns.len() <= across;
    let divided = (1..most).map(|rows| arranged(rows, false)).find(fits).unwrap_or_else(|| arranged(most, false));
    let is_divided =
        |columns: &Vec<Vec<Cell>>| columns.iter().any(|cells| matches!(cells[..], [Cell::Heading(_, true), ..]));
    if !is_divided(&divided) {
        return divided;
    }
    let high = divided.iter().map(Vec::len).max().unwrap_or(0) + WHOLE_GROUPS;
    let mut whole = (1..=most.min(high)).map(|rows| arranged(rows, true));
    whole.find(|columns| fits(columns) && !is_divided(columns)).unwrap_or(divided)
}

/// From this number of keys on, they are grouped under headings.
const MANY: usize = 9;

fn groups(view: &ViewContext<'_>) -> Vec<KeyGroup> {
    let model = view.model;
    let typed = &model.input.sequence;
    let mut keys: Vec<_> = model.keys.continuations(typed, model.places()).into_iter().collect();
    let grouped = keys.len() >= MANY;
    if grouped {
        keys.sort_by_key(|(_, binding)| binding.run.group());
    }
    let mut groups: Vec<KeyGroup> = Vec::new();
    for (next, binding) in keys {
        let more = if binding.on.count() > typed.len() + 1 { view.theme.glyphs.ellipsis } else { "" };
        let key = Cell::Key { key: format!("{next}{more}"), does: binding.run.short() };
        let heading = grouped.then(|| binding.run.group().title());
        match groups.last_mut().filter(|group| group.heading == heading) {
            Some(group) => group.keys.push(key),
            None => groups.push(KeyGroup { heading, keys: vec![key] }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(heading: Option<&'static str>, keys: usize) -> KeyGroup {
        KeyGroup { heading, keys: (0..keys).map(|at| Cell::Key { key: at.to_string(), does: "" }).collect() }
    }

    #[test]
    fn every_column_begins_with_a_heading_and_all_keys_are_placed() {
        let groups = [group(Some("Context"), 9), group(Some("Branch"), 1), group(Some("View"), 12)];
        for most in 2..30 {
            for across in 1..5 {
                let columns = columns(&groups, across, most);
                let keys = columns.iter().flatten().filter(|cell| matches!(cell, Cell::Key { .. })).count();
                assert_eq!(keys, 22, "{most} {across}");
                for column in &columns {
                    assert!(column.len() <= most && matches!(column[0], Cell::Heading(..)), "{most} {across}");
                    assert!(matches!(column[column.len() - 1], Cell::Key { .. }), "{most} {across}");
                }
            }
        }
        assert_eq!(columns(&groups, 2, 30).iter().map(Vec::len).collect::<Vec<_>>(), [12, 13]);
        let continued = |groups: &[KeyGroup], most| {
            let cells = columns(groups, 2, most).into_iter().flatten();
            cells.filter(|cell| matches!(cell, Cell::Heading(_, true))).count()
        };
        let groups = [group(Some("Context"), 6), group(Some("Session"), 6), group(Some("View"), 2)];
        assert_eq!(continued(&groups, 30), 0, "nine rows in each column would divide Session");
        assert_eq!(continued(&groups, 9), 1, "there is no room for more rows");
        let groups = [group(Some("Context"), 20), group(Some("View"), 2)];
        assert_eq!(continued(&groups, 30), 1, "twelve rows instead of twenty");
    }

    #[test]
    fn few_keys_have_no_headings() {
        let columns = columns(&[group(None, 5)], 2, 10);
        assert_eq!(columns.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    }
}
