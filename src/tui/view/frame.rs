//! Draws one frame: the panes of the chat, the open screens over them, and the tour below.
//! Not for: the places of panes (`layout`), or their contents (`chat::view`, `screens`).

use super::cache::Cache;
use super::{ViewContext, layout, paint};
use crate::domain::base::NodeId;
use crate::tui::chat;
use crate::tui::model::Model;
use crate::tui::model::focus::Focus;
use crate::tui::model::pointer::Target;
use crate::tui::screens::{self, tour};
use crate::tui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Least height of the terminal and of the conversation in which a screen leaves an empty composer visible.
const ROOMY: (u16, u16) = (18, 10);
/// The same for a composer with an unsent message.
const CRAMPED: (u16, u16) = (0, 5);

/// Draws one frame. First updates the state that depends on heights (scrolling, sizes of pages), then paints. Returns
/// the nodes whose contents are missing.
pub fn draw(model: &mut Model, cache: &mut Cache, theme: &Theme, buf: &mut Buffer) -> Vec<NodeId> {
    let wanted = page_and_tour(model, cache, theme, buf);
    if theme.glyphs.ascii {
        paint::replace_signs(buf);
    }
    wanted
}

fn page_and_tour(model: &mut Model, cache: &mut Cache, theme: &Theme, buf: &mut Buffer) -> Vec<NodeId> {
    let rows = tour::view::rows(&ViewContext { theme, model }, buf.area);
    // The tour is drawn below everything else.
    let upper = Rect { height: buf.area.height - rows, ..buf.area };
    model.size = (upper.width, upper.height);
    if rows == 0 {
        return page(model, cache, theme, buf);
    }
    let mut above = Buffer::empty(upper);
    let wanted = page(model, cache, theme, &mut above);
    buf.merge(&above);
    let below = Rect { y: upper.bottom(), height: rows, ..buf.area };
    tour::view::draw(&ViewContext { theme, model }, below, buf);
    paint::background(theme, buf);
    wanted
}

fn page(model: &mut Model, cache: &mut Cache, theme: &Theme, buf: &mut Buffer) -> Vec<NodeId> {
    let area = buf.area;
    if area.width == 0 || area.height == 0 {
        return Vec::new();
    }
    cache.next_frame();
    model.sync_screens();
    model.pointer.hits.borrow_mut().clear();
    let full = model.layers.full();
    let mut wanted = Vec::new();
    let mut footer = None;
    if full.is_none() {
        let rows = chat::view::composer::rows(model, area);
        let mut areas = layout::areas(model, area, rows);
        let roomy = |pane: &Rect| {
            let least = if model.composer.is_empty() { ROOMY } else { CRAMPED };
            area.height >= least.0 && pane.height >= least.1
        };
        let room = areas.conversation.filter(roomy);
        footer = model.layers.footer(&ViewContext { theme, model }, cache, area, room);
        match (&footer, areas.composer, &mut areas.conversation) {
            (Some(footer), _, Some(pane)) if footer.above_composer => pane.height -= footer.place.height,
            (Some(footer), Some(composer), _) => {
                // The screen at the footer covers the composer.
                let height = area.height + area.bottom() - composer.y;
                let height = height.saturating_sub(footer.place.height).min(area.height);
                areas = layout::areas(model, Rect { height, ..area }, rows);
            }
            (None, ..) | (Some(_), None, _) => {}
        }
        if let Some(pane) = areas.conversation {
            let covered = areas.notice.map_or(0, |notice| notice.height);
            wanted = chat::view::conversation::settle(model, cache, theme, pane, covered);
        }
        model.next_request.page = areas.context.map_or(0, |pane| pane.height.saturating_sub(2));
        panes(model, cache, theme, &areas, buf);
    }
    // The screens are taken out, so that each can be changed while the rest of the model is read.
    let mut screens = std::mem::take(&mut model.layers);
    for (at, screen) in screens.iter_mut().enumerate().skip(full.unwrap_or(0)) {
        let area = footer.filter(|footer| footer.at == at).map_or(area, |footer| footer.place);
        let view = ViewContext { theme, model };
        wanted.extend(screen.view(&view, cache, area, buf));
        chat::view::notice::draw_over(&view, buf);
    }
    model.layers = screens;
    screens::help::view_next_keys::draw(&ViewContext { theme, model }, area, buf);
    paint::background(theme, buf);
    model.bodies.begin_frame();
    for id in &wanted {
        model.bodies.touch(*id);
    }
    wanted
}

fn panes(model: &Model, cache: &mut Cache, theme: &Theme, areas: &layout::Areas, buf: &mut Buffer) {
    let view = ViewContext { theme, model };
    let panes = [
        (Focus::Branches, areas.branches),
        (Focus::Tools, areas.tools),
        (Focus::Context, areas.context),
        (Focus::Conversation, areas.conversation),
        (Focus::Composer, areas.composer),
    ];
    let notice = areas.notice.map_or(0, |notice| notice.height);
    for (pane, area) in panes {
        view.hit(area.unwrap_or_default(), Target::Pane(pane));
    }
    if let Some(area) = areas.header {
        chat::view::header::draw(&view, area, buf);
    }
    if let Some(area) = areas.branches {
        chat::view::branches::draw(&view, area, buf);
    }
    if let Some(area) = areas.tools {
        chat::view::tools::panel(&view, area, buf);
    }
    if let Some(area) = areas.context {
        chat::view::next_request::draw(&view, area, buf);
    }
    if let Some(area) = areas.conversation {
        chat::view::conversation::draw(&view, cache, area, notice, buf);
    }
    if let Some(area) = areas.composer {
        chat::view::composer::draw(&view, area, notice, buf);
    }
    if let Some(area) = areas.notice {
        chat::view::notice::draw(&view, area, buf);
    }
    layout::rules(&view, areas, buf);
    if let Some(area) = areas.composer {
        chat::view::composer::popup(&view, area, buf);
    }
}
