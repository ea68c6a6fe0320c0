//! Draws the call history, newest first, with the details of the call under the cursor below.
//! Not for: the differences between two calls (`view_diff`).

use super::model::Calls;
use crate::domain::base::money::money;
use crate::domain::base::time;
use crate::domain::call::{RunCard, RunStatus};
use crate::tui::view::prelude::*;

/// Returns the scroll position of the detail, at most to its last row.
pub(crate) fn draw(view: &ViewContext<'_>, calls: &Calls, area: Rect, buf: &mut Buffer) -> usize {
    let enter = match (calls.compared(), calls.chosen.len()) {
        (None, _) => "compare with the previous call",
        (Some(_), 1) => "compare with the marked call",
        (Some(_), _) => "compare the two marked calls",
    };
    let words =
        [(Action::Open, enter), (Action::ChooseCall, "mark"), (Action::Details, "request"), (Action::Leave, "close")];
    let words = if calls.cards.is_empty() { &words[3..] } else { &words };
    let keys = view.keys_line(KeyPlace::Calls, words, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Call history"), keys, area, buf);
    if calls.cards.is_empty() {
        let none = "No calls in this session yet. Each call is recorded here with its plan before it is sent.";
        let words = if calls.loading { "Loading the calls." } else { none };
        let rows = TextRows::plain(words, usize::from(inside.width).max(1), Ink::Dim);
        paint::lines(view.theme, &rows, inside, buf);
        return 0;
    }
    let below = inside.height.saturating_sub(4).min(7);
    let list = Rect { height: inside.height - below, ..inside };
    let page = usize::from(list.height);
    let from = paint::first_row(calls.cursor, calls.cards.len(), page);
    let bar = u16::from(calls.cards.len() > page);
    for ((at, card), row) in calls.cards.iter().enumerate().skip(from).zip(list.rows()) {
        let row = Rect { width: row.width.saturating_sub(bar), ..row };
        one(view, calls, card, row, buf);
        view.entry(row, at, at == calls.cursor, buf);
    }
    paint::thumb(view.theme, from, calls.cards.len(), page, list, buf);
    if let (Some(card), true) = (calls.selected(), below > 1) {
        let rule = Rect { y: list.bottom(), height: 1, ..inside };
        paint::rule(view.theme, rule, buf);
        let room = Rect { y: rule.y + 1, height: below - 1, ..inside };
        let rows = detail(view, card, usize::from(room.width).max(1));
        let scroll = calls.scroll.min(rows.len().saturating_sub(usize::from(room.height)));
        paint::lines(view.theme, rows.iter().skip(scroll), room, buf);
        return scroll;
    }
    0
}

fn sign(view: &ViewContext<'_>, status: RunStatus) -> (Ink, &'static str) {
    let glyphs = &view.theme.glyphs;
    match status {
        RunStatus::Open => (Ink::Accent, glyphs.running),
        RunStatus::Complete => (Ink::Good, glyphs.ok),
        RunStatus::Truncated | RunStatus::Cancelled | RunStatus::Interrupted => (Ink::Warn, glyphs.out),
        RunStatus::Errored => (Ink::Danger, glyphs.fail),
    }
}

fn one(view: &ViewContext<'_>, calls: &Calls, card: &RunCard, area: Rect, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    let taken = if calls.chosen.contains(&card.id) { glyphs.branch } else { " " };
    let offset = view.model.facts.offset;
    let wide = area.width >= 70;
    let day = if wide { format!("{} ", time::date(card.at, offset)) } else { String::new() };
    let (ink, sign) = sign(view, card.status);
    let mut label = Line::of(Ink::Accent, &format!("{taken} ")).with(ink, &format!("{sign} "));
    label.push(Ink::Dim, &format!("{day}{} ", time::clock(card.at, offset)));
    let name = branch(view, card);
    label.push(Ink::Text, &format!("{} ", pad(&text::fit(&name, 14, glyphs.ellipsis), 14)));
    let tokens = prompt(card).0;
    let cost = card.cost_micro.filter(|_| wide).map_or_else(String::new, |micro| format!("  {:>8}", money(micro)));
    let value = Line::of(Ink::Text, &format!("{:>7}{cost}", text::number(tokens)));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Dim, &text::fit(&asked(view, card), room, glyphs.ellipsis));
    paint::pair(view.theme, &label, &value, area, buf);
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text::width(text))))
}

fn branch(view: &ViewContext<'_>, card: &RunCard) -> String {
    let session = view.model.session.as_ref();
    session.and_then(|session| session.find(card.branch)).map_or_else(|| "?".to_owned(), |branch| branch.name.clone())
}

/// Tokens of the prompt, and a word if they are not the server's count.
fn prompt(card: &RunCard) -> (u64, &'static str) {
    match card.usage.prompt {
        Some(n) => (u64::from(n), ""),
        None => (u64::from(card.est_total), " (estimated)"),
    }
}

/// First words of the question, with the round of tool calls if it is not the first round.
fn asked(view: &ViewContext<'_>, card: &RunCard) -> String {
    let session = view.model.session.as_ref();
    let head = session.zip(card.user).and_then(|(session, user)| session.tree.get(user));
    let words = head.map(|head| head.preview.clone()).unwrap_or_default();
    match card.round {
        _ if card.aside => "Side question".to_owned(),
        _ if card.edited => format!("(edited by hand) {words}"),
        0 | 1 => words,
        round => format!("(round {round}) {words}"),
    }
}

fn detail(view: &ViewContext<'_>, card: &RunCard, room: usize) -> Vec<Line> {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let words = asked(view, card);
    let mut rows: Vec<Line> = TextRows::plain(&words, room, Ink::Text).into_iter().take(2).collect();
    let mut facts = vec![card.status.name().to_owned(), format!("{} / {}", card.profile, card.model)];
    facts.push(format!("policy {}", card.policy));
    facts.push(format!("mode {}", card.mode.title()));
    facts.extend(card.edited.then(|| "edited by hand".to_owned()));
    rows.extend(TextRows::plain(&facts.join(&dot), room, Ink::Dim));
    let (tokens, label) = prompt(card);
    let mut sums = vec![format!("prompt {}{label}", text::counted(tokens, "token"))];
    sums.extend(card.usage.completion.map(|n| format!("answer {}", text::counted(u64::from(n), "token"))));
    sums.extend(card.cost_micro.map(money));
    sums.extend(card.total_ms.map(text::duration));
    sums.extend(card.uses.map(|uses| uses.to_text()));
    rows.extend(TextRows::plain(&sums.join(&dot), room, Ink::Dim));
    rows.extend(card.error.iter().flat_map(|error| TextRows::plain(error, room, Ink::Danger)));
    for diagnostic in &card.diagnostics {
        rows.extend(TextRows::plain(&diagnostic.what, room, Ink::Warn));
        rows.extend(TextRows::plain(&diagnostic.raw, room, Ink::Dim).into_iter().take(4));
    }
    rows
}
