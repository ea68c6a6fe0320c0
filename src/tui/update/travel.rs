//! Moves the cursor and scrolls in the topmost screen, or else in the focused pane; moves the focus between panes.
//! Not for: what a screen does with a move (`screens`).

use crate::tui::model::list::shift;
use crate::tui::screens::approval::{self, model::ApprovalScreen};
use crate::tui::update::prelude::*;

/// Moves by a row or a page, or to an end.
pub(super) fn travel(model: &mut Model, run: Action) {
    let rows = model.size.1.saturating_sub(8);
    let page = match model.layers.last() {
        Some(screen) => screen.page().map_or(rows, |page| u16::try_from(page).unwrap_or(rows)),
        None => model.conversation.page,
    };
    let page = i64::from(page.max(2).saturating_sub(1));
    let steps = [
        (Action::Up, -1),
        (Action::Down, 1),
        (Action::ScrollUp, -page),
        (Action::ScrollDown, page),
        (Action::Top, i64::MIN / 2),
        (Action::Bottom, i64::MAX / 2),
    ];
    let Some((_, by)) = steps.into_iter().find(|(action, _)| *action == run) else { return };
    match model.layers.last_mut() {
        Some(screen) => screen.travel(run, by),
        None => travel_pane(model, run, by),
    }
}

fn travel_pane(model: &mut Model, run: Action, by: i64) {
    let page = matches!(run, Action::ScrollUp | Action::ScrollDown);
    match model.focus {
        Focus::Composer => model.conversation.scroll += by,
        Focus::Conversation if page => model.conversation.scroll += by,
        Focus::Conversation => {
            let last = model.conversation.path.len().saturating_sub(1);
            let conversation = &mut model.conversation;
            let mut to = shift(conversation.cursor, by, last);
            if let Some(session) = &model.session {
                to = conversation.nearest_shown(&session.tree, to, by);
            }
            // Downward from the last message, its end is shown, and not its beginning again.
            if run == Action::Bottom || run == Action::Down && conversation.cursor == last {
                conversation.point_at(to);
                conversation.follow();
            } else {
                conversation.select(to);
            }
        }
        Focus::Branches => {
            model.panel.wheeled = None;
            model.panel.cursor = shift(model.panel.cursor, by, model.panel.len().saturating_sub(1));
        }
        Focus::Tools => {
            let count = model.session.as_ref().map_or(0, |session| session.traces.len());
            model.tools.selected = shift(model.tools.selected, by, count.saturating_sub(1));
        }
        Focus::Context => {}
    }
}

/// Moves the focus to the next visible pane, or the previous one. A tool call of the branch that needs approval comes
/// after the composer.
pub(super) fn pane(model: &mut Model, step: i64) {
    let was_on_approval = model.layers.on::<ApprovalScreen>();
    model.layers.close::<ApprovalScreen>(|_| was_on_approval);
    if !model.layers.is_empty() || was_on_approval && step < 0 {
        return;
    }
    let asks = model.branch().and_then(|branch| model.live.get(&branch.id)).is_some_and(|live| live.asks.is_some());
    if asks && !was_on_approval && step > 0 && model.focus == Focus::Composer {
        return approval::update::open(model);
    }
    let ring: Vec<Focus> =
        Focus::RING.into_iter().filter(|pane| *pane == model.focus || !model.hidden(*pane)).collect();
    let here = ring.iter().position(|focus| *focus == model.focus).unwrap_or(0);
    let next = if step > 0 { here + 1 } else { here + ring.len() - 1 };
    model.focus = ring[next % ring.len()];
    if model.focus == Focus::Conversation {
        model.conversation.reveal = true;
    }
}
