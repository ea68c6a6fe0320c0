//! Which keys may follow the first of several, at the foot of the screen, once a person waits.
//! Not for: all keys (`view`).

use crate::tui::text::{self, Line};
use crate::tui::theme::Ink;
use crate::tui::view::{Look, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// From this width on there is room for what an action does, not only for its name.
const WIDE: u16 = 100;

pub(crate) fn draw(look: &Look<'_>, area: Rect, buf: &mut Buffer) {
    let model = look.model;
    if !model.hinting() || area.width < 12 || area.height < 5 {
        return;
    }
    let typed = &model.leading.0;
    let mut keys: Vec<(String, &'static str, &'static str)> = Vec::new();
    for (next, binding) in model.keys.going_on(typed, &model.places()) {
        let more = if binding.on.count() > typed.len() + 1 { "…" } else { "" };
        keys.push((format!("{next}{more}"), binding.run.name(), binding.run.sentence()));
    }
    let room = usize::from(area.width - 4);
    let cell = if area.width >= WIDE { room / 2 } else { name_cell(&keys).min(room) };
    let across = (room / cell.max(1)).max(1);
    let down = keys.len().div_ceil(across);
    let most = usize::from(area.height.saturating_sub(4)).max(1);
    let height = u16::try_from(down.min(most) + 2).unwrap_or(u16::MAX).min(area.height);
    let place = Rect { y: area.bottom() - height, height, ..area };
    paint::wipe(place, buf);
    let pressed: Vec<String> = typed.iter().map(ToString::to_string).collect();
    let title = Line::of(Ink::Heading, &pressed.join(" ")).with(Ink::Dim, " then one of these");
    let inside = look.frame(title, true, place, buf);
    let hidden = keys.len().saturating_sub(down.min(most) * across);
    let more = if hidden > 0 { format!("{hidden} more in the help  ") } else { String::new() };
    let edge = Rect { y: place.bottom() - 1, height: 1, ..place };
    paint::caption(look.theme, Line::of(Ink::Dim, &format!("{more}Esc leaves")), edge, buf);
    let rows = down.min(most).max(1);
    let wide = keys.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    for (at, (key, name, sentence)) in keys.iter().take(rows * across).enumerate() {
        let (column, row) = (at / rows, at % rows);
        let shift = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let spot = Rect {
            x: inside.x.saturating_add(shift(1 + column * cell)),
            y: inside.y.saturating_add(shift(row)),
            width: shift(cell.saturating_sub(1)),
            height: 1,
        };
        let pad = " ".repeat(3_usize.saturating_sub(text::width(key)));
        let mut line = Line::of(Ink::Accent, &format!("{pad}{key}")).with(Ink::Text, &format!("  {name}"));
        if area.width >= WIDE {
            let words = format!("{}  {sentence}", " ".repeat(wide - name.len()));
            let left = usize::from(spot.width).saturating_sub(line.width());
            line.push(Ink::Dim, &text::fit(&words, left, look.theme.glyphs.ellipsis));
        }
        paint::line(look.theme, &line, spot.intersection(inside), buf);
    }
}

/// Room for a key and the longest name.
fn name_cell(keys: &[(String, &str, &str)]) -> usize {
    keys.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0) + 7
}
