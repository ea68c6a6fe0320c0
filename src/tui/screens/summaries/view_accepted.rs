//! Draws the summaries of a branch, in use or replaced, whether each is up to date, and the text of the selected one.
//! Not for: drafts (`view`).

use super::model::SummaryList;
use super::view::{tokens_words, writer};
use crate::domain::conversation::Lane;
use crate::domain::conversation::lane_use;
use crate::domain::planning::{Row, RowKind};
use crate::domain::summary::turns_in_words;
use crate::domain::summary::{SummaryCard, SummaryState};
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, accepted: &SummaryList, area: Rect, buf: &mut Buffer) {
    let words = [
        (Action::Open, "read"),
        (Action::TakeBack, "undo"),
        (Action::Redraft, "rewrite"),
        (Action::Draft, "draft"),
        (Action::Copy, "copy"),
        (Action::Leave, "close"),
    ];
    let acts = |action: Action| !accepted.cards.is_empty() || matches!(action, Action::Draft | Action::Leave);
    let words: Vec<_> = words.into_iter().filter(|(action, _)| acts(*action)).collect();
    let keys = view.keys_line(KeyPlace::Summaries, &words, usize::from(area.width));
    let inside = view.full_screen(Line::of(Ink::Heading, "Summaries of this branch"), keys, area, buf);
    if accepted.cards.is_empty() {
        let key = view.key(Action::Draft);
        let none =
            format!("No summaries are in use here. {key} drafts a summary; a draft is used only after you accept it.");
        let words = if accepted.loading { "Loading the summaries.".to_owned() } else { none };
        let rows = TextRows::plain(&words, usize::from(inside.width).max(1), Ink::Dim);
        return paint::lines(view.theme, &rows, inside, buf);
    }
    let wanted = u16::try_from(accepted.cards.len()).unwrap_or(u16::MAX);
    let list = Rect { height: wanted.min(inside.height.div_ceil(2)), ..inside };
    let page = usize::from(list.height);
    let from = paint::first_row(accepted.cursor, accepted.cards.len(), page);
    for ((at, card), row) in accepted.cards.iter().enumerate().skip(from).zip(list.rows()) {
        one(view, card, row, buf);
        view.entry(row, at, at == accepted.cursor, buf);
    }
    let below = Rect { y: list.bottom(), height: inside.height - list.height, ..inside };
    if let (Some(card), false) = (accepted.selected(), below.is_empty()) {
        paint::rule(view.theme, below, buf);
        let room = Rect { y: below.y + 1, height: below.height - 1, ..below };
        let rows = detail(view, card, usize::from(room.width).max(1));
        paint::lines(view.theme, rows.iter().skip(accepted.scroll.min(rows.len().saturating_sub(1))), room, buf);
    }
}

fn one(view: &ViewContext<'_>, card: &SummaryCard, area: Rect, buf: &mut Buffer) {
    let turns = turns_in_words(card.summary.turns);
    let sign = if card.included { view.theme.glyphs.branch } else { view.theme.glyphs.other };
    let depth = if card.active { "" } else { view.theme.glyphs.corner };
    let ink = if card.included { Ink::Text } else { Ink::Dim };
    let mut label = Line::of(ink, &format!("{depth}{sign} {turns}"));
    label.push(Ink::Dim, &format!("  {}", card.summary.source.phrase()));
    if let Some(state) = card.state.phrase() {
        label.push(Ink::Warn, &format!("  {state}"));
    }
    let ratio = card.summary.ratio_milli();
    let value = format!(
        "{}, {}.{} times shorter",
        text::counted(u64::from(card.summary.tokens), "token"),
        ratio / 1_000,
        ratio % 1_000 / 100
    );
    paint::pair(view.theme, &label, &Line::of(ink, &value), area, buf);
}

fn lane_title(view: &ViewContext<'_>, lane: &Lane) -> String {
    let tree = view.model.session.as_ref().map(|session| &session.tree);
    tree.map_or_else(|| lane.title(), |tree| lane_use::title(tree, lane, view.theme.glyphs.ellipsis))
}

fn detail(view: &ViewContext<'_>, card: &SummaryCard, room: usize) -> Vec<Line> {
    let summary = &card.summary;
    let dot = format!(" {} ", view.theme.glyphs.dot);
    let mut facts = vec![
        tokens_words(view, summary, room >= 100),
        writer(summary),
        format!("made from {}", text::counted(summary.covers.len() as u64, "turn")),
        format!("covers {}% of the checked facts", summary.confidence.saturating_add(5) / 10),
    ];
    let lane = Lane::read(&summary.lane);
    if lane != Lane::Root {
        facts.insert(2, format!("lane {}", lane_title(view, &lane)));
    }
    if !summary.kept.is_empty() {
        facts.push(format!("{} kept verbatim", text::counted(summary.kept.len() as u64, "line")));
    }
    if card.depth > 0 {
        let earlier = if card.depth == 1 { "summary" } else { "summaries" };
        facts.push(format!("replaces {} earlier {earlier}", card.depth));
    }
    let mut rows = TextRows::plain(&facts.join(&dot), room, Ink::Dim);
    let (is_sent, stands) = match row_of(view, card) {
        Some(row) if !row.included() => (false, row.reason.sentence()),
        Some(_) | None if card.included => (true, "Included in the next request.".to_owned()),
        Some(_) | None => (false, why_not(card).to_owned()),
    };
    rows.extend(TextRows::plain(&stands, room, if is_sent { Ink::Good } else { Ink::Warn }));
    rows.push(Line::new());
    match &summary.text {
        Some(text) => rows.extend(TextRows::all(text, room, Ink::Text)),
        None => rows.push(Line::of(Ink::Dim, "The text was deleted with a message.")),
    }
    rows
}

/// The summary's row in the displayed plan, found by the end of its title.
fn row_of<'a>(view: &'a ViewContext<'_>, card: &SummaryCard) -> Option<&'a Row> {
    let (turns, author) = (turns_in_words(card.summary.turns), card.summary.source.name());
    let plan = view.model.plan.plan(view.model.branch()?.id)?;
    let title = format!("summary of {turns} ({author})");
    plan.rows.iter().find(|row| row.kind == RowKind::Summary && row.title.ends_with(&title))
}

/// Why a summary is not included.
fn why_not(card: &SummaryCard) -> &'static str {
    match card.state {
        SummaryState::StaleSource => "One of its turns was edited, excluded, or deleted: rewrite or undo the summary.",
        SummaryState::StaleFile => "One of its files changed: rewrite or undo the summary.",
        SummaryState::Orphan => "Its turns are not on this branch.",
        SummaryState::Fresh | SummaryState::StaleLag if card.active => {
            "Not used with the current mode, policy, or lane; or too large for the budget."
        }
        SummaryState::Fresh | SummaryState::StaleLag => "A newer summary replaces it.",
    }
}
