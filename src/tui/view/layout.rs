//! Where the panes stand, for every size of the terminal.
//! Not for: what is in them.

use super::{Look, paint};
use crate::tui::chat::view::composer;
use crate::tui::model::panes::{self, LEAST_TOOLS, Shape};
use crate::tui::model::pointer::{Border, Target};
use crate::tui::model::{Focus, Model};
use crate::tui::text::Line;
use crate::tui::theme::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// The conversation is not wider than this where it stands alone.
const LINE: u16 = 104;

/// The panes that are there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Areas {
    pub(super) tabs: Option<Rect>,
    pub(super) branches: Option<Rect>,
    pub(super) tools: Option<Rect>,
    pub(super) conversation: Option<Rect>,
    pub(super) context: Option<Rect>,
    pub(super) notice: Option<Rect>,
    pub(super) composer: Option<Rect>,
}

/// The room inside a frame.
pub(crate) fn inside(area: Rect) -> Rect {
    if area.width < 3 || area.height < 2 {
        return area;
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Places the panes; `rows` is how many rows of text the composer wants.
pub(super) fn areas(model: &Model, area: Rect, rows: u16) -> Areas {
    let mut areas = Areas::default();
    let composer = if area.height < 6 { area.height.min(1) } else { (rows + 2).min(area.height - 3) };
    let spare = area.height.saturating_sub(composer + 4);
    let notice = composer::notice_rows(model, area.width.min(if zen(model) { LINE } else { u16::MAX })).min(spare);
    let above = Rect { height: area.height - composer - notice, ..area };
    areas.composer = Some(Rect { y: area.bottom() - composer, height: composer, ..area });
    areas.notice = (notice > 0).then(|| Rect { y: above.bottom(), height: notice, ..area });
    if model.side_by_side() {
        columns(model, above, &mut areas);
        return areas;
    }
    let zen = zen(model);
    let tabs = u16::from(above.height > 3 && !zen);
    areas.tabs = (tabs > 0).then_some(Rect { height: 1, ..above });
    let pane = Rect { y: above.y + tabs, height: above.height - tabs, ..above };
    match model.focus {
        Focus::Composer | Focus::Conversation if zen => {
            areas.conversation = Some(middle(pane));
            areas.composer = areas.composer.map(middle);
            areas.notice = areas.notice.map(middle);
        }
        Focus::Composer | Focus::Conversation => areas.conversation = Some(pane),
        Focus::Branches => areas.branches = Some(pane),
        Focus::Tools => areas.tools = Some(pane),
        Focus::Context => areas.context = Some(pane),
    }
    areas
}

fn zen(model: &Model) -> bool {
    model.arrangement().layout == Shape::Zen
}

/// Long lines are hard to read, so what stands alone stands in the middle.
fn middle(area: Rect) -> Rect {
    let width = area.width.min(LINE);
    Rect { x: area.x + (area.width - width) / 2, width, ..area }
}

fn columns(model: &Model, above: Rect, areas: &mut Areas) {
    let arrangement = model.arrangement();
    let (left, right) = panes::sides(&arrangement, above.width);
    let seen = |pane: Focus| model.focus == pane || !model.hidden(pane);
    let calls = model.session.as_ref().map_or(0, |session| session.traces.len().min(10));
    let wished = u16::try_from(calls.max(3)).unwrap_or(10) + 2;
    let (branches, context) = (seen(Focus::Branches), seen(Focus::Context));
    let tools = match (seen(Focus::Tools) && (calls > 0 || model.focus == Focus::Tools), above.height) {
        (false, _) | (true, ..12) => 0,
        (true, height) if !branches => height,
        (true, height) if arrangement.tools > 0 => arrangement.tools.clamp(LEAST_TOOLS, height / 2),
        (true, height) => (height / 3).min(wished),
    };
    let left = if branches || tools > 0 { left } else { 0 };
    let right = if context { right } else { 0 };
    let side = Rect { width: left, ..above };
    areas.branches = branches.then_some(Rect { height: side.height - tools, ..side });
    areas.tools = (tools > 0).then_some(Rect { y: side.bottom() - tools, height: tools, ..side });
    areas.context = context.then_some(Rect { x: above.right() - right, width: right, ..above });
    areas.conversation = Some(Rect { x: above.x + left, width: above.width - left - right, ..above });
}

/// Borders that can be dragged: both frames that meet there.
pub(super) fn borders(look: &Look<'_>, areas: &Areas) {
    let Some(middle) = areas.conversation.filter(|_| look.model.side_by_side()) else { return };
    if areas.branches.or(areas.tools).is_some() {
        look.hit(Rect { x: middle.x.saturating_sub(1), width: 2, ..middle }, Target::Border(Border::Left));
    }
    if areas.context.is_some() {
        look.hit(Rect { x: middle.right() - 1, width: 2, ..middle }, Target::Border(Border::Right));
    }
    if let (Some(_), Some(tools)) = (areas.branches, areas.tools) {
        look.hit(Rect { height: 1, ..tools }, Target::Border(Border::Tools));
    }
}

/// The line of tabs, where the panes are tabs.
pub(super) fn tabs(look: &Look<'_>, area: Rect, buf: &mut Buffer) {
    let names = [
        ("Chat", &[Focus::Composer, Focus::Conversation][..]),
        ("Context", &[Focus::Context][..]),
        ("Branches", &[Focus::Branches][..]),
        ("Tools", &[Focus::Tools][..]),
    ];
    let mut line = Line::new();
    for (name, of) in names {
        let last = of.last().copied().unwrap_or_default();
        if look.model.hidden(last) && look.model.focus != last {
            continue;
        }
        let x = area.x.saturating_add(u16::try_from(line.width()).unwrap_or(u16::MAX));
        let width = u16::try_from(name.len() + 2).unwrap_or(0);
        let place = Rect { x, width, ..area }.intersection(area);
        look.pane(of.first().copied().unwrap_or_default(), place);
        let here = of.contains(&look.model.focus);
        line.push(
            if here { Ink::Focus } else { Ink::Dim },
            &if here { format!("[{name}]") } else { format!(" {name} ") },
        );
    }
    let branch = look.model.branch().map_or(String::new(), |branch| branch.name.clone());
    let used = u16::try_from(line.width()).unwrap_or(area.width).min(area.width);
    paint::line(look.theme, &line, area, buf);
    let rest = Rect { x: area.x + used, width: area.width - used, ..area };
    if rest.width > 8 {
        let name = paint::cut(look.theme, Ink::Dim, &branch, usize::from(rest.width - 2));
        paint::right(look.theme, &name, rest, buf);
    }
}
