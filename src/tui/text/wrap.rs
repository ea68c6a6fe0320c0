//! Soft wrapping: breaks a line into rows of limited width, at spaces if possible.
//! Not for: inks and Markdown (`markdown`).

use super::width;
use unicode_segmentation::UnicodeSegmentation;

/// Breaks one sanitized line (without line ends) into rows of at most `room` columns. The rows after the first are
/// `indent` columns narrower; the caller inserts the indentation. A grapheme wider than `room` is shown as `?`.
pub fn rows(line: &str, room: usize, indent: usize) -> Vec<String> {
    let room = room.max(1);
    let indent = usable_indent(room, indent);
    if line.len() <= room && line.is_ascii() {
        return vec![line.to_owned()];
    }
    let mut rows = LineWrapper { rows: Vec::new(), row: String::new(), used: 0, room, indent };
    for word in line.split_word_bounds() {
        rows.word(word);
    }
    rows.rows.push(rows.row);
    rows.rows
}

/// The indentation that rows after the first can have at this width.
pub fn usable_indent(room: usize, indent: usize) -> usize {
    if indent + 8 > room { 0 } else { indent }
}

struct LineWrapper {
    rows: Vec<String>,
    row: String,
    used: usize,
    room: usize,
    indent: usize,
}

impl LineWrapper {
    fn limit(&self) -> usize {
        if self.rows.is_empty() { self.room } else { self.room - self.indent }
    }

    fn next_row(&mut self) {
        let full = std::mem::take(&mut self.row);
        self.rows.push(full.trim_end_matches(' ').to_owned());
        self.used = 0;
    }

    fn word(&mut self, word: &str) {
        let wide = width(word);
        let blank = word.chars().all(|c| c == ' ');
        if self.used + wide <= self.limit() {
            if blank && self.used == 0 && !self.rows.is_empty() {
                return;
            }
            self.row.push_str(word);
            self.used += wide;
            return;
        }
        if blank {
            self.next_row();
            return;
        }
        let fresh = self.room - self.indent;
        if wide > fresh {
            // No row has room for the whole word, so it begins where the text is.
            return self.split(word);
        }
        if self.used > 0 {
            let tail = self.glued(word, fresh - wide);
            self.next_row();
            self.used = width(&tail);
            self.row = tail;
        }
        self.row.push_str(word);
        self.used += wide;
    }

    /// Takes the text directly before the next word off the row, so that both move to the new row: an opening quote or
    /// bracket, the word before a comma or period, or the start of a key such as `Ctrl+X`. The text has at most `room` columns.
    fn glued(&mut self, next: &str, room: usize) -> String {
        let start = self.row.rfind(' ').map_or(0, |at| at + 1);
        let glued = &self.row[start..];
        let follows = glued.ends_with('+')
            || next.starts_with(['+', ',', '.', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`', '’', '”']);
        let most = if follows { self.room / 2 } else { 4 };
        if start == 0 || width(glued) > most.min(room) {
            return String::new();
        }
        let tail = glued.to_owned();
        self.row.truncate(start);
        tail
    }

    fn split(&mut self, word: &str) {
        for grapheme in word.graphemes(true) {
            let wide = width(grapheme);
            let (grapheme, wide) = if wide > self.room { ("?", 1) } else { (grapheme, wide) };
            if self.used + wide > self.limit() {
                self.next_row();
            }
            self.row.push_str(grapheme);
            self.used += wide;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::safe_text::Safe;
    use proptest::prelude::*;

    #[test]
    fn breaks_at_spaces() {
        assert_eq!(rows("the refresh token is rotated", 12, 0), ["the refresh", "token is", "rotated"]);
        assert_eq!(rows("- one two three four", 12, 2), ["- one two", "three four"]);
        assert_eq!(rows("日本語の文", 4, 0), ["日本", "語の", "文"]);
        assert_eq!(rows("groq, openai, more", 12, 0), ["groq,", "openai, more"]);
        assert_eq!(rows("press Ctrl+X u now", 10, 0), ["press", "Ctrl+X u", "now"]);
        assert_eq!(rows("press Ctrl+X u now", 11, 0), ["press", "Ctrl+X u", "now"]);
        assert_eq!(rows("a verylongword here", 6, 0), ["a very", "longwo", "rd", "here"]);
        assert_eq!(rows("see (abcdef)", 6, 0), ["see (", "abcdef", ")"]);
        assert_eq!(rows("", 4, 0), [""]);
        assert_eq!(rows("日", 1, 0), ["?"]);
    }

    proptest! {
        #[test]
        fn never_wider_than_the_room(raw in "(\\PC|[ \
            a-z]|[日本🙂é\u{301}👩‍👩‍👧🇩🇪]){0,80}", room in 1usize..60, indent in 0usize..9) {
            let line = Safe::line(&raw);
            for (at, row) in rows(line.as_str(), room, indent).iter().enumerate() {
                let limit = if at == 0 { room } else { room - usable_indent(room, indent) };
                prop_assert!(width(row) <= limit, "{row:?} is {} wide, the room is {limit}", width(row));
            }
        }

        #[test]
        fn no_word_is_lost(words in proptest::collection::vec("[a-zA-Z0-9]{1,30}", 0..20), room in 1usize..40) {
            let line = words.join(" ");
            let joined: String = rows(&line, room, 0).concat().chars().filter(|c| *c != ' ').collect();
            prop_assert_eq!(joined, words.concat());
        }
    }
}
