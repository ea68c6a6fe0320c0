//! Which panes are seen, and how wide: worked out from the arrangement, the size of the screen and the focus.
//! Not for: rows and columns of each pane (the layout), or remembering (`config::panes`).

use super::Model;
use super::focus::Focus;
use crate::config::panes;

/// How one class of screens is arranged.
pub type Arrangement = panes::Arrangement;
/// How all of them are.
pub type Arrangements = panes::Arrangements;
/// Which panes there are.
pub type Shape = panes::Shape;

/// From this width on a sidebar stands beside the conversation.
pub const COLUMNS: u16 = 100;
/// From this width on there are two.
pub const TWO_SIDEBARS: u16 = 160;
/// A panel at a side is never narrower.
pub const LEAST_SIDE: u16 = 16;
/// Nor is the conversation, as far as a panel could help it.
pub const LEAST_MIDDLE: u16 = 40;
/// The tools have at least so many rows.
pub const LEAST_TOOLS: u16 = 4;

/// Whether only one pane is shown at a time, whatever the layout.
#[must_use]
pub fn small((columns, rows): (u16, u16)) -> bool {
    columns < 60 || rows < 16
}

/// The widths of the sidebars at the left and the right, where a person chose none; the line beside the conversation is
/// counted. Below 160 columns there is only the one at the right, and the conversation has at least 72 %.
fn usual(columns: u16) -> (u16, u16) {
    match columns {
        0..TWO_SIDEBARS => (0, columns * 7 / 25),
        _ => ((columns / 7).clamp(24, 34), (columns / 5).clamp(34, 48)),
    }
}

/// The columns of the sidebars at the left and the right, in bounds: each leaves the conversation enough. None at the left
/// where there is room for one only.
#[must_use]
pub fn sides(arrangement: &Arrangement, columns: u16) -> (u16, u16) {
    let (left, right) = usual(columns);
    let sidebars = if left == 0 { 1 } else { 2 };
    let most = (columns.saturating_sub(LEAST_MIDDLE) / sidebars).max(LEAST_SIDE);
    let own = |given: u16, usual: u16| if given == 0 { usual } else { given.clamp(LEAST_SIDE, most) };
    (if left == 0 { 0 } else { own(arrangement.left, left) }, own(arrangement.right, right))
}

impl Model {
    /// How this screen is arranged.
    #[must_use]
    pub fn arrangement(&self) -> Arrangement {
        self.arrangements.of(self.size)
    }

    /// Whether panels stand beside the conversation.
    #[must_use]
    pub fn side_by_side(&self) -> bool {
        self.size.0 >= COLUMNS && !small(self.size) && self.arrangement().layout == Shape::Wide
    }

    /// Whether a pane was put away. One with the focus is seen all the same, so that every pane can be reached.
    #[must_use]
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

    /// Whether the context panel is in view, and the figures need not stand elsewhere.
    #[must_use]
    pub fn context_in_view(&self) -> bool {
        self.focus == Focus::Context || (self.side_by_side() && !self.hidden(Focus::Context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversation_has_most_of_the_screen() {
        for columns in 100..TWO_SIDEBARS {
            let (left, right) = sides(&Arrangement::default(), columns);
            assert!((columns - left - right) * 100 >= columns * 72, "{columns}: {left} {right}");
        }
        // An answer's line of 84 characters stands unbroken at 120 columns.
        assert!(120 - sides(&Arrangement::default(), 120).1 >= 84 + 3);
    }

    #[test]
    fn widths_stay_in_bounds() {
        for columns in 100..400 {
            for given in [0, 1, 16, 30, 80, 9_999] {
                let arrangement = Arrangement { left: given, right: given, ..Arrangement::default() };
                let (left, right) = sides(&arrangement, columns);
                assert!((left == 0) == (columns < TWO_SIDEBARS) && right >= LEAST_SIDE, "{columns} {given}");
                assert!(left == 0 || left >= LEAST_SIDE, "{columns} {given}");
                assert!(columns - left - right >= LEAST_MIDDLE, "{columns} {given}: {left} {right}");
            }
        }
    }
}
