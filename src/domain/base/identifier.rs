//! Splits identifiers into their words: `parseHttpRequest2` into `parse`, `Http`, `Request`, `2`.
//! Not for: the terms of an index (`code::parse::words`, `retrieval::index::words`).

/// Splits an identifier at its separators, before an uppercase letter that starts a word, and between letters and
/// digits.
pub(crate) fn parts(word: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut found, mut start) = (Vec::new(), 0);
    let mut before: Option<char> = None;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if is_separator(c) {
            if at > start {
                found.push(&word[start..at]);
            }
            start = at + c.len_utf8();
            before = None;
            continue;
        }
        let next = chars.peek().map(|(_, c)| *c);
        let cut = before.is_some_and(|b| {
            (b.is_lowercase() && c.is_uppercase())
                || (b.is_uppercase() && c.is_uppercase() && next.is_some_and(char::is_lowercase))
                || (b.is_numeric() != c.is_numeric())
        });
        if cut && at > start {
            found.push(&word[start..at]);
            start = at;
        }
        before = Some(c);
    }
    if start < word.len() {
        found.push(&word[start..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn identifiers_are_split_at_separators_letter_cases_and_digits() {
        let split = |word| parts(word, |c| c == '_');
        assert_eq!(split("parseHttpRequest"), ["parse", "Http", "Request"]);
        assert_eq!(split("HTTPServer2"), ["HTTP", "Server", "2"]);
        assert_eq!(split("__max_2line_"), ["max", "2", "line"]);
        assert!(split("_").is_empty());
    }
}
