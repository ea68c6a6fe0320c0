//! Draws a side question and its answer to the right of the chat, or over all of it on a narrow terminal.
//!
//! ```text
//! ┌ Side question (not saved) ───┐
//! │ you                          │
//! │ What does that word mean?    │
//! │ gpt-4.1-mini · 1,204 in …    │
//! │ It means …                   │
//! └ b keep as a branch  Esc discard ┘
//! ```
//! Not for: the keys (`update`).

use super::model::AsidePane;
use crate::domain::base::Hash;
use crate::domain::base::money::money;
use crate::domain::conversation::state;
use crate::tui::view::cache::CacheKey;
use crate::tui::view::prelude::*;

/// From this width on, the chat stays visible next to the pane.
const MIN_WIDTH_BESIDE: u16 = 90;

/// Draws the pane. Returns its number of rows and the height of its view.
pub(crate) fn draw(
    view: &ViewContext<'_>,
    pane: &AsidePane,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> (usize, usize) {
    let width = if area.width >= MIN_WIDTH_BESIDE { (area.width * 2 / 5).clamp(44, 90) } else { area.width };
    let place = Rect { x: area.right() - width, width, ..area };
    let title = Line::of(Ink::Heading, "Side question").with(Ink::Dim, " (not saved)");
    let words = [(Action::KeepAside, "keep as a branch"), (Action::Leave, "discard"), (Action::Copy, "copy")];
    let words = if pane.card.is_some() { &words[..] } else { &words[1..2] };
    let inside = view.screen(title, view.keys_line(KeyPlace::Variants, words, usize::from(width)), place, buf);
    let within = Rect { x: inside.x + 1, width: inside.width.saturating_sub(1), ..inside };
    let room = within.width.saturating_sub(1).max(1);
    let wide = usize::from(room);
    let mut rows = vec![Line::of(Ink::You, "you")];
    rows.extend(TextRows::plain(pane.question.trim(), wide, Ink::Text));
    rows.push(Line::new());
    rows.extend(TextRows::plain(&account(view, pane), wide, Ink::Dim));
    rows.push(Line::new());
    let over = pane.card.is_some();
    let words = if over {
        state::strip(&pane.text, true)
    } else {
        pane.text[..state::shown_while_streaming(&pane.text)].to_owned()
    };
    let of = CacheKey::Text(Hash::of(words.as_bytes()), false);
    rows.extend(cache.rows(of, room, || TextRows::drawn(&words, wide, Ink::Text, view.markdown())).iter().cloned());
    if let Some(failure) = &pane.failure {
        rows.extend(TextRows::plain(&failure.to_string(), wide, Ink::Danger));
    }
    let height = usize::from(inside.height);
    let from = pane.scroll.top.min(rows.len().saturating_sub(height));
    paint::colored_lines(view.theme, rows.iter().skip(from), cache, within, buf);
    paint::thumb(view.theme, from, rows.len(), height, inside, buf);
    (rows.len(), height)
}

/// Model, tokens, and cost of the call, or its progress.
fn account(view: &ViewContext<'_>, pane: &AsidePane) -> String {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let cost = pane.cost.map_or_else(String::new, |micro| format!("{dot}{}", money(micro)));
    match &pane.card {
        Some(card) => format!("{}{dot}{}{cost}{dot}counted", card.model, card.usage.to_text(card.est_total, &dot)),
        None if pane.run.is_none() => "Preparing the context.".to_owned(),
        None => {
            let tokens = text::number(u64::from(pane.tokens));
            format!("{} so far{dot}{tokens} tokens (estimated){cost}", view.theme.glyphs.running)
        }
    }
}
