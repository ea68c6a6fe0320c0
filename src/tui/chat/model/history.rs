//! Sent and cleared messages that can be recalled into the composer.
//! Not for: the composer's text (`composer`).

use std::sync::Arc;

/// Maximum number of messages.
const LIMIT: usize = 100;

/// The recallable messages.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Oldest first.
    texts: Vec<Arc<str>>,
    /// The recalled message, while the user walks through the history.
    shown: Option<usize>,
}

impl History {
    /// Adds a message as the newest, unless it equals the newest.
    pub fn remember(&mut self, text: &Arc<str>) {
        if !text.trim().is_empty() && self.texts.last() != Some(text) {
            self.texts.push(text.clone());
            if self.texts.len() > LIMIT {
                self.texts.remove(0);
            }
        }
    }

    /// Inserts earlier messages, oldest first, before those of this run of the program.
    pub fn seed(&mut self, earlier: impl Iterator<Item = Arc<str>>) {
        let own = std::mem::take(&mut self.texts);
        for text in earlier.chain(own).filter(|text| !text.trim().is_empty()) {
            if self.texts.last() != Some(&text) {
                self.texts.push(text);
            }
        }
        let over = self.texts.len().saturating_sub(LIMIT);
        self.texts.drain(..over);
        self.shown = None;
    }

    /// Whether a recalled message is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// The recalled message was edited and no longer belongs to the history.
    pub fn leave(&mut self) {
        self.shown = None;
    }

    /// Goes to an older or a newer message. `Some(None)` is the position after the newest message: the draft. `None`:
    /// there is no such position.
    pub fn step(&mut self, older: bool) -> Option<Option<Arc<str>>> {
        let newest = self.texts.len();
        let next = match (self.shown, older) {
            (None, false) => None,
            (at, true) => at.unwrap_or(newest).checked_sub(1),
            (Some(at), false) => Some(at + 1),
        }?;
        self.shown = (next < newest).then_some(next);
        Some(self.texts.get(next).cloned())
    }
}
