//! Reads the outline of a text file: the tables and keys of settings or the headings of a document, with the words of
//! each. Accepts any bytes.
//! Not for: code (`file`), or which files are read (`walk`).

mod markdown;
mod toml;
mod yaml;

use super::file::Parsed;
use super::words::{Analyzer, words_of};
use crate::code::index::record::{Field, Words};
use crate::code::symbol::{Span, Symbol, to_u32};
use crate::domain::code::{Kind, Language};
use std::borrow::Cow;

/// Maximum symbols of one text file.
const MAX_SYMBOLS: usize = 2_000;
/// Maximum bytes of one line whose words are read.
const MAX_LINE_BYTES: usize = 4_000;
/// Maximum bytes of a name.
const MAX_NAME_BYTES: usize = 120;

/// Reads a file's text. `name` becomes the name of the file's own symbol.
pub(super) fn read(analyzer: &mut Analyzer, language: Language, name: &str, text: &[u8]) -> Parsed {
    let mut outline = Outline {
        analyzer,
        symbols: vec![Symbol::file(name, text)],
        words: Words::default(),
        open: Vec::new(),
        comments: Vec::new(),
        end: (0, 1),
    };
    match language {
        Language::Toml => toml::read(&mut outline, text),
        Language::Yaml => yaml::read(&mut outline, text),
        _ => markdown::read(&mut outline, text),
    }
    outline.flush_comments();
    outline.close(0);
    outline.words.finish();
    Parsed { symbols: outline.symbols, words: outline.words, errors: false }
}

/// A line of a file.
struct Line<'a> {
    /// Its first byte.
    start: usize,
    /// One past its last byte, without the line end.
    end: usize,
    /// Its number, from 1.
    row: u32,
    text: Cow<'a, str>,
}

fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    (1..).zip(text.split(|byte| *byte == b'\n')).map(move |(row, raw)| {
        let from = start;
        start += raw.len() + 1;
        let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        let read = &raw[..raw.len().min(MAX_LINE_BYTES)];
        Line { start: from, end: from + raw.len(), row, text: String::from_utf8_lossy(read) }
    })
}

/// The symbols and words of a file while its lines are read.
struct Outline<'a> {
    analyzer: &'a mut Analyzer,
    symbols: Vec<Symbol>,
    words: Words,
    /// The symbols around the current line with their levels, outermost first.
    open: Vec<(u32, usize)>,
    /// The comment right before the current line.
    comments: Vec<(Span, u32, String)>,
    /// The end of the last line that belongs to the open symbols, and its row.
    end: (usize, u32),
}

impl Outline<'_> {
    /// Begins a symbol at a line and ends the symbols of the same or a deeper level. The comment right before it is its
    /// documentation. `after` are words of its line that are not part of its name.
    fn begin(&mut self, (kind, level): (Kind, usize), name: &str, line: &Line<'_>, after: &str) {
        if self.symbols.len() >= MAX_SYMBOLS || name.is_empty() {
            return self.body(line);
        }
        self.close(level);
        let comments = std::mem::take(&mut self.comments);
        let number = to_u32(self.symbols.len());
        let doc = match (comments.first(), comments.last()) {
            (Some((first, ..)), Some((last, ..))) => Span { start: first.start, end: last.end },
            _ => Span::default(),
        };
        let head = Span::new(line.start, line.end);
        let start = if doc.is_empty() { head.start } else { doc.start };
        self.symbols.push(Symbol {
            kind,
            name: name[..name.floor_char_boundary(MAX_NAME_BYTES)].into(),
            parent: Some(self.owner()),
            span: Span { start, end: head.end },
            lines: (comments.first().map_or(line.row, |(_, row, _)| *row), line.row),
            head,
            line: line.row,
            doc,
            attrs: Span::default(),
            test: false,
        });
        self.open.push((number, level));
        self.end = (line.end, line.row);
        self.add(number, name, Field::Name);
        self.add(number, after, Field::Body);
        for (.., text) in &comments {
            self.add(number, text, Field::Doc);
        }
    }

    /// Adds a line to the innermost symbol. An empty line belongs to it only if another line follows.
    fn body(&mut self, line: &Line<'_>) {
        self.flush_comments();
        if !line.text.trim().is_empty() {
            let owner = self.owner();
            self.add(owner, &line.text, Field::Body);
            self.end = (line.end, line.row);
        }
    }

    /// Adds a line that is a comment.
    fn comment(&mut self, line: &Line<'_>) {
        self.comments.push((Span::new(line.start, line.end), line.row, line.text.clone().into_owned()));
    }

    /// Adds a comment that belongs to no later symbol to the innermost symbol. The first such comment of a file is the
    /// file's documentation.
    fn flush_comments(&mut self) {
        let comments = std::mem::take(&mut self.comments);
        let (Some((first, ..)), Some((last, row, _))) = (comments.first(), comments.last()) else { return };
        let of_file = self.symbols.len() == 1 && self.symbols[0].doc.is_empty();
        if of_file {
            self.symbols[0].doc = Span { start: first.start, end: last.end };
        }
        self.end = (last.end as usize, *row);
        let owner = self.owner();
        for (.., text) in &comments {
            self.add(owner, text, if of_file { Field::Doc } else { Field::Body });
        }
    }

    /// Ends the symbols of a level or deeper.
    fn close(&mut self, level: usize) {
        while let Some((number, _)) = self.open.pop_if(|(_, open)| *open >= level) {
            let symbol = &mut self.symbols[number as usize];
            symbol.span.end = symbol.span.end.max(Span::new(0, self.end.0).end);
            symbol.lines.1 = symbol.lines.1.max(self.end.1);
        }
    }

    fn owner(&self) -> u32 {
        self.open.last().map_or(0, |(number, _)| *number)
    }

    fn add(&mut self, symbol: u32, text: &str, field: Field) {
        for word in words_of(text) {
            self.words.name(self.analyzer, symbol, word, field, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each symbol as `kind name (parent) first-last`.
    fn outline(language: Language, text: &str) -> Vec<String> {
        let parsed = read(&mut Analyzer::default(), language, "file", text.as_bytes());
        let name = |at: u32| parsed.symbols[at as usize].name.to_string();
        let shown = |symbol: &Symbol| {
            let (first, last) = symbol.lines;
            format!("{} {} ({}) {first}-{last}", symbol.kind.name(), symbol.name, name(symbol.parent.unwrap()))
        };
        parsed.symbols.iter().skip(1).map(shown).collect()
    }

    #[test]
    fn headings_of_markdown() {
        let cases: &[(&str, &[&str])] = &[
            ("words only\n", &[]),
            (
                "# A\ntext\n\n## B\nx\n### C\ny\n\n## D ##\n",
                &["section A (file) 1-9", "section B (A) 4-7", "section C (B) 6-7", "section D (A) 9-9"],
            ),
            ("---\ntitle: x\n# no\n---\n# A\n", &["section A (file) 5-5"]),
            ("# A\n```sh\n# no\n~~~\n```\n# B\n", &["section A (file) 1-5", "section B (file) 6-6"]),
            ("````\n# no\n```\n# no\n````\n# A\n", &["section A (file) 6-6"]),
            ("Title\n=====\nx\n\nPart\n----\ny\n", &["section Title (file) 1-7", "section Part (Title) 5-7"]),
            ("- item\n---\n\n---\n| a |\n---\n", &[]),
            (
                "#no\n####### no\n    # no\n   ### `a_b` and [link](http://x) *c* {#id}\n",
                &["section a_b and link c (file) 4-4"],
            ),
            ("<h1 align=\"center\">Name</h1>\r\nx\r\n", &["section Name (file) 1-2"]),
            ("#\n# A", &["section A (file) 2-2"]),
        ];
        for (text, wanted) in cases {
            assert_eq!(outline(Language::Markdown, text), *wanted, "{text}");
        }
    }

    #[test]
    fn tables_and_keys_of_toml() {
        let cases: &[(&str, &[&str])] = &[
            ("a = 1\nb.c = 2\n", &["key a (file) 1-1", "key b.c (file) 2-2"]),
            (
                "# Of the file.\n\n# Of it.\n[server]\n# In seconds.\ntimeout = 30\n\nx = 1\n",
                &["section server (file) 3-8", "key timeout (server) 5-6", "key x (server) 8-8"],
            ),
            (
                "[a . \"b.c\"] # no\n[[d]]\n'k k' = 1\n",
                &["section a.b.c (file) 1-1", "section d (file) 2-3", "key k k (d) 3-3"],
            ),
            ("x = [\n  # no\n  \"]\",\n  { y = 1 },\n]\nz = 1\n", &["key x (file) 1-5", "key z (file) 6-6"]),
            (
                "x = \"\"\"\n[no]\ny = 1\n\"\"\"\nz = '''a'''\nw = '#\"'\nv = \"\\\"[\"\nu = 1 # [\nt = 1\n",
                &[
                    "key x (file) 1-4",
                    "key z (file) 5-5",
                    "key w (file) 6-6",
                    "key v (file) 7-7",
                    "key u (file) 8-8",
                    "key t (file) 9-9",
                ],
            ),
            ("no key\n= 1\n[broken\n", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(outline(Language::Toml, text), *wanted, "{text}");
        }
    }

    #[test]
    fn top_two_levels_of_yaml() {
        let cases: &[(&str, &[&str])] = &[
            ("a: 1\n\"b c\": 2\nhttp://x\n- d: 3\n", &["key a (file) 1-1", "key b c (file) 2-4"]),
            (
                "# Of it.\njobs:\n  # Of build.\n  build:\n    steps:\n      - run: x\n  test: 1\n\non: push\n",
                &["section jobs (file) 1-7", "section build (jobs) 3-6", "key test (jobs) 7-7", "key on (file) 9-9"],
            ),
            ("a:\n- b: 1\n  c: 2\nd: {e: 1}\n", &["section a (file) 1-3", "key d (file) 4-4"]),
            ("a: |\n  b: 1\n\n  c: 2\nd: >-\n  e: 1\n", &["key a (file) 1-4", "key d (file) 5-6"]),
            (
                "---\na:\n    b: &x\n      c: 1\n    d: y\n      more: z\n",
                &["section a (file) 2-6", "section b (a) 3-4", "key d (a) 5-6"],
            ),
            ("a: words\n  b: no\n...\n", &["key a (file) 1-3"]),
        ];
        for (text, wanted) in cases {
            assert_eq!(outline(Language::Yaml, text), *wanted, "{text}");
        }
    }

    #[test]
    fn comments_document_what_follows() {
        let text = "# Of the file.\n\n# Of it.\n# More.\n[server]\n";
        let parsed = read(&mut Analyzer::default(), Language::Toml, "file", text.as_bytes());
        let doc = |at: usize| &text[parsed.symbols[at].doc.within(text.len())];
        assert_eq!((doc(0), doc(1)), ("# Of the file.", "# Of it.\n# More."));
        assert_eq!(&text[parsed.symbols[1].head.within(text.len())], "[server]");
    }
}
