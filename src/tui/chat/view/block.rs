//! The rows of one message, in parts shared with the cache, and the positions of search matches in them.
//! Not for: building the rows (`message`).

use crate::tui::chat::model::search::{self, ConversationSearch};
use crate::tui::text::Line;
use crate::tui::text::matches::{self, MatchPart};
use std::rc::Rc;

/// Rows of one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(super) parts: Vec<Rc<Vec<Line>>>,
    /// Index of the part with the message's text.
    pub(super) body: Option<usize>,
    /// Whether the whole block is drawn dimmed.
    pub(crate) out: bool,
}

impl Block {
    pub(super) fn own(&mut self, lines: Vec<Line>) {
        if !lines.is_empty() {
            self.parts.push(Rc::new(lines));
        }
    }

    pub(super) fn body(&mut self, rows: Rc<Vec<Line>>) {
        self.body = Some(self.parts.len());
        self.parts.push(rows);
    }

    /// Positions of the search's matches in the message's text, by rows of the block.
    pub(crate) fn matches(&self, search: &ConversationSearch) -> Vec<Vec<MatchPart>> {
        let Some(body) = self.body.filter(|_| !search.query().trim().is_empty()) else { return Vec::new() };
        let before: usize = self.parts[..body].iter().map(|part| part.len()).sum();
        let mut found = matches::find(&self.parts[body], search.query(), search::lower);
        found.iter_mut().flatten().for_each(|part| part.row += before);
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    pub(crate) fn rows(&self, from: usize) -> impl Iterator<Item = &Line> {
        self.parts.iter().flat_map(|part| part.iter()).skip(from)
    }
}
