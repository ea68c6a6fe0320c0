//! Draws the next call under other settings as a table, and the items that the selected settings add and remove.
//!
//! ```text
//! ┌ What if ────────────────────────────────────────────────────────┐
//! │                     tokens    change     cost     added   removed │
//! │ current              5,213            $0.0009                     │
//! │ mode Off             3,001    −2,212  $0.0005         0        −4 │   narrow screens have fewer columns
//! │ mode Off: removes 4 items ────────────────────────────────────── │
//! │ − turn 12  Why does login fail …                             312 │
//! └ Enter applies it  Esc leaves ───────────────────────────────────┘
//! ```
//! Not for: planning (the engine) or applying settings (`update`).

use super::model::WhatIfScreen;
use crate::domain::base::money::money;
use crate::domain::base::{Failure, FailureKind};
use crate::domain::planning::{MovedItem, PlanFigures};
use crate::tui::view::prelude::*;

/// Largest width of the table; in a wider table, the figures would be too far from their titles.
const WIDTH: u16 = 118;
/// Columns for the difference in tokens: `+1,012,055` and a gap.
const CHANGE: usize = 11;
/// Columns for the budget: `1,012,055` and a gap.
const BUDGET: usize = 11;

/// Rows below a table that is shown as a whole: the rule, the sentence, and three items.
const BELOW: u16 = 6;

/// In place of a difference from a plan that does not exist.
const UNKNOWN: &str = "–";

/// What a row's figures are compared with.
#[derive(Clone, Copy)]
enum Compared {
    /// Nothing: the row shows the current settings.
    Itself,
    /// The current settings, which have no plan.
    Unknown,
    /// The current plan, with its tokens.
    With(u32),
}

/// The columns of figures that fit.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "one flag per column")]
struct Columns {
    sides: bool,
    change: bool,
    room: bool,
    cost: bool,
    cached: bool,
}

impl Columns {
    fn of(width: u16, priced: bool) -> Self {
        Self {
            sides: width >= 34,
            change: width >= 58,
            cost: priced && width >= 70,
            room: width >= 77,
            cached: width >= 90,
        }
    }

    /// The width of the columns of the added and the removed items.
    fn side(self) -> usize {
        if !self.change {
            5
        } else if self.cached {
            10
        } else {
            8
        }
    }
}

pub(crate) fn draw(view: &ViewContext<'_>, screen: &WhatIfScreen, area: Rect, buf: &mut Buffer) {
    let mut words =
        vec![(Action::Open, "apply to this branch"), (Action::DetailDown, "more"), (Action::Leave, "close")];
    if !scrolls(screen, area.height) {
        words.remove(1);
    }
    let keys = view.keys_line(KeyPlace::Variants, &words, usize::from(area.width));
    let title = ["What if", ": the next request", " under other settings"].map(|part| Line::of(Ink::Heading, part));
    let title = Line::of_parts((0..).zip(title).collect(), usize::from(area.width.saturating_sub(2)));
    let inside = view.full_screen(title, keys, area, buf);
    let inside = Rect { width: inside.width.min(WIDTH), ..inside };
    let Some(present) = screen.line(0).map(|(_, result)| result) else {
        let words = "Planning the request under other modes, policies, models, and budgets. Nothing changes until \
            you apply a row.";
        let rows = TextRows::plain(words, usize::from(inside.width).max(1), Ink::Dim);
        return paint::lines(view.theme, &rows, inside, buf);
    };
    let costs = |at| matches!(screen.line(at), Some((_, Ok(PlanFigures { cost: Some(cost), .. }))) if cost.micro > 0);
    let priced = (0..screen.len()).any(costs);
    let columns = Columns::of(inside.width, priced);
    let est = present.as_ref().ok().map(|known| known.est);
    paint::right(view.theme, &header(columns), inside, buf);
    let height = table_height(screen.len(), inside.height.saturating_sub(1));
    let list = Rect { y: inside.y + 1, height, ..inside };
    let page = usize::from(list.height);
    let from = paint::first_row(screen.cursor, screen.len(), page);
    for (at, row) in (from..screen.len()).zip(list.rows()) {
        let Some((title, result)) = screen.line(at) else { continue };
        let compared = match est {
            _ if at == 0 => Compared::Itself,
            None => Compared::Unknown,
            Some(est) => Compared::With(est),
        };
        one(view, columns, (title, result, compared), row, buf);
        view.entry(row, at, at == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, screen.len(), page, list, buf);
    let below = Rect { y: list.bottom(), height: inside.bottom() - list.bottom(), ..inside };
    if let (Some((title, result)), false) = (screen.line(screen.cursor), below.is_empty()) {
        detail(view, screen, (title, result), below, buf);
    }
}

/// The height of the table: all rows if the items below have some room left, otherwise three fifths of the room.
fn table_height(rows: usize, room: u16) -> u16 {
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    if rows.saturating_add(BELOW) <= room { rows } else { rows.min((room * 3 / 5).max(3)).min(room) }
}

/// Whether the items of the chosen row may not all fit below the table.
fn scrolls(screen: &WhatIfScreen, height: u16) -> bool {
    let items = match screen.line(screen.cursor) {
        Some((_, Ok(known))) if screen.cursor > 0 => known.gained.len() + known.lost.len(),
        _ => 0,
    };
    // The title, the footer, the header, the rule, and the sentence take up to six rows.
    items > 0 && screen.len() + items + 6 > usize::from(height)
}

fn header(columns: Columns) -> Line {
    let mut words = format!("{:>9}", "tokens");
    for (shown, title, width) in [
        (columns.change, "change", CHANGE),
        (columns.room, "budget", BUDGET),
        (columns.cost, "cost", 10),
        (columns.cached, "cached", 8),
    ] {
        if shown {
            words = format!("{words}{title:>width$}");
        }
    }
    let side = columns.side();
    let sides = match (columns.change, columns.sides) {
        (true, _) => format!("{:>side$}{:>side$} ", "added", "removed"),
        (false, true) => "    +    - ".to_owned(),
        (false, false) => " ".to_owned(),
    };
    words.push_str(&sides);
    Line::of(Ink::Dim, &words)
}

fn one(
    view: &ViewContext<'_>,
    columns: Columns,
    (title, result, compared): (&str, &Result<PlanFigures, Failure>, Compared),
    row: Rect,
    buf: &mut Buffer,
) {
    let label = Line::of(Ink::Text, " ").with(Ink::Text, title);
    let known = match result {
        Ok(known) => known,
        Err(why) => {
            // The detail of the selected row has the whole sentence.
            let words = if why.kind == FailureKind::Blocked { "does not fit the budget" } else { "cannot be planned" };
            let value = Line::of(Ink::Warn, words).with(Ink::Text, " ");
            return paint::pair(view.theme, &label, &value, row, buf);
        }
    };
    let mut value = Line::of(Ink::Text, &format!("{:>9}", text::number(u64::from(known.est))));
    if columns.change {
        let change = match compared {
            Compared::Itself => String::new(),
            Compared::Unknown => UNKNOWN.to_owned(),
            Compared::With(before) => signed(view, before, known.est),
        };
        value.push(Ink::Dim, &format!("{change:>CHANGE$}"));
    }
    if columns.room {
        value.push(Ink::Dim, &format!("{:>BUDGET$}", text::number(u64::from(known.budget.total()))));
    }
    if columns.cost {
        let cost = known.cost.map_or_else(|| "?".to_owned(), |cost| money(cost.micro));
        value.push(Ink::Text, &format!("{cost:>10}"));
    }
    if columns.cached {
        value.push(Ink::Dim, &format!("{:>8}", known.same_text()));
    }
    if !columns.sides {
        return paint::pair(view.theme, &label, &value.with(Ink::Text, " "), row, buf);
    }
    let [gained, lost] = known.sums.map(|(count, _)| count);
    let side = |sign: &str, count: u32| if count == 0 { "0".to_owned() } else { format!("{sign}{count}") };
    let ink = |count: u32, ink: Ink| if count == 0 { Ink::Dim } else { ink };
    let (more, less) = match compared {
        Compared::Itself => Default::default(),
        Compared::Unknown => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
        Compared::With(_) => (side("+", gained), side(view.theme.glyphs.minus, lost)),
    };
    let width = columns.side();
    value.push(ink(gained, Ink::Good), &format!("{more:>width$}"));
    value.push(ink(lost, Ink::Excluded), &format!("{less:>width$}"));
    value.push(Ink::Text, " ");
    paint::pair(view.theme, &label, &value, row, buf);
}

/// The signed difference: `+1,204`, `−88`, `0`
fn signed(view: &ViewContext<'_>, before: u32, now: u32) -> String {
    let apart = text::number(u64::from(before.abs_diff(now)));
    match now.cmp(&before) {
        std::cmp::Ordering::Greater => format!("+{apart}"),
        std::cmp::Ordering::Less => format!("{}{apart}", view.theme.glyphs.minus),
        std::cmp::Ordering::Equal => "0".to_owned(),
    }
}

fn detail(
    view: &ViewContext<'_>,
    screen: &WhatIfScreen,
    (title, result): (&str, &Result<PlanFigures, Failure>),
    area: Rect,
    buf: &mut Buffer,
) {
    paint::rule(view.theme, area, buf);
    let room = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let width = usize::from(room.width).max(1);
    let known = match result {
        Ok(known) => known,
        Err(why) => return paint::lines(view.theme, &TextRows::plain(&why.to_string(), width, Ink::Warn), room, buf),
    };
    let present = screen.line(0).and_then(|(_, result)| result.as_ref().ok());
    let words = match present.filter(|_| screen.cursor > 0) {
        Some(present) => describe_variant(view, title, known, present),
        None => describe_current(known),
    };
    let mut head = TextRows::plain(&words, width, Ink::Heading);
    head.truncate(usize::from(room.height));
    paint::lines(view.theme, &head, room, buf);
    let used = u16::try_from(head.len()).unwrap_or(room.height);
    let rest = Rect { y: room.y + used, height: room.height - used, ..room };
    let gained = known.gained.iter().map(|item| (item, "+", Ink::Good));
    let lost = known.lost.iter().map(|item| (item, view.theme.glyphs.minus, Ink::Excluded));
    let items: Vec<_> = gained.chain(lost).filter(|_| screen.cursor > 0).collect();
    let page = usize::from(rest.height);
    let from = screen.scroll.min(items.len().saturating_sub(page));
    for ((item, sign, ink), row) in items.iter().skip(from).zip(rest.rows()) {
        paint::pair(view.theme, &named(item, sign, *ink), &tokens(item), row, buf);
    }
    paint::thumb(view.theme, from, items.len(), page, rest, buf);
}

fn tokens(item: &MovedItem) -> Line {
    Line::of(Ink::Dim, &format!("{} ", text::number(u64::from(item.tokens))))
}

fn named(item: &MovedItem, sign: &str, ink: Ink) -> Line {
    let place = item.turn.map_or_else(|| item.kind.name().to_owned(), |turn| format!("turn {turn}"));
    Line::of(ink, sign).with(Ink::Dim, &format!(" {place:<9} ")).with(Ink::Text, &item.title)
}

/// Describes the current settings: `Current: 14 items, 5,213 of 8,000 tokens.`
fn describe_current(known: &PlanFigures) -> String {
    let (est, room) = (text::number(u64::from(known.est)), text::number(u64::from(known.budget.total())));
    let items = text::counted(u64::from(known.items), "item");
    format!("Current: {items}, {est} of {room} tokens. Nothing changes until you apply another row.")
}

/// Describes a variant: `mode Off: adds nothing, removes 4 items of 2,212 tokens; 2 changed by −88 tokens.`
fn describe_variant(view: &ViewContext<'_>, title: &str, known: &PlanFigures, present: &PlanFigures) -> String {
    let side = |(count, tokens): (u32, u32)| match count {
        0 => "nothing".to_owned(),
        _ => format!("{} of {}", text::counted(u64::from(count), "item"), text::counted(u64::from(tokens), "token")),
    };
    let without = (known.est + known.sums[1].1).saturating_sub(known.sums[0].1);
    let other = match (known.changed, signed(view, present.est, without)) {
        (0, by) if by == "0" => String::new(),
        (0, by) => format!("; the other items and their overhead change by {by} tokens"),
        (n, by) if by == "0" => format!("; {n} moved"),
        (n, by) => format!("; {n} changed by {by} tokens"),
    };
    let [gained, lost] = known.sums.map(side);
    format!("{title}: adds {gained}, removes {lost}{other}.")
}

#[cfg(test)]
mod tests {
    use super::table_height;

    #[test]
    fn the_table_is_whole_where_the_items_below_have_room() {
        let heights = [(14, 21), (14, 20), (14, 19), (40, 30), (2, 40), (5, 3), (5, 1)];
        assert_eq!(heights.map(|(rows, room)| table_height(rows, room)), [14, 14, 11, 18, 2, 3, 1]);
    }
}
