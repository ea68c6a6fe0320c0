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
pub struct Query {
    /// Weights by term.
    pub terms: BTreeMap<Box<str>, f32>,
    /// Weights by identifier, as written.
    pub names: BTreeMap<Box<str>, f32>,
    /// Paths, as written.
    pub paths: Vec<String>,
    /// The names, in capitals, of documents that it may name without their extension: its words in capitals, and words
    /// for documents.
    pub documents: BTreeSet<Box<str>>,
    /// Paths that the message gives although the workspace has no such file; set by the caller. Their words are no terms.
    pub missing: Vec<String>,
    /// The terms of content words: no stop words, and no verbs of change or of asking.
    pub content: BTreeSet<Box<str>>,
    /// The terms of its first line, without the verb of change at its beginning.
    pub first_line: BTreeSet<Box<str>>,
    /// The terms of a label of its first line, such as `walk` in `walk: use a queue` and `fix(walk): use a queue`.
    pub label: BTreeSet<Box<str>>,
    /// Whether its first line names the change to make: it has a kind of change before a colon, or begins with a verb
    /// of change. A line with a question mark does not.
    pub is_change: bool,
    /// Whether its first line may name the change to make: it begins with a verb of change that is as common at the
    /// beginning of other orders.
    pub is_order: bool,
    /// The terms of identifiers of its first line, and of words in it that are marked as code.
    pub identifiers: BTreeSet<Box<str>>,
    /// The terms of words of its first line for texts and everyday matters, if nothing else in that line shows that it
    /// is about code: a label, an identifier, a path, or a failure.
    pub prose: BTreeSet<Box<str>>,
    /// The words of the terms, in lower case.
    pub words: BTreeMap<Box<str>, Box<str>>,
    /// Whether it is a question; set by the caller.
    pub asks: bool,
    /// Whether it is a question that begins with "where" or "how" and has no pronoun; set by the caller.
    pub asks_where: bool,
    /// Whether such a question asks how a part of the code works: "how is streaming handled"; set by the caller.
    pub asks_how_it_works: bool,
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

/// Words before or after the capitalized name of a part of code. Sorted.
const NAMED_KINDS: [&str; 12] =
    ["class", "def", "enum", "fn", "function", "interface", "macro", "method", "module", "struct", "trait", "type"];

/// Words for texts, their parts, and everyday matters, which other orders are about. Sorted.
#[rustfmt::skip]
const PROSE_WORDS: &[&str] = &[
    "advertisement", "article", "articles", "bakery", "ballad", "barbecue", "beach", "birthday", "blog", "boss",
    "breakfast", "brother", "cake", "caption", "chapter", "chapters", "children", "coffee", "dialogue", "diet",
    "dinner", "email", "emails", "essay", "essays", "exam", "exams", "expense", "expenses", "father", "food",
    "football", "friend", "friends", "gift", "gifts", "grammar", "guest", "guests", "haiku", "haikus", "hero",
    "holiday", "homework", "honey", "hotel", "humor", "invitation", "joke", "jokes", "kids", "landlord", "lesson",
    "lessons", "letter", "letters", "limerick", "lunch", "lyrics", "meal", "meals", "meeting", "mother", "movie",
    "movies", "newsletter", "novel", "packing", "paragraph", "paragraphs", "party", "plot", "poem", "poems", "prose",
    "recipe", "recipes", "restaurant", "resume", "rhyme", "rhymes", "shopping", "sister", "slogan", "song", "songs",
    "sonnet", "speech", "speeches", "spelling", "stories", "story", "sugar", "synonym", "synonyms", "tale", "tales",
    "tea", "teacher", "toast", "tone", "trip", "vacation", "verse", "verses", "visa", "weather", "wedding", "weekend",
    "workout",
];

/// Words for failures of programs. Sorted.
const FAILURES: [&str; 5] = ["crash", "crashes", "exception", "panic", "traceback"];

/// Terms of words that name tests, examples, and benchmarks.
const TESTS: [&str; 5] = ["bench", "benchmark", "exampl", "spec", "test"];

impl Query {
    /// Returns whether it asks about settings, installation, or documents, so that text files rank like code.
    pub fn asks_for_text(&self) -> bool {
        self.asks && self.names_text && !self.names_code
    }

    /// Returns whether a term of it says only that it asks about settings, installation, or documents.
    pub fn only_asks_for_text(&self, term: &str) -> bool {
        self.words.get(term).is_some_and(|word| TEXT_WORDS.binary_search(&&**word).is_ok())
    }

    /// Returns whether it is about code: it names a part of code or an identifier.
    pub fn is_about_code(&self) -> bool {
        self.names_code || (!self.names_text && !self.names.is_empty())
    }

    /// Returns whether it is a question and a word of it is a verb that does not say what it is about.
    pub fn asks_generally(&self, word: &str) -> bool {
        self.asks && GENERAL_VERBS.binary_search(&word).is_ok()
    }

    /// Returns whether it mentions tests.
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

/// Verbs that are too general to say by themselves what a question is about. Sorted.
#[rustfmt::skip]
const GENERAL_VERBS: &[&str] = &[
    "asked", "became", "become", "becomes", "began", "begin", "begins", "begun", "called", "calling", "calls", "came",
    "choose", "chooses", "choosing", "chose", "chosen", "come", "comes", "decide", "decided", "decides", "deciding", "ended",
    "ends", "gave", "give", "given", "gives", "happen", "happened", "happens", "kept", "knew", "known", "knows", "made",
    "mean", "means", "meant", "name", "named", "names", "pick", "picked", "picks", "returned", "returns", "said", "saved",
    "sent", "started", "starts", "stopped", "stops", "stored", "stores", "storing", "taken", "took", "tried", "written",
    "wrote",
];

/// Verbs at the beginning of messages that name the change to make. Sorted.
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

/// Verbs of change that are as common at the beginning of other orders. Sorted.
#[rustfmt::skip]
const ORDER_VERBS: &[&str] = &[
    "address", "applied", "apply", "bring", "cap", "collapse", "configure", "copy", "cover", "deduplicate", "define",
    "detect", "disallow", "display", "document", "documented", "emit", "enforce", "export", "expose", "extend", "forbid",
    "format", "generate", "group", "highlight", "ignore", "ignored", "ignores", "implementing", "import", "include",
    "included", "increase", "inline", "install", "lazily", "limit", "load", "lower", "mark", "migrate", "normalize", "omit",
    "only", "parse", "pass", "pin", "placate", "port", "prefer", "preserve", "print", "propagate", "raise", "reduce",
    "refine", "reformat", "regenerate", "reject", "render", "reorder", "reorganise", "reorganize", "require", "reset",
    "respect", "restrict", "return", "returns", "reuse", "revise", "round", "sanitize", "silence", "skip", "sort", "specify",
    "stash", "store", "strip", "suppress", "swap", "throw", "toggle", "track", "treat", "trim", "undid", "unset", "using",
    "validate", "warn", "wrap",
];

/// Maximum bytes of a label before a colon, such as the name of a module.
const MAX_LABEL_BYTES: usize = 40;

/// Parses a query.
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
            read_first_line(analyzer, whole, line, &mut query);
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

/// Reads what only the first line says. `whole` is the line with its kind of change.
fn read_first_line(analyzer: &Analyzer, whole: &str, line: &str, query: &mut Query) {
    query.first_line = query.content.clone();
    let verb = verb_of_change(line);
    let has_kind = line.len() < whole.len();
    let is_in = |verbs: &[&str]| verb.is_some_and(|verb| verbs.binary_search(&verb.to_lowercase().as_str()).is_ok());
    query.is_change = !line.contains('?') && (has_kind || is_in(CHANGE_VERBS));
    query.is_order = !line.contains('?') && !has_kind && is_in(ORDER_VERBS);
    if let Some(verb) = verb {
        query.first_line.remove(&analyzer.stem(verb));
    }
    query.label = label(line).into_iter().flat_map(words_of).map(|word| analyzer.stem(word)).collect();
    let named = line.split_whitespace().filter(|chunk| is_marked_as_code(chunk) || is_identifier(chunk));
    let terms = named.flat_map(words_of).flat_map(parts).map(|part| analyzer.stem(part));
    query.identifiers = terms.filter(|term| query.content.contains(term)).collect();
    let words: Vec<String> = words_of(line).map(str::to_lowercase).collect();
    let has = |list: &[&str]| words.iter().any(|word| list.binary_search(&word.as_str()).is_ok());
    let is_plain = !has_kind && label(line).is_none() && query.identifiers.is_empty() && query.paths.is_empty();
    if is_plain && !query.names_code && !has(&FAILURES) {
        let prose = words.iter().filter(|word| PROSE_WORDS.binary_search(&word.as_str()).is_ok());
        query.prose = prose.map(|word| analyzer.stem(word)).collect();
    }
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
            // Settings are often written with hyphens.
            if trimmed.contains('-') && trimmed.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_')) {
                raise_weight(&mut query.names, trimmed, weight);
            }
            query.names_code = true;
        }
    }
    let text = kept.join(" ");
    for name in names_beside_kinds(&text) {
        raise_weight(&mut query.names, name, weight);
    }
    let mut before: Option<&str> = None;
    for word in words_of(&text) {
        let lower = word.to_lowercase();
        let is_text_word = TEXT_WORDS.binary_search(&lower.as_str()).is_ok();
        query.names_text |= is_text_word;
        if is_text_word || (word.len() > 2 && !word.contains(char::is_lowercase)) {
            query.documents.insert(word.to_uppercase().into());
        }
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

/// Returns the capitalized words that a kind of code precedes or follows: "class Response", "the Response class". A stop
/// word, or a verb at the beginning, is none before its kind.
fn names_beside_kinds(text: &str) -> Vec<&str> {
    let words: Vec<&str> = words_of(text).collect();
    let is_kind = |word: &str| NAMED_KINDS.binary_search(&word).is_ok();
    let pairs = words.windows(2).enumerate();
    let named = pairs.filter_map(|(at, pair)| match [is_kind(pair[0]), is_kind(pair[1])] {
        [true, false] => Some(pair[1]),
        [false, true] => {
            let lower = pair[0].to_lowercase();
            Some(pair[0]).filter(|_| !is_stop(&lower) && (at > 0 || !is_verb(&lower)))
        }
        [true, true] | [false, false] => None,
    });
    named.filter(|name| name.len() > 2 && name.starts_with(char::is_uppercase)).collect()
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

/// Returns the verb of change at the beginning of a line, after a label, or after a negation.
fn verb_of_change(line: &str) -> Option<&str> {
    let first = |text| {
        let is_verb = |word: &&str| {
            let lower = word.to_lowercase();
            [CHANGE_VERBS, ORDER_VERBS].iter().any(|verbs| verbs.binary_search(&lower.as_str()).is_ok())
        };
        words_of(text).next().filter(is_verb)
    };
    let verb = |text| first(text).or_else(|| without_negation(text).and_then(first));
    let rest = |label: &str| line[label.len()..].trim_start_matches([':', ' ']);
    verb(line).or_else(|| label(line).map(rest).and_then(verb))
}

/// Returns the text after `do not`, `don't`, or `never` at the beginning of a text.
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

/// Returns the label of a line: the text before its first colon, if it is short and has at most two words.
fn label(line: &str) -> Option<&str> {
    let (label, _) = line.split_once(':')?;
    (label.len() < MAX_LABEL_BYTES && label.split_whitespace().count() <= 2).then_some(label)
}

/// Returns whether a chunk is written as an identifier, with an underscore or an inner uppercase letter, or as an
/// option of a command.
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
        for words in [CHANGE_VERBS, ORDER_VERBS, VERBS, CHANGE_KINDS, PROSE_WORDS, TEXT_WORDS, GENERAL_VERBS, &FAILURES]
        {
            assert!(words.is_sorted());
        }
        for text in [
            "Fix panic when the battery is missing",
            "fix(tui)!: keys of the list",
            "docs: typing",
            "walk: Use a bounded queue.",
            "\n  - Removed the old parser\n\nIt was slow.",
            "Do not use the times of the cache",
            "walk: don’t support links",
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
    fn verbs_that_begin_other_orders_are_recognized() {
        let is_order = |text: &str| {
            let query = read_plainly(text);
            assert!(!query.is_change, "{text}");
            query.is_order
        };
        for text in ["Limit the queue", "walk: don't skip links", "Do not round the times"] {
            assert!(is_order(text), "{text}");
        }
        for text in ["Limit the queue?", "a limit of the queue", "do we limit it", "Don't worry"] {
            assert!(!is_order(text), "{text}");
        }
    }

    #[test]
    fn labels_and_identifiers_of_the_first_line_are_recognized() {
        let label = |text: &str| read_plainly(text).label.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(label("walk: use a queue"), ["walk"]);
        assert_eq!(label("fix(flags): undo the changes"), ["flag"]);
        assert_eq!(label("fix: undo the changes: all"), [""; 0], "a kind of change is no label, nor are three words");
        assert_eq!(label("use a queue\n\nwalk: it is slow"), [""; 0]);
        let identifiers =
            |text: &str| read_plainly(text).identifiers.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(identifiers("ToolResult class"), ["result", "tool"]);
        assert_eq!(identifiers("the reasoning_effort option"), ["effort", "reason"]);
        assert_eq!(identifiers("a pager for --version"), ["version"]);
        assert_eq!(identifiers("`walk` is slow"), ["walk"]);
        for text in ["the Tool of Results", "yes -- please", "SIGINFO is fatal", "slow\nwalk_tree is it"] {
            assert_eq!(identifiers(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_capitalized_word_beside_a_kind_of_code_is_a_name() {
        let names = |text: &str| read_plainly(text).names.keys().map(ToString::to_string).collect::<Vec<_>>();
        for text in
            ["Where is class Response defined?", "What does the Response class do?", "the type Response, please"]
        {
            assert_eq!(names(text), ["Response"], "{text}");
        }
        for text in ["Where is a class of responses?", "The class is slow", "Add class of 2020", "Response to a letter"]
        {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn orders_about_texts_are_recognized_unless_something_shows_that_they_are_about_code() {
        let prose = |text: &str| read_plainly(text).prose.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(prose("Write a haiku about autumn"), ["haiku"]);
        assert_eq!(prose("Fix the grammar of the letters\n\nThanks"), ["grammar", "letter"]);
        for text in [
            "fix: letters of the list",
            "letters: add a list",
            "Add `letter` to the list",
            "Add the letter to list_of_names",
            "Fix the story in src/list.rs",
            "Fix the panic in the story",
            "Add a method to the story",
            "Add a list\n\nIt holds letters.",
        ] {
            assert_eq!(prose(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn the_first_line_has_its_own_content_words() {
        let query = read_plainly("fix: panic of the battery\n\nThe gauge divided by zero.");
        let words = |terms: &BTreeSet<Box<str>>| terms.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(words(&query.first_line), ["batteri", "panic"]);
        let order = read_plainly("gauge: Don't limit the battery");
        assert_eq!(words(&order.content), ["batteri", "gaug", "limit"]);
        assert_eq!(words(&order.first_line), ["batteri", "gaug"], "the verb is no subject");
        assert_eq!(words(&query.content), ["batteri", "divid", "gaug", "panic", "zero"]);
    }
}
