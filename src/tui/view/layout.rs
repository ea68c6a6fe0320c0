//! Places the panes, for every size of the terminal.
//! Not for: their contents (`chat::view`).

pub(crate) use super::paint::inside;
use super::{ViewContext, paint};
use crate::tui::chat::view::{branches, composer, notice};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::panels::{self, MIN_TOOLS, Shape};
use crate::tui::model::pointer::{Border, Target};
use crate::tui::view::prelude::*;

/// Largest width of the conversation when it is alone.
const MAX_ALONE_WIDTH: u16 = 104;

/// The areas of the visible panes.
#[derive(Clone, Debug, Default)]
pub(super) struct Areas {
    pub(super) header: Option<Rect>,
    /// The rule below the header.
    pub(super) rule: Option<Rect>,
    pub(super) branches: Option<Rect>,
    pub(super) tools: Option<Rect>,
    pub(super) conversation: Option<Rect>,
    pub(super) context: Option<Rect>,
    pub(super) notice: Option<Rect>,
    pub(super) composer: Option<Rect>,
    /// Vertical lines between panes, from the header's rule to the composer's.
    pub(super) columns: Vec<Rect>,
}

/// Places the panes; `rows` is how many rows of text the composer would use. A notice covers the lowest rows of the other
/// panes, so that they stay at their places.
pub(super) fn areas(model: &Model, area: Rect, rows: u16) -> Areas {
    let mut areas = Areas::default();
    let composer = if area.height < 6 { area.height.min(1) } else { (rows + 2).min(area.height - 3) };
    let spare = area.height.saturating_sub(composer + 4);
    let zen = zen(model);
    let width = if zen { middle(area).width } else { area.width };
    let notice = notice::rows_at(model, width, area.height).min(spare);
    let below = Rect { y: area.bottom() - composer - notice, height: composer + notice, ..area };
    areas.composer = Some(below);
    areas.notice = (notice > 0).then(|| Rect { y: below.y + 1, height: notice, ..area });
    let above = Rect { height: area.height - composer, ..area };
    let (header, rule) = match above.height {
        _ if zen => (0, 0),
        0..3 => (0, 0),
        3..8 => (1, 0),
        8.. => (1, 1),
    };
    areas.header = (header > 0).then_some(Rect { height: 1, ..above });
    areas.rule = (rule > 0).then_some(Rect { y: above.y + 1, height: 1, ..above });
    let body = Rect { y: above.y + header + rule, height: above.height - header - rule, ..above };
    place(model, body, zen, &mut areas);
    let end = |pane: &mut Rect| pane.height = pane.height.min(below.y.saturating_sub(pane.y));
    let panes = [&mut areas.branches, &mut areas.tools, &mut areas.conversation, &mut areas.context];
    panes.into_iter().flatten().chain(&mut areas.columns).for_each(end);
    areas
}

/// Places the panes between the header and the composer.
fn place(model: &Model, body: Rect, zen: bool, areas: &mut Areas) {
    if model.side_by_side() {
        return columns(model, body, areas);
    }
    match model.focus {
        Focus::Composer | Focus::Conversation if zen => {
            areas.conversation = Some(middle(body));
            areas.composer = areas.composer.map(middle);
            areas.notice = areas.notice.map(middle);
        }
        Focus::Composer | Focus::Conversation => areas.conversation = Some(body),
        Focus::Branches => areas.branches = Some(body),
        Focus::Tools => areas.tools = Some(body),
        Focus::Context => areas.context = Some(body),
    }
}

/// Height of the composer with its rule, its keys, and the notice.
pub(crate) fn composer_height(model: &Model, area: Rect) -> u16 {
    areas(model, area, composer::rows(model, area)).composer.map_or(1, |composer| composer.height)
}

fn zen(model: &Model) -> bool {
    model.arrangement().layout == Shape::Zen
}

/// Centers a pane and limits its width, since long lines are hard to read.
fn middle(area: Rect) -> Rect {
    let width = area.width.min(MAX_ALONE_WIDTH);
    Rect { x: area.x + (area.width - width) / 2, width, ..area }
}

fn columns(model: &Model, body: Rect, areas: &mut Areas) {
    let arrangement = model.arrangement();
    let (left, right) = panels::sidebar_widths(&arrangement, body.width);
    let seen = |pane: Focus| model.focus == pane || !model.hidden(pane);
    let (branches, context) = (seen(Focus::Branches), seen(Focus::Context));
    let calls = model.session.as_ref().is_some_and(|session| !session.traces.is_empty());
    let tools = seen(Focus::Tools) && (calls || model.focus == Focus::Tools);
    // A single sidebar contains all panels; if there are two, the right one contains the next request.
    let one = left == 0;
    let first = branches || tools || (one && context);
    let second = context && !one;
    let (left, right) = match one {
        true if first => (0, right),
        true => (0, 0),
        false => (if first { left } else { 0 }, if second { right } else { 0 }),
    };
    let pane = |x: u16, width: u16, line_at_left: bool| {
        let x = if line_at_left { x + 1 } else { x };
        Rect { x, width: width - 1, ..body }
    };
    areas.conversation = Some(Rect { x: body.x + left, width: body.width - left - right, ..body });
    if left > 0 {
        areas.columns.push(Rect { x: body.x + left - 1, width: 1, ..body });
    }
    if right > 0 {
        areas.columns.push(Rect { x: body.right() - right, width: 1, ..body });
    }
    let right = (right > 0).then(|| pane(body.right() - right, right, true));
    let left = (left > 0).then(|| pane(body.x, left, false));
    if second {
        areas.context = right;
    }
    if let (true, Some(side)) = (first, if one { right } else { left }) {
        stack(model, side, (branches, one && context, tools), areas);
    }
}

/// Stacks panels in one sidebar, with a blank row between them.
fn stack(model: &Model, side: Rect, (branches, context, tools): (bool, bool, bool), areas: &mut Areas) {
    let calls = model.tool_calls().len().min(10);
    let wished = u16::try_from(calls.max(2)).unwrap_or(10) + 2;
    let own = model.arrangement().tools;
    let tools = match (tools, side.height) {
        (true, height) if !branches && !context => height,
        (false, _) | (true, ..12) => 0,
        (true, height) if own > 0 => own.clamp(MIN_TOOLS, height / 2),
        (true, height) => (height / 3).min(wished),
    };
    let left = side.height - tools;
    let rows = match (branches, context) {
        (false, _) => 0,
        (true, false) => left,
        (true, true) => branches::rows(model).clamp(1, left / 3) + 1,
    };
    // The last row stays blank above the next request.
    areas.branches = (rows > 0).then_some(Rect { height: rows.saturating_sub(u16::from(context)), ..side });
    areas.tools = (tools > 0).then_some(Rect { y: side.bottom() - tools, height: tools, ..side });
    areas.context = areas.context.or(context.then_some(Rect { y: side.y + rows, height: left - rows, ..side }));
}

/// Draws the rules between panes and records the borders that can be dragged.
pub(super) fn rules(view: &ViewContext<'_>, areas: &Areas, buf: &mut Buffer) {
    let glyphs = &view.theme.glyphs;
    if let Some(area) = areas.rule {
        paint::rule(view.theme, area, buf);
    }
    let put = |sign: &str, x: u16, y: u16, buf: &mut Buffer| {
        paint::line(view.theme, &Line::of(Ink::Border, sign), Rect { x, y, width: 1, height: 1 }, buf);
    };
    for column in &areas.columns {
        column.rows().for_each(|row| put(glyphs.pipe.trim_end(), row.x, row.y, buf));
        if let Some(rule) = areas.rule {
            put(glyphs.joins.0, column.x, rule.y, buf);
        }
        // Text on the composer's rule is not overwritten.
        let below = areas.composer.map_or(column.bottom(), |composer| composer.y);
        if buf.cell((column.x, below)).is_some_and(|cell| cell.symbol() == glyphs.rule) {
            put(glyphs.joins.1, column.x, below, buf);
        }
        let left = areas.conversation.is_some_and(|middle| column.x < middle.x);
        view.hit(*column, Target::Border(if left { Border::Left } else { Border::Right }));
    }
    if let (true, Some(tools)) = (view.model.side_by_side() && areas.branches.or(areas.context).is_some(), areas.tools)
    {
        view.hit(Rect { height: 1, ..tools }, Target::Border(Border::Tools));
    }
}
