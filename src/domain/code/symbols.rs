//! Code of a workspace in plain words: kinds of symbols, languages, touchpoints, the map, and what an index holds.
//! Not for: how symbols are found (`code`).

use crate::domain::base::hash::{Fields, Hash};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// A language whose symbols are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// JavaScript, JSX included.
    JavaScript,
    /// Go.
    Go,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Java.
    Java,
}

/// Every language, in the order of their stored numbers.
pub const LANGUAGES: [Language; 9] = [
    Language::Rust,
    Language::Python,
    Language::TypeScript,
    Language::Tsx,
    Language::JavaScript,
    Language::Go,
    Language::C,
    Language::Cpp,
    Language::Java,
];

impl Language {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TSX",
            Self::JavaScript => "JavaScript",
            Self::Go => "Go",
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Java => "Java",
        }
    }

    /// What stands between the parts of a qualified name.
    #[must_use]
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::C => "::",
            _ => ".",
        }
    }
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParseOutcome {
    /// Its symbols are known.
    Parsed,
    /// No grammar for it.
    NoLanguage,
    /// Larger than the bound.
    TooLarge,
    /// It holds bytes that no text has.
    Binary,
    /// A program wrote it, by its name, its first lines or its long lines.
    Generated,
    /// It could not be read.
    Unreadable,
}

/// Every fate, in the order of their stored numbers.
pub const FATES: [ParseOutcome; 6] = [
    ParseOutcome::Parsed,
    ParseOutcome::NoLanguage,
    ParseOutcome::TooLarge,
    ParseOutcome::Binary,
    ParseOutcome::Generated,
    ParseOutcome::Unreadable,
];

/// What a score is made of; the sum is the score.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    /// The symbol's own words.
    pub words: f32,
    /// Its file's words.
    pub file: f32,
    /// Words of its path.
    pub path: f32,
    /// What it uses and what uses it.
    pub graph: f32,
    /// What stands around it and beside it.
    pub near: f32,
    /// A name of it that the query writes out.
    pub exact: f32,
    /// Its size and what it is.
    pub prior: f32,
    /// The focus.
    #[serde(default)]
    pub focus: f32,
}

impl Parts {
    /// The sum.
    #[must_use]
    pub fn sum(&self) -> f32 {
        self.words + self.file + self.path + self.graph + self.near + self.exact + self.prior + self.focus
    }
}

/// A symbol with what is sent of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Touchpoint {
    /// The file beneath the root, with `/`.
    pub path: String,
    /// First and last line, from 1, of what is sent.
    pub span: (u32, u32),
    /// The symbol's name.
    pub symbol: String,
    /// With modules and types before it.
    pub qualified: String,
    /// What it is.
    pub kind: Kind,
    /// First and last line of the whole symbol.
    pub whole: (u32, u32),
    /// Its signature, on one line.
    pub signature: String,
    /// What is sent.
    pub text: String,
    /// What that costs, the line with the file's path included in the first of each file.
    pub tokens: u32,
    /// Its rank, from 1.
    pub rank: u32,
    /// Higher is better; only comparable within one query.
    pub score: f32,
    /// What the score is made of.
    pub score_parts: Parts,
    /// Why it is here, in words.
    pub why: String,
    /// The hash of the file.
    pub file_hash: Hash,
}

/// A symbol that a row or a mark is about, with its file as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRef {
    /// The file beneath the workspace, with `/`.
    pub path: String,
    /// The symbol's full name.
    pub qualified: String,
    /// What it is.
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// How many symbols of its file have the same full name and kind and stand before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
    /// The hash of the file.
    pub file: Hash,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl CodeRef {
    /// One hash for the symbol, whatever its file holds: by its file, its full name, what it is, and its place among those
    /// that have all this in common.
    #[must_use]
    pub fn key(&self) -> Hash {
        let named = Fields::new("symbol").text(&self.path).text(&self.qualified).text(self.kind.name());
        named.number(u64::from(self.nth)).finish()
    }

    /// `retry_request  src/net/retry.rs:1-4`
    #[must_use]
    pub fn title(&self) -> String {
        let (first, last) = self.lines;
        let own = self.qualified.rsplit([':', '.']).next().unwrap_or(&self.qualified);
        let name = if self.kind == Kind::File { "file" } else { own };
        format!("{name}  {}:{first}-{last}", self.path)
    }
}

/// A symbol by its name and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSymbol {
    /// The file beneath the root, with `/`.
    pub path: String,
    /// What names it shortly and, in this workspace, for certain: its name, its type's before it, or its file's.
    pub short: String,
    /// With modules and types before it.
    pub qualified: String,
    /// What it is.
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

impl NamedSymbol {
    /// `src/a.rs, lines 3 to 9 (Parser::parse)`: where a text comes from, for a heading.
    #[must_use]
    pub fn place(&self) -> String {
        let (first, last) = self.lines;
        format!("{}, lines {first} to {last} ({})", self.path, self.short.rsplit('#').next().unwrap_or_default())
    }
}

/// A symbol with its whole source as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolSource {
    /// Which.
    pub named: NamedSymbol,
    /// Its lines, with what looks like a secret masked.
    pub text: String,
    /// How many things are masked.
    pub masked: usize,
}

/// A symbol that was not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearSymbol {
    /// The file.
    pub path: String,
    /// The symbol.
    pub symbol: String,
    /// Its full name.
    pub qualified: String,
    /// What it is.
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// Its score.
    pub score: f32,
    /// Why not.
    pub why: NearWhy,
}

/// Why a symbol was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NearWhy {
    /// No room.
    NoRoom {
        /// Tokens that it would have taken.
        needed: u32,
    },
    /// It stands in another one that is sent.
    Inside,
    /// It stands in the request already.
    Sent,
    /// Its file is not as it was read.
    Changed,
}

/// A symbol that much depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapAnchor {
    /// The file beneath the root.
    pub path: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its full name.
    pub symbol: String,
    /// What it is.
    pub kind: Kind,
    /// The first sentence of its documentation.
    pub doc: String,
}

/// The map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMap {
    /// One line a folder, indented; what a folder holds stands behind its name.
    pub text: String,
    /// What it costs.
    pub tokens: u32,
    /// The most central symbols, the first the most.
    pub anchors: Vec<MapAnchor>,
}

/// What an index of a workspace holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexStatus {
    /// The workspace's folder.
    pub root: String,
    /// Files listed.
    pub files: usize,
    /// Files read in the last round; the others were known.
    pub read: usize,
    /// Lines of files that were parsed.
    pub lines: u64,
    /// Symbols, files as symbols not counted.
    pub symbols: usize,
    /// Uses of one symbol by another.
    pub uses: usize,
    /// Files and symbols by language.
    pub languages: BTreeMap<String, (usize, usize)>,
    /// Files by what became of them.
    pub fates: BTreeMap<ParseOutcome, usize>,
    /// Files of which some did not parse.
    pub errors: usize,
    /// Whether there is more than the bounds allow.
    pub more: bool,
    /// How long the last round took, in microseconds.
    pub elapsed_us: u64,
    /// The most memory that the process held, in bytes, where the system tells.
    pub peak_bytes: Option<u64>,
    /// What else is to be known: a cache that could not be kept, say.
    pub notes: Vec<String>,
}

/// What a look through the code found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeFound {
    /// The workspace's folder.
    pub root: String,
    /// What is sent: by file, best file first, then by line.
    pub items: Vec<Touchpoint>,
    /// The best that are not sent.
    pub near: Vec<NearSymbol>,
    /// How long the look took, in microseconds.
    pub elapsed_us: u64,
}
