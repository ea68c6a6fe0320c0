//! Draws the search over all messages: the query, and each message found with its match.
//!
//! ```text
//! ┌ Search all messages ───────────────────────────────────┐
//! │ / dance role:user_                         12 messages │
//! │ filters, or what could not be read                     │
//! │ You   Bees and wasps                  2026-11-22 12:01 │
//! │       … how do bees dance in the dark …                │
//! └ keys ──────────────────────────────────────────────────┘
//! ```
//! Not for: searching.

use super::model::SearchScreen;
use crate::domain::conversation::search::FILTERS;
use crate::domain::conversation::{FoundMessage, Role};
use crate::tui::view::prelude::*;

/// Height of a message in the list, in rows.
const ROWS: u16 = 2;
/// Indentation of a message's text, in columns.
const LEAD: usize = 3;

/// Draws the search. Returns how many messages fit.
pub(crate) fn draw(view: &ViewContext<'_>, screen: &SearchScreen, area: Rect, buf: &mut Buffer) -> usize {
    let (any, jumped) = (!screen.found.messages.is_empty(), !view.model.jumps.before.is_empty());
    let open = any.then_some((Action::Open, "go to"));
    let back = jumped.then_some((Action::Back, "go back"));
    let words: Vec<_> = open.into_iter().chain(back).chain([(Action::Leave, "close")]).collect();
    let keys = view.keys_line(KeyPlace::Picker, &words, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Search all messages"), keys, area, buf);
    if inside.height < 4 {
        return 1;
    }
    let row = |y: u16| Rect { y: inside.y + y, height: 1, ..inside };
    paint::pair(view.theme, &typed(screen, usize::from(inside.width)), &count(view, screen), row(0), buf);
    paint::line(view.theme, &below(view, screen, usize::from(inside.width)), row(1), buf);
    let list = Rect { y: inside.y + 3, height: inside.height - 3, ..inside };
    let page = usize::from(list.height / ROWS).max(1);
    if screen.found.messages.is_empty() {
        let within = Rect { x: list.x + 3, width: list.width.saturating_sub(4), ..list };
        let rows = nothing(screen, usize::from(within.width));
        paint::lines(view.theme, &rows, within, buf);
        return page;
    }
    let from = screen.cursor / page * page;
    for (nth, message) in screen.found.messages.iter().enumerate().skip(from).take(page) {
        let y = list.y + u16::try_from(nth - from).unwrap_or(0) * ROWS;
        let place = Rect { y, height: ROWS.min(list.bottom().saturating_sub(y)), ..list };
        one(view, message, place, buf);
        view.entry(place, nth, nth == screen.cursor, buf);
    }
    paint::thumb(view.theme, from, screen.found.messages.len(), page, list, buf);
    page
}

fn typed(screen: &SearchScreen, width: usize) -> Line {
    paint::typed(Line::of(Ink::Accent, " / "), &screen.line, width.saturating_sub(20).max(10) + 1)
}

fn count(view: &ViewContext<'_>, screen: &SearchScreen) -> Line {
    let found = screen.found.messages.len();
    if screen.loading {
        return Line::of(Ink::Dim, &format!("{} searching ", view.theme.glyphs.running));
    }
    if screen.line.trim().is_empty() {
        return Line::new();
    }
    let more = if screen.found.more { "the newest " } else { "" };
    Line::of(Ink::Dim, &format!("{more}{} ", text::counted(found as u64, "message")))
}

/// The first problem with the query, or else the names of the filters.
fn below(view: &ViewContext<'_>, screen: &SearchScreen, width: usize) -> Line {
    let room = width.saturating_sub(4);
    if let Some(problem) = screen.found.problems.first() {
        return paint::cut(view.theme, Ink::Warn, &format!("   {problem}"), room);
    }
    let names: Vec<String> = FILTERS.iter().map(|(name, _)| format!("{name}:")).collect();
    paint::cut(view.theme, Ink::Dim, &format!("   filters: {}", names.join(" ")), room)
}

fn nothing(screen: &SearchScreen, width: usize) -> Vec<Line> {
    if screen.loading {
        return Vec::new();
    }
    if !screen.line.trim().is_empty() {
        let none = "No message matches all words and filters. Use fewer of them to find more messages.";
        return TextRows::plain(none, width, Ink::Dim);
    }
    let mut rows = TextRows::plain(
        "Type words from a message of any session; the newest messages come first. Words in \"quotes\" must be \
            next to each other. Filters go on the same line:",
        width,
        Ink::Dim,
    );
    rows.push(Line::new());
    rows.extend(
        FILTERS
            .iter()
            .map(|(name, value)| Line::of(Ink::Accent, &format!("{:<9}", format!("{name}:"))).with(Ink::Dim, value)),
    );
    rows
}

fn one(view: &ViewContext<'_>, message: &FoundMessage, place: Rect, buf: &mut Buffer) {
    let (ink, who) = match message.role {
        Role::User => (Ink::You, "You"),
        Role::Assistant => (Ink::Model, message.model.as_deref().unwrap_or("Model")),
        Role::Tool => (Ink::Tool, "Tool"),
        Role::System => (Ink::Dim, "System"),
    };
    let when = format!("{} ", view.date_time(message.at));
    let room = usize::from(place.width).saturating_sub(when.len() + 2);
    let who = text::fit(who, room / 2, view.theme.glyphs.ellipsis);
    let title = format!(
        "  {}",
        text::fit(&message.title, room.saturating_sub(text::width(&who) + 3), view.theme.glyphs.ellipsis)
    );
    let label = Line::of(ink, &format!(" {who}")).with(Ink::Dim, &title);
    paint::pair(view.theme, &label, &Line::of(Ink::Dim, &when), Rect { height: 1, ..place }, buf);
    if place.height > 1 {
        let room = usize::from(place.width).saturating_sub(LEAD + 2);
        let words = snippet(view, message, room).fit(room, view.theme.glyphs.ellipsis);
        let within = Rect { x: place.x + 3, y: place.y + 1, width: place.width.saturating_sub(5), height: 1 };
        paint::line(view.theme, &words, within, buf);
    }
}

/// The text around the match, cut so that the match is visible.
fn snippet(view: &ViewContext<'_>, message: &FoundMessage, room: usize) -> Line {
    let mut line = Line::new();
    let mut lead = String::new();
    for (hit, words) in &message.pieces {
        let mut flat = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.starts_with(char::is_whitespace) && !flat.is_empty() {
            flat.insert(0, ' ');
        }
        if words.ends_with(char::is_whitespace) {
            flat.push(' ');
        }
        if line.pieces.is_empty() && !hit && lead.is_empty() && message.pieces.len() > 1 {
            lead = tail(&flat, room / 3, view.theme.glyphs.ellipsis);
            line.push(Ink::Text, &lead);
        } else {
            line.push(if *hit { Ink::Accent } else { Ink::Text }, &flat);
        }
    }
    line
}

/// The last columns of a text.
fn tail(text: &str, room: usize, ellipsis: &str) -> String {
    if text::width(text) <= room {
        return text.trim_start().to_owned();
    }
    let rest = text::fit_end(text, room);
    let rest = rest.split_once(' ').map_or(rest.as_str(), |(_, whole)| whole);
    format!("{ellipsis} {rest}")
}
