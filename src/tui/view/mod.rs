//! What the screen looks like, from the model alone.
//!
//! ```text
//!  session ▸ branch                              model · cost
//! ─────────────────────────────────────────┬───────────────────
//!                                          │ Branches
//!               conversation               │ Next request
//!                                          │ Tools
//! ─ CTX: Light ────────────────────────────┴───────────────────
//!  a notice, when there is one
//!  > composer
//!  keys
//! ```
//!
//! From 160 columns on there are two sidebars: branches and tools at the left, the next request at the right. Below 100, and
//! in the layout `narrow`, one pane is seen at a time and the header has the meter; in the layout `zen` only conversation and
//! composer are seen.
//! Not for: colours (`theme`) or changing anything a person decided (`update`).

pub mod cache;
pub(crate) mod layout;
pub(crate) mod paint;

use crate::domain::base::ids::NodeId;
use crate::tui::model::pointer::{HitArea, Target};
use crate::tui::model::{Action, Focus, Model, When};
use crate::tui::screens::tour;
use crate::tui::text::Line;
use crate::tui::theme::{Ink, Theme};
use cache::Cache;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What every view is given.
pub struct ViewContext<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) model: &'a Model,
}

/// Draws one frame. First it settles what hangs on heights (scrolling, sizes of pages), then it paints. Returns the nodes
/// whose contents the frame lacks.
pub fn frame(model: &mut Model, cache: &mut Cache, theme: &Theme, buf: &mut Buffer) -> Vec<NodeId> {
    let rows = tour::model::rows(model, buf.area.height);
    if rows == 0 {
        return page(model, cache, theme, buf);
    }
    // The tour stands below everything else.
    let upper = Rect { height: buf.area.height - rows, ..buf.area };
    let mut above = Buffer::empty(upper);
    let wanted = page(model, cache, theme, &mut above);
    buf.merge(&above);
    let below = Rect { y: upper.bottom(), height: rows, ..buf.area };
    tour::view::draw(&ViewContext { theme, model }, below, buf);
    paint::ground(theme, buf);
    wanted
}

fn page(model: &mut Model, cache: &mut Cache, theme: &Theme, buf: &mut Buffer) -> Vec<NodeId> {
    let area = buf.area;
    if area.width == 0 || area.height == 0 {
        return Vec::new();
    }
    cache.next_frame();
    model.sync_screens();
    model.hits.borrow_mut().clear();
    let full = model.layers.full();
    let mut wanted = Vec::new();
    let mut foot = None;
    if full.is_none() {
        let rows = super::chat::view::composer::rows(model, area);
        let mut areas = layout::areas(model, area, rows);
        foot = model.layers.foot(&ViewContext { theme, model }, cache, area);
        if let (Some((_, foot)), Some(composer)) = (foot, areas.composer) {
            // It covers the composer.
            let height = (area.height + area.bottom() - composer.y).saturating_sub(foot).min(area.height);
            areas = layout::areas(model, Rect { height, ..area }, rows);
        }
        if let Some(pane) = areas.conversation {
            wanted = super::chat::view::conversation::settle(model, cache, theme, pane);
        }
        chat(model, cache, theme, &areas, buf);
    }
    // A screen is drawn beside the rest of the model.
    let mut screens = std::mem::take(&mut model.layers);
    for (at, screen) in screens.iter_mut().enumerate().skip(full.unwrap_or(0)) {
        let rows = foot.filter(|(of, _)| *of == at).map_or(area.height, |(_, rows)| rows.min(area.height));
        let area = Rect { y: area.bottom() - rows, height: rows, ..area };
        wanted.extend(screen.view(&ViewContext { theme, model }, cache, area, buf));
    }
    model.layers = screens;
    super::screens::help::view_next_keys::draw(&ViewContext { theme, model }, area, buf);
    paint::ground(theme, buf);
    model.bodies.begin_frame();
    for id in &wanted {
        model.bodies.touch(*id);
    }
    wanted
}

fn chat(model: &Model, cache: &mut Cache, theme: &Theme, areas: &layout::Areas, buf: &mut Buffer) {
    let look = ViewContext { theme, model };
    let panes = [
        (Focus::Branches, areas.branches),
        (Focus::Tools, areas.tools),
        (Focus::Context, areas.context),
        (Focus::Conversation, areas.conversation),
        (Focus::Composer, areas.composer),
    ];
    for (pane, area) in panes {
        look.pane(pane, area.unwrap_or_default());
    }
    if let Some(area) = areas.header {
        super::chat::view::header::draw(&look, area, buf);
    }
    if let Some(area) = areas.branches {
        super::chat::view::branches::draw(&look, area, buf);
    }
    if let Some(area) = areas.tools {
        super::chat::view::tools::panel(&look, area, buf);
    }
    if let Some(area) = areas.context {
        super::chat::view::next_request::draw(&look, area, buf);
    }
    if let Some(area) = areas.conversation {
        super::chat::view::conversation::draw(&look, cache, area, buf);
    }
    if let Some(area) = areas.composer {
        super::chat::view::composer::draw(&look, area, areas.notice.map_or(0, |notice| notice.height), buf);
    }
    if let Some(area) = areas.notice {
        super::chat::view::composer::notice(&look, area, buf);
    }
    layout::rules(&look, areas, buf);
    if let Some(area) = areas.composer {
        super::chat::view::composer::popup(&look, area, buf);
    }
}

impl ViewContext<'_> {
    /// Notes what lies where, for the mouse.
    fn hit(&self, area: Rect, target: Target) {
        if self.model.facts.mouse && !area.is_empty() {
            self.model.hits.borrow_mut().push(HitArea { area, target });
        }
    }

    fn pane(&self, pane: Focus, area: Rect) {
        self.hit(area, Target::Pane(pane));
    }

    pub(crate) fn row(&self, pane: Focus, area: Rect, at: usize) {
        self.hit(area, Target::Row(pane, at));
    }

    /// A row of a screen.
    pub(crate) fn item(&self, area: Rect, at: usize) {
        self.hit(area, Target::Item(at));
    }

    pub(crate) fn focused(&self, focus: Focus) -> bool {
        self.model.focus == focus && self.model.layers.is_empty()
    }

    pub(crate) fn key(&self, action: Action) -> String {
        self.model.keys.key_of(action).unwrap_or_else(|| format!("/{}", action.name()))
    }

    pub(crate) fn key_in(&self, action: Action, when: When) -> String {
        let bound = self.model.keys.bindings().iter().find(|b| b.run == action && b.when == when);
        bound.map_or_else(|| self.key(action), |binding| binding.on.to_string())
    }

    /// Whether a result was brought back from a branch that went on since.
    pub(crate) fn stale(&self, origin: &crate::domain::conversation::mark::Origin) -> bool {
        let Some(session) = &self.model.session else { return false };
        let head = session.find(origin.branch).and_then(|branch| branch.head).and_then(|id| session.tree.get(id));
        origin.stale(head.map(|head| head.key))
    }

    /// A panel's title over its rows; the room below it.
    pub(crate) fn panel(&self, title: &str, value: &Line, of: Focus, area: Rect, buf: &mut Buffer) -> Rect {
        let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let ink = if self.focused(of) { Ink::Focus } else { Ink::Heading };
        paint::pair(self.theme, &Line::of(ink, title), value, Rect { height: inside.height.min(1), ..inside }, buf);
        Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside }
    }

    pub(crate) fn frame(&self, title: Line, focus: bool, area: Rect, buf: &mut Buffer) -> Rect {
        paint::frame(self.theme, title, focus, area, buf)
    }
}
