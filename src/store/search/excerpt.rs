//! Matches words in a message, and makes excerpts around the first match. Words are defined as in the search index:
//! runs of letters and digits, ignoring case and Latin diacritics.
//! Not for: finding messages (`messages`).

use std::ops::Range;

/// The number of words of an excerpt, and how many of them precede the match.
const WORDS: usize = 40;
const BEFORE: usize = 10;

/// Returns whether any word of a text has the prefix `open`, which must be folded.
pub(crate) fn has_word_prefix(text: &str, open: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| matches(word, open, true))
}

/// Returns a letter in lower case and, if it is Latin, without diacritics, as in the index.
pub(crate) fn fold(c: char) -> char {
    match c.to_lowercase().next().unwrap_or(c) {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ì'..='ï' | 'ī' | 'į' => 'i',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ő' => 'o',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

/// Returns an excerpt around the first match, in pieces: whether a piece is a match, and its text. With `open`, the
/// last word of the last phrase is a prefix. Without a match, returns the start of the text.
pub(crate) fn pieces(text: &str, phrases: &[String], open: bool) -> Vec<(bool, String)> {
    let wanted: Vec<Vec<String>> =
        phrases.iter().map(|phrase| parts(phrase)).filter(|parts| !parts.is_empty()).collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut hits: Vec<Range<usize>> = Vec::new();
    let mut first = None;
    for word in words(text) {
        ranges.push(word);
        let ends = |(at, parts): (usize, &Vec<String>)| {
            let from = ranges.len().checked_sub(parts.len())?;
            let is_prefix = open && at + 1 == wanted.len();
            let fits = parts
                .iter()
                .zip(&ranges[from..])
                .enumerate()
                .all(|(n, (part, word))| matches(&text[word.clone()], part, is_prefix && n + 1 == parts.len()));
            fits.then_some(from)
        };
        if let Some(from) = wanted.iter().enumerate().find_map(ends) {
            first.get_or_insert(from);
            let start = ranges[from].start;
            hits.retain(|hit| hit.start < start);
            hits.push(start..ranges[ranges.len() - 1].end);
        }
        if first.is_some_and(|first| ranges.len() > first.saturating_sub(BEFORE) + WORDS) {
            break;
        }
    }
    let from = first.unwrap_or(0).saturating_sub(BEFORE);
    let start = if from == 0 { 0 } else { ranges[from].start };
    let end = ranges.get(from + WORDS).map_or(text.len(), |cut| ranges[from + WORDS - 1].end.min(cut.start));
    with_ellipses(text, start..end, hits)
}

/// Returns a part of a text in pieces, with ellipses where text is omitted.
fn with_ellipses(text: &str, range: Range<usize>, hits: Vec<Range<usize>>) -> Vec<(bool, String)> {
    let mut all = Vec::new();
    let mut at = range.start;
    let mut lead = if at > 0 { "…" } else { "" };
    for hit in hits.into_iter().filter(|hit| hit.end <= range.end) {
        if hit.start > at || !lead.is_empty() {
            all.push((false, format!("{lead}{}", &text[at..hit.start.max(at)])));
        }
        lead = "";
        all.push((true, text[hit.start.max(at)..hit.end].to_owned()));
        at = hit.end;
    }
    let rest = format!("{lead}{}{}", &text[at..range.end], if range.end < text.len() { "…" } else { "" });
    all.extend((!rest.is_empty()).then_some((false, rest)));
    all
}

/// Returns the byte ranges of the words of a text.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(char::is_alphanumeric)?;
        let end = text[start..].find(|c: char| !c.is_alphanumeric()).map_or(text.len(), |end| start + end);
        at = end;
        Some(start..end)
    })
}

/// Returns the words of a phrase, folded.
fn parts(phrase: &str) -> Vec<String> {
    words(phrase).map(|word| phrase[word].chars().map(fold).collect()).collect()
}

/// Returns whether a word equals `wanted` or, if `is_prefix`, begins with it.
fn matches(word: &str, wanted: &str, is_prefix: bool) -> bool {
    let mut letters = word.chars().map(fold);
    wanted.chars().all(|letter| letters.next() == Some(letter)) && (is_prefix || letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, phrases: &[&str], open: bool) -> String {
        let phrases: Vec<String> = phrases.iter().map(|&phrase| phrase.to_owned()).collect();
        let shown = pieces(text, &phrases, open);
        shown.into_iter().map(|(hit, words)| if hit { format!("[{words}]") } else { words }).collect()
    }

    #[test]
    fn matches_are_marked_in_place() {
        assert_eq!(found("A Bee and a béé", &["bee"], false), "A [Bee] and a [béé]");
        assert_eq!(found("bees dance in circles", &["bee"], false), "bees dance in circles");
        assert_eq!(found("bees dance in circles", &["dance in", "bee"], true), "[bees] [dance in] circles");
        assert_eq!(found("a.b-c", &["b c"], false), "a.[b-c]");
        assert_eq!(found("", &["b"], false), "");
        let long = format!("{}needle {}", "hay ".repeat(50), "straw ".repeat(50));
        let shown = found(&long, &["needle"], false);
        assert!(
            shown.starts_with("…hay") && shown.contains("hay [needle] straw") && shown.ends_with("straw…"),
            "{shown}"
        );
        assert_eq!(shown.split_whitespace().count(), WORDS);
    }

    proptest! {
        #[test]
        fn an_excerpt_is_a_substring_of_the_text(text in "[a-cé .]{0,300}", phrase in "[a-c]{1,2}( [a-c])?", open: bool) {
            let shown = pieces(&text, &[phrase], open);
            let words: String = shown.iter().map(|(_, words)| words.as_str()).collect();
            prop_assert!(text.contains(words.trim_matches('…')));
            prop_assert!(shown.iter().all(|(_, words)| !words.is_empty()));
        }
    }
}
