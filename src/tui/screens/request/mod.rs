//! The screen of a request: one row per item, with its state, its reason, and the action that would change it. It shows
//! the next request, or the request of a past call, which is read-only.
//! Not for: the exact bytes of the request (`raw_request`).

pub mod model;
pub mod model_filter;
pub mod model_preview;
pub mod model_range;
pub mod model_selection;
pub mod model_sent;
pub mod model_state_request;
pub mod model_unused;
pub(crate) mod update;
pub(crate) mod update_sent;
pub(crate) mod view;
pub(crate) mod view_code_set;
mod view_detail;
pub(crate) mod view_figures;
mod view_row;
mod view_sent;
mod view_state_request;

use crate::tui::chat::update::acts;
use crate::tui::screens::calls;
use crate::tui::screens::screen::prelude::*;
use model::RequestScreen;

impl Screen for RequestScreen {
    fn places(&self) -> &'static [KeyPlace] {
        if self.filtering { TYPING } else { &[KeyPlace::Overlay, KeyPlace::Panel, KeyPlace::Always] }
    }

    fn view(&mut self, view: &ViewContext<'_>, cache: &mut Cache, area: Rect, buf: &mut Buffer) -> MissingContents {
        let (page, last) = view::draw(view, self, cache, area, buf);
        self.page = page;
        self.detail_scroll = self.detail_scroll.min(last);
        Vec::new()
    }

    fn page(&self) -> Option<usize> {
        Some(self.page.into())
    }

    fn list_cursor(&mut self) -> Option<ListCursor<'_>> {
        Some(self.cursor())
    }

    fn detail(&mut self, way: i64) {
        self.detail_scroll = shift(self.detail_scroll, half(self.page.into()) * way, 4_000);
    }

    fn line(&mut self) -> Option<&mut TypedLine> {
        self.filtering.then_some(&mut self.filter)
    }

    fn line_changed(&mut self) -> Outcome {
        self.rebuild();
        self.cursor().step(0);
        Outcome::Done
    }

    fn open(&mut self) -> Outcome {
        if std::mem::take(&mut self.filtering) { Outcome::Done } else { Outcome::Then(update::enter) }
    }

    fn leave(&mut self) -> Outcome {
        if update::leave(self) { Outcome::Done } else { Outcome::Pass }
    }

    fn filter(&mut self) {
        self.filtering = true;
    }

    fn copy(&mut self) -> Copied {
        let text = self.selected_atom().and_then(|atom| self.texts.get(&atom.key()));
        text.map_or(Copied::Then(acts::copy_message), |text| Copied::Text(text.to_string()))
    }

    fn details(&mut self) -> Outcome {
        (self.details, self.detail_scroll) = (!self.details, 0);
        Outcome::Done
    }

    fn group(&mut self) -> Outcome {
        Outcome::Then(|model, _| update::group(model))
    }

    fn step_call(&mut self, step: i64) -> Outcome {
        Outcome::Then(if step > 0 { update_sent::next_call } else { update_sent::previous_call })
    }

    fn to_message(&mut self) -> Outcome {
        Outcome::Then(update_sent::to_message)
    }

    fn item_history(&mut self) -> Outcome {
        Outcome::Then(calls::update::history)
    }

    fn replay(&mut self) -> Outcome {
        Outcome::Then(|model, _| update_sent::replay(model))
    }

    fn dismiss(&mut self) -> Outcome {
        Outcome::Then(update::dismiss)
    }

    fn exact_request(&mut self) -> Outcome {
        if self.sent().is_some() { Outcome::Then(update_sent::bytes) } else { Outcome::Pass }
    }

    fn compare_plans(&mut self) -> Outcome {
        if self.sent().is_some() { Outcome::Then(update_sent::compare) } else { Outcome::Pass }
    }

    fn after(&self) -> Option<Run> {
        Some(|model, out| {
            update::request_contents(model, out);
            update::request_unused(model, out);
            update::request_preview(model, out);
        })
    }

    fn due(&self, _now: u64) -> Option<u64> {
        self.preview.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::Model;
    use crate::tui::theme::Theme;

    #[test]
    fn the_detail_pane_does_not_scroll_past_its_end() {
        let (theme, model) = (Theme::built_in("dark", false), Model::default());
        let mut overlay = RequestScreen::default();
        overlay.detail(1);
        assert!(overlay.detail_scroll > 0);
        let area = Rect::new(0, 0, 80, 24);
        let view = ViewContext { theme: &theme, model: &model };
        overlay.view(&view, &mut Cache::default(), area, &mut Buffer::empty(area));
        assert_eq!(overlay.detail_scroll, 0);
    }
}
