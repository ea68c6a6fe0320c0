//! A search of the messages on the screen: the searched texts, the matches, and the current match.
//! Not for: the search of all sessions (`screens::search`), or reading the messages' texts (the view).

use super::conversation::ScrollAnchor;
use crate::domain::base::Hash;
use crate::domain::conversation::Slot;
use std::collections::HashMap;
use std::sync::Arc;

/// A match: the position of its message on the path, and its number inside that message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchMatch {
    /// Position on the path.
    pub block: usize,
    /// The number of the match inside the message, from 0.
    pub nth: usize,
}

/// A search of the conversation.
#[derive(Clone, Debug, Default)]
pub struct ConversationSearch {
    /// The query in comparable form: see [`comparable`].
    query: String,
    /// The texts of the messages read so far, comparable, each with the hash of its content.
    texts: HashMap<Slot, (Option<Hash>, Arc<str>)>,
    matches: Vec<SearchMatch>,
    current: usize,
    /// Messages of the path whose text is not read yet.
    pub unread: usize,
    /// The last path whose texts were read: its length and its last message.
    read: (usize, Option<Slot>),
    /// Whether the current match should become visible.
    pub reveal: bool,
    /// The message that was expanded to show a match in its folded part.
    pub expanded: Option<Slot>,
    /// The selected message and the scroll position when the search began.
    pub began: (usize, ScrollAnchor),
}

/// A text in the form that a search compares: lower case, every run of white space as one space.
pub fn comparable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            out.push(lower(c));
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// One character in lower case; never more than one.
pub fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

impl ConversationSearch {
    /// Creates a search that returns to this selection and scroll position when it is canceled.
    pub fn new(cursor: usize, place: ScrollAnchor) -> Self {
        Self { began: (cursor, place), ..Self::default() }
    }

    /// The query in comparable form.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The current match.
    pub fn current(&self) -> Option<SearchMatch> {
        self.matches.get(self.current).copied()
    }

    /// The number of the current match, from 1, and the number of matches; (0, 0) without a match.
    pub fn position(&self) -> (usize, usize) {
        let count = self.matches.len();
        ((self.current + 1).min(count), count)
    }

    /// How many matches a message has.
    pub fn count_in(&self, block: usize) -> usize {
        self.matches.iter().filter(|found| found.block == block).count()
    }

    /// Whether the text of a message with this content was read.
    pub fn knows(&self, slot: Slot, content: Option<Hash>) -> bool {
        self.texts.get(&slot).is_some_and(|(known, _)| *known == content)
    }

    /// Whether texts of this path remain to be read.
    pub fn is_behind(&self, path: &[Slot]) -> bool {
        self.unread > 0 || self.read != (path.len(), path.last().copied())
    }

    /// Records that the texts of this path were read, except for `unread` of them.
    pub fn was_read(&mut self, path: &[Slot], unread: usize) {
        self.unread = unread;
        self.read = (path.len(), path.last().copied());
    }

    /// Adds the text of a message. [`ConversationSearch::recount`] finds the matches in it.
    pub fn learn(&mut self, slot: Slot, content: Option<Hash>, text: &str) {
        self.texts.insert(slot, (content, Arc::from(comparable(text))));
    }

    /// Searches for another query. The first match at or after the place where the search began becomes the current
    /// one.
    pub fn search(&mut self, query: &str, path: &[Slot]) {
        self.query = comparable(query);
        self.matches = self.find(path);
        let from = self.began.0;
        let last = self.matches.len().saturating_sub(1);
        self.current = self.matches.iter().position(|found| found.block >= from).unwrap_or(last);
        self.reveal = !self.matches.is_empty();
    }

    /// Finds the matches again after texts or the path changed; the current match stays the same one.
    pub fn recount(&mut self, path: &[Slot]) {
        let before = self.current();
        self.matches = self.find(path);
        let last = self.matches.len().saturating_sub(1);
        self.current = if let Some(old) = before {
            self.matches.iter().position(|found| *found == old).unwrap_or(self.current.min(last))
        } else {
            self.reveal = !self.matches.is_empty();
            self.matches.iter().position(|found| found.block >= self.began.0).unwrap_or(last)
        };
    }

    fn find(&self, path: &[Slot]) -> Vec<SearchMatch> {
        if self.query.trim().is_empty() {
            return Vec::new();
        }
        let of = |(block, slot): (usize, &Slot)| {
            let count = self.texts.get(slot).map_or(0, |(_, text)| text.matches(self.query.as_str()).count());
            (0..count).map(move |nth| SearchMatch { block, nth })
        };
        path.iter().enumerate().flat_map(of).collect()
    }

    /// Goes to the next or the previous match, cyclically.
    pub fn step(&mut self, forward: bool) {
        let count = self.matches.len();
        if count > 0 {
            self.current = if forward { self.current + 1 } else { self.current + count - 1 } % count;
            self.reveal = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(texts: &[&str], query: &str, from: usize) -> ConversationSearch {
        let mut search = ConversationSearch::new(from, ScrollAnchor::Bottom);
        let path: Vec<Slot> = (0..texts.len()).map(|at| Slot::try_from(at).unwrap()).collect();
        for (slot, text) in path.iter().zip(texts) {
            search.learn(*slot, None, text);
        }
        search.search(query, &path);
        search
    }

    #[test]
    fn matches_are_counted_from_the_top_and_the_nearest_is_current() {
        let mut search = searched(&["Token, token", "none", "the\n  TOKEN"], "token", 2);
        assert_eq!(search.position(), (3, 3));
        search.step(true);
        assert_eq!((search.position(), search.current()), ((1, 3), Some(SearchMatch { block: 0, nth: 0 })));
        search.step(false);
        assert_eq!(search.position(), (3, 3));
        assert_eq!(searched(&["token", "x"], "token", 1).position(), (1, 1), "above, where none is below");
    }

    #[test]
    fn matching_ignores_line_breaks_and_case() {
        assert_eq!(searched(&["the old\n   one"], "Old  one", 0).position(), (1, 1));
        assert_eq!(searched(&["ÄRGER"], "ärger", 0).position(), (1, 1));
        assert_eq!(searched(&["a b"], " ", 0).position(), (0, 0), "spaces alone match nothing");
    }

    #[test]
    fn later_texts_keep_the_current_match() {
        let mut search = searched(&["", "token"], "token", 1);
        search.learn(0, None, "a token");
        search.recount(&[0, 1]);
        assert_eq!((search.position(), search.current()), ((2, 2), Some(SearchMatch { block: 1, nth: 0 })));
    }
}
