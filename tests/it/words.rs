//! The words on the screen, read from the tables and views that hold them: printed for reading
//! (`cargo test --test it words -- --nocapture`), and free of the terms that the vocabulary replaced.
//! Not for: whether a sentence is true (the tests of its room).

use std::path::Path;

/// Terms that the vocabulary replaced, in lower case.
const BANNED: [&str; 9] = [
    "what the next call",
    "foreign instructions",
    "tool schemas",
    "framing",
    "kept for the answer",
    "same as last call",
    "mark sleeps",
    "marks sleep",
    "waits for your word",
];

/// Where the sentences of actions, reasons, remedies, warnings, commands and screens stand.
const TABLES: [&str; 5] =
    ["config/keys/actions.rs", "config/commands", "domain/planning/reason.rs", "domain/planning/blocked.rs", "tui"];

/// The string literals of a file, without comments and without what follows its tests.
fn sentences(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    quoted.filter(|words| words.trim().contains(' ')).collect()
}

fn read(path: &Path, all: &mut Vec<(String, String)>) {
    if path.is_dir() {
        let mut inside: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        inside.sort();
        return inside.iter().for_each(|path| read(path, all));
    }
    let text = std::fs::read_to_string(path).unwrap();
    all.extend(sentences(&text).into_iter().map(|words| (path.display().to_string(), words)));
}

#[test]
fn the_screen_speaks_the_vocabulary() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    for table in TABLES {
        let before = all.len();
        read(&src.join(table), &mut all);
        assert!(all.len() > before, "no sentence was found in {table}");
    }
    for (_, words) in &all {
        println!("{words}");
    }
    let banned = |words: &str| BANNED.iter().find(|term| words.to_lowercase().contains(**term));
    let faults: Vec<_> = all.iter().filter_map(|(file, words)| Some((file, words, banned(words)?))).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
