//! The guard for letters that act in a pane while the composer has unsent text: the first press only asks, since the
//! letter may have been meant as text.
//! Not for: which actions change something (`config::keys::groups`).

use super::focus::Focus;
use super::keys::Chord;

/// The pane in which a letter was pressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardedPane {
    /// The pane with the focus.
    pub focus: Focus,
    /// Whether an approval is open.
    pub approval: bool,
}

/// The state of the guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LetterGuard {
    /// No letter was pressed.
    #[default]
    Closed,
    /// This letter was pressed once there; a confirmation is required.
    Asked(GuardedPane, Chord),
    /// The user confirmed this letter there; it acts until another letter is pressed.
    Confirmed(GuardedPane, Chord),
}

impl LetterGuard {
    /// Handles a letter that would change something. Returns whether it needs a second press.
    pub fn press(&mut self, pane: GuardedPane, letter: Chord) -> bool {
        let acts = *self == Self::Confirmed(pane, letter) || *self == Self::Asked(pane, letter);
        *self = if acts { Self::Confirmed(pane, letter) } else { Self::Asked(pane, letter) };
        !acts
    }

    /// Handles any other key: a letter that was asked for has to be pressed twice again.
    pub fn forget(&mut self) {
        if matches!(self, Self::Asked(..)) {
            *self = Self::Closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::keys::Key;

    #[test]
    fn a_letter_acts_at_its_second_press_in_one_pane() {
        let letter = |c| Chord::plain(Key::Char(c));
        let pane = |focus| GuardedPane { focus, approval: false };
        let (here, there) = (pane(Focus::Conversation), pane(Focus::Branches));
        let mut guard = LetterGuard::default();
        assert!(guard.press(here, letter('x')) && guard.press(here, letter('p')), "another letter asks again");
        guard.forget();
        assert!(guard.press(here, letter('p')), "a key between begins anew");
        assert!(!guard.press(here, letter('p')) && !guard.press(here, letter('p')), "the letter is confirmed");
        assert!(guard.press(here, letter('x')) && guard.press(here, letter('p')), "every other letter asks");
        assert!(!guard.press(here, letter('p')) && guard.press(there, letter('p')), "another pane asks too");
    }
}
