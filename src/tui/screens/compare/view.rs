//! Draws two branches side by side from where they diverge: their messages, calls, and cost.
//!
//! ```text
//! ┌ main and retry ────────────────────────────────────┐
//! │ They diverge after turn 3: Why does login fail …   │
//! │ Last calls: 1,204 → 1,310 tokens (estimated) · mode …      │
//! │ ▸ main             │   retry                       │   below 100 columns one above the other
//! │ 2 turns · 3 calls …│ 1 turn · 1 call …             │
//! │ turn 4 user        │ turn 4 user                   │
//! └ keys ──────────────────────────────────────────────┘
//! ```
//! Not for: differences between plans (`screens::calls::view_diff`).

use super::model::CompareView;
use crate::domain::base::money::money;
use crate::domain::conversation::{Comparison, Role, Side};
use crate::tui::view::prelude::*;
use std::fmt::Write as _;

/// From this width on, the sides are next to each other.
const MIN_WIDTH_BESIDE: u16 = 100;
/// Below that width, from this height on, the sides are one above the other; otherwise only one is visible.
const MIN_HEIGHT_STACKED: u16 = 13;
/// Height of a side without turns if the sides are one above the other.
const EMPTY_SIDE: u16 = 2;
/// How many rows of a side are laid out after the turn under the cursor.
const ROWS: usize = 400;

pub(crate) fn draw(view: &ViewContext<'_>, screen: &CompareView, cache: &mut Cache, area: Rect, buf: &mut Buffer) {
    let title = screen.compared.as_ref().map_or_else(
        || "Two branches".to_owned(),
        |compared| format!("{} and {}", compared.sides[0].name, compared.sides[1].name),
    );
    let title = paint::cut(view.theme, Ink::Heading, &title, usize::from(area.width.saturating_sub(6)));
    let keys = screen.compared.as_ref().map(|compared| hints(view, screen, compared, usize::from(area.width)));
    let inside = view.full_screen(title, keys.unwrap_or_default(), area, buf);
    let Some(compared) = &screen.compared else {
        return paint::line(view.theme, &Line::of(Ink::Dim, "Loading both branches."), inside, buf);
    };
    let head = head(view, compared, usize::from(inside.width));
    paint::lines(view.theme, &head, inside, buf);
    let used = inside.height.min(u16::try_from(head.len()).unwrap_or(2));
    let body = Rect { y: inside.y + used, height: inside.height - used, ..inside };
    if body.width >= MIN_WIDTH_BESIDE {
        let half = body.width / 2 - 2;
        let left = Rect { width: half, ..body };
        let right = Rect { x: body.x + half + 3, ..left };
        column(view, screen, compared, (0, Shape::Beside), cache, left, buf);
        paint::left_rule(view.theme, right, buf);
        column(view, screen, compared, (1, Shape::Beside), cache, right, buf);
    } else if body.height >= MIN_HEIGHT_STACKED {
        let first = match compared.sides.each_ref().map(|side| side.turns.is_empty()) {
            [true, _] => EMPTY_SIDE,
            [false, true] => body.height - EMPTY_SIDE - 1,
            [false, false] => body.height / 2,
        };
        let upper = Rect { height: first, ..body };
        let lower = Rect { y: body.y + first + 1, height: body.height - first - 1, ..body };
        column(view, screen, compared, (0, Shape::Stacked), cache, upper, buf);
        paint::rule(view.theme, Rect { y: upper.bottom(), height: 1, ..body }, buf);
        column(view, screen, compared, (1, Shape::Stacked), cache, lower, buf);
    } else {
        column(view, screen, compared, (screen.side, Shape::Alone), cache, body, buf);
    }
}

/// How a side is placed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Next to the other side.
    Beside,
    /// Above or below the other side.
    Stacked,
    /// Without the other side.
    Alone,
}

fn hints(view: &ViewContext<'_>, screen: &CompareView, compared: &Comparison, width: usize) -> Line {
    let other = &compared.sides[1 - screen.side].name;
    let other = text::fit(other, 16, view.theme.glyphs.ellipsis);
    let taken = screen.taken[screen.side].len();
    let pick = if taken > 1 { format!("pick {taken} for {other}") } else { format!("pick for {other}") };
    let words = [
        (Action::NextPane, "other side"),
        (Action::PickOver, &pick),
        (Action::Leave, "close"),
        (Action::TakeTurn, "select"),
        (Action::TakeRange, "select up to here"),
        (Action::BringBack, "return the result"),
        (Action::Open, "compare plans"),
    ];
    let is_empty = compared.sides[screen.side].turns.is_empty();
    let needs_turn =
        |action| matches!(action, Action::PickOver | Action::TakeTurn | Action::TakeRange | Action::BringBack);
    let applies = |action| {
        if action == Action::Open { compared.plans.is_some() } else { !is_empty || !needs_turn(action) }
    };
    let words: Vec<_> = words.into_iter().filter(|(action, _)| applies(*action)).collect();
    view.keys_line(KeyPlace::Compare, &words, width)
}

/// Where the branches diverge, and in at most two rows how their last calls differ.
fn head(view: &ViewContext<'_>, compared: &Comparison, room: usize) -> Vec<Line> {
    let glyphs = &view.theme.glyphs;
    let ancestor = match &compared.ancestor {
        Some(at) => Line::of(Ink::Text, &format!("They diverge after turn {}: ", at.turn)).with(Ink::Dim, &at.title),
        None => Line::of(Ink::Text, &without_ancestor(compared)),
    };
    let without: Vec<&str> =
        compared.sides.iter().filter(|side| side.last.is_none()).map(|side| side.name.as_str()).collect();
    let has = if without.len() > 1 { "have" } else { "has" };
    let mut plans = format!("{} {has} no call yet, so there are no plans to compare.", without.join(" and "));
    if let Some(diff) = &compared.plans {
        let number = |n: u32| text::number(u64::from(n));
        let (old, new) = (number(diff.before.tokens), number(diff.after.tokens));
        plans = format!("Last calls: {old} and {new} tokens (estimated)");
        for setting in &diff.settings {
            let [before, after] = without_versions(&setting.shown[0], &setting.shown[1]);
            let _ = write!(plans, " {} {} {before} and {after}", glyphs.dot, setting.name);
        }
    }
    let mut rows = TextRows::plain(&plans, room.max(1), Ink::Dim);
    if rows.len() > 2 {
        let rest: String = rows.drain(1..).map(|row| row.plain() + " ").collect();
        rows.push(paint::cut(view.theme, Ink::Dim, &rest, room));
    }
    rows.insert(0, ancestor.fit(room, glyphs.ellipsis));
    rows
}

/// Why two branches have no common message.
fn without_ancestor(compared: &Comparison) -> String {
    let empty: Vec<&str> =
        compared.sides.iter().filter(|side| side.turns.is_empty()).map(|side| side.name.as_str()).collect();
    match empty.as_slice() {
        [] => "They have no messages in common.".to_owned(),
        [name] => format!("{name} has no messages yet."),
        _ => "The branches have no messages yet.".to_owned(),
    }
}

/// Two values of a setting without the versions of policies (`layered v1`), unless only the versions differ.
fn without_versions<'a>(before: &'a str, after: &'a str) -> [&'a str; 2] {
    let name = |value: &'a str| match value.rsplit_once(" v") {
        Some((name, version)) if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => value,
    };
    let names = [name(before), name(after)];
    if names[0] == names[1] { [before, after] } else { names }
}

fn column(
    view: &ViewContext<'_>,
    screen: &CompareView,
    compared: &Comparison,
    (at, shape): (usize, Shape),
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) {
    let glyphs = &view.theme.glyphs;
    let side = &compared.sides[at];
    let focus = screen.side == at;
    let (ink, sign) = if focus { (Ink::Accent, glyphs.folded) } else { (Ink::Dim, " ") };
    let room = usize::from(area.width.saturating_sub(1)).max(1);
    // Each name gets half of the line, or what the other one leaves of it.
    let other =
        format!("   {} shows {}", view.key_in(Action::NextPane, KeyPlace::Compare), compared.sides[1 - at].name);
    let left = room.saturating_sub(2);
    let own = if shape == Shape::Alone { left.saturating_sub(text::width(&other)).max(left / 2) } else { left };
    let mut heading = Line::of(ink, &format!("{sign} {}", text::fit(&side.name, own, glyphs.ellipsis)));
    if shape == Shape::Alone {
        heading.push(Ink::Dim, &other);
    }
    let figures = figures(view, side);
    if shape == Shape::Stacked {
        let (separator, left) = (format!(" {} ", glyphs.dot), room.saturating_sub(heading.width() + 3));
        heading.push(Ink::Dim, &format!("   {}", text::first_parts(&figures, &separator, left)));
    }
    let mut rows = vec![heading.fit(room, glyphs.ellipsis)];
    if shape != Shape::Stacked {
        rows.extend(TextRows::plain(&figures, room, Ink::Dim));
        rows.push(Line::new());
    }
    let above = rows.len().min(usize::from(area.height));
    paint::lines(view.theme, &rows, area, buf);
    let above = u16::try_from(above).unwrap_or(0);
    let body = Rect { y: area.y + above, height: area.height - above, ..area };
    let diverges = compared.ancestor.is_some();
    let (rows, first) = turns(view, screen, (side, at, diverges), room);
    let scroll = screen.scroll[at].min(rows.len().saturating_sub(1));
    paint::colored_lines(view.theme, rows.iter().skip(scroll), cache, body, buf);
    if focus && scroll == 0 && first && !body.is_empty() {
        paint::select(view.theme, Rect { height: 1, ..body }, buf);
    }
}

/// The turns of a side from the cursor on, and whether there are any.
fn turns(
    view: &ViewContext<'_>,
    screen: &CompareView,
    (side, at, diverges): (&Side, usize, bool),
    room: usize,
) -> (Vec<Line>, bool) {
    let mut rows = Vec::new();
    if side.turns.is_empty() {
        let text =
            if diverges { "No turns of its own: the branch ends where the two diverge." } else { "No messages." };
        return (TextRows::plain(text, room, Ink::Dim), false);
    }
    for (place, turn) in side.turns.iter().enumerate().skip(screen.cursor[at]) {
        let taken = if screen.taken[at].contains(&place) { view.theme.glyphs.pin } else { " " };
        let of = side.turns.len();
        let what = if turn.pin.is_some() { "pinned only here".to_owned() } else { format!("turn {}", turn.number) };
        rows.push(Line::of(Ink::Heading, &format!("{taken} {what} ({} of {of})", place + 1)));
        if let Some(pin) = &turn.pin {
            rows.push(Line::of(Ink::Pinned, view.theme.glyphs.pin));
            rows.extend(TextRows::plain(pin.trim_end(), room, Ink::Text));
        }
        for message in &turn.messages {
            let (ink, who) = match message.role {
                Role::User => (Ink::You, "you"),
                Role::Assistant => (Ink::Model, if let [model] = &side.models[..] { model } else { "model" }),
                Role::System => (Ink::Tool, "system"),
                Role::Tool => (Ink::Tool, "tool"),
            };
            rows.push(Line::of(ink, who));
            rows.extend(if message.role == Role::Assistant {
                TextRows::drawn(&message.text, room, Ink::Text, view.markdown())
            } else {
                TextRows::plain(message.text.trim_end(), room, Ink::Text)
            });
        }
        rows.push(Line::new());
        if rows.len() > ROWS + screen.scroll[at] {
            break;
        }
    }
    if side.more > 0 {
        let more = text::counted(u64::from(side.more), "more turn");
        rows.push(Line::of(Ink::Dim, &format!("{more}: read them in the conversation")));
    }
    (rows, true)
}

/// The figures of a side: `2 turns · 3 calls · prompts 1,204 tok · answers 310 tok · $0.0011 · read_file 2`
fn figures(view: &ViewContext<'_>, side: &Side) -> String {
    let mut words = vec![text::counted(side.count() as u64, "turn"), text::counted(u64::from(side.calls), "call")];
    words.push(format!("prompts {}", text::counted(side.prompt, "token")));
    words.push(format!("answers {}", text::counted(side.answer, "token")));
    words.extend(side.cost_micro.map(money));
    words.extend(side.models.iter().cloned());
    words.extend(side.tools.iter().map(|(name, times)| format!("{name} {times}")));
    words.join(&format!(" {} ", view.theme.glyphs.dot))
}
