//! Light Markdown: fenced code stays as it is, headings, `code` and **strong** words stand out, lists hang, everything
//! else is wrapped words. Not for: tables and links; those are shown as they were written.

use super::{Line, wrap};
use crate::domain::safe::Safe;
use crate::tui::theme::Ink;

/// Turns text into rows, logical line by logical line, so that a growing answer never needs its beginning again.
#[derive(Clone, Debug)]
pub struct Flow {
    room: usize,
    ink: Ink,
    fence: Option<(char, usize)>,
    /// The rows so far.
    pub rows: Vec<Line>,
}

impl Flow {
    /// Rows of at most `room` columns.
    #[must_use]
    pub fn new(room: usize, ink: Ink) -> Self {
        Self { room: room.max(1), ink, fence: None, rows: Vec::new() }
    }

    /// The rows of a whole text.
    #[must_use]
    pub fn all(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        let mut flow = Self::new(room, ink);
        flow.text(raw);
        flow.rows
    }

    /// The rows of a text that is no Markdown: wrapped, nothing else.
    #[must_use]
    pub fn plain(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        let safe = Safe::text(raw);
        let mut flow = Self::new(room, ink);
        safe.as_str().split('\n').for_each(|line| flow.put(line, 0, ink));
        flow.rows
    }

    /// The rows of a text shown so exactly that nothing is hidden.
    #[must_use]
    pub fn exact(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        let safe = Safe::exact(raw);
        let mut flow = Self::new(room, ink);
        safe.as_str().split('\n').for_each(|line| flow.put(line, 0, ink));
        flow.rows
    }

    /// Adds whole lines.
    pub fn text(&mut self, raw: &str) {
        let safe = Safe::text(raw);
        for line in safe.as_str().split('\n') {
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        if let Some((mark, count)) = fence(line) {
            match self.fence {
                None => self.fence = Some((mark, count)),
                Some((open, least)) if open == mark && count >= least && line.trim_end().ends_with(mark) => {
                    self.fence = None;
                }
                Some(_) => {}
            }
            self.put(line, 0, Ink::Dim);
            return;
        }
        if self.fence.is_some() {
            self.put(line, 0, Ink::Code);
            return;
        }
        let hashes = line.bytes().take_while(|b| *b == b'#').count();
        if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
            self.put(line, 0, Ink::Heading);
            return;
        }
        let (text, spans) = inline(line);
        self.put_spans(&text, hang(&text), &spans);
    }

    /// Wrapped words with some of them in inks of their own.
    fn put_spans(&mut self, line: &str, indent: usize, spans: &[Span]) {
        if spans.is_empty() {
            return self.put(line, indent, self.ink);
        }
        let indent = wrap::usable_indent(self.room, indent);
        let mut from = 0;
        for (at, row) in wrap::rows(line, self.room, indent).iter().enumerate() {
            let mut out = Line::new();
            if at > 0 && indent > 0 {
                out.push_safe(self.ink, &" ".repeat(indent));
            }
            match line[from..].find(row.as_str()) {
                Some(found) => {
                    let start = from + found;
                    from = start + row.len();
                    paint(&mut out, line, start..from, spans, self.ink);
                }
                None => out.push_safe(self.ink, row),
            }
            self.rows.push(out);
        }
    }

    fn put(&mut self, line: &str, indent: usize, ink: Ink) {
        let indent = wrap::usable_indent(self.room, indent);
        for (at, row) in wrap::rows(line, self.room, indent).iter().enumerate() {
            let mut out = Line::new();
            if at > 0 && indent > 0 {
                out.push_safe(ink, &" ".repeat(indent));
            }
            out.push_safe(ink, row);
            self.rows.push(out);
        }
    }
}

type Span = (std::ops::Range<usize>, Ink);

/// The line without the marks of `code` and **strong**, and which of its bytes those were around.
fn inline(line: &str) -> (String, Vec<Span>) {
    let mut text = String::with_capacity(line.len());
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*']) {
        let (mark, ink) = if rest[at..].starts_with('`') { ("`", Ink::Code) } else { ("**", Ink::Heading) };
        let inner = rest[at..].strip_prefix(mark);
        let closed = inner.and_then(|inner| inner.find(mark).map(|end| &inner[..end]));
        let words = closed.filter(|words| !words.is_empty() && words.trim() == *words);
        text.push_str(&rest[..at]);
        if let Some(words) = words {
            spans.push((text.len()..text.len() + words.len(), ink));
            text.push_str(words);
            rest = &rest[at + words.len() + 2 * mark.len()..];
        } else {
            text.push_str(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
    }
    text.push_str(rest);
    (text, spans)
}

/// The bytes of `part` in pieces, each in its own ink.
fn paint(out: &mut Line, line: &str, part: std::ops::Range<usize>, spans: &[Span], ink: Ink) {
    let mut at = part.start;
    for (span, own) in spans {
        let (start, end) = (span.start.max(part.start), span.end.min(part.end));
        if start < end {
            out.push_safe(ink, &line[at..start]);
            out.push_safe(*own, &line[start..end]);
            at = end;
        }
    }
    out.push_safe(ink, &line[at..part.end]);
}

fn fence(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = text.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// Where the words of a list item or quote begin.
fn hang(line: &str) -> usize {
    let blank = line.len() - line.trim_start_matches(' ').len();
    let text = &line[blank..];
    let bullet = ["- ", "* ", "+ ", "> ", "• "].iter().find(|b| text.starts_with(**b));
    if let Some(bullet) = bullet {
        return blank + bullet.chars().count();
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let after = &text[digits..];
    if (1..=3).contains(&digits) && (after.starts_with(". ") || after.starts_with(") ")) {
        return blank + digits + 2;
    }
    blank.min(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_and_lists_hang() {
        let text = "# Head\n- one two three four\n```rust\nfn  x() {}\n```\nafter";
        let rows = Flow::all(text, 12, Ink::Text);
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain, ["# Head", "- one two", "  three four", "```rust", "fn  x() {}", "```", "after"]);
        assert_eq!(rows[0].pieces[0].ink, Ink::Heading);
        assert_eq!(rows[4].pieces[0].ink, Ink::Code);
        assert_eq!(rows[6].pieces[0].ink, Ink::Text);
    }

    #[test]
    fn code_and_strong_words_stand_out() {
        let rows = Flow::all("- **Alarm.** Count `late` apart, 2 * 3 * 4", 22, Ink::Text);
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain, ["- Alarm. Count late", "  apart, 2 * 3 * 4"]);
        let inks: Vec<(Ink, &str)> = rows[0].pieces.iter().map(|p| (p.ink, p.text.as_str())).collect();
        let want = [(Ink::Text, "- "), (Ink::Heading, "Alarm."), (Ink::Text, " Count "), (Ink::Code, "late")];
        assert_eq!(inks, want);
    }

    #[test]
    fn line_by_line_is_the_same_as_at_once() {
        let text = "one\n```\n# no head\n```\n# head";
        let mut flow = Flow::new(20, Ink::Text);
        text.split('\n').for_each(|line| flow.text(line));
        assert_eq!(flow.rows, Flow::all(text, 20, Ink::Text));
    }
}
