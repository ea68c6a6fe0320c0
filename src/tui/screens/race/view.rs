//! Draws answers side by side, each under its title and figures, as many at a time as fit.
//! Not for: the keys (`update`).

use super::model::{AnswerRelations, Column, RaceScreen};
use crate::domain::base::money::money;
use crate::domain::base::{Hash, NodeId};
use crate::domain::call::run::CAUTION;
use crate::domain::conversation::state;
use crate::tui::view::cache::CacheKey as Rows;
use crate::tui::view::prelude::*;
use std::rc::Rc;

/// Width that an answer needs next to others.
const MIN_ANSWER_WIDTH: u16 = 36;

/// Draws the answers. Returns the nodes whose contents are missing, the rows of the longest answer, and the height of
/// the view.
pub(crate) fn draw(
    view: &ViewContext<'_>,
    screen: &RaceScreen,
    cache: &mut Cache,
    area: Rect,
    buf: &mut Buffer,
) -> (Vec<NodeId>, (usize, usize)) {
    let keys = view.keys_line(KeyPlace::Variants, &hints(screen), usize::from(area.width));
    let inside = view.full_screen(title(screen), keys, area, buf);
    let mut caution = TextRows::plain(CAUTION, usize::from(inside.width).max(1), Ink::Dim);
    caution.truncate(if inside.height >= 10 && caution.len() <= 2 { 2 } else { 0 });
    paint::lines(view.theme, &caution, inside, buf);
    let used = u16::try_from(caution.len()).unwrap_or(0);
    let body = Rect { y: inside.y + used, height: inside.height - used, ..inside };
    let count = u16::try_from(screen.columns.len()).unwrap_or(u16::MAX).max(1);
    let fit = (body.width / MIN_ANSWER_WIDTH).clamp(1, count);
    let first = (screen.cursor + 1).saturating_sub(usize::from(fit));
    let each = (body.width - (fit - 1) * 3) / fit;
    let (mut wanted, mut longest) = (Vec::new(), 0);
    for (at, column) in screen.columns.iter().enumerate().skip(first).take(usize::from(fit)) {
        let place = u16::try_from(at - first).unwrap_or(0);
        let room = Rect { x: body.x + place * (each + 3), width: each, ..body };
        if place > 0 {
            paint::left_rule(view.theme, room, buf);
        }
        let more = (screen.columns.len() > usize::from(fit)).then(|| format!(" {}/{}", at + 1, screen.columns.len()));
        let below = head(view, column, (at == screen.cursor, &more.unwrap_or_default()), room, buf);
        let rows = rows(view, column, cache, below.width, &mut wanted);
        longest = longest.max(rows.len());
        let page = usize::from(below.height);
        let from = screen.scroll.top.min(rows.len().saturating_sub(page));
        paint::colored_lines(view.theme, rows.iter().skip(from), cache, below, buf);
    }
    (wanted, (longest, usize::from(body.height.saturating_sub(2)).max(1)))
}

fn title(screen: &RaceScreen) -> Line {
    let words = match &screen.of {
        AnswerRelations::Race => format!("Race: {}", text::counted(screen.columns.len() as u64, "answer")),
        AnswerRelations::Replay { without: Some(_), .. } => "Replay without an item".to_owned(),
        AnswerRelations::Replay { without: None, .. } => "Replay".to_owned(),
    };
    Line::of(Ink::Heading, &words)
}

fn hints(screen: &RaceScreen) -> Vec<(Action, &'static str)> {
    let mut words = match &screen.of {
        AnswerRelations::Race => vec![(Action::Open, "keep it, archive the others"), (Action::Leave, "keep all")],
        AnswerRelations::Replay { .. } => vec![(Action::Open, "switch to it"), (Action::Leave, "close")],
    };
    if matches!(screen.of, AnswerRelations::Replay { without: Some(_), .. }) {
        words.insert(0, (Action::Mattered, "suggest as pin"));
    }
    words.extend([(Action::NextPane, "next"), (Action::Discard, "archive"), (Action::Down, "scroll")]);
    words
}

/// Draws an answer's title, figures, and limits. Returns the area below.
fn head(view: &ViewContext<'_>, column: &Column, (selected, more): (bool, &str), area: Rect, buf: &mut Buffer) -> Rect {
    let (ink, sign) = if selected { (Ink::Accent, view.theme.glyphs.folded) } else { (Ink::Heading, " ") };
    let room = usize::from(area.width).saturating_sub(more.len() + 2);
    let mut line = Line::of(ink, &format!("{sign} "));
    line.pieces.extend(paint::cut(view.theme, ink, &column.title, room).pieces);
    line.push(Ink::Dim, more);
    paint::line(view.theme, &line, area, buf);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let account = Line::of(Ink::Dim, &account(view, column));
    let account = account.fit(usize::from(below.width), view.theme.glyphs.ellipsis);
    paint::line(view.theme, &account, below, buf);
    let mut rest = Rect { y: below.y + 1, height: below.height.saturating_sub(1), ..below };
    if let Some((ink, words)) = limits(view, column) {
        paint::line(view.theme, &Line::of(ink, &format!("  {words}")), rest, buf);
        rest = Rect { y: rest.y + 1, height: rest.height.saturating_sub(1), ..rest };
    }
    rest
}

/// The limits of a race's branch, or the limit that ended it.
fn limits(view: &ViewContext<'_>, column: &Column) -> Option<(Ink, String)> {
    let record = view.model.session.as_ref()?.races.get(&column.branch?)?;
    if let Some(limit) = record.stopped {
        return Some((Ink::Warn, limit.sentence(record.limits)));
    }
    let words = record.limits.to_text();
    (!words.is_empty()).then(|| (Ink::Dim, format!("at most {words}")))
}

/// The figures of an answer, `gpt-4.1-mini · 1,204 in / 310 out · $0.0011`, or its progress.
fn account(view: &ViewContext<'_>, column: &Column) -> String {
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let run = column
        .answer(view.model.session.as_ref(), &view.model.live)
        .and_then(|node| view.model.session.as_ref()?.run_of_answer(node));
    if let Some(card) = run {
        let cost = card.cost_micro.map_or_else(String::new, |micro| format!("{dot}{}", money(micro)));
        return format!("  {}{dot}{}{cost}", card.model, card.usage.to_text(card.est_total, &dot));
    }
    let live = column.branch.and_then(|branch| view.model.live.get(&branch));
    live.map_or_else(String::new, |live| {
        let seconds = live.seconds(view.model.now);
        format!(
            "  {} so far{dot}{} tokens (estimated){dot}{seconds} s",
            view.theme.glyphs.running,
            text::number(live.tokens.into())
        )
    })
}

/// The text of an answer.
fn rows(
    view: &ViewContext<'_>,
    column: &Column,
    cache: &mut Cache,
    width: u16,
    wanted: &mut Vec<NodeId>,
) -> Rc<Vec<Line>> {
    let room = width.saturating_sub(1).max(1);
    let plain = |words: &str, ink: Ink| Rc::new(TextRows::plain(words, usize::from(room), ink));
    let mut shown = |words: &str| {
        let of = Rows::Text(Hash::of(words.as_bytes()), false);
        cache.rows(of, room, || TextRows::drawn(words, usize::from(room), Ink::Text, view.markdown()))
    };
    if let Some(node) = column.answer(view.model.session.as_ref(), &view.model.live) {
        wanted.push(node);
        return match view.model.bodies.get(node) {
            Some(body) => shown(&state::strip(&body.content.plain_text(), true)),
            None => plain(view.theme.glyphs.ellipsis, Ink::Dim),
        };
    }
    let Some(branch) = column.branch else { return plain("No answer was kept.", Ink::Dim) };
    if let Some(live) = view.model.live.get(&branch).filter(|live| !live.text.is_empty()) {
        return shown(&live.text[..state::shown_while_streaming(&live.text)]);
    }
    match view.model.conversation.failed.get(&branch) {
        Some(failure) => {
            let parts = [(&failure.what, Ink::Danger), (&failure.kept, Ink::Text), (&failure.todo, Ink::Accent)];
            let parts = parts.into_iter().filter(|(text, _)| !text.is_empty());
            let rows = |(text, ink): (&String, Ink)| {
                let text = with_bound_keys(&view.model.keys, IN_CONVERSATION, text);
                TextRows::plain(&text, usize::from(room), ink)
            };
            Rc::new(parts.flat_map(rows).collect())
        }
        None => plain("Nothing has arrived yet.", Ink::Dim),
    }
}
