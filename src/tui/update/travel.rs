//! Moves the cursor and scrolls in the topmost screen, or else in the focused pane; moves the focus between panes.
//! Not for: what a screen does with a move (`screens`).

use crate::tui::model::list::{ListCursor, shift};
use crate::tui::screens::screen::{Screen, Stride};
use crate::tui::update::effects::run_next;
use crate::tui::update::prelude::*;

/// Moves by a row or a page, or to an end: 1 down, -1 up.
pub(super) fn travel(model: &mut Model, stride: Stride, way: i64) {
    let rows = model.size.1.saturating_sub(8);
    let page = match model.layers.last() {
        Some(screen) => screen.page().map_or(rows, |page| u16::try_from(page).unwrap_or(rows)),
        None if model.focus == Focus::Context => model.next_request.page,
        None => model.conversation.page,
    };
    let page = i64::from(page.max(2).saturating_sub(1));
    let by = match stride {
        Stride::Row => way,
        Stride::Page => way * page,
        Stride::End => way * (i64::MAX / 2),
    };
    match model.layers.last_mut() {
        Some(screen) => screen.travel(stride, by),
        None => travel_pane(model, stride, by),
    }
}

fn travel_pane(model: &mut Model, stride: Stride, by: i64) {
    let page = stride == Stride::Page;
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
            if by > 0 && (stride == Stride::End || conversation.cursor == last) {
                conversation.point_at(to);
                conversation.follow();
            } else {
                conversation.select(to);
            }
        }
        Focus::Branches => {
            model.panel.wheeled = None;
            let rows = model.panel.len();
            ListCursor::new(&mut model.panel.cursor, rows).step(by);
        }
        Focus::Tools => {
            let rows = model.tool_calls().len();
            ListCursor::new(&mut model.tools.selected, rows).step(by);
        }
        Focus::Context => {
            if let Some(plan) = model.shown_plan().cloned() {
                model.next_request.step(&plan, by);
            }
        }
    }
}

/// Moves the focus to the next visible pane, or the previous one, or between the parts of the topmost screen. A tool call
/// of the branch that needs approval comes after the composer.
pub(super) fn pane(model: &mut Model, step: i64, out: &mut Vec<Cmd>) {
    let was_beside_composer = model.layers.last().is_some_and(Screen::above_composer) && model.layers.pop();
    if let Some(screen) = model.layers.last_mut() {
        screen.next_pane(step).finish(model, out);
        return;
    }
    if was_beside_composer && step < 0 {
        return;
    }
    let asks = model.branch().and_then(|branch| model.live.get(&branch.id)).is_some_and(|live| live.asks.is_some());
    if asks && !was_beside_composer && step > 0 && model.focus == Focus::Composer {
        return run_next(model, Action::AnswerTool);
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
