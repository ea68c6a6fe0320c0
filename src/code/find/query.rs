//! Turns a question, a task, or a commit message into weighted terms and names.
//! Not for: looking them up (`rank`).

use crate::code::parse::language::of_path;
use crate::code::parse::words::{Analyzer, is_stop, parts, words_of};
use crate::code::tuning::Tuning;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum bytes of a query that are read.
const MAX_BYTES: usize = 20_000;
/// Maximum terms that are kept, by weight.
const MAX_TERMS: usize = 200;

/// A query.
#[derive(Clone, Default, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about one text")]
pub struct Query {
    /// Weights by term.
    pub terms: BTreeMap<Box<str>, f32>,
    /// Weights by identifier, as written.
    pub names: BTreeMap<Box<str>, f32>,
    /// Paths, as written.
    pub paths: Vec<String>,
    /// The terms of content words: no stop words, and no verbs of change or of asking.
    pub content: BTreeSet<Box<str>>,
    /// Those of its first line.
    pub first_line: BTreeSet<Box<str>>,
    /// Whether its first line says what is to be changed: it has a kind of change before a colon, or begins with a verb of
    /// change.
    pub is_change: bool,
    /// The words of the terms, in lower case.
    pub words: BTreeMap<Box<str>, Box<str>>,
    /// Whether it is a question. The caller decides.
    pub asks: bool,
    /// Whether it has a word for settings, installation, or documents.
    pub names_text: bool,
    /// Whether it has a word for a part of code, or an identifier.
    pub names_code: bool,
}

/// Words for settings, installation, and documents. Sorted.
#[rustfmt::skip]
const TEXT_WORDS: &[&str] = &[
    "changelog", "ci", "config", "configs", "configurable", "configuration", "configurations", "configure", "configured",
    "configures", "configuring", "contributing", "dependencies", "dependency", "docs", "document", "documentation",
    "documented", "documents", "guide", "guides", "heading", "headings", "install", "installation", "installed",
    "installing", "license", "manual", "markdown", "pipeline", "prerequisites", "readme", "requirements", "setting",
    "settings", "setup", "toml", "tutorial", "workflow", "workflows", "yaml", "yml",
];

/// Words for parts of code. Sorted.
#[rustfmt::skip]
const CODE_WORDS: &[&str] = &[
    "call", "called", "caller", "callers", "calls", "class", "classes", "defined", "definition", "enum", "function",
    "functions", "implementation", "implemented", "implements", "interface", "macro", "method", "methods", "module",
    "struct", "structs", "trait", "traits", "variable",
];

/// Terms of words that name tests, examples, and benchmarks.
const TESTS: [&str; 5] = ["bench", "benchmark", "exampl", "spec", "test"];

impl Query {
    /// Returns whether it asks about settings, installation, or documents, so that text files rank like code.
    #[must_use]
    pub fn asks_for_text(&self) -> bool {
        self.asks && self.names_text && !self.names_code
    }

    /// Returns whether it is about code: it names a part of code or an identifier.
    #[must_use]
    pub fn is_about_code(&self) -> bool {
        self.names_code || (!self.names_text && !self.names.is_empty())
    }

    /// Returns whether it speaks of tests.
    #[must_use]
    pub fn names_tests(&self) -> bool {
        TESTS.iter().any(|term| self.terms.contains_key(*term))
    }
}

/// Words that start a line before a colon and name a kind of change. Sorted.
#[rustfmt::skip]
const CHANGE_KINDS: &[&str] = &[
    "bug", "bugfix", "build", "change", "chore", "ci", "deps", "doc", "docs", "feat", "feature", "fix", "hotfix", "other",
    "perf", "refactor", "release", "revert", "style", "test", "tests", "wip",
];

/// Verbs and nouns of change and of asking, which are frequent in messages and rare in code. Sorted.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "add", "added", "adding", "adds", "adjust", "allow", "allowed", "allows", "avoid", "avoids", "better", "bug", "bugs",
    "bump", "change", "changed", "changes", "clarify", "clean", "cleaned", "cleaner", "cleaning", "cleanup", "closes",
    "code", "convert", "correct", "correctly", "create", "currently", "delete", "deleted", "deprecate", "different",
    "do", "drop", "dropped", "enable", "enables", "ensure", "error", "explain", "extract", "file", "files", "find", "first",
    "fix", "fixed", "fixes", "fixing", "follow", "function", "functionality", "get", "handle", "handled", "handles",
    "handling", "hide", "implement", "implementation", "implemented", "improve", "improved", "improvement",
    "improvements", "improves", "initial", "instead", "introduce", "introduced", "issue", "issues", "let", "lets",
    "logic", "make", "makes", "making", "merge", "method", "minor", "missing", "mostly", "move", "moved", "moves", "moving",
    "need", "needed", "needs", "new", "now", "old", "optimize", "optional", "part", "pr", "prevent", "problem",
    "properly", "provide", "pull", "ref", "refactor", "refactored", "refactoring", "refs", "remove", "removed", "removes",
    "removing", "rename", "renamed", "renames", "replace", "replaced", "replaces", "request", "requested", "resolve",
    "resolves", "revert", "rework", "see", "set", "show", "shows", "simplify", "small", "split", "still", "stop",
    "support", "supported", "supporting", "supports", "switch", "temporarily", "tidy", "try", "tweak", "unify", "unused",
    "update", "updated", "updates", "updating", "upgrade", "use", "used", "uses", "using", "want", "work", "works", "wrong",
];

/// Verbs with which a message begins that says what is to be changed. Sorted.
#[rustfmt::skip]
const CHANGE_VERBS: &[&str] = &[
    "add", "added", "adding", "adds", "adjust", "allow", "allowed", "allows", "avoid", "avoids", "bump", "change", "changed",
    "changes", "clarify", "clean", "cleaned", "cleaning", "convert", "correct", "create", "delete", "deleted", "deprecate",
    "disable", "drop", "dropped", "enable", "enables", "ensure", "extract", "fix", "fixed", "fixes", "fixing", "handle",
    "handled", "handles", "hide", "implement", "implemented", "implements", "improve", "improved", "improves", "introduce",
    "introduced", "make", "makes", "merge", "move", "moved", "moves", "optimize", "prevent", "provide", "refactor",
    "refactored", "refactoring", "remove", "removed", "removes", "removing", "rename", "renamed", "renames", "replace",
    "replaced", "replaces", "resolve", "resolves", "restore", "revert", "rework", "rewrite", "simplify", "split", "stop",
    "support", "supports", "switch", "test", "tidy", "tweak", "unify", "update", "updated", "updates", "upgrade", "use",
    "uses", "write",
];

/// Maximum bytes of a label before a colon, such as the name of a module.
const MAX_LABEL_BYTES: usize = 40;

/// Parses a query.
#[must_use]
pub fn read(analyzer: &mut Analyzer, text: &str, tuning: &Tuning) -> Query {
    let mut query = Query::default();
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut first = true;
    for line in text.lines() {
        let line = line.trim().trim_start_matches(['*', '-', '#', '>', ' ']);
        if line.is_empty() || is_trailer(line) {
            continue;
        }
        let weight = if first { 1.0 } else { tuning.later };
        let whole = line;
        let line = if first || line.contains(':') { without_change_kind(line) } else { line };
        query.is_change |= first && (line.len() < whole.len() || begins_with_change(line));
        read_line(analyzer, line, weight, tuning, &mut query);
        if first {
            query.first_line = query.content.clone();
        }
        first = false;
    }
    if query.terms.len() > MAX_TERMS {
        let mut by_weight: Vec<(Box<str>, f32)> = std::mem::take(&mut query.terms).into_iter().collect();
        by_weight.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        query.terms = by_weight.into_iter().take(MAX_TERMS).collect();
    }
    query
}

fn read_line(analyzer: &mut Analyzer, line: &str, weight: f32, tuning: &Tuning, query: &mut Query) {
    let kept: Vec<&str> = line.split_whitespace().filter(|chunk| !is_address(chunk)).collect();
    for chunk in &kept {
        let trimmed = chunk.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let is_path = trimmed.contains('/') || of_path(Path::new(trimmed)).is_some();
        if is_path && trimmed.len() > 3 && trimmed.len() < 200 {
            query.paths.push(trimmed.trim_start_matches("./").to_owned());
        } else if is_marked_as_code(chunk)
            && let Some(name) = words_of(trimmed).last().filter(|name| name.len() > 2)
        {
            raise_weight(&mut query.names, name, weight);
            query.names_code = true;
        }
    }
    let text = kept.join(" ");
    let mut before: Option<&str> = None;
    for word in words_of(&text) {
        let lower = word.to_lowercase();
        query.names_text |= TEXT_WORDS.binary_search(&lower.as_str()).is_ok();
        query.names_code |= CODE_WORDS.binary_search(&lower.as_str()).is_ok();
        if is_digest(word) {
            before = None;
            continue;
        }
        if let Some(before) = before.replace(word) {
            // Code may write `read only` as `readonly`.
            let joined = analyzer.stem(&format!("{before}{word}"));
            raise_weight(&mut query.terms, &joined, weight * tuning.joined);
            add_word(&mut query.words, &joined, &format!("{before} {word}"));
        }
        if is_stop(&lower) {
            continue;
        }
        let weight = if is_verb(&lower) { weight * tuning.verb } else { weight };
        for term in analyzer.terms(word).iter() {
            raise_weight(&mut query.terms, term, weight);
        }
        for part in parts(word) {
            let term = analyzer.stem(part);
            add_word(&mut query.words, &term, part);
            let part = part.to_lowercase();
            if part.len() > 1 && !is_stop(&part) && !is_verb(&part) {
                query.content.insert(term);
            }
        }
        add_word(&mut query.words, &analyzer.stem(&parts(word).concat()), word);
        if parts(word).len() > 1 {
            raise_weight(&mut query.names, word, weight);
        }
    }
}

fn raise_weight(terms: &mut BTreeMap<Box<str>, f32>, term: &str, weight: f32) {
    match terms.get_mut(term) {
        Some(known) => *known = known.max(weight) + 0.15 * known.min(weight),
        None => {
            terms.insert(term.into(), weight);
        }
    }
}

fn is_verb(lower: &str) -> bool {
    VERBS.binary_search(&lower).is_ok()
}

fn add_word(words: &mut BTreeMap<Box<str>, Box<str>>, term: &str, word: &str) {
    words.entry(term.into()).or_insert_with(|| word.to_lowercase().into());
}

/// Returns whether a line begins with a verb of change, alone or after a label.
fn begins_with_change(line: &str) -> bool {
    let verb = |text: &str| {
        let word = words_of(text).next().map(str::to_lowercase);
        word.is_some_and(|word| CHANGE_VERBS.binary_search(&word.as_str()).is_ok())
    };
    let labeled = line.split_once(':').filter(|(label, _)| label.len() < MAX_LABEL_BYTES);
    verb(line) || labeled.is_some_and(|(_, rest)| verb(rest))
}

fn is_trailer(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["co-authored-by:", "signed-off-by:", "reviewed-by:", "acked-by:", "change-id:", "closes #", "fixes #"]
        .iter()
        .any(|start| lower.starts_with(start))
}

fn is_address(chunk: &str) -> bool {
    chunk.contains("://") || chunk.starts_with("www.")
}

/// Returns whether a chunk is written as code: in backticks, with a qualifier, or as a call.
fn is_marked_as_code(chunk: &str) -> bool {
    chunk.contains('`') || chunk.contains("::") || chunk.contains("()")
}

/// Returns whether a word looks like a commit hash.
fn is_digest(word: &str) -> bool {
    word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit()) && word.bytes().any(|b| b.is_ascii_digit())
}

/// Returns a line without a prefix such as `fix(scope)!:`. The words of the scope stay.
fn without_change_kind(line: &str) -> &str {
    let Some((prefix, rest)) = line.split_once(':') else { return line };
    let name = prefix.split('(').next().unwrap_or_default().trim_end_matches('!');
    let known = !name.is_empty()
        && name.split(['/', ',', ' ']).all(|part| CHANGE_KINDS.binary_search(&part.to_lowercase().as_str()).is_ok());
    if known { if prefix.contains('(') { &line[name.len()..] } else { rest.trim_start() } } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_plainly(text: &str) -> Query {
        read(&mut Analyzer::default(), text, &Tuning::default())
    }

    #[test]
    fn messages_that_say_what_to_change_are_recognized() {
        for words in [CHANGE_VERBS, VERBS, CHANGE_KINDS] {
            assert!(words.is_sorted());
        }
        for text in [
            "Fix panic when the battery is missing",
            "fix(tui)!: keys of the list",
            "docs: typing",
            "walk: Use a bounded queue.",
            "\n  - Removed the old parser\n\nIt was slow.",
        ] {
            assert!(read_plainly(text).is_change, "{text}");
        }
        for text in [
            "the fix works",
            "Thanks! That helped.\nFix it",
            "Wow: nice",
            "one sentence that is much longer than a label of a module: add nothing",
            "",
        ] {
            assert!(!read_plainly(text).is_change, "{text}");
        }
    }

    #[test]
    fn the_first_line_has_its_own_content_words() {
        let query = read_plainly("fix: panic of the battery\n\nThe gauge divided by zero.");
        let words = |terms: &BTreeSet<Box<str>>| terms.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words(&query.first_line), ["batteri", "panic"]);
        assert_eq!(words(&query.content), ["batteri", "divid", "gaug", "panic", "zero"]);
    }
}
