//! Reads the tables and keys of TOML.
//! Not for: the values of settings (`config`).

use super::{Outline, lines};
use crate::domain::code::Kind;

const TABLE: (Kind, usize) = (Kind::Section, 1);
const KEY: (Kind, usize) = (Kind::Key, 2);

/// Reads a settings file.
pub(super) fn read(outline: &mut Outline<'_>, text: &[u8]) {
    let mut value = Value::default();
    for line in lines(text) {
        let bare = line.text.trim();
        if value.is_open() {
            value.scan(&line.text);
            outline.body(&line);
        } else if bare.starts_with('#') {
            outline.comment(&line);
        } else if let Some(name) = table(bare) {
            outline.begin(TABLE, &name, &line, "");
        } else if let Some((name, rest)) = key(bare, '=').filter(|_| !bare.starts_with('[')) {
            outline.begin(KEY, &name, &line, rest);
            value.scan(rest);
        } else {
            outline.body(&line);
        }
    }
}

/// Returns the name of a table from its header.
fn table(line: &str) -> Option<String> {
    let inner = line.strip_prefix('[')?;
    key(inner.strip_prefix('[').unwrap_or(inner), ']').map(|(name, _)| name)
}

/// Returns a key up to a character outside of quotes, without quotes and spaces around its parts, and the rest.
fn key(text: &str, end: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut quote: Option<char> = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => name.push(c),
            None if c == end => return (!name.is_empty()).then(|| (name, &text[at + c.len_utf8()..])),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {}
            None if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') => name.push(c),
            None => return None,
        }
    }
    None
}

/// Whether a value continues on the next line.
#[derive(Default)]
struct Value {
    /// The quotes that end the string.
    string: Option<&'static str>,
    /// The number of open brackets.
    brackets: usize,
}

impl Value {
    fn is_open(&self) -> bool {
        self.string.is_some() || self.brackets > 0
    }

    /// Reads a part of the value up to the end of its line.
    fn scan(&mut self, line: &str) {
        let mut rest = line;
        loop {
            if let Some(quotes) = self.string {
                let Some(end) = rest.find(quotes) else { return };
                rest = &rest[end + quotes.len()..];
                self.string = None;
            }
            let Some(at) = rest.find(['"', '\'', '[', ']', '{', '}', '#']) else { return };
            match rest.as_bytes()[at] {
                b'#' => return,
                b'[' | b'{' => self.brackets += 1,
                b']' | b'}' => self.brackets = self.brackets.saturating_sub(1),
                quote => {
                    let many = if quote == b'"' { "\"\"\"" } else { "'''" };
                    if rest[at..].starts_with(many) {
                        self.string = Some(many);
                        rest = &rest[at + many.len()..];
                    } else {
                        let Some(end) = string_end(&rest[at + 1..], quote) else { return };
                        rest = &rest[at + 1 + end + 1..];
                    }
                    continue;
                }
            }
            rest = &rest[at + 1..];
        }
    }
}

/// Returns where a string on one line ends.
fn string_end(text: &str, quote: u8) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == quote && !escaped;
        escaped = quote == b'"' && byte == b'\\' && !escaped;
        ends
    })
}
