//! Draws the tour at the bottom of the terminal: the step, the last done part, and the current instruction.
//! Not for: advancing (`update`).

use super::model::{Part, Tour, shape};
use super::model_steps::STEPS;
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let Some(tour) = view.model.tour.as_ref().filter(|_| area.height > 0) else { return };
    let top = Rect { height: 1, ..area };
    let rule = view.theme.glyphs.rule.repeat(usize::from(area.width));
    paint::line(view.theme, &Line::of(Ink::Focus, &rule), top, buf);
    let place = Line::of(Ink::Heading, &place(view, tour));
    paint::line(view.theme, &place, Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..top }, buf);
    let leave = Line::of(Ink::Accent, &format!(" {}", view.key(Action::Leave))).with(Ink::Dim, " leaves the tour ");
    let edge = Rect { width: area.width.saturating_sub(1), ..top };
    if place.width() + leave.width() + 4 <= usize::from(area.width) {
        paint::right(view.theme, &leave, edge, buf);
    }
    let inside = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height - 1 };
    let width = usize::from(inside.width).max(1);
    let mut rows = Vec::new();
    if !tour.seen.is_empty() && inside.height > 1 {
        let seen = Line::of(Ink::Good, &format!("{} ", view.theme.glyphs.ok)).with(Ink::Dim, tour.seen);
        rows.push(seen);
    }
    rows.extend(match tour.part() {
        Some((_, part)) => TextRows::plain(&instruction(view, part), width, Ink::Text),
        None => TextRows::plain(&farewell(view, tour), width, Ink::Text),
    });
    paint::lines(view.theme, &rows, inside, buf);
}

fn place(view: &ViewContext<'_>, tour: &Tour) -> String {
    match tour.part() {
        Some((step, _)) => {
            let dot = view.theme.glyphs.dot;
            format!(" Tour {dot} {} of {} {dot} {} ", tour.at.0 + 1, STEPS.len(), step.title)
        }
        None => " The end of the tour ".to_owned(),
    }
}

/// The instruction with the person's own keys.
fn instruction(view: &ViewContext<'_>, part: &Part) -> String {
    let mut words = String::new();
    let mut keys = part.keys.iter();
    for (nth, text) in part.says.split("{}").enumerate() {
        if let Some((action, when)) = (nth > 0).then(|| keys.next()).flatten() {
            words.push_str(&view.key_in(*action, *when));
        }
        words.push_str(text);
    }
    words
}

fn farewell(view: &ViewContext<'_>, tour: &Tour) -> String {
    let leave = view.key(Action::Leave);
    let same = tour.first.as_ref().filter(|first| first.shape == shape(view.model)).map_or_else(String::new, |first| {
        format!(": the message of step 2 gives the same request again, byte for byte ({})", first.digest.short())
    });
    format!("Everything is undone{same}. {leave} returns to your own conversation; the tour saves nothing.")
}
