//! Extracts plain text from documentation comments.
//! Not for: locating them (`lead`, `file`).

use crate::code::symbol::Symbol;

/// Maximum bytes of a comment that are read.
const MAX_BYTES: usize = 4_000;
/// Maximum characters of a first sentence.
const MAX_SENTENCE: usize = 160;

/// Returns a symbol's documentation without comment markers, line by line.
pub(crate) fn words(symbol: &Symbol, text: &[u8]) -> String {
    let raw = &text[symbol.doc.within(text.len())];
    let raw = String::from_utf8_lossy(&raw[..raw.len().min(MAX_BYTES)]);
    let lines = raw.lines().map(|line| {
        let stripped = line.trim().trim_start_matches(['/', '*', '!', '#']).trim_start();
        stripped.strip_suffix("*/").unwrap_or(stripped).trim_end()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns the first sentence of the documentation, on one line.
pub(crate) fn first_sentence(symbol: &Symbol, text: &[u8]) -> String {
    let words = words(symbol, text);
    let first = words.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let end = first.find(". ").map_or(first.len(), |end| end + 1);
    let sentence = &first[..end];
    match sentence.char_indices().nth(MAX_SENTENCE) {
        Some((cut, _)) => format!("{}…", &sentence[..cut]),
        None => sentence.to_owned(),
    }
}
