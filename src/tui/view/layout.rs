//! Where the panes stand, for every size of the terminal.
//! Not for: what is in them.

use super::{Look, paint};
use crate::tui::model::{Focus, Model};
use crate::tui::text::Line;
use crate::tui::theme::Ink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// From this width on there are three columns.
const COLUMNS: u16 = 100;

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

/// Whether only one pane is shown at a time.
pub(super) fn small(area: Rect) -> bool {
    area.width < 60 || area.height < 16
}

/// The room inside a frame.
pub(super) fn inside(area: Rect) -> Rect {
    if area.width < 3 || area.height < 2 {
        return area;
    }
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Places the panes; `rows` is how many rows of text the composer wants.
pub(super) fn areas(model: &Model, area: Rect, rows: u16) -> Areas {
    let mut areas = Areas::default();
    let composer = if area.height < 6 { area.height.min(1) } else { (rows + 2).min(area.height - 3) };
    let notice = u16::from(model.status.shown().is_some() && area.height > composer + 4);
    let above = Rect { height: area.height - composer - notice, ..area };
    areas.composer = Some(Rect { y: area.bottom() - composer, height: composer, ..area });
    areas.notice = (notice > 0).then(|| Rect { y: above.bottom(), height: 1, ..area });
    if area.width < COLUMNS || small(area) {
        let tabs = u16::from(above.height > 3);
        areas.tabs = (tabs > 0).then_some(Rect { height: 1, ..above });
        let pane = Some(Rect { y: above.y + tabs, height: above.height - tabs, ..above });
        match model.focus {
            Focus::Composer | Focus::Conversation => areas.conversation = pane,
            Focus::Branches => areas.branches = pane,
            Focus::Tools => areas.tools = pane,
            Focus::Context => areas.context = pane,
        }
        return areas;
    }
    columns(model, above, &mut areas);
    areas
}

fn columns(model: &Model, above: Rect, areas: &mut Areas) {
    let (left, right) = match above.width {
        0..120 => (24, 28),
        120..=160 => (29, 30),
        _ => (above.width / 6, above.width / 6),
    };
    let side = Rect { width: left, ..above };
    let calls = model.session.as_ref().map_or(0, |session| session.traces.len().min(10));
    let wished = u16::try_from(calls.max(3)).unwrap_or(10) + 2;
    let tools = match (calls > 0 || model.focus == Focus::Tools, above.height) {
        (true, 12..) => (above.height / 3).min(wished),
        _ => 0,
    };
    areas.branches = Some(Rect { height: side.height - tools, ..side });
    areas.tools = (tools > 0).then_some(Rect { y: side.bottom() - tools, height: tools, ..side });
    areas.context = Some(Rect { x: above.right() - right, width: right, ..above });
    areas.conversation = Some(Rect { x: above.x + left, width: above.width - left - right, ..above });
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
