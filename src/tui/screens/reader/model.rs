//! A text to read, and its scroll position.
//! Not for: texts that are edited (`text_editor`).

use crate::domain::base::hash::Hash;
use std::sync::Arc;

/// A text to read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Its title.
    pub title: String,
    /// The text, unsanitized.
    pub text: Arc<str>,
    /// Shown verbatim, with nothing hidden, instead of as Markdown.
    pub exact: bool,
    /// Scrolled rows.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
    /// A key for the view's cache that distinguishes texts.
    pub key: Hash,
}

impl Reader {
    /// A text to read.
    #[must_use]
    pub fn new(title: impl Into<String>, text: impl Into<Arc<str>>, exact: bool) -> Self {
        let text = text.into();
        let key = Hash::of(text.as_bytes());
        Self { title: title.into(), text, exact, scroll: 0, seen: (0, 0), key }
    }

    /// Scrolls.
    pub fn step(&mut self, by: i64) {
        let last = self.seen.0.saturating_sub(self.seen.1);
        let here = i64::try_from(self.scroll).unwrap_or(0).saturating_add(by).max(0);
        self.scroll = usize::try_from(here).unwrap_or(0).min(last);
    }
}
