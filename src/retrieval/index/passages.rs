//! Cuts long messages into passages: preferably at paragraphs and code fences, else at lines, sentences, or words;
//! never inside a word.
//! Not for: exact token counts (`llm::counting::tokens`). The estimate here must be cheap and the same in every build.

use super::words::is_cjk;
use std::ops::Range;

/// Maximum tokens of a passage, by [`estimate`].
const PASSAGE_TOKENS: u32 = 200;
/// Maximum passages of a message; text after them is not searchable (about 200,000 tokens).
pub const MAX_PASSAGES: usize = 1_024;
/// Minimum length of a passage in percent of the limit, if a later cut is possible.
const MIN_PERCENT: u32 = 40;

/// Returns the quarter tokens of a character: four ASCII letters make a token, a CJK character makes one, others make
/// half of one.
fn quarters(c: char) -> u32 {
    if c.is_ascii() {
        1
    } else if is_cjk(c) {
        4
    } else {
        2
    }
}

/// Estimates the tokens of a text from its characters and their scripts.
pub fn estimate(text: &str) -> u32 {
    let total: u64 = text.chars().map(|c| u64::from(quarters(c))).sum();
    u32::try_from(total.div_ceil(4)).unwrap_or(u32::MAX)
}

/// Returns the byte ranges of a text's passages, in order and trimmed. A short text is one passage; an empty one has
/// none.
pub fn passages(text: &str) -> Vec<Range<usize>> {
    passages_of(text, PASSAGE_TOKENS)
}

/// Like [`passages`], with another limit.
pub fn passages_of(text: &str, most: u32) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut fenced = false;
    let mut start = 0;
    while let Some(from) = text[start..].find(|c: char| !c.is_whitespace()).map(|at| start + at) {
        if found.len() == MAX_PASSAGES {
            break;
        }
        let end = cut(text, from, most.max(1), &mut fenced);
        found.push(from..from + text[from..end].trim_end().len());
        start = end;
    }
    found
}

/// Returns the end of the passage that begins at `from`. `fenced` says whether `from` is inside a code fence, and is
/// updated for the cut.
fn cut(text: &str, from: usize, most: u32, fenced: &mut bool) -> usize {
    let (limit, least) = (u64::from(most) * 4, u64::from(most) * 4 * u64::from(MIN_PERCENT) / 100);
    let mut best: Option<((bool, u8), usize)> = None;
    let (mut sum, mut before, mut inside) = (0_u64, '\n', *fenced);
    let first = text[from..].chars().next().map_or(1, char::len_utf8);
    let mut line = from;
    for (offset, c) in text[from..].char_indices() {
        let at = from + offset;
        if before == '\n' {
            line = at;
            if text[at..].starts_with("```") {
                inside = !inside;
            }
        }
        if offset > 0 && !c.is_whitespace() && is_word_boundary(before, c) {
            let rank = rank(text, line, at, inside);
            let key = (sum >= least, rank);
            if best.is_none_or(|(top, _)| key >= top) {
                best = Some((key, at));
            }
        }
        sum += u64::from(quarters(c));
        if sum > limit {
            let end = best.map_or_else(|| at.max(from + first), |(_, at)| at);
            *fenced ^= text[from..end].lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
            return end;
        }
        before = c;
    }
    text.len()
}

/// Returns whether a word may end between two characters.
fn is_word_boundary(before: char, c: char) -> bool {
    before.is_whitespace()
        || is_cjk(before)
        || (is_cjk(c) && !before.is_alphanumeric())
        || matches!(before, '。' | '！' | '？')
}

/// Returns the rank of a cut before the word at `at`, in the line that begins at `line`: 4 for a paragraph's start
/// outside code, 3 for a line's start outside code, 2 for one inside code, 1 for a sentence's start, 0 for any other
/// word.
fn rank(text: &str, line: usize, at: usize, inside: bool) -> u8 {
    let head = &text[line..at];
    if head.trim().is_empty() {
        let above = text[..line].trim_end_matches([' ', '\t']);
        let paragraph = above.ends_with("\n\n") || above.ends_with("\n\r\n") || text[at..].starts_with("```");
        return match (inside && !text[at..].starts_with("```"), paragraph) {
            (false, true) => 4,
            (false, false) => 3,
            (true, _) => 2,
        };
    }
    let end = head.trim_end().chars().next_back();
    u8::from(!inside && matches!(end, Some('.' | '!' | '?' | '。' | '！' | '？' | ':' | ';')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_texts_are_one_passage() {
        assert_eq!(passages("  hello there \n").first(), Some(&(2..13)));
        assert!(passages(" \n\t").is_empty());
    }

    #[test]
    fn paragraphs_win_over_sentences() {
        let text = format!(
            "{}\n\n{}",
            "One sentence here. ".repeat(20).trim_end(),
            "Another one there. ".repeat(20).trim_end()
        );
        let found = passages_of(&text, 120);
        assert_eq!(found.len(), 2);
        assert!(text[found[1].clone()].starts_with("Another"));
    }

    #[test]
    fn text_at_the_limit_is_one_passage() {
        assert_eq!([400, 401].map(|length| passages_of(&"x".repeat(length), 100).len()), [1, 2]);
    }

    #[test]
    fn a_word_beyond_the_limit_is_cut() {
        let found = passages_of(&"x".repeat(5_000), 100);
        assert!(found.iter().all(|span| span.len() <= 400), "{found:?}");
        assert_eq!(found.iter().map(Range::len).sum::<usize>(), 5_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_words_stay_whole(text in "([a-zé数]{1,9}[ .\n]{1,2}|```\n){0,120}", most in 8_u32..60) {
            let found = passages_of(&text, most);
            let mut end = 0;
            for span in &found {
                prop_assert!(text[end..span.start].trim().is_empty());
                prop_assert!(estimate(&text[span.clone()]) <= most + 1);
                let before = text[..span.start].chars().next_back();
                let after = text[span.start..].chars().next();
                let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c));
                prop_assert!(!(inside(before) && inside(after)));
                end = span.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }

    #[test]
    fn words_end_at_spaces_and_beside_characters_that_are_words() {
        let cases = [(' ', 'a'), ('字', '字'), ('字', 'a'), ('-', '字'), ('。', 'a'), ('！', '字')];
        assert!(cases.into_iter().all(|(before, c)| is_word_boundary(before, c)));
        assert!(
            [('a', 'b'), ('a', '字'), ('7', '字'), ('-', 'a'), ('a', '-')]
                .into_iter()
                .all(|(a, b)| !is_word_boundary(a, b))
        );
    }

    /// The ranks of all word starts of a text.
    #[test]
    fn places_for_a_cut_are_ranked() {
        let ranks = |text: &str, inside: bool| -> String {
            let starts = text.char_indices().filter(|(at, c)| {
                *at > 0 && !c.is_whitespace() && is_word_boundary(text[..*at].chars().next_back().unwrap(), *c)
            });
            let line = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
            starts.map(|(at, _)| rank(text, line(at), at, inside).to_string()).collect()
        };
        for (text, outside, inside) in [
            ("a b", "0", "0"),
            ("a. b! c? d: e; f, g", "111110", "000000"),
            ("好。b 好！c 好？d", "01001001", "00000000"),
            ("a\nb", "3", "2"),
            ("a\n  b", "3", "2"),
            ("a\n\nb", "4", "2"),
            ("a\r\n\r\nb", "4", "2"),
            ("a\n \t\nb", "3", "2"),
            ("a\n\n \tb", "4", "2"),
            ("a\n```\nb", "43", "42"),
            ("a ```b", "0", "0"),
        ] {
            assert_eq!((ranks(text, false).as_str(), ranks(text, true).as_str()), (outside, inside), "{text:?}");
        }
        assert_eq!(
            ["", "a", "abcd", "abcde", "é", "éé", "éée", "数", "数据a"].map(estimate),
            [0, 1, 1, 2, 1, 1, 2, 1, 3]
        );
    }
}
