//! Splits a message into sentences and words: code fences line by line, prose by punctuation.
//! Not for: facts in them (`anchors`) or which of them matter (`extract`).

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SentencePlace {
    /// Prose, a list item, a heading.
    Prose,
    /// A command line: in a shell fence, or after a prompt sign.
    Shell,
    /// A line of other code or output.
    Code,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sentence<'a> {
    pub(crate) text: &'a str,
    pub(crate) place: SentencePlace,
}

const SHELLS: &[&str] = &["sh", "bash", "shell", "console", "zsh", "fish", "shell-session", "terminal"];

/// Returns a message's sentences in order, without fences and empty lines.
pub(crate) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<(&str, SentencePlace)> = None;
    for line in text.lines() {
        let bare = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (mark, fence) {
            (Some(mark), Some((open, _))) if mark == open => fence = None,
            (Some(mark), None) => {
                let language = bare.trim_start_matches(['`', '~']).split_whitespace().next().unwrap_or_default();
                let shell = SHELLS.contains(&language.to_ascii_lowercase().as_str());
                fence = Some((mark, if shell { SentencePlace::Shell } else { SentencePlace::Code }));
            }
            (_, Some((_, place))) if !bare.is_empty() => found.push(Sentence { text: bare, place }),
            (_, Some(_)) => {}
            (None, None) if bare.starts_with("$ ") => found.push(Sentence { text: bare, place: SentencePlace::Shell }),
            (None, None) => prose(bare, &mut found),
        }
    }
    found
}

/// Splits a line of prose at its punctuation. List bullets and heading signs are not part of a sentence.
fn prose<'a>(line: &'a str, found: &mut Vec<Sentence<'a>>) {
    let line = line.trim_start_matches(['#', '>', '*', '-', '+', '|', ' ']).trim();
    for range in cuts(line) {
        let text = line[range].trim();
        if text.chars().any(char::is_alphanumeric) {
            found.push(Sentence { text, place: SentencePlace::Prose });
        }
    }
}

/// Returns the ranges of sentences in a line. A line is cut after `.`, `!`, `?` before a space and the beginning of a
/// sentence; never inside backticks or after an abbreviation or initial.
fn cuts(line: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '`' {
            quoted = !quoted;
        }
        let end = at + c.len_utf8();
        let wide = matches!(c, '。' | '！' | '？');
        if quoted || !(wide || matches!(c, '.' | '!' | '?')) {
            continue;
        }
        let rest = &line[end..];
        let begins = |text: &str| {
            let first = text.trim_start().chars().next();
            first.is_some_and(|c| c.is_uppercase() || !c.is_alphanumeric() || c.is_numeric())
        };
        let spaced = rest.starts_with(char::is_whitespace) && begins(rest);
        let before = &line[start..at];
        let is_abbreviation = c == '.' && (ends_in_abbreviation(before) || is_date(before, rest));
        if wide || (spaced && !is_abbreviation) {
            ranges.push(start..end);
            start = end;
            chars.next_if(|(_, next)| next.is_whitespace());
        }
    }
    if start < line.len() {
        ranges.push(start..line.len());
    }
    ranges
}

fn ends_in_abbreviation(before: &str) -> bool {
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let plain = last.to_lowercase();
    let known = [
        "e.g", "i.e", "etc", "vs", "cf", "approx", "no", "fig", "dr", "mr", "ms", "mrs", "st", "incl", "nr", "z.b",
        "d.h", "u.a", "bzw", "ca", "inkl", "zzgl", "evtl", "ggf", "abs", "str", "tel", "p.ej", "sr", "sra", "núm",
    ];
    known.contains(&plain.as_str()) || last.chars().count() == 1
}

/// Returns whether a point after `before` and the text after it are a date such as "14. März".
fn is_date(before: &str, after: &str) -> bool {
    let day = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_day = (1..=2).contains(&day.len()) && day.chars().all(|c| c.is_ascii_digit());
    let months = [
        "januar",
        "februar",
        "märz",
        "april",
        "mai",
        "juni",
        "juli",
        "august",
        "september",
        "oktober",
        "november",
        "dezember",
    ];
    is_day && words(after).next().is_some_and(|word| months.contains(&word.as_str()))
}

const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "down", "each",
    "for", "from", "further", "get", "gets", "got", "had", "has", "have", "having", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "may", "me", "might", "more", "most", "much",
    "must", "my", "no", "nor", "not", "now", "of", "off", "ok", "on", "once", "one", "only", "or", "other", "our",
    "out", "over", "own", "please", "same", "she", "should", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us",
    "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "would",
    "yes", "you", "your",
];

/// Returns a text's words in lower case, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Returns a text's content words in lower case, in order.
pub(crate) fn content_words(text: &str) -> impl Iterator<Item = String> + '_ {
    words(text).filter(|word| has_content(word))
}

/// Returns whether a word in lower case carries content.
pub(crate) fn has_content(word: &str) -> bool {
    word.chars().count() > 1 && STOP_WORDS.binary_search(&word).is_err()
}

/// Returns whether a phrase occurs as whole words. Both are in lower case, and the text is as returned by [`spaced`].
pub(crate) fn contains_phrase(spaced: &str, phrase: &str) -> bool {
    spaced.contains(&format!(" {phrase} "))
}

/// Returns a text's words between single spaces, with a space at both ends.
pub(crate) fn spaced(text: &str) -> String {
    let mut out = String::from(" ");
    for word in words(text) {
        out.push_str(&word);
        out.push(' ');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|s| s.text).collect()
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn prose_is_split_only_at_punctuation() {
        assert_eq!(
            split("Use v1.2.3 of foo.rs, e.g. the new one. Then stop! Why? See `a. B` here."),
            ["Use v1.2.3 of foo.rs, e.g. the new one.", "Then stop!", "Why?", "See `a. B` here."]
        );
        assert_eq!(split("- one item\n* another. Second"), ["one item", "another.", "Second"]);
        assert_eq!(
            split("One of them. two. (Three.) 4 more. “Five”"),
            ["One of them. two.", "(Three.) 4 more.", "“Five”"]
        );
        assert_eq!(split("先做这个。然后做那个。"), ["先做这个。", "然后做那个。"]);
        assert_eq!(
            split("Er kommt am 14. März. Farbe: Blau Nr. 266. Es waren 14. Neue kamen."),
            ["Er kommt am 14. März.", "Farbe: Blau Nr. 266.", "Es waren 14.", "Neue kamen."]
        );
    }

    #[test]
    fn fences_are_lines() {
        let text = "Run\n```sh\ncargo test\n\ncargo run\n```\n```rust\nfn main() {}\n```\n$ ls -l";
        let grounds: Vec<SentencePlace> = sentences(text).iter().map(|s| s.place).collect();
        assert_eq!(
            grounds,
            [
                SentencePlace::Prose,
                SentencePlace::Shell,
                SentencePlace::Shell,
                SentencePlace::Code,
                SentencePlace::Shell
            ]
        );
    }

    #[test]
    fn phrases_are_whole_words() {
        let text = spaced("An important class, decided.");
        assert!(contains_phrase(&text, "decided") && !contains_phrase(&text, "import"));
    }
}
