//! Lays out a whole text or a growing one as rows. In a growing text, finished blocks are laid out once and only the
//! last block is laid out again.
//! Not for: the rows of one block (`blocks`), or highlighting (`code`).

pub use super::blocks::MarkdownStyle;
use super::blocks::{Blocks, blank_before, code_rows, language_row, options};
use super::code::CodeBlock;
use super::{Line, wrap};
use crate::domain::base::Safe;
use crate::tui::theme::Ink;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use std::ops::Range;
use std::rc::Rc;
use unicode_segmentation::UnicodeSegmentation;

/// If the last block has more bytes than this, a part of it is finished early, so that the open part stays small.
const MAX_OPEN_BYTES: usize = 16 << 10;

/// Lays out texts as rows.
#[derive(Debug)]
pub struct TextRows;

impl TextRows {
    /// The rows of a Markdown text in the default style.
    pub fn all(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        Self::drawn(raw, room, ink, MarkdownStyle::default())
    }

    /// The rows of a Markdown text in a given style.
    pub fn drawn(raw: &str, room: usize, ink: Ink, look: MarkdownStyle) -> Vec<Line> {
        let mut grown = GrowingText::new(room, ink, look);
        grown.feed(raw);
        let mut rows = Rc::unwrap_or_clone(grown.done);
        rows.append(Rc::make_mut(&mut grown.open));
        rows
    }

    /// The rows of a plain text, only wrapped.
    pub fn plain(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        wrapped(Safe::text(raw).as_str(), room, ink)
    }

    /// The rows of a plain text with every invisible character shown.
    pub fn exact(raw: &str, room: usize, ink: Ink) -> Vec<Line> {
        wrapped(Safe::exact(raw).as_str(), room, ink)
    }
}

fn wrapped(safe: &str, room: usize, ink: Ink) -> Vec<Line> {
    let mut out = Vec::new();
    for row in safe.split('\n').flat_map(|line| wrap::rows(line, room, 0)) {
        let mut line = Line::new();
        line.push_safe(ink, &row);
        out.push(line);
    }
    out
}

/// A fenced code block that is not closed yet.
#[derive(Clone, Debug)]
struct OpenFence {
    mark: char,
    count: usize,
    indent: usize,
    code: Rc<CodeBlock>,
}

impl OpenFence {
    /// Parses the line that opens a fence.
    fn read(line: &str, info: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let count = text.chars().take_while(|c| *c == mark).count();
        (count >= 3).then(|| Self { mark, count, indent, code: Rc::new(CodeBlock::new(info)) })
    }

    fn closes(&self, line: &str) -> bool {
        let text = line.trim_end().trim_start_matches(' ');
        let marks = text.chars().take_while(|c| *c == self.mark).count();
        line.len() - line.trim_start_matches(' ').len() < 4 && marks >= self.count && text.len() == marks
    }

    fn inner<'a>(&self, line: &'a str) -> &'a str {
        let blank = line.len() - line.trim_start_matches(' ').len();
        &line[blank.min(self.indent)..]
    }
}

/// The rows of a text that grows at its end.
#[derive(Clone, Debug)]
pub struct GrowingText {
    room: usize,
    ink: Ink,
    look: MarkdownStyle,
    /// Everything before this byte is finished. A line begins here, or a row of a long line of prose, unless it is the
    /// end of the text.
    finished: usize,
    seen: usize,
    fence: Option<OpenFence>,
    /// Rows of the finished part.
    pub done: Rc<Vec<Line>>,
    /// Rows of the part that may still change.
    pub open: Rc<Vec<Line>>,
}

impl GrowingText {
    /// Creates the rows of an empty text, `room` columns wide.
    pub fn new(room: usize, ink: Ink, look: MarkdownStyle) -> Self {
        let (done, open) = (Rc::default(), Rc::default());
        Self { room: room.max(1), ink, look, finished: 0, seen: 0, fence: None, done, open }
    }

    /// Lays out the text so far. It begins with the text of the previous call.
    pub fn feed(&mut self, text: &str) {
        if text.len() == self.seen {
            return;
        }
        self.seen = text.len();
        self.open = Rc::default();
        loop {
            let before = (self.finished, self.fence.is_some());
            if self.fence.is_some() {
                self.code(text);
            } else {
                self.blocks(text);
            }
            if before == (self.finished, self.fence.is_some()) || self.finished >= text.len() {
                return;
            }
        }
    }

    /// Whether the text is shorter than the part that is finished, so that it cannot be a continuation of that part.
    pub fn is_ahead_of(&self, text: &str) -> bool {
        !text.is_char_boundary(self.finished)
    }

    /// Whether a blank row belongs between the finished part and a block that begins here.
    fn is_apart(&self, text: &str, at: usize) -> bool {
        blank_before(text, at) && self.done.last().is_some_and(|row| !row.pieces.is_empty())
    }

    /// Adds rows to the finished part.
    fn close(&mut self, rows: Vec<Line>, text: &str, at: usize) {
        let blank = self.is_apart(text, at).then(Line::new);
        Rc::make_mut(&mut self.done).extend(blank.into_iter().chain(rows));
    }

    /// Finishes the complete lines of an open code block; the last line stays open.
    fn code(&mut self, text: &str) {
        let Some(fence) = self.fence.clone() else { return };
        let mut rows = Vec::new();
        while let Some(end) = text[self.finished..].find('\n') {
            let line = &text[self.finished..self.finished + end];
            self.finished += end + 1;
            if fence.closes(line) {
                self.fence = None;
                break;
            }
            rows.extend(code_rows(&fence.code, Safe::text(fence.inner(line)).as_str(), &self.look, self.room));
        }
        Rc::make_mut(&mut self.done).append(&mut rows);
        let rest = &text[self.finished..];
        if self.fence.is_some() && !rest.is_empty() && !fence.closes(rest) {
            // An incomplete line has no language yet, so that no color is requested for it.
            let plain = Rc::new(CodeBlock::default());
            self.open = Rc::new(code_rows(&plain, Safe::text(fence.inner(rest)).as_str(), &self.look, self.room));
        }
    }

    /// Finishes all blocks but the last one.
    fn blocks(&mut self, text: &str) {
        // An incomplete line may still become part of the block before it.
        let whole = text.rfind('\n').map_or(0, |end| end + 1).max(self.finished);
        let parts = BlockOffsets::read(&text[self.finished..whole]);
        let from = self.finished;
        let Some(last) = parts.tops.last().cloned() else {
            return self.leave_open(text, from);
        };
        let begins = text[from..from + last.start].rfind('\n').map_or(0, |at| at + 1);
        let split = parts.split(&last, text.len() - from - last.start);
        let closed = split.unwrap_or(begins);
        if closed > 0 {
            let rows = self.draw(text, from..from + closed);
            let first = parts.tops.first().map_or(0, |top| top.start);
            self.close(rows, text, from + first.min(closed));
            self.finished = from + closed;
            return;
        }
        if let Some(info) = parts.open_code
            && let Some((first, rest)) = text[from..].split_once('\n')
            && let Some(fence) = OpenFence::read(first, &info)
            && !rest.split('\n').any(|line| fence.closes(line))
        {
            self.close(language_row(&info, &self.look, self.room).into_iter().collect(), text, from);
            self.fence = Some(fence);
            self.finished = from + first.len() + 1;
            return;
        }
        self.leave_open(text, from);
    }

    /// Lays out the rest of the text, which may still change. Of a long line of prose, only the last row may.
    fn leave_open(&mut self, text: &str, from: usize) {
        let mut rows = self.draw(text, from..text.len());
        if self.is_apart(text, from) {
            rows.insert(0, Line::new());
        }
        let is_long = text.len() - from > MAX_OPEN_BYTES;
        if let Some(start) = self.last_prose_row(&text[from..], &rows).filter(|_| is_long) {
            rows.pop();
            Rc::make_mut(&mut self.done).append(&mut rows);
            self.finished = from + start;
            return;
        }
        self.open = Rc::new(rows);
    }

    /// Where the last row begins in the text, if the row is prose without other markup than code spans, which has the
    /// same rows in a text that begins there. Its first word is complete, so the rows before it stay.
    fn last_prose_row(&self, text: &str, rows: &[Line]) -> Option<usize> {
        let [_, .., last] = rows else { return None };
        let mut row = String::new();
        for piece in &last.pieces {
            match piece.ink {
                ink if ink == self.ink && piece.link.is_none() => row.push_str(&piece.text),
                Ink::Code => row.extend(["`", &piece.text, "`"]),
                _ => return None,
            }
        }
        let is_prose = row.starts_with(|c: char| c.is_alphabetic() || c == '`');
        let has_words = last.plain().trim_end().split_word_bounds().nth(2).is_some();
        let before = text.trim_end().strip_suffix(row.trim_end()).filter(|_| is_prose && has_words)?;
        (!ends_in_code(before)).then_some(before.len())
    }

    fn draw(&self, text: &str, part: Range<usize>) -> Vec<Line> {
        let from = part.start;
        let mut blocks = Blocks::new(text, self.room, self.ink, self.look.clone());
        let mut shown = from;
        let mut depth = 0_usize;
        for (event, at) in Parser::new_ext(&text[part.clone()], options()).into_offset_iter() {
            let at = at.start + from..at.end + from;
            let (starts, ends) = (matches!(event, Event::Start(_)), matches!(event, Event::End(_)));
            if depth == 0 && at.start > shown && !ends {
                self.hidden(text.get(shown..at.start).unwrap_or_default(), &mut blocks.rows);
            }
            if ends {
                depth = depth.saturating_sub(1);
            }
            blocks.event(event, &at);
            depth += usize::from(starts);
            if depth == 0 {
                shown = shown.max(at.end);
            }
        }
        self.hidden(text.get(shown..part.end).unwrap_or_default(), &mut blocks.rows);
        blocks.rows
    }

    fn hidden(&self, text: &str, rows: &mut Vec<Line>) {
        let text = text.trim_matches(['\n', '\r']);
        if !text.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
            rows.extend(wrapped(Safe::text(text).as_str(), self.room, Ink::Dim));
        }
    }
}

/// Whether a text ends inside a code span that may still be closed.
fn ends_in_code(text: &str) -> bool {
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    while let Some(begin) = text[at..].find('`').map(|begin| at + begin) {
        at = text.len() - text[begin..].trim_start_matches('`').len();
        open = match open {
            Some((_, marks)) if marks == at - begin => None,
            None => Some((begin, at - begin)),
            other @ Some(_) => other,
        };
    }
    open.is_some_and(|(begin, _)| text.len() - begin < MAX_OPEN_BYTES)
}

/// The offsets of a text's outermost blocks.
#[derive(Default)]
struct BlockOffsets {
    tops: Vec<Range<usize>>,
    /// Offsets of the items of the last block, if it is a list.
    items: Vec<usize>,
    /// Offset of the last block's last line, if it is prose.
    last_line: Option<usize>,
    /// The text after the fence, if the last block is a code block.
    open_code: Option<String>,
}

impl BlockOffsets {
    fn read(text: &str) -> Self {
        let mut parts = Self::default();
        let mut depth = 0_usize;
        for (event, at) in Parser::new_ext(text, options()).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    if depth == 0 {
                        parts.items.clear();
                        parts.open_code = match &tag {
                            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => Some(info.to_string()),
                            _ => None,
                        };
                        parts.last_line = matches!(tag, Tag::Paragraph | Tag::HtmlBlock)
                            .then(|| text[at.clone()].trim_end().rfind('\n').map(|end| at.start + end + 1))
                            .flatten();
                        parts.tops.push(at);
                    } else if depth == 1 && tag == Tag::Item {
                        parts.items.push(at.start);
                    }
                    depth += 1;
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                _ if depth == 0 => {
                    (parts.open_code, parts.last_line) = (None, None);
                    parts.items.clear();
                    parts.tops.push(at);
                }
                _ => {}
            }
        }
        parts
    }

    /// Where a last block that is too large can be split.
    fn split(&self, last: &Range<usize>, size: usize) -> Option<usize> {
        if size <= MAX_OPEN_BYTES {
            return None;
        }
        self.items.last().copied().or(self.last_line).filter(|at| *at > last.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str, room: usize) -> Vec<String> {
        TextRows::all(text, room, Ink::Text).iter().map(Line::plain).collect()
    }

    #[test]
    fn code_is_unchanged_and_lists_are_indented() {
        let text = "# Head\n- one two three four\n```rust\nfn  x() {}\n```\nafter";
        let rows = TextRows::all(text, 12, Ink::Text);
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain, ["# Head", "- one two", "  three four", "│ rust", "│ fn  x() {}", "after"]);
        assert_eq!(rows[0].pieces[1].ink, Ink::Heading);
        assert_eq!(rows[4].pieces[1].ink, Ink::Code);
        assert!(rows[3].shaded && rows[4].shaded && !rows[5].shaded);
        assert_eq!(rows[5].pieces[0].ink, Ink::Text);
    }

    #[test]
    fn a_wrapped_line_of_code_hangs_deeper_than_its_statement() {
        let text = "```rust\nfn f() {\n        let total = first_value + second_value + third;\n}\n```";
        let rows = plain(text, 40);
        let at = rows.iter().position(|row| row.contains("let total")).unwrap();
        let indent = |row: &str| row.trim_start_matches('│').len() - row.trim_start_matches('│').trim_start().len();
        assert!(indent(&rows[at + 1]) == indent(&rows[at]) + 4, "{rows:#?}");
    }

    #[test]
    fn code_and_strong_text_have_their_inks() {
        let rows = TextRows::all("- **Alarm.** Count `late` apart, 2 * 3 * 4", 22, Ink::Text);
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain, ["- Alarm. Count late", "  apart, 2 * 3 * 4"]);
        let inks: Vec<(Ink, &str)> = rows[0].pieces.iter().map(|p| (p.ink, p.text.as_str())).collect();
        let want = [(Ink::Dim, "- "), (Ink::Heading, "Alarm."), (Ink::Text, " Count "), (Ink::Code, "late")];
        assert_eq!(inks, want);
    }

    #[test]
    fn lists_quotes_and_rules() {
        let text = "1. one\n2. two\n   - deep\n     more\n\n   after\n10. ten\n\n> quoted\n> > twice\n\n---\n- [ ] \
            open\n- [x] done";
        let want = [
            "1. one",
            "2. two",
            "   - deep",
            "     more",
            "",
            "   after",
            "3. ten",
            "",
            "│ quoted",
            "│ │ twice",
            "",
            "────────────────────",
            "- [ ] open",
            "- [x] done",
        ];
        assert_eq!(plain(text, 20), want);
        assert_eq!(plain("- a\n  - b\n    - long words here", 9), ["- a", "- b", "- long", "words", "here"]);
    }

    #[test]
    fn tables_are_aligned_or_become_lists() {
        let text = "| Name | Größe | n |\n|:--|:-:|--:|\n| 日本 | a `b` | 1 |\n| long name here | x | 200 |";
        assert_eq!(
            plain(text, 40),
            [
                "Name           │ Größe │   n",
                "───────────────┼───────┼────",
                "日本           │  a b  │   1",
                "long name here │   x   │ 200"
            ]
        );
        assert!(plain(text, 22).iter().all(|row| super::super::width(row) <= 22));
        assert_eq!(plain(text, 12)[..3], ["Name: 日本", "Größe: a b", "n: 1"]);
    }

    #[test]
    fn links_show_their_address() {
        let rows = TextRows::all(
            "[docs](https://a.example/x) and https://b.example. [bad](javascript:x) <m@x.de>",
            90,
            Ink::Text,
        );
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain, ["docs (https://a.example/x) and https://b.example. bad (javascript:x) m@x.de"]);
        let links: Vec<(&str, Option<&str>)> = rows[0]
            .pieces
            .iter()
            .filter(|p| p.ink == Ink::Link)
            .map(|p| (p.text.as_str(), p.link.as_deref()))
            .collect();
        assert_eq!(
            links,
            [
                ("docs", Some("https://a.example/x")),
                ("https://b.example", Some("https://b.example")),
                ("bad", None),
                ("m@x.de", None)
            ]
        );
    }

    #[test]
    fn no_text_is_dropped() {
        let text = "[a]: http://x.example\n\n<b>bold</b> &amp; &#27;[31m\n\n<div>\nraw\n</div>\n\n[z]: http://z";
        let shown = plain(text, 60).join("\n");
        for word in ["http://x.example", "<b>bold</b> & ⟨U+001B⟩[31m", "<div>", "raw", "[z]: http://z"] {
            assert!(shown.contains(word), "{word} in {shown}");
        }
    }

    #[test]
    fn long_code_folds() {
        let code = (0..100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        let look = MarkdownStyle::default().folding(40, ", z");
        let rows = TextRows::drawn(&format!("```\n{code}```\nend"), 40, Ink::Text, look);
        let plain: Vec<String> = rows.iter().map(Line::plain).collect();
        assert_eq!(plain.len(), 22, "{plain:?}");
        assert_eq!(plain[20], "▸ 80 more lines of code, z");
    }

    fn grown(text: &str, cuts: &[usize], room: usize) -> Vec<Line> {
        let mut grown = GrowingText::new(room, Ink::Text, MarkdownStyle::default());
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        ends.sort_unstable();
        ends.push(text.len());
        for end in ends.into_iter().filter(|end| text.is_char_boundary(*end)) {
            grown.feed(&text[..end]);
        }
        let mut rows = Rc::unwrap_or_clone(grown.done);
        rows.append(Rc::make_mut(&mut grown.open));
        rows
    }

    #[test]
    fn growing_text_equals_whole_text() {
        let text = "one\n```rs\n# no head\n```\n\n# head\n\n- a\n- b\n\n  c\n\n| x | y |\n|--|--|\n| 1 | 2 \
            |\n\nend\n```\nopen";
        let whole = TextRows::all(text, 20, Ink::Text);
        for step in [1, 2, 3, 7, 20] {
            let cuts: Vec<usize> = (0..text.len()).step_by(step).collect();
            assert_eq!(grown(text, &cuts, 20), whole, "by {step}");
        }
    }

    #[test]
    fn large_lists_are_split_without_loss() {
        let text = (0..5_000).map(|n| format!("{n}. item {n}\n")).collect::<Vec<_>>().concat();
        let cuts: Vec<usize> = (0..text.len()).step_by(997).collect();
        let rows = grown(&text, &cuts, 30);
        assert_eq!(rows.len(), 5_000);
        assert_eq!(rows[4_321].plain(), "4321. item 4321");
    }

    #[test]
    fn a_long_line_of_prose_is_not_laid_out_again() {
        let bits = ["word", "-", "1.", "#", ">", "(a)", "日本語", "verylongwordwithoutanyspaceinit", "+", "end:"];
        let text = (0..12_000).map(|n| bits[n * 7 % 10]).collect::<Vec<_>>().join(" ") + " ";
        for room in [12, 60] {
            let mut growing = GrowingText::new(room, Ink::Text, MarkdownStyle::default());
            let steps = (0..text.len()).step_by(997).filter(|end| text.is_char_boundary(*end));
            for end in steps.chain([text.len()]) {
                growing.feed(&text[..end]);
                let open: usize = growing.open.iter().map(|row| row.plain().len()).sum();
                assert!(open <= 2 * MAX_OPEN_BYTES, "{open} bytes are laid out again at {end}");
            }
            let shown: Vec<String> = growing.done.iter().chain(growing.open.iter()).map(Line::plain).collect();
            assert!(shown == wrap::rows(text.trim_end(), room, 0), "the rows of the whole line, {room} columns wide");
            assert!(plain(&text, room) == shown);
        }
    }

    #[test]
    fn a_long_line_with_code_spans_is_not_laid_out_again() {
        let bits = ["`word`", "and", "`one two three four five`", "(`x`)", "`a`b"];
        let text = (0..12_000).map(|n| bits[n * 3 % 5]).collect::<Vec<_>>().join(" ");
        let code = |rows: &mut dyn Iterator<Item = &Line>| {
            let pieces = rows.flat_map(|row| row.pieces.clone()).filter(|piece| piece.ink == Ink::Code);
            pieces.map(|piece| piece.text).collect::<String>().replace(' ', "")
        };
        for room in [12, 60] {
            let mut growing = GrowingText::new(room, Ink::Text, MarkdownStyle::default());
            for end in (0..text.len()).step_by(97).chain([text.len()]) {
                growing.feed(&text[..end]);
                let open: usize = growing.open.iter().map(|row| row.plain().len()).sum();
                assert!(open <= 2 * MAX_OPEN_BYTES, "{open} bytes are laid out again at {end}");
            }
            let rows = || growing.done.iter().chain(growing.open.iter());
            let shown: Vec<String> = rows().map(Line::plain).collect();
            assert!(shown == wrap::rows(&text.replace('`', ""), room, 0), "the rows of the whole line");
            let spans: String = text.split('`').skip(1).step_by(2).collect();
            assert!(code(&mut rows()) == spans.replace(' ', ""), "what is code stays code");
        }
    }

    /// Fragments for composing odd Markdown.
    fn piece() -> impl Strategy<Value = String> {
        let bits = [
            "# ",
            "> ",
            "- ",
            "1. ",
            "```",
            "```rust\n",
            "~~~",
            "|",
            "|--|:-:|\n",
            "**",
            "*",
            "_",
            "`",
            "~~",
            "[a](",
            ")",
            "[x]: y",
            "https://a.b/c",
            "<br>",
            "<div>",
            "&#27;",
            "&amp;",
            "\n",
            "\n\n",
            "    ",
            "\t",
            "\r\n",
            "\x1b[31m",
            "\u{202e}",
            "日本語",
            "👩‍👩‍👧",
            "e\u{301}",
            "- [ ] ",
            "![i](",
            "---\n",
            "===\n",
            "\\",
            "\u{9b}",
            "word ",
            "verylongwordwithoutanyspaceinit",
        ];
        prop_oneof![proptest::sample::select(bits.to_vec()).prop_map(str::to_owned), "\\PC{0,8}"]
    }

    proptest! {
        #[test]
        fn any_text_fits_and_is_safe(parts in proptest::collection::vec(piece(), 0..60), room in 1usize..70, fold in 0usize..4) {
            let text = parts.concat();
            for row in TextRows::drawn(&text, room, Ink::Text, MarkdownStyle::default().folding(fold, "; z opens")) {
                prop_assert!(row.width() <= room, "{:?} is {} wide, the room is {room}", row.plain(), row.width());
                prop_assert!(!row.plain().chars().any(char::is_control), "{:?}", row.plain());
                let safe = Safe::line(&row.plain());
                prop_assert_eq!(safe.as_str(), row.plain());
                for link in row.pieces.iter().filter_map(|piece| piece.link.as_deref()) {
                    prop_assert!(link.bytes().all(|byte| byte.is_ascii_graphic()));
                }
            }
        }

        #[test]
        fn growing_never_fails(parts in proptest::collection::vec(piece(), 0..40), cuts in proptest::collection::vec(any::<usize>(), 0..12), room in 1usize..50) {
            let text = parts.concat();
            for row in grown(&text, &cuts, room) {
                prop_assert!(row.width() <= room);
            }
        }

        #[test]
        fn words_stay(words in proptest::collection::vec("[a-z]{1,12}", 1..30), room in 12usize..60) {
            let text = words.iter().map(|word| format!("- {word}\n\n  `{word}` \
                **{word}**\n")).collect::<Vec<_>>().concat();
            let shown: String = plain(&text, room).concat().replace(' ', "");
            for word in words {
                prop_assert!(shown.contains(&word));
            }
        }
    }
}
