//! A line of Markdown as plain text, for lists that show the beginnings of messages.
//! Not for: displaying an answer (`tui::text::markdown`), or any text that is sent or stored.

use crate::domain::conversation::message::{NodeHead, Role};
use std::borrow::Cow;

/// Returns the beginning of a message without Markdown marks; that of a tool's result verbatim.
pub fn beginning(head: &NodeHead) -> Cow<'_, str> {
    words_of(head, &head.preview)
}

/// Returns the first words of a message, which are given, in the same form.
pub fn words_of<'a>(head: &NodeHead, words: &'a str) -> Cow<'a, str> {
    if head.role == Role::Tool { Cow::Borrowed(words) } else { line(words) }
}

/// Returns a line without the Markdown marks of headings, lists, quotes, emphasis, code, and links, but with their
/// contents.
pub fn line(text: &str) -> Cow<'_, str> {
    let bare = without_block_marks(text);
    if bare.len() == text.len() && !text.contains(['*', '`', '[', '_']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bare.len());
    let (mut rest, mut has_code) = (bare, false);
    while let Some(at) = rest.find(['*', '`', '[', '_']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("```") {
            let after = rest.trim_start_matches('`');
            rest = if has_code { after } else { without_language(after) }.trim_start();
            has_code = !has_code;
        } else {
            rest = read_mark(&mut out, rest);
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns a line without the block marks at its beginning: `#`, `>`, `-`, `*`, or `+` before a space, and a code fence
/// with its language.
fn without_block_marks(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let marks = rest.trim_start_matches(['#', '>', '-', '*', '+']);
        let taken = rest.len() - marks.len();
        match marks.strip_prefix(' ') {
            Some(after) if (1..=6).contains(&taken) => rest = after.trim_start(),
            _ => break,
        }
    }
    let Some(code) = rest.strip_prefix("```") else { return rest };
    code.split_once(' ').map_or("", |(_, code)| code)
}

/// Returns the text after an opening fence without the language that the fence names.
fn without_language(text: &str) -> &str {
    let is_name =
        |name: &str| name.len() <= 20 && name.chars().all(|c| c.is_ascii_alphanumeric() || "+#-_.".contains(c));
    match text.split_once(' ') {
        Some((name, code)) if !name.is_empty() && is_name(name) => code,
        _ => text,
    }
}

/// Reads the mark, if it is one, at the beginning of `rest`, appends its contents to `out`, and returns the unread
/// rest.
fn read_mark<'a>(out: &mut String, rest: &'a str) -> &'a str {
    if let Some((words, after)) = link(rest) {
        out.push_str(&line(words));
        return after;
    }
    let first = rest.chars().next().unwrap_or_default();
    let run = rest.len() - rest.trim_start_matches(first).len();
    let (mark, after) = rest.split_at(run);
    let word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    let before = word(out.chars().last());
    // Underscores inside a word and double ones are part of a name; a star between spaces is a character, and a star
    // before `.` or `/` is part of a file name pattern.
    let inside = first == '_' && (run == 2 || before && after.chars().next().is_some_and(char::is_alphanumeric));
    let alone = !before && !word(after.chars().next());
    let pattern = first == '*' && after.starts_with(['.', '/']);
    if first == '[' || inside || alone || pattern {
        out.push_str(mark);
    }
    after
}

/// Returns the words of a link `[words](address)` and the text after it; `None` if the text does not start with a link.
fn link(rest: &str) -> Option<(&str, &str)> {
    let (words, after) = rest.strip_prefix('[')?.split_once("](")?;
    if words.contains('[') {
        return None;
    }
    Some((words, after.split_once(')')?.1))
}

/// Returns a sentence up to its first punctuation: `Fork here; an unsent message goes along.` gives `Fork here`.
pub fn first_clause(sentence: &str) -> &str {
    let stop = |(at, c): (usize, char)| {
        let last = sentence[at + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
        (c == '(' || (matches!(c, ':' | ';' | ',' | '.') && last)).then_some(at)
    };
    let end = sentence.char_indices().find_map(stop).unwrap_or(sentence.len());
    sentence[..end].trim_end()
}

/// Returns a sentence with a capital first letter. Paths, flags, and names keep their spelling.
pub fn capitalized(text: &str) -> Cow<'_, str> {
    let word = text.split_whitespace().next().unwrap_or_default();
    match text.chars().next() {
        Some(first) if word != "pleach" && word.chars().all(char::is_lowercase) => {
            format!("{}{}", first.to_uppercase(), &text[first.len_utf8()..]).into()
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_removed_and_words_kept() {
        for (text, plain) in [
            ("## Plan **A** and `b`", "Plan A and b"),
            ("- see [the book](https://example.org/a) now", "see the book now"),
            ("> * quoted", "quoted"),
            ("```rust fn main() {}", "fn main() {}"),
            ("Read this: ```rust fn main() {} ``` and that", "Read this: fn main() {} and that"),
            ("2 * 3 = 6, snake_case stays", "2 * 3 = 6, snake_case stays"),
            ("_so_ it is", "so it is"),
            ("*.rs in src/**/*.rs, __init__.py", "*.rs in src/**/*.rs, __init__.py"),
            ("a[0] and [x]", "a[0] and [x]"),
            ("-5 degrees", "-5 degrees"),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(line(text), plain);
        }
        assert!(matches!(line("plain"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn no_characters_are_added(text in "[a-z*_`#>\\[\\]() .-]{0,60}") {
            let plain = line(&text);
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).count();
            prop_assert!(plain.len() <= text.len());
            prop_assert!(letters(&plain) <= letters(&text));
        }
    }
}
