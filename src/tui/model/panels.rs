//! Which panels are visible and how wide they are, by the arrangement, the size of the screen, and the focus.
//! Not for: rows and columns of each pane (`view::layout`), or saving arrangements (`config::panels`).

use super::Model;
use super::focus::Focus;
use crate::config::panels::{self, Class};

/// The arrangement for one class of screen sizes.
pub type Arrangement = panels::Arrangement;
/// The arrangements for all classes.
pub type Arrangements = panels::Arrangements;
/// The layout: which panels are visible together.
pub type Shape = panels::Shape;

/// The least width of a screen with two sidebars.
const TWO_SIDEBARS: u16 = 160;
/// The least width of a sidebar.
const MIN_SIDEBAR: u16 = 16;
/// The least width that sidebars leave to the conversation.
const MIN_CONVERSATION: u16 = 40;
/// The least height of the tools panel.
pub const MIN_TOOLS: u16 = 4;

/// The default widths of the left and the right sidebar, each with the line next to the conversation. Below 160 columns
/// there is only the right sidebar, and the conversation has at least 72%.
fn default_width(columns: u16) -> (u16, u16) {
    match columns {
        0..TWO_SIDEBARS => (0, columns * 7 / 25),
        _ => ((columns / 7).clamp(24, 34), (columns / 5).clamp(34, 48)),
    }
}

/// The widths of the left and the right sidebar, limited so that the conversation keeps its least width. The left width
/// is 0 if there is room for only one sidebar.
pub fn sidebar_widths(arrangement: &Arrangement, columns: u16) -> (u16, u16) {
    let (left, right) = default_width(columns);
    let sidebars = if left == 0 { 1 } else { 2 };
    let most = (columns.saturating_sub(MIN_CONVERSATION) / sidebars).max(MIN_SIDEBAR);
    let own = |given: u16, default_width: u16| if given == 0 { default_width } else { given.clamp(MIN_SIDEBAR, most) };
    (if left == 0 { 0 } else { own(arrangement.left, left) }, own(arrangement.right, right))
}

impl Model {
    /// The arrangement for the current size of the screen.
    pub fn arrangement(&self) -> Arrangement {
        self.display.arrangements.of(self.size)
    }

    /// Whether panels are shown next to the conversation.
    pub fn side_by_side(&self) -> bool {
        matches!(Class::of(self.size), Class::Middle | Class::Large) && self.arrangement().layout == Shape::Wide
    }

    /// Whether the person hid a panel. A hidden panel with the focus is shown anyway, so that every pane can be
    /// reached.
    pub fn hidden(&self, pane: Focus) -> bool {
        let arrangement = self.arrangement();
        let away = match pane {
            Focus::Composer | Focus::Conversation => false,
            Focus::Branches => arrangement.no_branches,
            Focus::Context => arrangement.no_context,
            Focus::Tools => arrangement.no_tools,
        };
        away || (arrangement.layout == Shape::Zen && !matches!(pane, Focus::Composer | Focus::Conversation))
    }

    /// Whether the panel of the next request is visible, so that its figures are not repeated elsewhere.
    pub fn context_in_view(&self) -> bool {
        self.focus == Focus::Context || (self.side_by_side() && !self.hidden(Focus::Context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversation_gets_most_of_the_width() {
        for columns in 100..TWO_SIDEBARS {
            let (left, right) = sidebar_widths(&Arrangement::default(), columns);
            assert!((columns - left - right) * 100 >= columns * 72, "{columns}: {left} {right}");
        }
        // At 120 columns, a line of 84 characters is not wrapped.
        assert!(120 - sidebar_widths(&Arrangement::default(), 120).1 >= 84 + 3);
    }

    #[test]
    fn widths_stay_in_bounds() {
        for columns in 100..400 {
            for given in [0, 1, 16, 30, 80, 9_999] {
                let arrangement = Arrangement { left: given, right: given, ..Arrangement::default() };
                let (left, right) = sidebar_widths(&arrangement, columns);
                assert!((left == 0) == (columns < TWO_SIDEBARS) && right >= MIN_SIDEBAR, "{columns} {given}");
                assert!(left == 0 || left >= MIN_SIDEBAR, "{columns} {given}");
                assert!(columns - left - right >= MIN_CONVERSATION, "{columns} {given}: {left} {right}");
            }
        }
    }
}
