//! Finds which items of a call its answer used: quoted, named, edited, mentioned by symbol, or expanded by a tool.
//! Pure: texts in, kinds of evidence out.
//! Not for: collecting the texts (`engine::turns::item_use`) or summing up the evidence (`domain::call::item_use`).
//!
//! * **quoted**: the answer or the arguments of a tool call contain four consecutive content words of the item (stop
//!   words between them are skipped) that were not known otherwise and are in fewer than [`SHARED`](references::SHARED)
//!   items; or eight of them, however many items contain them. Code needs eight, since four are often just syntax.
//! * **named**: the answer contains a path, identifier, or number of the item (as [`references`] recognizes them) or
//!   refers to its turn, and it was not known otherwise and is in fewer than [`SHARED`](references::SHARED) items.
//! * **symbol**: the answer names the symbol in a form that is not an everyday word: `name(`, `` `name` ``,
//!   `Type::name`.
//! * **edited**, **expanded**: from the tool calls, by path and lines.

use super::references;
use super::summary::text::has_content;
use crate::domain::call::UseKind;
use crate::domain::code::{CodeRef, Kind};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Consecutive content words that make a quotation.
const QUOTE_WORDS: usize = 4;
/// Content words that make a quotation even if many items contain them.
const LONG_QUOTE_WORDS: usize = 8;
/// Minimum digits of a number without a unit.
const MIN_DIGITS: usize = 3;
/// Units after a number, in lower case and sorted.
const UNITS: &[&str] = &[
    "%", "b", "days", "files", "gb", "ghz", "gib", "h", "hours", "hz", "k", "kb", "khz", "kib", "lines", "m", "mb",
    "mhz", "mib", "min", "minutes", "ms", "ns", "px", "qps", "retries", "rows", "rps", "s", "seconds", "tb", "threads",
    "times", "tokens", "us", "x", "µs",
];
/// Method names that every program has; alone they identify no symbol.
const COMMON: &[&str] = &[
    "build", "clone", "close", "create", "default", "delete", "drop", "find", "from", "index", "init", "insert",
    "into", "iter", "main", "name", "next", "open", "parse", "push", "read", "remove", "reset", "send", "start",
    "stop", "test", "update", "value", "write",
];

/// An item of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentItem<'a> {
    pub text: &'a str,
    /// Its turn's number.
    pub turn: Option<u32>,
    /// The file it was taken from.
    pub path: Option<&'a str>,
    /// The symbol it shows.
    pub code: Option<&'a CodeRef>,
}

/// A file that a tool changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedFile {
    /// Path relative to the workspace, with `/`.
    pub path: String,
    /// The changed lines, from 1, in the numbering before the change; `None` if unknown.
    pub lines: Option<(u32, u32)>,
}

impl ChangedFile {
    /// Returns the lines of `before`, from 1, that differ from `after`, without the common beginning and end. For a
    /// pure insertion, the two lines around it; `None` if the texts are equal.
    pub fn lines(before: &str, after: &str) -> Option<(u32, u32)> {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let most = old.len().min(new.len());
        let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let end = old.iter().rev().zip(new.iter().rev()).take(most - start).take_while(|(a, b)| a == b).count();
        if start + end == old.len() && old.len() == new.len() {
            return None;
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (first, last) = (start + 1, old.len() - end);
        Some(if first <= last { (number(first), number(last)) } else { (number(last.max(1)), number(first)) })
    }
}

/// A tool call in the answer.
#[derive(Clone, Debug, Default)]
pub struct ToolUse {
    /// The arguments, verbatim.
    pub args: String,
    /// Whether it succeeded.
    pub done: bool,
    pub changed: Vec<ChangedFile>,
}

/// Returns for each item the kinds of evidence that the answer used it. `known` is the text that the model had in
/// addition to the items (question, tool results, instructions); `answer` is the text of the answer.
pub fn find_uses(items: &[SentItem<'_>], known: &str, answer: &str, calls: &[ToolUse]) -> Vec<Vec<UseKind>> {
    let args: Vec<Value> = calls.iter().map(|call| serde_json::from_str(&call.args).unwrap_or_default()).collect();
    let mut answer_and_args = answer.to_owned();
    for (call, args) in calls.iter().zip(&args) {
        append_strings(args, &mut answer_and_args);
        if args.is_null() {
            answer_and_args.push('\n');
            answer_and_args.push_str(&call.args);
        }
    }
    let (quoted, named) = (quoted(items, known, &answer_and_args), named(items, known, &answer_and_args));
    let of = |(at, item): (usize, &SentItem<'_>)| {
        let shown = calls.iter().zip(&args).any(|(call, args)| expanded(item, call, args));
        let changed = calls.iter().filter(|call| call.done).flat_map(|call| &call.changed);
        let edited =
            changed.filter(|file| Some(file.path.as_str()) == path(item)).any(|file| touches(item, file.lines));
        [
            (UseKind::Quoted, quoted.contains(&at)),
            (UseKind::Named, named.contains(&at)),
            (UseKind::Edited, edited),
            (UseKind::Symbol, item.code.is_some_and(|code| mentioned(&answer_and_args, code))),
            (UseKind::Expanded, shown),
        ]
        .into_iter()
        .filter_map(|(kind, applies)| applies.then_some(kind))
        .collect()
    };
    items.iter().enumerate().map(of).collect()
}

/// Appends every string of a JSON value, one per line.
fn append_strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push('\n');
            out.push_str(text);
        }
        Value::Array(all) => all.iter().for_each(|value| append_strings(value, out)),
        Value::Object(all) => all.values().for_each(|value| append_strings(value, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the hashes of all runs of [`QUOTE_WORDS`] content words. A path or a qualified name is one word.
fn runs(text: &str) -> Vec<u64> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '/' | '\\' | '.' | ':' | '-');
    let words = text.split(|c: char| !inside(c)).map(|word| word.trim_matches(['\'', '.', ':', '-', '/', '\\']));
    let words: Vec<u64> =
        words.map(str::to_lowercase).filter(|word| has_content(word)).map(|word| hash(&word)).collect();
    words.windows(QUOTE_WORDS).map(hash).collect()
}

fn quoted(items: &[SentItem<'_>], known: &str, answer_and_args: &str) -> BTreeSet<usize> {
    let mut wanted: HashSet<u64> = runs(answer_and_args).into_iter().collect();
    if wanted.is_empty() {
        return BTreeSet::new();
    }
    for run in runs(known) {
        wanted.remove(&run);
    }
    let mut found = BTreeSet::new();
    let mut short: Vec<(usize, BTreeSet<u64>)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let own = runs(item.text);
        let long = own.split(|run| !wanted.contains(run)).any(|part| part.len() > LONG_QUOTE_WORDS - QUOTE_WORDS);
        if long {
            found.insert(at);
        }
        short.push((at, own.into_iter().filter(|run| wanted.contains(run)).collect()));
    }
    let all: BTreeSet<u64> = short.iter().flat_map(|(_, runs)| runs).copied().collect();
    let few = references::holders(&short, &all);
    found.extend(few.into_iter().filter(|at| items[*at].code.is_none()));
    found
}

/// Returns a path without a trailing line number.
fn without_line(name: &str) -> &str {
    let line = name.find(':').filter(|at| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    line.map_or(name, |at| &name[..at])
}

/// Returns a name, and for a path also its file name.
fn forms(name: &str) -> impl Iterator<Item = &str> {
    let name = without_line(name);
    let file = name.rsplit_once('/').map(|(_, file)| file).filter(|file| file.contains('.'));
    [Some(name), file].into_iter().flatten()
}

fn named(items: &[SentItem<'_>], known: &str, answer_and_args: &str) -> BTreeSet<usize> {
    let mut wanted: BTreeSet<String> =
        references::all_symbols(answer_and_args).map(|name| without_line(name).to_owned()).collect();
    wanted.extend(numbers(answer_and_args));
    for name in references::all_symbols(known).flat_map(forms) {
        wanted.remove(name);
    }
    for number in numbers(known) {
        wanted.remove(&number);
    }
    let before: HashSet<String> = references::find_references(known).into_iter().collect();
    let new = references::find_references(answer_and_args).into_iter().filter(|name| !before.contains(name));
    // Ids have no spaces.
    let (turns, ids): (Vec<String>, Vec<String>) = new.partition(|name| name.contains(' '));
    let mut found = BTreeSet::new();
    let mut names_by_item: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let turn = item.turn.is_some_and(|turn| turns.contains(&format!("turn {turn}")));
        if turn || ids.iter().any(|id| item.text.contains(id)) {
            found.insert(at);
        }
        if !wanted.is_empty() {
            let names = references::all_symbols(item.text).flat_map(forms).filter(|name| wanted.contains(*name));
            let mut names: BTreeSet<String> = names.map(str::to_owned).collect();
            names.extend(numbers(item.text).filter(|number| wanted.contains(number)));
            names_by_item.push((at, names));
        }
    }
    found.extend(references::holders(&names_by_item, &wanted));
    found
}

/// Returns the distinctive numbers in a text: three digits or more and not round, or with a unit (`37%`, `1500ms`).
/// Thousands separators are removed; digits inside a word do not count.
fn numbers(text: &str) -> impl Iterator<Item = String> + '_ {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !digit(at) {
                at += 1;
                continue;
            }
            let start = at;
            while digit(at) || (matches!(bytes.get(at), Some(b'.' | b',' | b':' | b'-' | b'/')) && digit(at + 1)) {
                at += 1;
            }
            let in_word = text[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
            if let Some(number) = number(&text[start..at], &text[at..]).filter(|_| !in_word) {
                return Some(number);
            }
        }
        None
    })
}

fn number(value: &str, behind: &str) -> Option<String> {
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '%');
    let spaced = behind.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(behind);
    let unit: String = spaced.chars().take_while(|c| letter(*c)).take(9).collect::<String>().to_lowercase();
    let unit = Some(unit).filter(|unit| UNITS.binary_search(&unit.as_str()).is_ok());
    let value = value.replace(',', "");
    if let Some(unit) = unit {
        return Some(value + &unit);
    }
    let in_word = behind.starts_with(letter);
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let round = value.trim_end_matches('0').len() <= 1;
    (!in_word && digits >= MIN_DIGITS && !round).then_some(value)
}

/// Returns whether a text names a symbol in a form that is not an everyday word.
pub fn mentioned(text: &str, code: &CodeRef) -> bool {
    if code.kind == Kind::File {
        return false;
    }
    let whole = code.qualified.as_str();
    let name = whole.rsplit([':', '.']).next().unwrap_or(whole);
    let shape = references::all_symbols(name).next().is_some();
    let common = name.len() < 4 || COMMON.binary_search(&name).is_ok();
    let parent = whole[..whole.len() - name.len()].trim_end_matches([':', '.']).rsplit([':', '.']).next();
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            if before.ends_with(letter) || behind.starts_with(letter) {
                return false;
            }
            let above = before.trim_end_matches([':', '.']);
            let of_type = above.len() < before.len() && parent.is_some_and(|of| !of.is_empty() && above.ends_with(of));
            let quoted = before.ends_with('`') && behind.starts_with(['`', '(']);
            of_type || (!common && (shape || quoted || behind.starts_with(['(', '!']) || before.ends_with("::")))
        })
}

fn path<'a>(item: &SentItem<'a>) -> Option<&'a str> {
    item.code.map(|code| code.path.as_str()).or(item.path)
}

/// Returns whether changed lines overlap the lines of an item.
fn touches(item: &SentItem<'_>, lines: Option<(u32, u32)>) -> bool {
    match (item.code, lines) {
        (Some(code), Some((first, last))) => first <= code.lines.1 && code.lines.0 <= last,
        _ => true,
    }
}

/// Returns whether a tool call that changed nothing asked for an item's symbol, file, or lines.
fn expanded(item: &SentItem<'_>, call: &ToolUse, args: &Value) -> bool {
    if !call.done || !call.changed.is_empty() {
        return false;
    }
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let number = |name: &str| args.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let file = ["path", "file", "file_path", "filename"].into_iter().find_map(text);
    let file = file.map(|file| file.trim_start_matches("./"));
    if let (Some(symbol), Some(code)) = (text("symbol"), item.code) {
        let whole = code.qualified.as_str();
        let ends = whole.strip_suffix(symbol).is_some_and(|rest| rest.is_empty() || rest.ends_with([':', '.']));
        return ends && file.is_none_or(|file| code.path.ends_with(file));
    }
    let first = number("start_line");
    let lines = first.map(|first| (first, number("lines").map_or(u32::MAX, |lines| first.saturating_add(lines))));
    file.is_some() && file == path(item) && touches(item, lines)
}

#[cfg(test)]
#[path = "item_use_tests.rs"]
mod tests;
