//! The arrangement of the panels: layouts, hiding, and resizing. Every change is saved for the current size of the screen.
//! Not for: rows and columns of the panes (`view::layout`).

use crate::tui::model::panels::{Arrangement, MIN_TOOLS, Shape, sidebar_widths};
use crate::tui::model::pointer::Border;
use crate::tui::msg::FileCmd;
use crate::tui::update::prelude::*;

/// The columns by which one key press changes a width.
const STEP: u16 = 2;

/// Topic of notices about the arrangement.
const TOPIC: &str = "panels";

/// Switches to the next layout.
pub(crate) fn next_shape(model: &mut Model, out: &mut Vec<Cmd>) {
    let now = model.arrangement().layout;
    let here = Shape::ALL.iter().position(|shape| *shape == now).unwrap_or(0);
    shape(model, Shape::ALL[(here + 1) % Shape::ALL.len()], out);
}

/// Resets the widths of all panels and shows them.
pub(crate) fn even(model: &mut Model, out: &mut Vec<Cmd>) {
    let even = Arrangement { layout: model.arrangement().layout, ..Arrangement::default() };
    put(model, even, "Panel widths are reset, and all panels are shown.", out);
}

/// Switches to a layout.
pub(crate) fn shape(model: &mut Model, shape: Shape, out: &mut Vec<Cmd>) {
    let effect = match shape {
        Shape::Wide => "panels beside the conversation",
        Shape::Narrow => "one pane at a time",
        Shape::Zen => "only the conversation and the composer",
    };
    let key = model.keys.key_of(Action::NextLayout).unwrap_or_else(|| "/next-layout".to_owned());
    if shape == Shape::Zen && !matches!(model.focus, Focus::Composer | Focus::Conversation) {
        model.focus = Focus::Composer;
    }
    let layout = Arrangement { layout: shape, ..model.arrangement() };
    put(model, layout, &format!("Layout {}: {effect}. {key} switches to the next.", shape.name()), out);
}

/// Changes the arrangement, shows a notice about it, and saves it.
fn put(model: &mut Model, arrangement: Arrangement, notice: &str, out: &mut Vec<Cmd>) {
    model.display.arrangements.put(model.size, arrangement);
    model.status.report(TOPIC, notice, model.now);
    out.push(Cmd::File(FileCmd::SaveArrangement));
}

/// Hides a panel, or shows it again.
pub(crate) fn hide(model: &mut Model, panel: Focus, out: &mut Vec<Cmd>) {
    let mut next = model.arrangement();
    let (name, run, away) = match panel {
        Focus::Branches => ("Branches", Action::HideBranches, &mut next.no_branches),
        Focus::Context => ("Next request", Action::HideContext, &mut next.no_context),
        Focus::Tools | Focus::Composer | Focus::Conversation => ("Tools", Action::HideTools, &mut next.no_tools),
    };
    *away = !*away;
    let hidden = *away;
    if hidden && model.focus == panel {
        model.focus = Focus::Composer;
    }
    let key = model.keys.key_of(run).unwrap_or_else(|| format!("/{}", run.name()));
    let notice = if hidden {
        format!("The {name} panel is hidden; {key} shows it again.")
    } else {
        format!("The {name} panel is shown.")
    };
    put(model, next, &notice, out);
}

/// Makes the focused pane wider or narrower. The conversation and the composer move the border of a panel.
pub(crate) fn resize(model: &mut Model, wider: bool, out: &mut Vec<Cmd>) {
    if !model.side_by_side() {
        let text = "Panel widths apply only in the wide layout, at 100 columns or more.";
        return model.status.report(TOPIC, text, model.now);
    }
    let (left, right) = sidebar_widths(&model.arrangement(), model.size.0);
    let moved = |width: u16, more: bool| if more { width + STEP } else { width.saturating_sub(STEP) };
    let (border, to) = match model.focus {
        // The only sidebar contains all of them.
        Focus::Branches | Focus::Tools | Focus::Context if left == 0 => (Border::Right, moved(right, wider)),
        Focus::Conversation | Focus::Composer if left == 0 => (Border::Right, moved(right, !wider)),
        Focus::Branches | Focus::Tools => (Border::Left, moved(left, wider)),
        Focus::Context => (Border::Right, moved(right, wider)),
        Focus::Conversation | Focus::Composer if model.hidden(Focus::Context) => (Border::Left, moved(left, !wider)),
        Focus::Conversation | Focus::Composer => (Border::Right, moved(right, !wider)),
    };
    pull(model, border, to);
    out.push(Cmd::File(FileCmd::SaveArrangement));
}

/// Moves a border: to this many columns of its sidebar, or rows of tools.
pub(super) fn pull(model: &mut Model, border: Border, to: u16) {
    let mut next = model.arrangement();
    match border {
        Border::Left => next.left = to.max(1),
        Border::Right => next.right = to.max(1),
        Border::Tools => next.tools = to.max(MIN_TOOLS),
    }
    // Store the visible width, so that one key press at a limit can be undone by one press.
    let (left, right) = sidebar_widths(&next, model.size.0);
    next.left = if next.left == 0 { 0 } else { left };
    next.right = if next.right == 0 { 0 } else { right };
    model.display.arrangements.put(model.size, next);
}
