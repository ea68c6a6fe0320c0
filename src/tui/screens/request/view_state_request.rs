//! Draws the line for the request for a state block that the next request does not make, and its pane.
//! Not for: when the line is listed (`model_state_request`).

use super::model::RequestScreen;
use super::view_figures;
use crate::domain::planning::StateRequestOutcome;
use crate::domain::planning::state_request::STATE_REQUEST_TITLE;
use crate::tui::chat::view::next_request;
use crate::tui::view::prelude::*;

/// Draws the line like the row of an item that is left out.
pub(crate) fn line(view: &ViewContext<'_>, overlay: &RequestScreen, area: Rect, buf: &mut Buffer) {
    let Some(outcome) = overlay.state_request else { return };
    let tokens = outcome.tokens().map_or_else(String::new, |tokens| text::short(u64::from(tokens)));
    let blank = " ".repeat(overlay.counts.widest.saturating_sub(tokens.len()));
    let value = Line::of(Ink::Dim, &format!("{}  {blank}", outcome.label())).with(Ink::Excluded, &tokens);
    let mut label = Line::of(Ink::Dim, &format!("   {} ", next_request::LEFT_OUT));
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    label.push(Ink::Excluded, &text::fit(STATE_REQUEST_TITLE, room, view.theme.glyphs.ellipsis));
    paint::pair(view.theme, &label, &value, area, buf);
}

/// The pane: why the model is not asked, what changes that, and what a state block is.
pub(crate) fn pane(
    view: &ViewContext<'_>,
    overlay: &RequestScreen,
    outcome: StateRequestOutcome,
    room: usize,
) -> Vec<Line> {
    let (action, setting) = outcome.remedies();
    let action = action.map(|remedy| format!("{}.", remedy.sentence(&view.model.keys.key_named(&remedy.action))));
    let tokens = outcome.tokens().map(|tokens| format!("Asking takes {}.", text::short_tokens(u64::from(tokens))));
    let about = "A state block is the model's own summary of the conversation, at the end of an answer.".to_owned();
    let mut rows = TextRows::plain(&outcome.sentence(), room, Ink::Accent);
    for words in action.into_iter().chain(setting.map(str::to_owned)) {
        rows.extend(TextRows::plain(&words, room, Ink::Text));
    }
    for words in std::iter::once(about).chain(tokens) {
        rows.extend(TextRows::plain(&words, room, Ink::Dim));
    }
    if overlay.details {
        rows.extend(view_figures::rows(view, overlay, room));
    }
    rows
}
