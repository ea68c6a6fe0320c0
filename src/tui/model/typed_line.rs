//! A line of text that is being typed on a screen, such as a filter or a name, and the keys of text areas.
//! Not for: the composer, or texts of several lines (`screens::text_editor`).

use crate::tui::model::keys::{Chord, Key as PressedKey};
use std::fmt;
use std::ops::Deref;
use tui_textarea::{CursorMove, Input, Key, TextArea};

/// A line takes no more typed characters from this length on, in bytes.
const MAX_BYTES: usize = 2_000;
/// How many characters of a paste are used.
const MAX_PASTE: usize = 500;

/// A line of text with a cursor, which is at the end of a new line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TypedLine {
    text: String,
    /// Length of the text behind the cursor, in bytes.
    behind: usize,
}

impl TypedLine {
    /// The text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.text.len() - self.behind]
    }

    /// The text behind the cursor.
    pub fn behind(&self) -> &str {
        &self.text[self.text.len() - self.behind..]
    }

    /// The text with a sign at the cursor.
    pub fn with_cursor(&self) -> String {
        format!("{}_{}", self.before(), self.behind())
    }

    /// Removes the text.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Inserts the first line of a text at the cursor.
    pub fn paste(&mut self, text: &str) {
        let first = text.lines().next().unwrap_or_default();
        let new: String = first.chars().filter(|c| !c.is_control()).take(MAX_PASTE).collect();
        self.text.insert_str(self.text.len() - self.behind, &new);
    }

    /// Handles a key as the composer does: it types, deletes, or moves the cursor. Returns whether the text changed.
    pub fn input(&mut self, input: Input) -> bool {
        let is_known = if let Key::Char(c) = input.key {
            if input.ctrl || input.alt {
                !matches!(c, 'm' | 'j')
            } else {
                !c.is_control() && self.text.len() < MAX_BYTES
            }
        } else {
            matches!(input.key, Key::Backspace | Key::Delete | Key::Left | Key::Right | Key::Home | Key::End)
        };
        if !is_known {
            return false;
        }
        let mut area = TextArea::from([self.text.as_str()]);
        let column = self.before().chars().count();
        area.move_cursor(CursorMove::Jump(0, u16::try_from(column).unwrap_or(u16::MAX)));
        if input.ctrl && input.key == Key::Char('u') {
            area.delete_line_by_head();
        } else {
            area.input(input);
        }
        let column = area.cursor().1;
        let text = area.into_lines().concat();
        self.behind = text.chars().skip(column).map(char::len_utf8).sum();
        std::mem::replace(&mut self.text, text) != self.text
    }
}

impl Deref for TypedLine {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for TypedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl From<String> for TypedLine {
    fn from(text: String) -> Self {
        Self { text, behind: 0 }
    }
}

impl From<&str> for TypedLine {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq<&str> for TypedLine {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

/// Converts a key to an input of the text area.
pub(crate) fn text_input(chord: Chord) -> Input {
    let key = match chord.key {
        PressedKey::Char(c) => Key::Char(c),
        PressedKey::F(n) => Key::F(n),
        PressedKey::Enter => Key::Enter,
        PressedKey::Tab => Key::Tab,
        PressedKey::BackTab => Key::Null,
        PressedKey::Esc => Key::Esc,
        PressedKey::Backspace => Key::Backspace,
        PressedKey::Delete => Key::Delete,
        PressedKey::Up => Key::Up,
        PressedKey::Down => Key::Down,
        PressedKey::Left => Key::Left,
        PressedKey::Right => Key::Right,
        PressedKey::Home => Key::Home,
        PressedKey::End => Key::End,
        PressedKey::PageUp => Key::PageUp,
        PressedKey::PageDown => Key::PageDown,
    };
    Input { key, ctrl: chord.ctrl, alt: chord.alt, shift: chord.shift }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(line: &mut TypedLine, key: Key, ctrl: bool) -> String {
        line.input(Input { key, ctrl, ..Input::default() });
        line.with_cursor()
    }

    #[test]
    fn keys_edit_the_line_as_in_the_composer() {
        let mut line = TypedLine::from("race é fork");
        for (key, ctrl, expected) in [
            (Key::Char('w'), true, "race é _"),
            (Key::Left, false, "race é_ "),
            (Key::Backspace, false, "race _ "),
            (Key::Char('a'), true, "_race  "),
            (Key::Char('x'), false, "x_race  "),
            (Key::Delete, false, "x_ace  "),
            (Key::Char('e'), true, "xace  _"),
            (Key::Char('u'), true, "_"),
            (Key::Char('m'), true, "_"),
            (Key::Enter, false, "_"),
        ] {
            assert_eq!(press(&mut line, key, ctrl), expected);
        }
        let mut line = TypedLine::from("race");
        press(&mut line, Key::Char('a'), true);
        assert_eq!(press(&mut line, Key::Char('k'), true), "_");
        line.paste("un\u{7}do\nmore");
        assert_eq!((line.with_cursor().as_str(), &*line), ("undo_", "undo"));
        assert!(!line.input(Input { key: Key::Home, ..Input::default() }), "the text is unchanged");
        assert_eq!((line.before(), line.behind()), ("", "undo"));
    }
}
