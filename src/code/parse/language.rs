//! Detects the language of a file, and loads grammars on first use.
//! Not for: the meaning of a grammar's nodes (`spec`).

use crate::domain::code::Language;
use std::path::Path;

/// Detects the language of a file by its extension.
pub fn of_path(path: &Path) -> Option<Language> {
    let ending = path.extension()?.to_str()?;
    Some(match ending {
        "rs" => Language::Rust,
        "py" | "pyi" => Language::Python,
        "ts" | "mts" | "cts" => Language::TypeScript,
        "tsx" => Language::Tsx,
        "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
        "go" => Language::Go,
        "c" | "h" => Language::C,
        "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" | "h++" | "cppm" | "ipp" | "cu" | "cuh" => Language::Cpp,
        "java" => Language::Java,
        "toml" => Language::Toml,
        "yaml" | "yml" => Language::Yaml,
        "md" | "markdown" | "mdx" => Language::Markdown,
        _ => return None,
    })
}

/// Decides from its text whether a `.h` header is C++.
pub fn refine(language: Language, path: &Path, text: &[u8]) -> Language {
    let header = language == Language::C && path.extension().is_some_and(|ending| ending == "h");
    let occurs = |word: &[u8]| text.windows(word.len()).any(|at| at == word);
    let cpp: [&[u8]; 5] = [b"\nclass ", b"\nnamespace ", b"\ntemplate", b"public:", b"std::"];
    if header && cpp.into_iter().any(occurs) { Language::Cpp } else { language }
}

/// Returns the grammar of a language of code.
pub(crate) fn grammar(language: Language) -> Option<tree_sitter::Language> {
    Some(match language {
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::C => tree_sitter_c::LANGUAGE.into(),
        Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::Toml | Language::Yaml | Language::Markdown => return None,
    })
}
