//! Builds a summary of a folder or file from its own text: the opening comments of its files and its most central
//! symbols.
//! Not for: symbols for a question (`rank`), or the map of a workspace (`map`).

use super::cards::Sources;
use super::map::{central_symbols, weight};
use crate::code::index::records::{File, Index};
use crate::domain::base::Hash;
use crate::domain::code::ParseOutcome;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The version of the method.
pub const VERSION: u32 = 1;
/// Maximum number of files and symbols that are named.
const MAX_FILES: usize = 14;
const MAX_SYMBOLS: usize = 10;
/// Bytes of a file's beginning that are read, and characters of its comment that are quoted.
const READ_BYTES: usize = 6_000;
const MAX_SENTENCE: usize = 220;

/// A summary and its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    /// The files, relative to the index's root, with the hashes of their bytes.
    pub files: Vec<(String, Hash)>,
    /// The share of all files' centrality that the most central files have (as many as can be named), in thousandths.
    pub confidence: u32,
}

/// Summarizes an index or one of its files. Returns `None` if nothing was parsed.
pub fn summary(index: &Index, sources: &dyn Sources, name: &str, only: Option<&str>) -> Option<Summary> {
    let central = index.graph().centrality(index);
    let wanted = |file: &&File| only.is_none_or(|only| &*file.shown == only);
    let parsed = |file: &&File| file.outcome == ParseOutcome::Parsed && !file.is_text();
    let files = index.files().filter(wanted).filter(parsed);
    let mut files: Vec<(&File, u64)> = files.map(|file| (file, weight(file, &central))).collect();
    if files.is_empty() {
        return None;
    }
    let mut covered: Vec<(String, Hash)> = files.iter().map(|(file, _)| (file.shown.to_string(), file.hash)).collect();
    covered.sort();
    files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.shown.cmp(&b.0.shown)));
    let mut text = size_line(&files, name);
    let header = |file: &File| sources.text(&file.path).map(|text| opening(&text)).unwrap_or_default();
    let main =
        files.iter().find(|(file, _)| describes_folder(&file.shown)).or(files.first().filter(|_| files.len() == 1));
    let about = main.map(|(file, _)| header(file)).unwrap_or_default();
    if !about.is_empty() {
        let _ = writeln!(text, "{about}");
    }
    if only.is_none() && files.len() > 1 {
        let _ = writeln!(text, "Files, the most used first:");
        let code: Vec<&File> = files.iter().map(|(file, _)| *file).filter(|file| !file.test).collect();
        for file in code.iter().take(MAX_FILES) {
            let is_main = main.is_some_and(|(main, _)| main.shown == file.shown);
            let comment = if is_main { String::new() } else { header(file) };
            let colon = if comment.is_empty() { "" } else { ": " };
            let _ = writeln!(text, "- {}{colon}{comment}", file.shown);
        }
        let rest = code.len().saturating_sub(MAX_FILES);
        if rest > 0 {
            let _ = writeln!(text, "- and {rest} more");
        }
    }
    let all = central_symbols(index, &central, sources, usize::MAX);
    let named: Vec<_> =
        all.into_iter().filter(|one| only.is_none_or(|only| one.path == only)).take(MAX_SYMBOLS).collect();
    if !named.is_empty() {
        let _ = writeln!(text, "Most used in it:");
    }
    for one in &named {
        let doc = if one.doc.is_empty() { String::new() } else { format!(": {}", one.doc) };
        let _ = writeln!(text, "- {} {} ({}:{}){doc}", one.kind.name(), one.symbol, one.path, one.line);
    }
    let total_weight: u64 = files.iter().map(|(_, weight)| weight).sum();
    let listed_weight: u64 = files.iter().take(MAX_FILES).map(|(_, weight)| weight).sum();
    let confidence =
        u32::try_from(listed_weight.saturating_mul(1_000).checked_div(total_weight).unwrap_or(0)).unwrap_or(1_000);
    Some(Summary { text, files: covered, confidence })
}

/// Returns the first line of a summary, such as `src/engine: 61 files, 15,000 lines of rust`.
fn size_line(files: &[(&File, u64)], name: &str) -> String {
    let mut languages: BTreeMap<&str, u32> = BTreeMap::new();
    for (file, _) in files {
        *languages.entry(file.language.map_or("text", |language| language.name())).or_default() += file.lines;
    }
    let mut by_lines: Vec<(&str, u32)> = languages.into_iter().collect();
    by_lines.sort_by_key(|(name, lines)| (std::cmp::Reverse(*lines), *name));
    let lines: Vec<String> = by_lines.iter().map(|(name, lines)| format!("{lines} lines of {name}")).collect();
    let word = if files.len() == 1 { "file" } else { "files" };
    format!("{name}: {} {word}, {}\n", files.len(), lines.join(", "))
}

/// Files whose opening comment describes their folder, the best first.
const DESCRIBING: [&str; 7] = ["mod.rs", "lib.rs", "__init__.py", "index.ts", "index.js", "doc.go", "main.rs"];

/// Returns whether a file describes its folder, such as `mod.rs`.
fn describes_folder(shown: &str) -> bool {
    describing_rank(shown).is_some()
}

/// Returns how well a file describes its folder, by its name; smaller is better.
pub(crate) fn describing_rank(name: &str) -> Option<usize> {
    DESCRIBING.iter().position(|known| *known == name)
}

/// Returns the first sentences of the comment at the start of a file, or an empty text.
pub(crate) fn opening(text: &[u8]) -> String {
    let head = String::from_utf8_lossy(&text[..text.len().min(READ_BYTES)]);
    let mut words = String::new();
    let mut quoted = false;
    for line in head.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("#!")) {
        let bare = line.trim();
        let fence = bare.matches("\"\"\"").count() + bare.matches("'''").count();
        let comment = quoted || fence > 0 || ["//", "/*", "*", "#"].iter().any(|mark| bare.starts_with(mark));
        if !comment || bare.starts_with("#[") || bare.starts_with("#include") || bare.starts_with("#define") {
            break;
        }
        let plain = bare.trim_start_matches(['/', '*', '!', '#', '"', '\'']).trim();
        let plain = plain.trim_end_matches("*/").trim_end_matches(['"', '\'']).trim();
        if plain.is_empty() && !words.is_empty() {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(plain);
        quoted ^= fence % 2 == 1;
        if words.len() > MAX_SENTENCE * 2 || (fence > 0 && !quoted) {
            break;
        }
    }
    let words = words.trim();
    if is_license(words) {
        return String::new();
    }
    let end = words.find(". ").map_or(words.len(), |end| end + 1);
    words[..end].chars().take(MAX_SENTENCE).collect()
}

fn is_license(words: &str) -> bool {
    let lower = words.to_lowercase();
    ["copyright", "licen", "spdx"].iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::tests::{Disk, indexed};

    #[test]
    fn folder_summary_quotes_opening_comments() {
        let (place, index) = indexed(&[
            ("mod.rs", "//! Bees and their dances. More words.\n//! And more.\npub mod dance;\n"),
            (
                "dance.rs",
                "//! Dances.\n\n/// Waggles about. Twice.\npub fn waggle() {}\n\npub fn all() { waggle(); waggle(); }\n",
            ),
            ("note.txt", "nothing"),
        ]);
        let disk = Disk(place.path().into());
        let built = summary(&index, &disk, "src/bees", None).unwrap();
        assert!(built.text.starts_with("src/bees: 2 files, "), "{}", built.text);
        assert!(
            built.text.contains("Bees and their dances.\n") && built.text.contains("- dance.rs: Dances."),
            "{}",
            built.text
        );
        assert!(built.text.contains("waggle (dance.rs:4): Waggles about."), "{}", built.text);
        let names: Vec<&str> = built.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["dance.rs", "mod.rs"]);
        assert!(built.confidence > 900);
        let one = summary(&index, &disk, "src/bees/dance.rs", Some("dance.rs")).unwrap();
        assert!(one.files.len() == 1 && one.text.contains("waggle"), "{}", one.text);
        assert_eq!(summary(&index, &disk, "x", Some("note.txt")), None);
    }

    /// Tests are neither named nor counted among the files that are left out.
    #[test]
    fn long_lists_of_files_say_how_many_are_left_out() {
        let names: Vec<String> = (0..=MAX_FILES).map(|number| format!("part_{number}.rs")).collect();
        let names = names.iter().map(String::as_str).chain(["tests.rs"]);
        let (place, index) = indexed(&names.map(|name| (name, "pub fn x() {}\n")).collect::<Vec<_>>());
        let text = summary(&index, &Disk(place.path().into()), "x", None).unwrap().text;
        assert!(text.contains("- and 1 more\n") && !text.contains("tests.rs"), "{text}");
    }

    #[test]
    fn opening_comment_is_extracted() {
        assert_eq!(opening(b"\"\"\"Reads things. Fast.\"\"\"\nimport x\n"), "Reads things.");
        assert_eq!(opening(b"#!/bin/sh\n# Does it.\nx\n"), "Does it.");
        assert_eq!(opening(b"/*\n * A parser for\n * things.\n */\n"), "A parser for things.");
        assert_eq!(opening(b"// Copyright 2020 X\nfn x() {}\n"), "");
        assert_eq!(opening(b"fn x() {}\n"), "");
        assert_eq!(opening(b""), "");
    }
}
