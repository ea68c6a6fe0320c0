//! State of the reader: its text and scroll position.
//! Not for: texts that are edited (`text_editor`).

use crate::domain::base::Hash;
use crate::tui::model::list::Scroll;
use std::sync::Arc;

/// A read-only text.
#[derive(Clone, Debug)]
pub struct Reader {
    pub title: String,
    /// The text, not sanitized.
    pub text: Arc<str>,
    /// Whether every character is shown exactly, instead of rendering Markdown.
    pub exact: bool,
    /// The scroll position of the text.
    pub scroll: Scroll,
    /// Hash of the text, which identifies it in the view's cache.
    pub key: Hash,
}

impl Reader {
    /// Creates a reader at the top of the text.
    pub fn new(title: impl Into<String>, text: impl Into<Arc<str>>, exact: bool) -> Self {
        let text = text.into();
        let key = Hash::of(text.as_bytes());
        Self { title: title.into(), text, exact, scroll: Scroll::default(), key }
    }
}
