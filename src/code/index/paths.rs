//! Paths of files as text, as modules, and as words.
//! Not for: listing files (`parse::walk`).

use crate::code::parse::words::Analyzer;
use std::path::Path;

/// Returns a path as text with `/` between its parts.
pub fn shown(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns the modules of a file: its path without source folders, without the extension, and without names such as
/// `mod` that represent the folder.
pub fn module_path(shown: &str) -> Vec<String> {
    let stem = shown.rsplit_once('.').map_or(shown, |(stem, _)| stem);
    let mut parts: Vec<&str> = stem.split('/').collect();
    if parts.len() > 1 && matches!(parts.last(), Some(&("mod" | "lib" | "main" | "__init__" | "index"))) {
        parts.pop();
    }
    parts.retain(|part| !matches!(*part, "src" | "lib" | "." | "main" | "java"));
    parts.into_iter().map(str::to_owned).collect()
}

/// Returns the distinct terms of a path.
pub(super) fn path_terms(analyzer: &mut Analyzer, shown: &str) -> Vec<Box<str>> {
    let mut terms = Vec::new();
    for part in module_path(shown) {
        for term in analyzer.terms(&part).iter() {
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
    }
    terms
}

/// Folders of tests, examples, and benchmarks.
#[rustfmt::skip]
const TEST_FOLDERS: [&str; 10] = [
    "test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures", "examples", "benches",
];

/// Returns whether a path belongs to tests, examples, or benchmarks.
pub(super) fn is_test_path(shown: &str) -> bool {
    let (folders, name) = shown.rsplit_once('/').unwrap_or(("", shown));
    let folder = folders.split('/').any(|part| TEST_FOLDERS.contains(&part));
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    folder
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", "Test", "Tests"].iter().any(|ending| stem.ends_with(ending))
        || stem == "tests"
        || stem == "conftest"
        || name.contains(".test.")
        || name.contains(".spec.")
}
