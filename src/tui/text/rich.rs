//! Text with inks and links, wrapped without losing either.
//! Not for: parsing Markdown (`blocks`).

use super::{Line, Piece, wrap};
use crate::domain::base::Safe;
use crate::tui::theme::Ink;
use std::ops::Range;
use std::rc::Rc;

/// The longest address that is sent to a terminal, in bytes.
const MAX_ADDRESS_BYTES: usize = 1_500;

/// Sanitized text, and the parts of it that have their own ink or link.
#[derive(Clone, Debug, Default)]
pub(super) struct RichText {
    pub(super) text: String,
    runs: Vec<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    to: usize,
    ink: Option<Ink>,
    link: Option<Rc<str>>,
}

impl RichText {
    /// Appends raw text; line ends in it are lost. [`RichText::next_line`] adds one.
    pub(super) fn push(&mut self, raw: &str, ink: Option<Ink>, to: Option<&Rc<str>>) {
        self.push_safe(Safe::line(raw).as_str(), ink, to);
    }

    pub(super) fn push_safe(&mut self, text: &str, ink: Option<Ink>, to: Option<&Rc<str>>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(last) if last.ink == ink && last.link.as_ref() == to => last.to = end,
            _ => self.runs.push(Run { to: end, ink, link: to.cloned() }),
        }
    }

    pub(super) fn next_line(&mut self) {
        self.push_safe("\n", None, None);
    }

    pub(super) fn append(&mut self, other: &Self) {
        let mut from = 0;
        for run in &other.runs {
            self.push_safe(&other.text[from..run.to], run.ink, run.link.as_ref());
            from = run.to;
        }
    }

    /// Turns the addresses in the text into links.
    pub(super) fn find_addresses(&mut self) {
        if !self.text.contains("://") {
            return;
        }
        let mut fresh = Self::default();
        let mut from = 0;
        for run in &self.runs {
            let text = &self.text[from..run.to];
            from = run.to;
            if run.link.is_some() || matches!(run.ink, Some(Ink::Code | Ink::Dim)) {
                fresh.push_safe(text, run.ink, run.link.as_ref());
                continue;
            }
            let mut at = 0;
            for place in addresses(text) {
                fresh.push_safe(&text[at..place.start], run.ink, None);
                let address = &text[place.clone()];
                fresh.push_safe(address, Some(Ink::Link), safe_address(address).as_ref());
                at = place.end;
            }
            fresh.push_safe(&text[at..], run.ink, None);
        }
        *self = fresh;
    }

    /// Wraps the text into lines of at most `room` columns; parts without their own ink get `ink`.
    pub(super) fn lines(&self, room: usize, ink: Ink) -> Vec<Line> {
        let mut out = Vec::new();
        let mut start = 0;
        for logical in self.text.split('\n') {
            let mut from = 0;
            for row in wrap::rows(logical, room, 0) {
                let found = logical[from..].find(row.as_str()).filter(|_| !row.is_empty());
                let mut line = Line::new();
                match found {
                    Some(at) => {
                        let begun = start + from + at;
                        from += at + row.len();
                        self.paint(&mut line, begun..begun + row.len(), ink);
                    }
                    None => line.push_safe(ink, &row),
                }
                out.push(line);
            }
            start += logical.len() + 1;
        }
        out
    }

    fn paint(&self, line: &mut Line, part: Range<usize>, ink: Ink) {
        let first = self.runs.partition_point(|run| run.to <= part.start);
        let mut at = part.start;
        for run in &self.runs[first..] {
            let end = run.to.min(part.end);
            if end > at {
                let text = self.text[at..end].to_owned();
                line.pieces.push(Piece { ink: run.ink.unwrap_or(ink), text, link: run.link.clone() });
                at = end;
            }
            if at == part.end {
                break;
            }
        }
    }
}

/// The ranges of http and https addresses in a text.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("http").map(|at| from + at) {
        let tail = &text[at..];
        from = at + 4;
        let Some(scheme) = ["https://", "http://"].into_iter().find(|scheme| tail.starts_with(scheme)) else {
            continue;
        };
        let end = tail.find(|c: char| !c.is_ascii_graphic() || "<>\"`{}|\\^".contains(c)).unwrap_or(tail.len());
        // An address that is cut before a letter of another alphabet, or before a mark, would lead to a place other
        // than the one it shows.
        if tail[end..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '⟨') {
            continue;
        }
        let mut address = tail[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
        while address.ends_with(')') && address.matches(')').count() > address.matches('(').count() {
            address = &address[..address.len() - 1];
        }
        if address.len() > scheme.len() {
            found.push(at..at + address.len());
            from = at + address.len();
        }
    }
    found
}

/// An address that is safe for a terminal: the address of a web page or mailbox, in visible ASCII only.
pub(super) fn safe_address(raw: &str) -> Option<Rc<str>> {
    let lower = raw.get(..8.min(raw.len()))?.to_ascii_lowercase();
    let known = ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    (known && raw.len() <= MAX_ADDRESS_BYTES && raw.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Rc::from(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_addresses_are_links() {
        for good in ["https://a.example/x?y=1#z", "HTTP://a", "mailto:a@b.example"] {
            assert_eq!(safe_address(good).as_deref(), Some(good));
        }
        for bad in
            ["javascript:alert(1)", "file:///etc/passwd", "https://a\x1b\\", "https://ä.example", "https://a b", ""]
        {
            assert_eq!(safe_address(bad), None, "{bad:?}");
        }
        assert_eq!(safe_address(&format!("https://{}", "a".repeat(3_000))), None);
    }

    #[test]
    fn addresses_end_before_punctuation() {
        let found = |text: &str| addresses(text).into_iter().map(|at| text[at].to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found("see https://a.example/b_c, (http://x.y/z(1)) and http://"),
            ["https://a.example/b_c", "http://x.y/z(1)"]
        );
        assert_eq!(found("https https:// httpx:// https://bücher.example https://a/⟨U+001B⟩"), [""; 0]);
        assert_eq!(found("看 https://a.example。"), ["https://a.example"]);
    }
}
