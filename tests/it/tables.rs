//! What pure parts say of many inputs, line by line: each table is a file in `tests/tables`. A change of behavior shows as
//! changed lines. `PLEACH_TABLES=write cargo test tables` writes the files anew, to be read before they are kept.
//! Not for: single rules that a sentence can state (they stand with their code) or stories of plans (`scenarios`).

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

/// Compares a table with its file, or writes the file where that is wished.
pub(crate) fn same(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(format!("{name}.txt"));
    let got = format!("{}\n", got.trim_end());
    if std::env::var_os("PLEACH_TABLES").is_some_and(|wish| wish == "write") {
        std::fs::write(&file, got).unwrap();
        return;
    }
    let told = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let changes: Vec<String> = similar::TextDiff::from_lines(told.as_str(), got.as_str())
        .iter_all_changes()
        .filter(|change| change.tag() != similar::ChangeTag::Equal)
        .take(80)
        .map(|change| format!("{}{}", change.tag(), change.value()))
        .collect();
    assert!(changes.is_empty(), "{}: - is told, + is what happened\n{}", file.display(), changes.concat());
}
