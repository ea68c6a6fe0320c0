//! Outputs of pure functions for many inputs: each table is a file in `tests/tables`, and a change of behavior appears
//! as changed lines. `PLEACH_TABLES=write cargo test tables` rewrites the files. Read the diff before committing it.
//! Not for: single rules (tested beside their code) or whole plans (`scenarios`).

mod commands;
mod corpus;
mod engine_beside;
mod engine_calls;
mod engine_library;
#[cfg(unix)]
mod engine_servers;
mod engine_talk;
mod engine_work;
mod llm_answers;
mod llm_offline;
mod llm_servers;
mod plans;
mod reasons;
mod record;
mod retrieval;
mod summaries;
#[cfg(unix)]
mod tool_calls;

use std::path::Path;

/// Compares a table with its file, or writes the file if requested.
pub(crate) fn same(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(format!("{name}.txt"));
    let got = format!("{}\n", got.trim_end());
    if std::env::var_os("PLEACH_TABLES").is_some_and(|value| value == "write") {
        std::fs::write(&file, got).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let changes: Vec<String> = similar::TextDiff::from_lines(expected.as_str(), got.as_str())
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .take(80)
        .map(|change| format!("{}{}", change.tag(), change.value()))
        .collect();
    assert!(changes.is_empty(), "{}: - is told, + is what happened\n{}", file.display(), changes.concat());
}
