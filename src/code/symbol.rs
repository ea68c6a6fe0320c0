//! Symbols: what a source file defines, and where.
//! Not for: how they are found (`parse::file`) or scored (`rank`).

use crate::domain::code::symbols::Kind;
use std::ops::Range;

/// A stretch of bytes of a file, at most 4 GiB in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From byte offsets; what lies beyond 4 GiB is cut.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: short(start), end: short(end.max(start)) }
    }

    /// As a range for slicing, cut to a text's length.
    #[must_use]
    pub fn within(self, length: usize) -> Range<usize> {
        let end = (self.end as usize).min(length);
        (self.start as usize).min(end)..end
    }

    /// Whether it holds no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether the other lies wholly inside.
    #[must_use]
    pub fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Something that a file defines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// What it is.
    pub kind: Kind,
    /// Its own name, without modules or types.
    pub name: Box<str>,
    /// The place of the symbol around it among the file's symbols; the file itself has none.
    pub parent: Option<u32>,
    /// From its documentation and attributes to its end.
    pub span: Span,
    /// First and last line, from 1, of `span`.
    pub lines: (u32, u32),
    /// From its first word to its body: the signature.
    pub head: Span,
    /// The line, from 1, where `head` starts.
    pub line: u32,
    /// Its documentation, comment marks included; empty when there is none.
    pub doc: Span,
    /// Its attributes or decorators; empty when there are none.
    pub attrs: Span,
    /// Whether it serves tests only.
    pub test: bool,
}
