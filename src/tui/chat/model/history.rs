//! Sent and cleared messages that can be recalled into the composer.
//! Not for: the composer's text (`composer`).

use super::composer::text::same_text;
use std::sync::Arc;

/// How many messages are kept.
const LIMIT: usize = 100;

/// The history of messages.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The messages as drafts are saved (with marks around folded texts), oldest first.
    texts: Vec<Arc<str>>,
    /// Index of the recalled message, while one is shown.
    shown: Option<usize>,
}

impl History {
    /// Adds a message as the newest, unless it is blank. It replaces the newest if that has the same text.
    pub fn remember(&mut self, text: &Arc<str>) {
        if text.trim().is_empty() {
            return;
        }
        self.texts.pop_if(|newest| same_text(newest, text));
        if self.texts.len() == LIMIT {
            self.texts.remove(0);
        }
        self.texts.push(text.clone());
    }

    /// The newest message with this text, as it is sent: without a slash that only says that the text is no command.
    pub fn newest_with(&self, text: &str) -> Option<&Arc<str>> {
        let begin = |stored: &str| usize::from(stored.starts_with("//"));
        self.texts.iter().rev().find(|stored| same_text(&stored[begin(stored)..], text))
    }

    /// Inserts earlier messages, oldest first, before the messages of this run of the program, which may be among them.
    pub fn seed(&mut self, earlier: impl Iterator<Item = Arc<str>>) {
        let own = std::mem::take(&mut self.texts);
        let is_own = |text: &Arc<str>| own.iter().any(|known| same_text(known, text));
        let older: Vec<_> = earlier.filter(|text| !is_own(text)).collect();
        older.iter().chain(&own).for_each(|text| self.remember(text));
        self.shown = None;
    }

    /// Whether a message of the history is shown.
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Stops recalling, because the text was changed.
    pub fn leave(&mut self) {
        self.shown = None;
    }

    /// Moves to an older or a newer message. Returns `Some(None)` after the newest message, which is the draft's place,
    /// and None if there is nothing in that direction.
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
