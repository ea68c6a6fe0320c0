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
    /// The terms of a label of its first line, such as `walk` in `walk: use a queue` and `fix(walk): use a queue`.
    pub label: BTreeSet<Box<str>>,
    /// Whether its first line says what is to be changed: it has a kind of change before a colon, or begins with a verb of
    /// change. A line with a question mark does not.
    pub is_change: bool,
    /// Whether its first line has an identifier, or words that are marked as code.
    pub names_symbol: bool,
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
    "add", "added", "adding", "address", "adds", "adjust", "allow", "allowed", "allows", "apply", "avoid", "avoids", "bring",
    "bump", "cap", "change", "changed", "changes", "clarify", "clean", "cleaned", "cleaning", "collapse", "configure",
    "convert", "copy", "correct", "cover", "create", "deduplicate", "define", "delete", "deleted", "deprecate", "detect",
    "disable", "disallow", "display", "document", "documented", "drop", "dropped", "emit", "enable", "enables", "enforce",
    "ensure", "export", "expose", "extend", "extract", "fix", "fixed", "fixes", "fixing", "forbid", "format", "generate",
    "group", "handle", "handled", "handles", "hide", "highlight", "ignore", "ignored", "ignores", "implement", "implemented",
    "implementing", "implements", "import", "improve", "improved", "improves", "include", "included", "increase", "inline",
    "install", "introduce", "introduced", "lazily", "limit", "load", "lower", "make", "makes", "mark", "merge", "migrate",
    "move", "moved", "moves", "normalize", "omit", "only", "optimize", "parse", "pass", "pin", "placate", "port", "prefer",
    "preserve", "prevent", "print", "propagate", "provide", "raise", "reduce", "refactor", "refactored", "refactoring",
    "refine", "reformat", "regenerate", "reject", "remove", "removed", "removes", "removing", "rename", "renamed", "renames",
    "render", "reorder", "reorganise", "reorganize", "replace", "replaced", "replaces", "require", "reset", "resolve",
    "resolves", "respect", "restore", "restrict", "return", "returns", "reuse", "revert", "revise", "rework", "rewrite",
    "round", "sanitize", "silence", "simplify", "skip", "sort", "specify", "split", "stash", "stop", "store", "strip",
    "support", "supports", "suppress", "swap", "switch", "test", "throw", "tidy", "toggle", "track", "treat", "trim",
    "tweak", "undid", "unify", "unset", "update", "updated", "updates", "upgrade", "use", "uses", "using", "validate",
    "warn", "wrap", "write",
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
        read_line(analyzer, line, weight, tuning, &mut query);
        if first {
            query.first_line = query.content.clone();
            query.is_change = !line.contains('?') && (line.len() < whole.len() || begins_with_change(line));
            query.label = label(line).into_iter().flat_map(words_of).map(|word| analyzer.stem(word)).collect();
            query.names_symbol = line.split_whitespace().any(|chunk| is_marked_as_code(chunk) || is_identifier(chunk));
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
    let verb = |text: &str| verb(text) || without_negation(text).is_some_and(verb);
    verb(line) || label(line).is_some_and(|label| verb(line[label.len()..].trim_start_matches([':', ' '])))
}

/// Returns what follows `do not`, `don't`, or `never` at the beginning of a text.
fn without_negation(text: &str) -> Option<&str> {
    let (first, rest) = text.trim_start().split_once(' ')?;
    match first.to_lowercase().replace('’', "'").as_str() {
        "don't" | "never" => Some(rest),
        "do" => {
            rest.trim_start().split_once(' ').filter(|(not, _)| not.eq_ignore_ascii_case("not")).map(|(_, rest)| rest)
        }
        _ => None,
    }
}

/// Returns what a line has before its first colon, if it is short and has at most two words.
fn label(line: &str) -> Option<&str> {
    let (label, _) = line.split_once(':')?;
    (label.len() < MAX_LABEL_BYTES && label.split_whitespace().count() <= 2).then_some(label)
}

/// Returns whether a chunk is written as an identifier, with an underscore or an inner uppercase letter, or as an option
/// of a command.
fn is_identifier(chunk: &str) -> bool {
    if chunk.strip_prefix("--").is_some_and(|name| name.starts_with(char::is_alphabetic)) {
        return true;
    }
    words_of(chunk).any(|word| {
        let letters: Vec<char> = word.chars().collect();
        word.contains('_') || letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase())
    })
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
            "Do not round the times of the cache",
            "walk: don’t skip links",
            "Expose the parser",
        ] {
            assert!(read_plainly(text).is_change, "{text}");
        }
        for text in [
            "the fix works",
            "Thanks! That helped.\nFix it",
            "Wow: nice",
            "Fix the parser?",
            "Don't worry about it",
            "do we expose the parser",
            "one sentence that is much longer than a label of a module: add nothing",
            "",
        ] {
            assert!(!read_plainly(text).is_change, "{text}");
        }
    }

    #[test]
    fn labels_and_identifiers_of_the_first_line_are_recognized() {
        let label = |text: &str| read_plainly(text).label.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(label("walk: use a queue"), ["walk"]);
        assert_eq!(label("fix(flags): undo the changes"), ["flag"]);
        assert_eq!(label("fix: undo the changes: all"), [""; 0], "a kind of change is no label, nor are three words");
        assert_eq!(label("use a queue\n\nwalk: it is slow"), [""; 0]);
        for text in ["ToolResult class", "the reasoning_effort option", "a pager for --version", "`walk` is slow"] {
            assert!(read_plainly(text).names_symbol, "{text}");
        }
        for text in ["the Tool of Results", "yes -- please", "SIGINFO is fatal", "slow\nwalk_tree is it"] {
            assert!(!read_plainly(text).names_symbol, "{text}");
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
