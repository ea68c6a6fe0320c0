//! Languages: which file is written in which, and their grammars, each loaded when it is first needed.
//! Not for: what the nodes of a grammar mean (`spec`).

use serde::{Deserialize, Serialize};
use std::path::Path;

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

    /// The language of a file by the ending of its name.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        Some(match ending {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "go" => Self::Go,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "h++" | "cppm" | "ipp" | "cu" | "cuh" => Self::Cpp,
            "java" => Self::Java,
            _ => return None,
        })
    }

    /// A header ending in `.h` that speaks C++ is read as C++.
    #[must_use]
    pub fn settled(self, path: &Path, text: &[u8]) -> Self {
        let header = self == Self::C && path.extension().is_some_and(|ending| ending == "h");
        let speaks = |word: &[u8]| text.windows(word.len()).any(|at| at == word);
        let cpp: [&[u8]; 5] = [b"\nclass ", b"\nnamespace ", b"\ntemplate", b"public:", b"std::"];
        if header && cpp.into_iter().any(speaks) { Self::Cpp } else { self }
    }

    /// What stands between the parts of a qualified name.
    #[must_use]
    pub fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::Cpp | Self::C => "::",
            _ => ".",
        }
    }

    /// The grammar.
    #[must_use]
    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}
