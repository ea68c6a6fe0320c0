//! Draws the search line at the bottom of the screen: the number of matches, the typed text, and the keys.
//! Not for: highlighting the matches (`chat::view::conversation`).

use super::model::ConversationSearchScreen;
use crate::tui::chat::view::conversation::search_count;
use crate::tui::view::prelude::*;

pub(crate) fn draw(view: &ViewContext<'_>, screen: &ConversationSearchScreen, area: Rect, buf: &mut Buffer) {
    paint::clear(area, buf);
    let mut rows = area.rows();
    if area.height >= 3 {
        let Some(edge) = rows.next() else { return };
        paint::rule(view.theme, edge, buf);
        let title = Line::of(Ink::Heading, "Search this conversation")
            .with(Ink::Dim, &search_count(view, !screen.text.is_empty()));
        paint::caption(view.theme, title, edge, buf);
    }
    let Some(place) = rows.next() else { return };
    paint::line(view.theme, &typed(screen, usize::from(place.width)), place, buf);
    if let Some(place) = rows.next_back() {
        let words =
            [(Action::Open, "keep"), (Action::Up, "previous"), (Action::Down, "next"), (Action::Leave, "cancel")];
        let keys = view.keys_line(KeyPlace::Picker, &words, usize::from(place.width));
        paint::line(view.theme, &Line::of(Ink::Text, " ").and(keys), place, buf);
    }
}

/// The typed text, or the end of a long text.
fn typed(screen: &ConversationSearchScreen, width: usize) -> Line {
    paint::typed(Line::of(Ink::Accent, " / "), &screen.text, width.saturating_sub(4))
}
