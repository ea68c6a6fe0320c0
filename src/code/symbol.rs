//! The symbols that a source file defines, and their places in it.
//! Not for: finding (`parse::file`) or scoring them (`rank`).

use crate::domain::code::Kind;
use std::ops::Range;

/// A range of bytes in a file, below 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Creates a span from byte offsets, clipped at 4 GiB.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: to_u32(start), end: to_u32(end.max(start)) }
    }

    /// Returns the span as a range for slicing, clipped to a text's length.
    pub fn within(self, length: usize) -> Range<usize> {
        let end = (self.end as usize).min(length);
        (self.start as usize).min(end)..end
    }

    /// Returns whether the span is empty.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// A definition in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub kind: Kind,
    /// The name, without modules or types.
    pub name: Box<str>,
    /// The index of the enclosing symbol among the file's symbols. `None` for the file itself.
    pub parent: Option<u32>,
    /// The span from its documentation and attributes to its end.
    pub span: Span,
    /// The first and last line of `span`, from 1.
    pub lines: (u32, u32),
    /// The span of the signature: from its first word to its body.
    pub head: Span,
    /// The line where `head` starts, from 1.
    pub line: u32,
    /// Its documentation including comment markers, or empty.
    pub doc: Span,
    /// Its attributes or decorators, or empty.
    pub attrs: Span,
    /// Whether it is test code.
    pub test: bool,
}

impl Symbol {
    /// Creates the symbol of a file itself.
    pub fn file(name: &str, text: &[u8]) -> Self {
        Self {
            kind: Kind::File,
            name: name.into(),
            parent: None,
            span: Span::new(0, text.len()),
            lines: (1, lines(text)),
            head: Span::default(),
            line: 1,
            doc: Span::default(),
            attrs: Span::default(),
            test: false,
        }
    }
}

/// Returns the number of lines of a text.
pub(crate) fn lines(text: &[u8]) -> u32 {
    to_u32(text.split(|byte| *byte == b'\n').count())
}

/// Returns a number in 32 bits, or the largest 32-bit number if it does not fit.
pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
