//! Sent and cleared messages that can be recalled into the composer.
//! Not for: the composer's text (`composer`).

use std::sync::Arc;

/// Messages that are remembered.
const LIMIT: usize = 100;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Oldest first.
    texts: Vec<Arc<str>>,
    /// The message that is shown, while the person walks through them.
    shown: Option<usize>,
}

impl History {
    /// Adds a message as the newest, unless that is the same.
    pub fn remember(&mut self, text: &Arc<str>) {
        if !text.trim().is_empty() && self.texts.last() != Some(text) {
            self.texts.push(text.clone());
            if self.texts.len() > LIMIT {
                self.texts.remove(0);
            }
        }
    }

    /// Puts earlier messages, oldest first, before those of this run of the program.
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

    /// Whether one of the messages is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// The shown message is another text now.
    pub fn leave(&mut self) {
        self.shown = None;
    }

    /// Goes to an older message, or to a newer one. `Some(None)` is the place after the newest: the draft. `None`: there is
    /// no place to go to.
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
