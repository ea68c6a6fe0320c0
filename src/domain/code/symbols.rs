//! The code of a workspace as data: kinds of symbols, languages, touchpoints, the map, and the contents of an index.
//! Not for: finding symbols (`code`).

use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named_enum! {
    /// The kind of a symbol, in the order of the stored numbers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Kind {
        /// The file itself: everything outside other symbols.
        File = "file",
        /// A module or namespace inside a file.
        Module = "module",
        Class = "class",
        /// A struct or record.
        Struct = "struct",
        /// An enumeration.
        Enum = "enum",
        Union = "union",
        /// A trait or interface.
        Interface = "interface",
        /// A block of methods for a type.
        Impl = "impl",
        Function = "function",
        /// A function that belongs to a type.
        Method = "method",
        /// A declaration of a function without its body.
        Prototype = "prototype",
        /// A constant, static, or global variable.
        Constant = "constant",
        /// An alias or other type.
        Type = "type",
        Macro = "macro",
        /// A heading with its section, a table of settings, or a key with keys inside.
        Section = "section",
        /// A key of a settings file.
        Key = "key",
    }
}

impl Kind {
    /// Returns the kind with a stored number; `None` if there is none.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns whether functions inside a symbol of this kind are methods.
    pub fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Struct | Self::Enum | Self::Union | Self::Interface | Self::Impl)
    }

    /// Returns whether a symbol of this kind can be called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Prototype | Self::Macro)
    }
}

named_enum! {
    /// A language whose symbols are indexed, in the order of the stored numbers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Language {
        Rust => "Rust",
        Python => "Python",
        TypeScript => "TypeScript",
        /// TypeScript with JSX.
        Tsx => "TSX",
        /// JavaScript, JSX included.
        JavaScript => "JavaScript",
        Go => "Go",
        C => "C",
        Cpp => "C++",
        Java => "Java",
        /// TOML: its tables and keys.
        Toml => "TOML",
        /// YAML: its keys, down to the second level.
        Yaml => "YAML",
        /// Markdown: its headings.
        Markdown => "Markdown",
    }
    /// Returns the display name.
    pub fn name
}

/// The separator between headings or keys, which may contain dots.
const TEXT_SEPARATOR: &str = " > ";

/// Returns a symbol's own name from its qualified name.
pub fn own_name(qualified: &str) -> &str {
    match qualified.rsplit_once(TEXT_SEPARATOR) {
        Some((_, name)) => name,
        None => qualified.rsplit([':', '.']).next().unwrap_or(qualified),
    }
}

impl Language {
    /// Returns whether files of the language are settings or documents instead of code.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Toml | Self::Yaml | Self::Markdown)
    }

    /// Returns the separator of a qualified name.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::C => "::",
            Self::Toml | Self::Yaml | Self::Markdown => TEXT_SEPARATOR,
            _ => ".",
        }
    }
}

named_enum! {
    /// The outcome of reading a file for the index, in the order of the stored numbers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum ParseOutcome {
        /// The file was parsed; its symbols are known.
        Parsed = "parsed",
        /// The file is in no supported language.
        NoLanguage = "no_language",
        /// The file is larger than the limit.
        TooLarge = "too_large",
        /// The file is not text.
        Binary = "binary",
        /// The file is generated, as recognized by its name, its first lines, or its long lines, or a copy of another
        /// project's document or settings, as recognized by its folder.
        Generated = "generated",
        /// The file could not be read.
        Unreadable = "unreadable",
    }
}

/// The parts of a score, which sum to it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    /// Score of the symbol's own words.
    pub words: f32,
    /// Score of the words of its file.
    pub file: f32,
    /// Score of the words of its path.
    pub path: f32,
    /// Score of the symbols that it uses, and of the symbols that use it.
    pub graph: f32,
    /// Score of its surroundings.
    pub near: f32,
    /// Score for its exact name in the query.
    pub exact: f32,
    /// Score of its size and kind.
    pub prior: f32,
    /// Score for being in the focus.
    #[serde(default)]
    pub focus: f32,
    /// Score for its meaning, if an embedder compared it with the message's.
    #[serde(default)]
    pub meaning: f32,
}

impl Parts {
    /// Returns the score: the sum of all parts.
    pub fn sum(&self) -> f32 {
        self.words
            + self.file
            + self.path
            + self.graph
            + self.near
            + self.exact
            + self.prior
            + self.focus
            + self.meaning
    }
}

/// A symbol, with the text that is sent for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Touchpoint {
    /// The file relative to the root, with `/`.
    pub path: String,
    /// First and last line of the sent text, from 1.
    pub span: (u32, u32),
    /// The symbol's name.
    pub symbol: String,
    /// The name with modules and types.
    pub qualified: String,
    pub kind: Kind,
    /// First and last line of the whole symbol.
    pub whole: (u32, u32),
    /// The signature, on one line.
    pub signature: String,
    /// The sent text.
    pub text: String,
    /// The sent text without documentation and excerpt: the line with the place and the signature.
    #[serde(skip)]
    pub brief: String,
    /// Tokens of the sent text. The first touchpoint of a file includes the line with the path.
    pub tokens: u32,
    /// The rank, from 1.
    pub rank: u32,
    /// The score. Higher is better; comparable only within one query.
    pub score: f32,
    pub score_parts: Parts,
    /// Why it was chosen, as text.
    pub why: String,
    pub file_hash: Hash,
}

/// The symbol of a row or mark, with its file as it was when the row or mark was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRef {
    /// The file relative to the workspace, with `/`.
    pub path: String,
    /// The symbol's qualified name.
    pub qualified: String,
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// Number of earlier symbols of its file with the same qualified name and kind.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
    pub file: Hash,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
pub(in crate::domain) fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl CodeRef {
    /// Returns a hash that identifies the symbol regardless of the file's content: a hash of its file, qualified name,
    /// kind, and index among symbols that share all of these.
    pub fn key(&self) -> Hash {
        let named = Fields::new("symbol").text(&self.path).text(&self.qualified).text(self.kind.name());
        named.number(u64::from(self.nth)).finish()
    }

    /// Returns the symbol's name and place, such as `retry_request  src/net/retry.rs:1-4`.
    pub fn title(&self) -> String {
        let (first, last) = self.lines;
        let short = own_name(&self.qualified);
        let name = if self.kind == Kind::File { "file" } else { short };
        format!("{name}  {}:{first}-{last}", self.path)
    }
}

/// A symbol by its name and place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSymbol {
    /// The file relative to the root, with `/`.
    pub path: String,
    /// The shortest name that is unambiguous in the workspace: the symbol's name alone, with its type, or with its
    /// file.
    pub short: String,
    /// The name with modules and types.
    pub qualified: String,
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

impl NamedSymbol {
    /// Returns the place of the symbol for a heading, such as `src/a.rs, lines 3 to 9 (Parser::parse)`.
    pub fn place(&self) -> String {
        let (first, last) = self.lines;
        format!("{}, lines {first} to {last} ({})", self.path, self.short.rsplit('#').next().unwrap_or_default())
    }
}

/// A symbol with its current source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolSource {
    pub named: NamedSymbol,
    /// The lines, with possible secrets masked.
    pub text: String,
    /// Number of masked secrets.
    pub masked: usize,
}

/// A symbol that was found but not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearSymbol {
    /// The file.
    pub path: String,
    pub symbol: String,
    pub qualified: String,
    pub kind: Kind,
    /// First and last line, from 1.
    pub lines: (u32, u32),
    pub score: f32,
    /// Why it was not sent.
    pub why: NearSymbolReason,
}

/// The reason why a symbol was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NearSymbolReason {
    /// There was no room for the symbol.
    NoRoom {
        /// Tokens that it would have taken.
        needed: u32,
    },
    /// Enough symbols that match better are sent.
    Weak {
        /// Tokens that it would have taken.
        needed: u32,
    },
    /// The symbol is inside another symbol that is sent.
    Inside,
    /// The symbol is already in the request.
    Sent,
    /// The symbol's lines are part of something that a person excluded.
    Excluded,
    /// The symbol's file has changed since it was indexed.
    Changed,
}

/// A symbol that many others depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapAnchor {
    /// The file relative to the root.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The qualified name.
    pub symbol: String,
    pub kind: Kind,
    /// The first sentence of its documentation.
    pub doc: String,
}

/// The map of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMap {
    /// One line per folder, indented; a folder's contents follow its name.
    pub text: String,
    pub tokens: u32,
    /// The most central symbols, most central first.
    pub anchors: Vec<MapAnchor>,
}

/// The contents of a workspace's index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexStatus {
    /// The workspace's folder.
    pub root: String,
    /// Number of files listed.
    pub files: usize,
    /// Number of files read in the last round of indexing; the others were unchanged.
    pub read: usize,
    /// Number of lines in parsed files.
    pub lines: u64,
    /// Number of symbols, not counting files.
    pub symbols: usize,
    /// Number of uses of one symbol by another.
    pub uses: usize,
    /// Numbers of files and symbols by language.
    pub languages: BTreeMap<String, (usize, usize)>,
    /// Number of files by outcome.
    #[serde(rename = "fates")]
    pub outcomes: BTreeMap<ParseOutcome, usize>,
    /// Number of files with syntax errors.
    pub errors: usize,
    /// Whether the workspace has more files than the limits allow.
    pub more: bool,
    /// Duration of the last round in microseconds.
    pub elapsed_us: u64,
    /// Peak memory of the process in bytes, if known.
    pub peak_bytes: Option<u64>,
    /// Other notices, such as a cache that could not be written.
    pub notes: Vec<String>,
}

/// The result of a search in the code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeSearchResult {
    /// The workspace's folder.
    pub root: String,
    /// The symbols that are sent, best file first, then by line.
    pub items: Vec<Touchpoint>,
    /// The best symbols that are not sent.
    pub near: Vec<NearSymbol>,
    /// Duration in microseconds.
    pub elapsed_us: u64,
}
