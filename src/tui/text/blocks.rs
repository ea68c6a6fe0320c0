//! Lays out a piece of Markdown as rows: headings, lists, quotes, tables, code, links, and the rest.
//! Not for: a growing text (`markdown`), or wrapping (`rich`).

use super::code::{CodeAt, CodeBlock};
use super::rich::{RichText, safe_address};
use super::table::{Table, TableBorders};
use super::{Line, fit, width, wrap};
use crate::domain::base::Safe;
use crate::tui::theme::{Glyphs, Ink, UNICODE};
use pulldown_cmark::{CodeBlockKind, Event, Options, Tag, TagEnd};
use std::ops::Range;
use std::rc::Rc;

/// The minimum number of columns for text next to the marks of quotes and lists.
const MIN_TEXT_WIDTH: usize = 8;

/// How Markdown is laid out.
#[derive(Clone, Debug)]
pub struct MarkdownStyle {
    hint: Rc<str>,
    fold: usize,
    prose: usize,
    rule: &'static str,
    pipe: &'static str,
    cross: &'static str,
    folded: &'static str,
    ellipsis: &'static str,
}

impl MarkdownStyle {
    /// Uses a theme's glyphs, without folding.
    pub fn of(glyphs: &Glyphs) -> Self {
        let pipe = glyphs.pipe.trim_end();
        let cross = if pipe == "|" { "+" } else { "┼" };
        let (rule, folded, ellipsis) = (glyphs.rule, glyphs.folded, glyphs.ellipsis);
        Self { hint: Rc::from(""), fold: 0, prose: usize::MAX, rule, pipe, cross, folded, ellipsis }
    }

    /// Folds code blocks with more than `lines` lines; `hint` says how to unfold them.
    #[must_use]
    pub fn folding(self, lines: usize, hint: &str) -> Self {
        Self { fold: lines, hint: Rc::from(hint), ..self }
    }

    /// Limits prose to `columns` columns; code and tables use the full width.
    #[must_use]
    pub fn prose(self, columns: usize) -> Self {
        Self { prose: columns, ..self }
    }
}

impl Default for MarkdownStyle {
    fn default() -> Self {
        Self::of(&UNICODE)
    }
}

/// The Markdown extensions that are parsed.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A quote or a list item that contains rows.
#[derive(Debug)]
struct BlockContext {
    first: String,
    rest: String,
    ink: Ink,
    fresh: bool,
}

/// A code block being parsed.
struct CodeBlockReader {
    fence: Rc<CodeBlock>,
    text: String,
}

/// Turns Markdown events into rows.
pub(super) struct Blocks<'a> {
    source: &'a str,
    room: usize,
    ink: Ink,
    look: MarkdownStyle,
    inside: Vec<BlockContext>,
    lists: Vec<Option<u64>>,
    /// The text of the current paragraph, heading, or table cell.
    inline: RichText,
    inks: Vec<(Ink, Option<Rc<str>>)>,
    leaf: Ink,
    addresses: Vec<(String, usize)>,
    table: Option<Table>,
    code: Option<CodeBlockReader>,
    pub(super) rows: Vec<Line>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(source: &'a str, room: usize, ink: Ink, look: MarkdownStyle) -> Self {
        Self {
            source,
            room: room.max(1),
            ink,
            look,
            inside: Vec::new(),
            lists: Vec::new(),
            inline: RichText::default(),
            inks: Vec::new(),
            leaf: ink,
            addresses: Vec::new(),
            table: None,
            code: None,
            rows: Vec::new(),
        }
    }

    /// Handles an event with its range in the source.
    pub(super) fn event(&mut self, event: Event<'_>, at: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(end) => self.end(end),
            Event::Text(text) | Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
            Event::Code(text) => self.inline.push(&text, Some(Ink::Code), self.link().as_ref()),
            Event::Html(html) => self.html(&html),
            Event::InlineHtml(html) if is_break(&html) => self.inline.next_line(),
            Event::InlineHtml(html) => self.inline.push(&html, Some(Ink::Dim), None),
            Event::SoftBreak | Event::HardBreak => self.inline.next_line(),
            Event::Rule => {
                self.gap(at.start);
                let room = self.room.saturating_sub(self.indent());
                self.push_row(Line::of(Ink::Border, &self.look.rule.repeat(room.clamp(1, 60))));
            }
            Event::TaskListMarker(done) => {
                let (sign, ink) = if done { ("[x] ", Ink::Good) } else { ("[ ] ", Ink::Accent) };
                self.inline.push(sign, Some(ink), None);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(at),
            Tag::Heading { level, .. } => {
                self.block(at);
                self.leaf = Ink::Heading;
                self.inline.push(&format!("{} ", "#".repeat(level as usize)), Some(Ink::Dim), None);
            }
            Tag::BlockQuote(_) => {
                self.block(at);
                let bar = format!("{} ", self.look.pipe);
                self.inside.push(BlockContext { first: bar.clone(), rest: bar, ink: Ink::Border, fresh: true });
            }
            Tag::List(first) => {
                self.block(at);
                self.lists.push(first);
            }
            Tag::Item => {
                self.block(at);
                let first = self.marker();
                let rest = " ".repeat(width(&first));
                self.inside.push(BlockContext { first, rest, ink: Ink::Dim, fresh: true });
            }
            Tag::CodeBlock(kind) => {
                self.block(at);
                let info = if let CodeBlockKind::Fenced(info) = &kind { Some(info.to_string()) } else { None };
                if let Some(row) = info.as_deref().and_then(|info| language_row(info, &self.look, self.left())) {
                    self.push_row(row);
                }
                let fence = Rc::new(CodeBlock::new(info.as_deref().unwrap_or_default()));
                self.code = Some(CodeBlockReader { fence, text: String::new() });
            }
            Tag::Table(sides) => {
                self.block(at);
                self.table = Some(Table { sides, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.inks.push((Ink::Emphasis, self.link())),
            Tag::Strong => self.inks.push((Ink::Heading, self.link())),
            Tag::Strikethrough => self.inks.push((Ink::Excluded, self.link())),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.addresses.push((dest_url.to_string(), self.inline.text.len()));
                self.inks.push((Ink::Link, safe_address(&dest_url)));
            }
            Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.leaf = self.ink;
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                self.leave();
            }
            TagEnd::CodeBlock => self.code_ends(),
            TagEnd::Table => self.table_ends(),
            TagEnd::TableCell => {
                self.inline.find_addresses();
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.inks.pop()),
            TagEnd::Link | TagEnd::Image => self.link_ends(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            return code.text.push_str(text);
        }
        let (ink, to) = self.inks.last().cloned().map_or((None, None), |(ink, to)| (Some(ink), to));
        self.inline.push(text, ink, to.as_ref());
    }

    fn html(&mut self, html: &str) {
        for (at, line) in html.trim_end_matches('\n').split('\n').enumerate() {
            if at > 0 || !self.inline.text.is_empty() {
                self.inline.next_line();
            }
            self.inline.push(line, Some(Ink::Dim), None);
        }
    }

    fn link(&self) -> Option<Rc<str>> {
        self.inks.last().and_then(|(_, link)| link.clone())
    }

    /// Appends a link's address after its text, unless the text is the address.
    fn link_ends(&mut self) {
        let link = self.link();
        self.inks.pop();
        let Some((address, from)) = self.addresses.pop() else { return };
        let shown = Safe::line(&address);
        let text = self.inline.text.get(from..).unwrap_or_default();
        let same = text == shown.as_str() || shown.as_str().strip_prefix("mailto:") == Some(text);
        if !same && !address.is_empty() {
            self.inline.push(&format!(" ({address})"), Some(Ink::Dim), link.as_ref());
        }
    }

    /// Begins a block, which ends the text before it.
    fn block(&mut self, at: &Range<usize>) {
        self.flush();
        self.gap(at.start);
    }

    /// Adds a blank row if the source has a blank line before this place.
    fn gap(&mut self, start: usize) {
        let first_here = self.inside.last().is_some_and(|inside| inside.fresh);
        if !first_here && blank_before(self.source, start) && self.rows.last().is_some_and(|row| !blank(row)) {
            let bars: Line = self.inside.iter().fold(Line::new(), |mut line, inside| {
                line.push_safe(inside.ink, &inside.rest);
                line
            });
            let narrow = self.indent() == 0;
            self.rows.push(if narrow || bars.plain().trim().is_empty() { Line::new() } else { bars });
        }
    }

    fn marker(&mut self) -> String {
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        }
    }

    /// Ends a quote or an item; an empty one still shows its mark.
    fn leave(&mut self) {
        if self.inside.last().is_some_and(|inside| inside.fresh) {
            self.push_row(Line::new());
        }
        self.inside.pop();
    }

    /// Width of the marks; 0 if they would leave too little room for text.
    fn indent(&self) -> usize {
        let sum = self.inside.iter().map(|inside| width(&inside.rest)).sum();
        if sum + MIN_TEXT_WIDTH > self.room { 0 } else { sum }
    }

    fn left(&self) -> usize {
        self.room - self.indent()
    }

    /// Adds a row with the marks of the quotes and list items around it.
    fn push_row(&mut self, row: Line) {
        if self.indent() == 0 {
            return self.push_narrow_row(row);
        }
        let mut line = Line::new();
        for inside in &mut self.inside {
            let mark = if std::mem::take(&mut inside.fresh) { &inside.first } else { &inside.rest };
            line.push_safe(inside.ink, mark);
        }
        line.pieces.extend(row.pieces);
        (line.code, line.shaded) = (row.code, row.shaded);
        self.rows.push(line);
    }

    /// Adds a row when there is no room for marks: each mark is shown once, before its first row or above it.
    fn push_narrow_row(&mut self, row: Line) {
        let mut line = Line::new();
        for inside in self.inside.iter_mut().filter(|inside| inside.fresh) {
            inside.fresh = false;
            line.push_safe(inside.ink, &inside.first);
        }
        if line.width() + row.width() > self.room {
            let marks = std::mem::take(&mut line).plain();
            self.rows.push(Line::of(Ink::Dim, &fit(marks.trim_end(), self.room, "")));
        }
        line.pieces.extend(row.pieces);
        (line.code, line.shaded) = (row.code, row.shaded);
        if !line.pieces.is_empty() || self.inside.is_empty() {
            self.rows.push(line);
        }
    }

    fn flush(&mut self) {
        if self.inline.text.is_empty() {
            return;
        }
        let mut inline = std::mem::take(&mut self.inline);
        inline.find_addresses();
        let room = self.left().min(self.look.prose.saturating_sub(self.indent())).max(1);
        for row in inline.lines(room, self.leaf) {
            self.push_row(row);
        }
    }

    fn table_ends(&mut self) {
        let Some(table) = self.table.take() else { return };
        let signs = TableBorders { pipe: self.look.pipe, rule: self.look.rule, cross: self.look.cross };
        for row in table.lines(self.left(), signs) {
            self.push_row(row);
        }
    }

    fn code_ends(&mut self) {
        let Some(CodeBlockReader { fence, text }) = self.code.take() else { return };
        let safe = Safe::text(&text);
        let lines: Vec<&str> = safe.as_str().trim_end_matches('\n').split('\n').collect();
        let shown = if self.look.fold > 0 && lines.len() > self.look.fold { self.look.fold / 2 } else { lines.len() };
        for line in &lines[..shown] {
            for row in code_rows(&fence, line, &self.look, self.left()) {
                self.push_row(row);
            }
        }
        if shown < lines.len() {
            let more = super::counted(u64::try_from(lines.len() - shown).unwrap_or(0), "more line");
            let text = format!("{} {more} of code{}", self.look.folded, self.look.hint);
            self.push_row(Line::of(Ink::Accent, &fit(&text, self.left(), self.look.ellipsis)));
        }
    }
}

/// Width of the bar before a row of code, if there is room for it.
const CODE_BAR_WIDTH: usize = 2;
/// How much deeper than its statement the continuation rows of a long line of code are.
const CODE_INDENT: usize = 4;

/// The rows of one sanitized line of code.
pub(super) fn code_rows(fence: &Rc<CodeBlock>, line: &str, look: &MarkdownStyle, room: usize) -> Vec<Line> {
    let place = fence.push(line);
    let bar = bar(look, room);
    let room = room - bar.width();
    let own = line.len() - line.trim_start_matches(' ').len();
    let indent = (own + CODE_INDENT).min((room / 2).max(CODE_INDENT));
    let mut from = 0;
    let mut rows = Vec::new();
    for (nth, row) in wrap::rows(line, room, indent).into_iter().enumerate() {
        let mut out = bar.clone();
        if nth > 0 {
            out.push_safe(Ink::Border, &" ".repeat(wrap::usable_indent(room, indent)));
        }
        out.push_safe(Ink::Code, &row);
        if let Some(at) = line[from..].find(row.as_str()) {
            out.code = place.map(|line| CodeAt { fence: fence.clone(), line, from: from + at });
            from += at + row.len();
        }
        rows.push(out);
    }
    rows
}

/// The row that names a code block's language, if its fence names one.
pub(super) fn language_row(info: &str, look: &MarkdownStyle, room: usize) -> Option<Line> {
    let info = info.trim();
    let bar = bar(look, room);
    let text = fit(info, room - bar.width(), look.ellipsis);
    (!info.is_empty()).then(|| bar.with(Ink::Dim, &text))
}

fn bar(look: &MarkdownStyle, room: usize) -> Line {
    let mut bar = Line { shaded: true, ..Line::new() };
    if room > MIN_TEXT_WIDTH + CODE_BAR_WIDTH {
        bar.push_safe(Ink::Border, &format!("{} ", look.pipe));
    }
    bar
}

fn is_break(html: &str) -> bool {
    html.trim_matches(['<', '>', '/', ' ']).eq_ignore_ascii_case("br")
}

fn blank(row: &Line) -> bool {
    row.pieces.is_empty()
}

/// Whether the line before this offset's line is blank except for the marks of quotes.
pub(super) fn blank_before(source: &str, at: usize) -> bool {
    let Some(head) = source.get(..at) else { return false };
    let Some(end) = head.rfind('\n') else { return false };
    let before = head[..end].rsplit('\n').next().unwrap_or_default();
    !head[..end].is_empty() && before.trim_matches(['>', ' ', '\t', '\r']).is_empty()
}
