//! Draws the text editor over the whole screen, with the reason why saving failed below the text.
//! Not for: typing (`update`).

use super::model::{Edited, Editor};
use crate::tui::chat::view::notice;
use crate::tui::view::prelude::*;
use ratatui::widgets::Widget;
use std::any::TypeId;

pub(crate) fn draw(view: &ViewContext<'_>, editor: &Editor, area: Rect, buf: &mut Buffer) {
    let saves = if matches!(editor.what, Edited::Request { .. }) { "preview" } else { "save" };
    let words = [(Action::Save, saves), (Action::Compose, "your editor"), (Action::Leave, "close")];
    let keys = view.keys_line(KeyPlace::Editor, &words, usize::from(area.width));
    let inside = view.screen(Line::of(Ink::Heading, &editor.title), keys, area, buf);
    // A notice of another screen is not about this text.
    let is_about_text = view.model.status.began_on(TypeId::of::<Editor>());
    let inside = if is_about_text { notice::above(view, inside) } else { notice::without_notice(inside) };
    let fault =
        editor.fault.as_ref().map(|words| TextRows::plain(words, usize::from(inside.width).max(1), Ink::Danger));
    let rows = fault.unwrap_or_default();
    let footer = u16::try_from(rows.len()).unwrap_or(0).min(inside.height / 2);
    let below = Rect { y: inside.bottom() - footer, height: footer, ..inside };
    paint::lines(view.theme, &rows, below, buf);
    let inside = Rect { height: inside.height - footer, ..inside };
    if !inside.is_empty() {
        editor.area.render(inside, buf);
    }
}
