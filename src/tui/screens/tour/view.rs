//! Draws the tour at the bottom of the terminal: the step, the last done part, and the current instruction.
//! Not for: advancing (`update`).

use super::model::{Part, Tour, shape};
use super::model_steps::STEPS;
use crate::tui::model::focus::Focus;
use crate::tui::view::prelude::*;

/// Least height of the tour in rows: a title, a row for the last done part, and two rows for the instruction.
const ROWS: u16 = 4;
/// Below the first height of the terminal, the tour is the title and the instruction; below the second, it is hidden.
const SMALL: (u16, u16) = (18, 8);

/// Height of the tour on a terminal of this size, in rows: enough for the whole instruction, at most half of the terminal.
pub(crate) fn rows(view: &ViewContext<'_>, area: Rect) -> u16 {
    let Some(tour) = view.model.tour.as_ref().filter(|_| area.height >= SMALL.1) else { return 0 };
    let text = u16::try_from(text(view, tour, text_width(area)).len()).unwrap_or(u16::MAX);
    let rows = if area.height >= SMALL.0 { text.saturating_add(2).max(ROWS) } else { text.saturating_add(1) };
    rows.min(area.height / 2)
}

fn text_width(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(2)).max(1)
}

/// The rows of the current instruction, or of the last one.
fn text(view: &ViewContext<'_>, tour: &Tour, width: usize) -> Vec<Line> {
    let text = tour.part().map_or_else(|| last_instruction(view, tour), |(_, part)| instruction(view, part));
    TextRows::plain(&text, width, Ink::Text)
}

pub(crate) fn draw(view: &ViewContext<'_>, area: Rect, buf: &mut Buffer) {
    let Some(tour) = view.model.tour.as_ref().filter(|_| area.height > 0) else { return };
    let top = Rect { height: 1, ..area };
    let rule = view.theme.glyphs.rule.repeat(usize::from(area.width));
    paint::line(view.theme, &Line::of(Ink::Focus, &rule), top, buf);
    let place = Line::of(Ink::Heading, &place(view, tour));
    paint::line(view.theme, &place, Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..top }, buf);
    let leave = Line::of(Ink::Accent, &format!(" {}", view.key(Action::Leave))).with(Ink::Dim, " leaves the tour ");
    let edge = Rect { width: area.width.saturating_sub(1), ..top };
    let leaves = view.model.layers.is_empty() && view.model.focus == Focus::Composer;
    if leaves && place.width() + leave.width() + 4 <= usize::from(area.width) {
        paint::right(view.theme, &leave, edge, buf);
    }
    let inside = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: area.height - 1 };
    let mut rows = text(view, tour, text_width(area));
    if !tour.seen.is_empty() && usize::from(inside.height) > rows.len() {
        let seen = Line::of(Ink::Good, &format!("{} ", view.theme.glyphs.ok)).with(Ink::Dim, tour.seen);
        rows.insert(0, seen);
    }
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

fn last_instruction(view: &ViewContext<'_>, tour: &Tour) -> String {
    let leave = view.key(Action::Leave);
    let is_same = tour.first.as_ref().is_some_and(|first| first.shape == shape(view.model));
    let same = if is_same { ": the message of step 2 gives the same request again, byte for byte" } else { "" };
    format!("Everything is undone{same}. {leave} returns to your own conversation; the tour saves nothing.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::keymap::Keymap;
    use crate::tui::model::Model;
    use crate::tui::theme::Theme;

    #[test]
    fn every_instruction_is_readable_on_a_small_terminal() {
        let theme = Theme::built_in("none", false);
        let parts = STEPS.iter().enumerate().flat_map(|(at, step)| (0..=step.parts.len()).map(move |part| (at, part)));
        for at in parts {
            let tour = Tour { at, seen: "Done before.", ..Tour::default() };
            let model = Model { keys: Keymap::built_in(), tour: Some(tour), ..Model::default() };
            let view = ViewContext { theme: &theme, model: &model };
            for size in [(40, 12), (40, 18), (80, 24)] {
                let area = Rect { height: rows(&view, Rect::new(0, 0, size.0, size.1)), ..Rect::new(0, 0, size.0, 0) };
                let mut buf = Buffer::empty(area);
                draw(&view, area, &mut buf);
                let seen: String = area.rows().flat_map(Rect::columns).map(|at| buf[at].symbol()).collect();
                let text = text(&view, model.tour.as_ref().unwrap(), text_width(area));
                for row in text {
                    assert!(seen.contains(&row.plain()), "{at:?} at {size:?}: {seen}");
                }
                assert!(area.height * 2 <= size.1);
            }
        }
    }
}
