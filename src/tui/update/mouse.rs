//! The mouse: a click gives the focus and selects, a second one opens, the wheel scrolls what lies beneath, borders are
//! dragged. Not for: what lies where (the view notes it).

use super::{actions, open, panes};
use crate::tui::model::layer::Layer;
use crate::tui::model::pointer::{self, Border, Did, Mouse, Target};
use crate::tui::model::{Action, Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::screens;

/// Two clicks within this time are one double click, in milliseconds.
const DOUBLE: u64 = 400;

pub(super) fn mouse(model: &mut Model, mouse: Mouse, out: &mut Vec<Cmd>) {
    let target = pointer::at(&model.hits.borrow(), mouse.x, mouse.y);
    match mouse.did {
        Did::Press => press(model, target, out),
        Did::Drag => {
            if let Some(border) = model.pointer.held {
                drag(model, border, mouse);
            }
        }
        Did::Release => {
            if model.pointer.held.take().is_some() {
                out.push(Cmd::KeepPanes);
            }
        }
        Did::Wheel(rows) => wheel(model, target, rows, out),
    }
}

fn press(model: &mut Model, target: Option<Target>, out: &mut Vec<Cmd>) {
    let over = !model.layers.is_empty();
    let Some(target) = target.filter(|target| matches!(target, Target::Item(_)) == over) else { return };
    let twice = model.pointer.last.is_some_and(|(at, last)| last == target && model.now.saturating_sub(at) <= DOUBLE);
    model.pointer.last = (!twice).then_some((model.now, target));
    match target {
        Target::Border(border) => model.pointer.held = Some(border),
        Target::Pane(pane) => {
            model.focus = pane;
            if twice && pane == Focus::Context {
                actions::run(model, Action::Context, None, out);
            }
        }
        Target::Row(pane, at) => {
            model.focus = pane;
            row(model, pane, at);
            if twice {
                actions::run(model, Action::Open, None, out);
            }
        }
        Target::Item(at) => {
            item(model, at);
            open::row_text(model, out);
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
            // The row stays under the pointer, wherever the list begins.
            model.panel.cursor = at.min(model.panel.len().saturating_sub(1));
        }
        Focus::Tools => model.tool = at,
        Focus::Conversation => model.conversation.point_at(at),
        Focus::Composer | Focus::Context => {}
    }
}

/// Selects a row of the topmost layer.
fn item(model: &mut Model, at: usize) {
    match model.layers.last_mut() {
        Some(Layer::Picker(picker)) => picker.cursor = at.min(picker.shown.len().saturating_sub(1)),
        Some(Layer::Question(question)) => question.cursor = at.min(question.choices.len().saturating_sub(1)),
        Some(Layer::Overlay(overlay)) => overlay.step(by(overlay.cursor, at)),
        Some(Layer::Tree(grove)) => grove.step(by(grove.cursor, at)),
        Some(Layer::Calls(calls)) => calls.step(by(calls.cursor, at)),
        Some(Layer::Diff(view)) => view.step(by(view.cursor, at)),
        Some(Layer::Toolbox(rack)) => rack.step(by(rack.cursor, at)),
        Some(Layer::WhatIf(strip)) => strip.step(by(strip.cursor, at)),
        Some(Layer::Capsules(shelf)) => shelf.step(by(shelf.cursor, at)),
        Some(Layer::Draft(desk)) => desk.step(by(desk.cursor, at)),
        Some(Layer::Find(finder)) => finder.cursor = at.min(finder.found.messages.len().saturating_sub(1)),
        Some(Layer::Workshop(shop)) => shop.step(by(shop.cursor, at)),
        Some(Layer::Raw(raw)) => raw.step(by(raw.cursor, at)),
        Some(Layer::Ledger(sheet)) => sheet.step(by(sheet.cursor, at)),
        Some(Layer::Traces(screen)) => screen.step(by(screen.cursor, at)),
        _ => {}
    }
}

fn by(from: usize, to: usize) -> i64 {
    i64::try_from(to).unwrap_or(0) - i64::try_from(from).unwrap_or(0)
}

fn drag(model: &mut Model, border: Border, mouse: Mouse) {
    let (columns, rows) = model.size;
    let place = model.hits.borrow().iter().find(|hit| hit.target == Target::Pane(Focus::Tools)).map(|hit| hit.area);
    let to = match border {
        Border::Left => mouse.x + 1,
        Border::Right => columns.saturating_sub(mouse.x),
        Border::Tools => place.map_or(rows / 3, |area| area.bottom().saturating_sub(mouse.y)),
    };
    panes::pull(model, border, to);
}

fn wheel(model: &mut Model, target: Option<Target>, rows: i64, out: &mut Vec<Cmd>) {
    if !model.layers.is_empty() {
        match model.layers.last() {
            // In a list that has nothing to scroll but its rows, the wheel goes through them.
            Some(Layer::Picker(_) | Layer::Find(_) | Layer::Question(_) | Layer::Traces(_)) => {
                screens::picker::update::travel(model, if rows < 0 { Action::Up } else { Action::Down }, out);
            }
            _ => screens::picker::update::scroll(model, rows),
        }
        return;
    }
    match target {
        Some(Target::Row(Focus::Branches, _) | Target::Pane(Focus::Branches)) => {
            let first = model.hits.borrow().iter().find_map(|hit| match hit.target {
                Target::Row(Focus::Branches, at) => Some(at),
                _ => None,
            });
            let from = model.panel.wheeled.or(first).unwrap_or(0);
            model.panel.wheeled = Some(screens::picker::update::shift(from, rows, model.panel.len().saturating_sub(1)));
        }
        Some(Target::Row(Focus::Tools, _) | Target::Pane(Focus::Tools)) => {
            let last = model.session.as_ref().map_or(0, |session| session.traces.len()).saturating_sub(1);
            model.tool = screens::picker::update::shift(model.tool, rows.signum(), last);
        }
        Some(Target::Pane(Focus::Context)) => {}
        _ => model.conversation.scroll += rows,
    }
}
