//! Handles Esc and Ctrl+C: closes screens and panes, stops answers, takes back or clears messages.
//! Not for: questions before the program ends (`chat::update::quit`).

use super::effects::send;
use super::shared;
use crate::engine::api::TurnRequest;
use crate::tui::chat::update::{completing, queueing, quit, search};
use crate::tui::screens::screen::Screen;
use crate::tui::screens::{summaries, tour};
use crate::tui::update::prelude::*;

/// The maximum time between two related presses, in milliseconds.
const QUIT_WINDOW_MS: u64 = 1_500;

/// Handles Esc: closes the topmost screen, or else leaves the pane, or else stops the answer. It never clears typed
/// text.
pub(crate) fn leave(model: &mut Model, out: &mut Vec<Cmd>) {
    if shared::taken(model, Screen::leave, out) || model.layers.pop() {
        return;
    }
    if model.focus == Focus::Conversation && search::end(model) {
        return;
    }
    if model.focus != Focus::Composer {
        model.focus = Focus::Composer;
        search::end(model);
        model.conversation.follow();
        return;
    }
    let ended = model.tour.as_ref().is_some_and(tour::model::Tour::ended);
    if completing::close(model) || (ended && tour::update::leave(model, out)) {
        return;
    }
    if model.composer.close_list() {
        return;
    }
    if cancel_waiting(model, out) || queueing::hold_waiting(model) {
        return;
    }
    if model.composer.end_edit() {
        model.plan.touch(model.now);
        return;
    }
    if let Some(branch) = model.branch().map(|branch| branch.id) {
        if model.live.contains_key(&branch) {
            interrupt(model, out);
            return;
        }
        if summaries::update_modules::stop(model, out) {
            return;
        }
        if model.status.dismiss() || model.conversation.failed.remove(&branch).is_some() {
            return;
        }
    }
    tour::update::leave(model, out);
}

/// Cancels a call that waits for its plan. The answer to the call reports it.
fn cancel_waiting(model: &mut Model, out: &mut Vec<Cmd>) -> bool {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return false };
    let asks = |pending: &Pending| matches!(pending, Pending::Turn(turn) if turn.asks_on(branch));
    let waits = !model.live.contains_key(&branch) && model.requests.any(asks);
    if waits {
        send(model, TurnRequest::Cancel { branch }, Pending::Act, out);
    }
    waits
}

/// Stops the answer that is arriving on the current branch.
pub(crate) fn interrupt(model: &mut Model, out: &mut Vec<Cmd>) {
    let Some(branch) = model.branch().map(|branch| branch.id) else { return };
    if let Some(live) = model.live.get_mut(&branch) {
        live.stopping = true;
        send(model, TurnRequest::Cancel { branch }, Pending::Act, out);
    }
}

/// Handles Ctrl+C: closes the topmost screen, or else stops the answer, or else clears the message, or else quits at
/// the second press in a row.
pub(crate) fn clear(model: &mut Model, out: &mut Vec<Cmd>) {
    let asked_at = model.input.clear_at.take();
    if shared::taken(model, Screen::cancel, out) || model.layers.pop() {
        return;
    }
    if model.live_here().is_some_and(|live| !live.stopping) {
        return interrupt(model, out);
    }
    if !model.composer.is_empty() {
        if !model.composer.end_edit() {
            model.composer.move_to_history();
            model.composer.clear();
        }
        let key = model.keys.key_of(Action::HistoryUp).unwrap_or_default();
        let when = if model.facts.demo { "" } else { ", even after a restart" };
        model.status.report("cleared", format!("Cleared. {key} restores the text{when}."), model.now);
        model.plan.touch(model.now);
        return;
    }
    if asked_at.is_some_and(|at| model.now.saturating_sub(at) <= QUIT_WINDOW_MS) {
        return quit::quit(model);
    }
    model.input.clear_at = Some(model.now);
    let key = model.keys.key_of(Action::Clear).unwrap_or_default();
    let what = if model.tour.is_some() { "leave the tour" } else { "quit" };
    model.status.say(Severity::Notice, format!("Press {key} again to {what}."), model.now);
}
