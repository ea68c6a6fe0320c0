//! Scans the fields around the messages of a conversation of any size, and finds the offset of its first message.
//! Not for: reading the messages.

use super::shorten::Shortener;
use super::split::{Separator, StringScanner};

/// The state of the scan.
#[derive(Default)]
pub(super) struct Outline {
    around: Shortener,
    /// The number of bytes scanned so far.
    place: u64,
    depth: usize,
    /// Keeps the strings of the outermost object.
    strings: StringScanner,
    /// The name of the current field of the outermost object.
    name: Vec<u8>,
    /// Whether the scan is inside the messages.
    inside: bool,
    closed: bool,
    list: Option<(u64, Separator)>,
}

/// The result of the scan.
pub(super) struct Found {
    /// The object without its messages: their list is empty.
    pub(super) around: Vec<u8>,
    /// The number of bytes of other fields that were dropped.
    pub(super) dropped: u64,
    /// The offset of the first message from the beginning of the object, and the separator of the messages.
    pub(super) list: Option<(u64, Separator)>,
    /// Whether the object is complete.
    pub(super) closed: bool,
}

impl Outline {
    /// Scans more bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let (mut at, mut from) = (0, 0);
        while !self.closed {
            let Some(here) = self.strings.outside(bytes, at) else {
                at = bytes.len();
                break;
            };
            let inside = self.inside;
            self.mark(bytes[here], self.place + here as u64 + 1);
            match (inside, self.inside) {
                (false, true) => self.around.feed(&bytes[from..=here]),
                (true, false) => from = here,
                _ => {}
            }
            at = here + 1;
        }
        if !self.inside {
            self.around.feed(&bytes[from..at]);
        }
        self.place += bytes.len() as u64;
    }

    /// Handles a byte outside strings. `next` is the offset after it.
    fn mark(&mut self, byte: u8, next: u64) {
        match byte {
            b'"' => self.strings.begin(self.depth == 1),
            b':' if self.depth == 1 => self.name = std::mem::take(&mut self.strings.word),
            b'{' | b'[' => {
                // A mapping takes precedence over messages in the same object.
                let mapping = matches!(self.list, Some((_, Separator::Object)));
                let list = match (self.depth, &self.name[..], byte) {
                    (1, b"messages", b'[') if !mapping => Some(Separator::Array),
                    (1, b"mapping", b'{') => Some(Separator::Object),
                    _ => None,
                };
                if let Some(separator) = list {
                    (self.list, self.inside) = (Some((next, separator)), true);
                }
                self.depth += 1;
                self.name.clear();
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.inside &= self.depth > 1;
                self.closed = self.depth == 0;
            }
            _ => {}
        }
    }

    /// Returns the result.
    pub(super) fn finish(self) -> Found {
        let (mut around, _, dropped) = self.around.finish();
        if self.inside {
            let array = matches!(self.list, Some((_, Separator::Array)));
            around.extend_from_slice(if array { b"]}" } else { b"}}" });
        }
        Found { around, dropped, list: self.list, closed: self.closed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_and_left_out_for_any_split() {
        let table = [
            (
                r#" {"id":"a, \"messages\":[", "messages" : [ {"messages":[1]}, "]"] ,"t":{"mapping":{}}}"#,
                42,
                "{",
                true,
            ),
            (r#"{"mapping":{"n":{"x":"}"}},"id":1}  x"#, 12, "\"", true),
            (r#"{"title":"T","messages":[{"role":"user"},{"ro"#, 25, "{", false),
        ];
        for (text, place, first, closed) in table {
            for step in [1, 2, 7, 1_000] {
                let mut outline = Outline::default();
                for part in text.as_bytes().chunks(step) {
                    outline.feed(part);
                }
                let found = outline.finish();
                let (list, _) = found.list.unwrap();
                assert_eq!(list, place, "{text}");
                assert!(text[usize::try_from(place).unwrap()..].trim_start().starts_with(first), "{text}");
                assert_eq!(found.closed, closed);
                let around: serde_json::Value = serde_json::from_slice(&found.around).unwrap();
                let rest = around.get("messages").or_else(|| around.get("mapping")).unwrap();
                assert!(
                    rest.as_array().is_some_and(Vec::is_empty)
                        || rest.as_object().is_some_and(serde_json::Map::is_empty)
                );
                assert!(around.get("id").or_else(|| around.get("title")).is_some());
            }
        }
    }
}
