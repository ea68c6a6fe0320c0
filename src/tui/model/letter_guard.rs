//! The guard for letters that act in a pane while the composer has unsent text: the first press only asks, because the
//! letter may have been intended as text.
//! Not for: which actions change something (`config::keys::groups`).

use super::focus::Focus;
use super::keys::Chord;

/// The place of a letter: the focused pane, and whether an approval is open.
pub type GuardedPlace = (Focus, bool);

/// The guard: the last letter with its place, and whether a second press confirmed it. A confirmed letter acts until
/// another letter is pressed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LetterGuard(Option<(GuardedPlace, Chord, bool)>);

impl LetterGuard {
    /// Handles a letter that would change something. Returns whether it needs a second press.
    pub fn press(&mut self, place: GuardedPlace, letter: Chord) -> bool {
        let again = self.0.is_some_and(|(last_place, last, _)| (last_place, last) == (place, letter));
        self.0 = Some((place, letter, again));
        !again
    }

    /// Handles any other key: a letter that is not confirmed must be pressed twice again.
    pub fn forget(&mut self) {
        self.0 = self.0.filter(|(.., confirmed)| *confirmed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::keys::Key;

    #[test]
    fn a_letter_acts_at_its_second_press_in_one_pane() {
        let letter = |c| Chord::plain(Key::Char(c));
        let (here, there) = ((Focus::Conversation, false), (Focus::Branches, false));
        let mut guard = LetterGuard::default();
        assert!(guard.press(here, letter('x')) && guard.press(here, letter('p')), "another letter asks again");
        guard.forget();
        assert!(guard.press(here, letter('p')), "a key between begins anew");
        assert!(!guard.press(here, letter('p')) && !guard.press(here, letter('p')), "the letter is confirmed");
        assert!(guard.press(here, letter('x')) && guard.press(here, letter('p')), "every other letter asks");
        assert!(!guard.press(here, letter('p')) && guard.press(there, letter('p')), "another pane asks too");
    }
}
