//! Draws five charts with one column per call, and the figures of the selected call.
//!
//! ```text
//! ┌ Usage: branch main ──────────────────────────────────────┐
//! │ tokens in    sum 45,231  mean 3,015  highest 5,213  4,980 │
//! │ ▂▃▃▄▅▅▆▇█▇▂▃▄░░?                                          │   full bars are counts of the server, ░ is our estimate
//! │ tokens out …                                              │
//! │ ──────────────^────────────────────────────────────────── │
//! │ call 15 of 16, turn 12 …                                  │
//! └ keys ────────────────────────────────────────────────────┘
//! ```
//! Not for: the figures (`domain::call::ledger`).

use super::model::UsageScreen;
use crate::domain::base::chart::{UNKNOWN, ZERO, cell, eighths};
use crate::domain::base::money::money;
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::ledger::{lean_words, percent, signed_percent};
use crate::domain::call::{CallCost, Ledger, RunStatus, Sum, Totals};
use crate::tui::view::prelude::*;

/// Height of the selected call's figures with the rule above, in rows.
const DETAIL: u16 = 5;
/// Least and largest height of a chart with its title, in rows.
const ROWS: (u16, u16) = (3, 9);

/// Largest width of a column.
const MAX_COLUMN: usize = 7;

named_enum! {
    /// The quantity that a chart shows.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum ChartKind {
        Input => "tokens in",
        Output => "tokens out",
        Cost => "cost",
        Cached => "cached",
        Error => "estimate error",
    }
    fn title
}

impl ChartKind {
    fn ink(self) -> Ink {
        match self {
            Self::Input => Ink::MeterLow,
            Self::Output => Ink::Model,
            Self::Cost => Ink::Leased,
            Self::Cached => Ink::Good,
            Self::Error => Ink::Tool,
        }
    }

    fn value(self, call: &CallCost) -> Option<u64> {
        match self {
            Self::Input => call.input.map(u64::from),
            Self::Output => call.output.map(u64::from),
            Self::Cost => call.cost_micro,
            Self::Cached => call.cached_milli(),
            Self::Error => call.error_milli.map(i64::unsigned_abs),
        }
    }

    fn figure(self, call: &CallCost) -> String {
        let number = |n: Option<u32>| n.map(|n| text::number(u64::from(n)));
        let known = match self {
            Self::Input => {
                return number(call.input).unwrap_or_else(|| format!("{} est", text::number(u64::from(call.est))));
            }
            Self::Output => number(call.output),
            Self::Cost => call.cost_micro.map(money),
            Self::Cached => call.cached_milli().map(percent),
            Self::Error => call.error_milli.map(signed_percent),
        };
        known.unwrap_or_else(|| "unknown".to_owned())
    }

    /// The value of a full column.
    fn most(self, ledger: &Ledger) -> u64 {
        let sums = &ledger.totals;
        match self {
            // Estimates are drawn in the same chart.
            Self::Input => sums.input.most.max(sums.est.most),
            Self::Output => sums.output.most,
            Self::Cost => sums.cost.most,
            Self::Cached => 1_000,
            Self::Error => sums.error.most.max(10),
        }
    }

    /// Totals and means, most important first.
    fn sums(self, sums: &Totals) -> Vec<String> {
        let unknown = |sum: &Sum| {
            let missing = sums.calls - sum.known;
            (missing > 0).then(|| format!("{} unknown", text::number(u64::from(missing))))
        };
        let three = |sum: &Sum, words: fn(u64) -> String| {
            let Some(mean) = sum.mean() else { return vec!["unknown".to_owned()] };
            let all = [format!("sum {}", words(sum.total)), format!("mean {}", words(mean))];
            let most = format!("highest {}", words(sum.most));
            all.into_iter().chain(unknown(sum)).chain([most]).collect()
        };
        match self {
            Self::Input => three(&sums.input, text::number),
            Self::Output => three(&sums.output, text::number),
            Self::Cost => three(&sums.cost, money),
            Self::Cached => match sums.cached_milli() {
                None => vec!["unknown".to_owned()],
                Some(share) => {
                    let part = format!("{} of {}", text::number(sums.cached.total), text::number(sums.cached_of));
                    [format!("{} of all", percent(share))]
                        .into_iter()
                        .chain(unknown(&sums.cached))
                        .chain([part])
                        .collect()
                }
            },
            Self::Error => match (sums.error.mean(), sums.mean_signed_error()) {
                (Some(mean), Some(lean)) => vec![
                    format!("mean {}", percent(mean)),
                    lean_words(lean),
                    format!("highest {}", percent(sums.error.most)),
                ],
                _ => vec!["unknown".to_owned()],
            },
        }
    }
}

/// Width of a column, the gap after it, and how many columns fit.
fn columns(count: usize, width: u16) -> (u16, u16, usize) {
    let each = usize::from(width) / count.max(1);
    let (wide, gap) = if each < 2 { (1, 0) } else { (u16::try_from((each - 1).min(MAX_COLUMN)).unwrap_or(1), 1) };
    (wide, gap, usize::from((width + gap) / (wide + gap)))
}

/// How many calls are visible at once.
pub(crate) fn page(screen: &UsageScreen, area: Rect) -> usize {
    columns(screen.calls().len(), crate::tui::view::layout::inside(area).width.saturating_sub(2)).2
}

pub(crate) fn draw(view: &ViewContext<'_>, screen: &UsageScreen, area: Rect, buf: &mut Buffer) {
    let session = view.model.session.as_ref();
    let name = session.and_then(|session| session.find(screen.branch)).map_or("?", |branch| &branch.name);
    let of = if screen.whole { "the whole session".to_owned() } else { format!("branch {name}") };
    let title = format!("Usage: {of}");
    let title = paint::cut(view.theme, Ink::Heading, &title, usize::from(area.width.saturating_sub(6)));
    let other = if screen.whole { "this branch" } else { "whole session" };
    let known = screen.ledger.as_ref().is_some_and(|ledger| ledger.uses.calls > 0);
    let mut words = Vec::new();
    if !screen.calls().is_empty() {
        words.extend([(Action::Open, "open it"), (Action::CallBefore, "previous"), (Action::CallAfter, "next")]);
    }
    words.push((Action::WholeSession, other));
    words.extend(known.then_some((Action::Details, "items used")));
    words.push((Action::Leave, "close"));
    let inside = view.full_screen(title, view.keys_line(KeyPlace::Usage, &words, usize::from(area.width)), area, buf);
    let room = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    match &screen.ledger {
        None => paint::line(view.theme, &Line::of(Ink::Dim, "Loading the calls."), room, buf),
        Some(ledger) if ledger.calls.is_empty() => nothing(view, screen.whole, room, buf),
        Some(ledger) => charts(view, screen, ledger, room, buf),
    }
}

fn nothing(view: &ViewContext<'_>, whole: bool, room: Rect, buf: &mut Buffer) {
    let place = if whole { "in this session" } else { "on this branch" };
    let words = format!(
        "No calls {place} yet. Each call becomes a column: tokens in and out, cost, cached share, and the estimate \
            error. Values that a server does not report are shown as unknown."
    );
    paint::lines(view.theme, &TextRows::plain(&words, usize::from(room.width).max(1), Ink::Dim), room, buf);
}

fn charts(view: &ViewContext<'_>, screen: &UsageScreen, ledger: &Ledger, room: Rect, buf: &mut Buffer) {
    let detail = if room.height >= ROWS.0 + DETAIL { DETAIL } else { 0 };
    let above = room.height - detail;
    let fit = usize::from(above / ROWS.0).clamp(1, ChartKind::ALL.len());
    let first = screen.chart.min(ChartKind::ALL.len() - fit);
    let rows = (above / u16::try_from(fit).unwrap_or(1)).clamp(1, ROWS.1);
    let mut rest = if rows < ROWS.1 { above.saturating_sub(rows * u16::try_from(fit).unwrap_or(1)) } else { 0 };
    let mut y = room.y;
    for of in ChartKind::ALL.into_iter().skip(first).take(fit) {
        let height = rows + u16::from(rest > 0);
        rest = rest.saturating_sub(1);
        chart(view, screen, ledger, of, Rect { y, height, ..room }, buf);
        y += height;
    }
    if detail > 0 {
        let below = Rect { y, height: room.bottom() - y, ..room };
        selected(view, screen, ledger, below, buf);
    }
}

fn chart(view: &ViewContext<'_>, screen: &UsageScreen, ledger: &Ledger, of: ChartKind, area: Rect, buf: &mut Buffer) {
    let now = screen.selected().map(|call| of.figure(call)).unwrap_or_default();
    let mut title = Line::of(Ink::Heading, &format!("{:<15}", of.title()));
    for part in of.sums(&ledger.totals) {
        if title.width() + part.len() + now.len() + 4 <= usize::from(area.width) {
            title.push(Ink::Dim, &format!("{part}  "));
        }
    }
    paint::pair(view.theme, &title, &Line::of(Ink::Accent, &now), Rect { height: 1, ..area }, buf);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    // The sign of an error is shown below its column.
    let signs = u16::from(of == ChartKind::Error && body.height >= 2);
    let bars = Rect { height: body.height - signs, ..body };
    let (wide, gap, page) = columns(ledger.calls.len(), area.width);
    let shown: Vec<&CallCost> = ledger.calls.iter().skip(screen.from).take(page).collect();
    let most = of.most(ledger);
    for (level, row) in (0..bars.height).rev().zip(bars.rows()) {
        let mut line = Line::new();
        for call in &shown {
            let (ink, glyph) = piece(view, of, call, most, (bars.height, level));
            let full = if glyph == "?" || glyph == view.theme.glyphs.running {
                format!("{glyph:<0$}", usize::from(wide))
            } else {
                glyph.repeat(usize::from(wide))
            };
            line.push_safe(ink, &full);
            line.push_safe(Ink::Text, &" ".repeat(usize::from(gap)));
        }
        paint::line(view.theme, &line, row, buf);
    }
    if signs > 0 {
        let row = Rect { y: body.bottom() - 1, height: 1, ..body };
        let sign = |call: &CallCost| match call.error_milli {
            None => UNKNOWN,
            Some(0) => '=',
            Some(1..) => '+',
            Some(_) => '-',
        };
        let one = |call: &&CallCost| format!("{:<1$}", sign(call), usize::from(wide)) + &" ".repeat(usize::from(gap));
        let line: String = shown.iter().map(one).collect();
        paint::line(view.theme, &Line::of(Ink::Dim, &line), row, buf);
    }
    for at in 0..shown.len() {
        let x = body.x + u16::try_from(at).unwrap_or(0) * (wide + gap);
        view.item(Rect { x, width: wide + gap, ..body }.intersection(area), screen.from + at);
        if screen.from + at == screen.cursor {
            paint::select(view.theme, Rect { x, width: wide, ..body }.intersection(area), buf);
        }
    }
}

/// One cell of a column; `level` counts from the bottom.
fn piece(
    view: &ViewContext<'_>,
    of: ChartKind,
    call: &CallCost,
    most: u64,
    (rows, level): (u16, u16),
) -> (Ink, String) {
    let glyphs = &view.theme.glyphs;
    let part = |value: u64| eighths(value, most, rows).saturating_sub(u32::from(level) * 8);
    match of.value(call) {
        Some(0) if level == 0 => (Ink::Dim, ZERO.to_string()),
        Some(value) => (of.ink(), cell(part(value), glyphs.ascii).to_string()),
        // Where the server reports nothing, our estimate is drawn with another glyph.
        None if of == ChartKind::Input && part(u64::from(call.est)) > 0 => (Ink::Dim, glyphs.empty.to_owned()),
        None if level > 0 || of == ChartKind::Input => (Ink::Dim, " ".to_owned()),
        None if call.status == RunStatus::Open => (Ink::Accent, glyphs.running.to_owned()),
        None if of == ChartKind::Error && rows > 1 => (Ink::Dim, " ".to_owned()),
        None => (Ink::Dim, UNKNOWN.to_string()),
    }
}

fn selected(view: &ViewContext<'_>, screen: &UsageScreen, ledger: &Ledger, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let (wide, gap, _) = columns(ledger.calls.len(), area.width);
    let at = u16::try_from(screen.cursor.saturating_sub(screen.from)).unwrap_or(0).saturating_mul(wide + gap);
    paint::rule(view.theme, area, buf);
    let mark = Rect { x: area.x.saturating_add(at + wide / 2), width: 1, height: 1, ..area }.intersection(area);
    paint::line(view.theme, &Line::of(Ink::Accent, "^"), mark, buf);
    let room = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let Some(call) = screen.selected() else { return };
    let dot = format!(" {} ", glyphs.dot);
    let number = |n: u32| text::number(u64::from(n));
    let nth = u64::from(ledger.older) + screen.cursor as u64 + 1;
    let mut place = vec![format!("call {} of {}", text::number(nth), number(ledger.totals.calls))];
    let round = if call.round > 1 { format!(", round {}", call.round) } else { String::new() };
    place.extend(call.turn.map(|turn| format!("turn {}{round}", number(turn))));
    place.push(view.date_time(call.at));
    let session = view.model.session.as_ref().filter(|_| screen.whole);
    place.extend(session.and_then(|session| session.find(call.branch)).map(|branch| branch.name.clone()));
    place.extend([call.model.clone(), call.status.name().to_owned()]);
    let width = usize::from(room.width).max(1);
    let est = number(call.est);
    let mut figures = vec![match (call.input, call.error_milli) {
        (Some(input), Some(off)) => {
            format!("in {} counted by the server (estimated {est}, {})", number(input), signed_percent(off))
        }
        (Some(input), None) => format!("in {} counted by the server (estimated {est})", number(input)),
        (None, _) => format!("in unknown (estimated {est})"),
    }];
    let or_unknown = |what: &str, known: Option<String>| {
        known.map_or_else(|| format!("{what} unknown"), |known| format!("{what} {known}"))
    };
    let cached = call.cached.map(|cached| {
        let share = call.cached_milli().map_or_else(String::new, |share| format!(" ({})", percent(share)));
        format!("{}{share}", number(cached))
    });
    figures.push(or_unknown("cached", cached));
    figures.push(or_unknown("out", call.output.map(number)));
    figures.push(or_unknown("cost", call.cost_micro.map(money)));
    figures.extend(call.uses.map(|uses| uses.to_text()));
    let mut rows = TextRows::plain(&place.join(&dot), width, Ink::Text);
    rows.extend(TextRows::plain(&figures.join(&dot), width, Ink::Text));
    rows.extend(TextRows::plain(&call.title, width, Ink::Dim).into_iter().take(1));
    let est = ledger.calls.iter().skip(screen.from).take(screen.page).any(|call| call.input.is_none());
    if est {
        let words = format!(
            "{} marks an estimate of a value that the server did not report; ? marks an unknown value.",
            glyphs.empty
        );
        rows.extend(TextRows::plain(&words, width, Ink::Dim));
    }
    paint::lines(view.theme, &rows, room, buf);
}
