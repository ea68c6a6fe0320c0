//! Symbols: what a source file defines, and where.
//! Not for: how they are found (`parse`) or scored (`rank`).

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What sort of thing a symbol is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The file itself: what stands in no other symbol.
    File,
    /// A module or namespace inside a file.
    Module,
    /// A class.
    Class,
    /// A struct or record.
    Struct,
    /// An enumeration.
    Enum,
    /// A union.
    Union,
    /// A trait or interface.
    Interface,
    /// A block of methods for a type.
    Impl,
    /// A function.
    Function,
    /// A function that belongs to a type.
    Method,
    /// A declaration of a function without its body.
    Prototype,
    /// A constant, static or variable of a whole file.
    Constant,
    /// An alias or other type.
    Type,
    /// A macro.
    Macro,
}

/// In the order of their stored numbers.
const KINDS: [(Kind, &str); 14] = [
    (Kind::File, "file"),
    (Kind::Module, "module"),
    (Kind::Class, "class"),
    (Kind::Struct, "struct"),
    (Kind::Enum, "enum"),
    (Kind::Union, "union"),
    (Kind::Interface, "interface"),
    (Kind::Impl, "impl"),
    (Kind::Function, "function"),
    (Kind::Method, "method"),
    (Kind::Prototype, "prototype"),
    (Kind::Constant, "constant"),
    (Kind::Type, "type"),
    (Kind::Macro, "macro"),
];

impl Kind {
    /// Its name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The kind of a stored number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        KINDS.get(usize::from(number)).map(|(kind, _)| *kind)
    }

    /// Whether functions inside it are its methods.
    #[must_use]
    pub fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Struct | Self::Enum | Self::Union | Self::Interface | Self::Impl)
    }

    /// Whether it is executed when called.
    #[must_use]
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Prototype | Self::Macro)
    }
}

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
