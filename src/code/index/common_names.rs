//! Names that the standard library of a language gives to methods. A use of such a name is not evidence for a symbol of
//! the workspace with that name, because the type of the receiver is not known.
//! Not for: words of questions (`find::query`).

use crate::domain::code::Language;

/// Names of methods in Rust. Sorted.
#[rustfmt::skip]
const RUST: &[&str] = &[
    "all", "any", "as_bytes", "as_ref", "as_str", "borrow", "bytes", "chain", "chars", "clear", "clone", "cloned", "cmp",
    "collect", "contains", "contains_key", "copied", "count", "default", "drain", "drop", "entry", "enumerate", "eq", "err",
    "expect", "extend", "filter", "filter_map", "find", "first", "flat_map", "flush", "fmt", "fold", "from", "from_str",
    "get", "get_mut", "hash", "insert", "into", "into_iter", "is_empty", "is_none", "is_some", "iter", "iter_mut", "join",
    "keys", "last", "len", "lines", "lock", "map", "map_err", "max", "min", "new", "next", "parse", "peek", "pop", "push",
    "push_str", "read", "recv", "remove", "replace", "retain", "send", "skip", "sort", "split", "sum", "take", "then",
    "to_owned", "to_string", "trim", "unwrap", "unwrap_or", "unwrap_or_default", "value", "values", "with_capacity",
    "write", "zip",
];

/// Names of methods in Python. Sorted.
#[rustfmt::skip]
const PYTHON: &[&str] = &[
    "add", "all", "any", "append", "clear", "close", "copy", "count", "decode", "encode", "endswith", "extend", "filter",
    "find", "flush", "format", "get", "index", "insert", "items", "join", "keys", "len", "lower", "map", "max", "min", "next",
    "open", "pop", "read", "remove", "replace", "reverse", "seek", "set", "setdefault", "sort", "split", "startswith", "strip",
    "sum", "update", "upper", "value", "values", "write", "zip",
];

/// Names of methods in JavaScript and TypeScript. Sorted.
#[rustfmt::skip]
const SCRIPT: &[&str] = &[
    "add", "all", "apply", "bind", "call", "catch", "clear", "concat", "delete", "entries", "every", "filter", "find", "flat",
    "forEach", "from", "get", "has", "includes", "indexOf", "join", "keys", "length", "map", "match", "next", "parse", "pop",
    "push", "reduce", "replace", "resolve", "reverse", "set", "shift", "slice", "some", "sort", "splice", "split", "startsWith",
    "test", "then", "toString", "trim", "value", "values",
];

/// Names of methods in Go, C, C++, and Java. Sorted.
#[rustfmt::skip]
const COMPILED: &[&str] = &[
    "Add", "Close", "Done", "Error", "Get", "Len", "Less", "Lock", "Next", "Read", "Reset", "Scan", "Set", "String", "Swap",
    "Unlock", "Value", "Wait", "Write", "add", "append", "at", "back", "begin", "clear", "close", "contains", "count", "emplace",
    "empty", "end", "equals", "erase", "filter", "find", "first", "front", "get", "hashCode", "insert", "isEmpty", "iterator",
    "length", "map", "next", "pop", "push", "push_back", "put", "read", "remove", "replace", "reset", "second", "set", "size",
    "sort", "split", "stream", "substr", "substring", "swap", "toString", "trim", "value", "valueOf", "values", "write",
];

const LISTS: [&[&str]; 4] = [RUST, PYTHON, SCRIPT, COMPILED];

/// Returns the names of a language.
pub(crate) fn of(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::TypeScript | Language::Tsx | Language::JavaScript => SCRIPT,
        Language::Go | Language::C | Language::Cpp | Language::Java => COMPILED,
        Language::Toml | Language::Yaml | Language::Markdown => &[],
    }
}

/// Returns whether a name is common in any language.
pub(crate) fn is_common(name: &str) -> bool {
    LISTS.iter().any(|list| list.binary_search(&name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(Language::ALL.iter().all(|language| of(*language).is_sorted()));
        assert!(LISTS.iter().all(|list| list.is_sorted() && list.windows(2).all(|pair| pair[0] != pair[1])));
        assert!(is_common("push") && is_common("forEach") && !is_common("undo"));
    }
}
