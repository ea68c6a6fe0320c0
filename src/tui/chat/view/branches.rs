//! Draws the branches panel: the tree of branches with the current, running, and unread ones marked.
//! Not for: the messages of a branch.

use crate::tui::chat::model::branches::{BranchPanel, Row};
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::session::Session;
use crate::tui::view::prelude::*;

/// The height that the panel would use, including its title.
pub(crate) fn rows(model: &Model) -> u16 {
    let panel = &model.panel;
    let ends = panel.ends.len() + usize::from(panel.all_ends > panel.ends.len()) + heading(panel);
    u16::try_from(1 + panel.rows.len() + ends).unwrap_or(u16::MAX)
}

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let focus = view.focused(Focus::Branches);
    let list = view.panel("Branches", &Line::new(), Focus::Branches, area, buf);
    let Some(session) = &view.model.session else { return };
    if list.is_empty() {
        return;
    }
    let panel = &view.model.panel;
    let page = usize::from(list.height).saturating_sub(heading(panel)).max(1);
    let current = || panel.rows.iter().position(|row| row.branch == session.current).unwrap_or(0);
    let cursor = if focus { panel.cursor } else { current() };
    let from = cursor.saturating_sub(page.saturating_sub(1)).min(panel.len());
    let from = panel.wheeled.map_or(from, |top| top.min(panel.len().saturating_sub(page)));
    for ((at, row), place) in panel.rows.iter().enumerate().skip(from).zip(list.rows()) {
        one(view, session, row, place, buf);
        view.row(Focus::Branches, place, at);
        if focus && at == panel.cursor {
            paint::select(view.theme, place, buf);
        }
    }
    ends(view, panel, from, list, focus, buf);
    if panel.len() <= 1 && list.height > 4 {
        let hint = format!("{} on a message forks there.", view.key(Action::Fork));
        let rows = TextRows::plain(&hint, usize::from(list.width), Ink::Dim);
        let place = Rect { y: list.y + 2, height: list.height - 2, ..list };
        paint::lines(view.theme, &rows, place, buf);
    }
}

/// The height of the heading above the paths without a branch, in rows.
fn heading(panel: &BranchPanel) -> usize {
    usize::from(!panel.ends.is_empty())
}

/// Draws the ends of the message tree that have no branch, below the branches; Enter creates a branch there.
fn ends(view: &ViewContext<'_>, panel: &BranchPanel, from: usize, list: Rect, focus: bool, buf: &mut Buffer) {
    let used = panel.rows.len().saturating_sub(from);
    let mut places = list.rows().skip(used);
    if let (true, Some(place)) = (heading(panel) > 0 && from <= panel.rows.len(), places.next()) {
        paint::line(view.theme, &Line::of(Ink::Dim, " Unnamed paths"), place, buf);
    }
    let shown = panel.ends.iter().enumerate().skip(from.saturating_sub(panel.rows.len()));
    for ((at, end), place) in shown.zip(&mut places) {
        let glyphs = &view.theme.glyphs;
        let value = Line::of(Ink::Dim, &end.messages.to_string());
        let room = usize::from(list.width).saturating_sub(value.width() + 4);
        let mut label = Line::of(Ink::Border, &format!(" {} ", glyphs.dot));
        label.push(Ink::Excluded, &text::fit(&end.title, room, glyphs.ellipsis));
        paint::pair(view.theme, &label, &value, place, buf);
        view.row(Focus::Branches, place, panel.rows.len() + at);
        if focus && panel.cursor == panel.rows.len() + at {
            paint::select(view.theme, place, buf);
        }
    }
    let more = panel.all_ends - panel.ends.len();
    if let (Some(place), true) = (places.next(), more > 0) {
        paint::line(view.theme, &Line::of(Ink::Dim, &format!("   {more} more")), place, buf);
    }
}

fn one(view: &ViewContext<'_>, session: &Session, row: &Row, area: Rect, buf: &mut Buffer) {
    let Some(branch) = session.find(row.branch) else { return };
    let glyphs = &view.theme.glyphs;
    let here = branch.id == session.current;
    let mut lead = String::new();
    for past in row.past.iter().rev().take(usize::from(area.width / 4)).rev() {
        lead.push_str(if *past { glyphs.pipe } else { "  " });
    }
    lead.push_str(if row.last { glyphs.corner } else { glyphs.tee });
    let running = view.model.live.contains_key(&branch.id);
    let sign = match (running, here) {
        (true, _) => (Ink::Accent, glyphs.running),
        (_, true) => (Ink::Good, glyphs.branch),
        (_, false) => (Ink::Dim, glyphs.other),
    };
    let mut value = Line::new();
    if session.unread.contains(&branch.id) {
        value.push(Ink::Warn, &format!("{} ", glyphs.unread));
    }
    value.push(Ink::Dim, &row.messages.to_string());
    if here {
        value.push(Ink::Accent, &format!(" {}", glyphs.here));
    }
    let mut mark = Line::new();
    if let Some(tag) = branch.head.and_then(|id| session.tree.get(id)).and_then(|head| session.tag(head)) {
        paint::tag(view.theme, &mut mark, tag);
    }
    let used = text::width(&lead) + text::width(sign.1) + 1 + value.width() + 1;
    let ink = match (branch.archived, here) {
        (true, _) => Ink::Excluded,
        (_, true) => Ink::Heading,
        (_, false) => Ink::Text,
    };
    let name = text::fit(&branch.name, usize::from(area.width).saturating_sub(used), glyphs.ellipsis);
    let mut label = Line::of(Ink::Border, &lead).with(sign.0, sign.1).with(Ink::Text, " ").with(ink, &name);
    let room = usize::from(area.width).saturating_sub(label.width() + value.width() + 2);
    if mark.width() <= room {
        label.push(Ink::Text, " ");
        label.pieces.extend(mark.pieces);
    }
    paint::pair(view.theme, &label, &value, area, buf);
}
