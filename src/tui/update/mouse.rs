//! The mouse: a click focuses and selects, a double click opens, the wheel scrolls the pane below the pointer, and borders
//! can be dragged.
//! Not for: which part is at a position (the view records it).

use super::{actions, panels};
use crate::tui::model::list::shift;
use crate::tui::model::pointer::{self, Border, HitArea, Mouse, PointerAction, Target};
use crate::tui::msg::FileCmd;
use crate::tui::update::prelude::*;

/// The maximum time between the clicks of a double click, in milliseconds.
const DOUBLE_CLICK_MS: u64 = 400;

pub(super) fn mouse(model: &mut Model, mouse: Mouse, out: &mut Vec<Cmd>) {
    let target = pointer::at(&model.pointer.hits.borrow(), mouse.x, mouse.y);
    match mouse.did {
        PointerAction::Press => press(model, target, out),
        PointerAction::Drag => {
            if let Some(border) = model.pointer.dragged {
                drag(model, border, mouse);
            }
        }
        PointerAction::Release => {
            if model.pointer.dragged.take().is_some() {
                out.push(Cmd::File(FileCmd::SaveArrangement));
            }
        }
        PointerAction::Wheel(rows) => wheel(model, target, rows),
    }
}

fn press(model: &mut Model, target: Option<Target>, out: &mut Vec<Cmd>) {
    let over = !model.layers.is_empty();
    let Some(target) = target.filter(|target| matches!(target, Target::Item(_)) == over) else { return };
    let same = |last: Target| last == target || [last, target].into_iter().all(is_next_request);
    let twice =
        model.pointer.last.is_some_and(|(at, last)| same(last) && model.now.saturating_sub(at) <= DOUBLE_CLICK_MS);
    model.pointer.last = (!twice).then_some((model.now, target));
    match target {
        Target::Border(border) => model.pointer.dragged = Some(border),
        Target::Pane(pane) => {
            model.focus = pane;
            if twice && pane == Focus::Context {
                actions::run(model, Action::NextRequest, None, out);
            }
        }
        Target::Row(pane, at) => {
            model.focus = pane;
            if twice {
                actions::run(model, Action::Open, None, out);
            } else {
                row(model, pane, at);
            }
        }
        Target::Item(at) => {
            if let Some(screen) = model.layers.last_mut() {
                screen.select(at);
            }
            if twice {
                actions::run(model, Action::Open, None, out);
            }
        }
    }
}

/// Selects a row of a pane.
fn row(model: &mut Model, pane: Focus, at: usize) {
    match pane {
        Focus::Branches => {
            // The row stays under the pointer, wherever the list starts.
            model.panel.cursor = at.min(model.panel.len().saturating_sub(1));
        }
        Focus::Tools => model.tools.selected = at,
        Focus::Conversation => model.conversation.point_at(at),
        Focus::Context => {
            if let Some(plan) = model.shown_plan().cloned() {
                model.next_request.put(&plan, at);
            }
        }
        Focus::Composer => {}
    }
}

/// Whether a click was in the panel of the next request, whose rows move when it gets the focus.
fn is_next_request(target: Target) -> bool {
    matches!(target, Target::Pane(Focus::Context) | Target::Row(Focus::Context, _))
}

fn drag(model: &mut Model, border: Border, mouse: Mouse) {
    let (columns, rows) = model.size;
    let place =
        model.pointer.hits.borrow().iter().find(|hit| hit.target == Target::Pane(Focus::Tools)).map(|hit| hit.area);
    let to = match border {
        Border::Left => mouse.x + 1,
        Border::Right => columns.saturating_sub(mouse.x),
        Border::Tools => place.map_or(rows / 3, |area| area.bottom().saturating_sub(mouse.y)),
    };
    panels::pull(model, border, to);
}

fn wheel(model: &mut Model, target: Option<Target>, rows: i64) {
    if let Some(screen) = model.layers.last_mut() {
        return screen.wheel(rows);
    }
    match target {
        Some(Target::Row(Focus::Branches, _) | Target::Pane(Focus::Branches)) => {
            let row = |hit: &HitArea| if let Target::Row(Focus::Branches, at) = hit.target { Some(at) } else { None };
            let first = model.pointer.hits.borrow().iter().find_map(row);
            let from = model.panel.wheeled.or(first).unwrap_or(0);
            model.panel.wheeled = Some(shift(from, rows, model.panel.len().saturating_sub(1)));
        }
        Some(Target::Row(Focus::Tools, _) | Target::Pane(Focus::Tools)) => {
            let last = model.tool_calls().len().saturating_sub(1);
            model.tools.selected = shift(model.tools.selected, rows.signum(), last);
        }
        Some(target) if is_next_request(target) => {
            if let Some(plan) = model.shown_plan().filter(|_| model.on_next_request()).cloned() {
                model.next_request.step(&plan, rows.signum());
            }
        }
        Some(Target::Row(..) | Target::Pane(_) | Target::Item(_) | Target::Border(_)) | None => {
            model.conversation.scroll += rows;
        }
    }
}
