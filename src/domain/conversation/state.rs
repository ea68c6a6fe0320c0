//! The state block that a model writes at the end of its answers: finding it and removing it.
//! Not for: storing versions (`store`) or sending the block (`context`).
//!
//! The last complete block that begins at the start of a line outside code fences counts. A block extends from
//! `---STATE---` to `---END STATE---` (or to the end of the text, if the answer is finished), or from a `### STATE`
//! header to the next header of level 3 or above. A mention inside a line is not a block, and neither is an empty one.

use std::ops::Range;

/// Maximum bytes of a block. Other modules limit its tokens.
pub const MAX_BYTES: usize = 32 * 1024;

/// A block found in an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateBlock {
    /// The trimmed text between the delimiters.
    pub text: String,
    /// The byte range in the answer, with delimiters.
    pub span: Range<usize>,
}

/// Returns the state block of an answer. A block without an end marker counts only if the answer is `finished`.
pub fn find(answer: &str, finished: bool) -> Option<StateBlock> {
    let mut found = None;
    let mut open: Option<OpenBlock> = None;
    let mut fence: Option<(char, usize)> = None;
    for line in lines(answer) {
        let text = answer[line.clone()].trim_end();
        if open.is_none() {
            fence = next_fence(text, fence);
        }
        if fence.is_some() {
            continue;
        }
        if is_start(text) {
            if let Some(header) = open.take().filter(|o| o.header) {
                found = close(answer, &header, line.start, line.start).or(found);
            }
            open = Some(OpenBlock { start: line.start, body: line.end, header: is_header_start(text) });
        } else if let Some(current) = &open {
            let ends_header = current.header && header_level(text).is_some_and(|level| level <= 3);
            let is_end = text == "---END STATE---";
            if is_end || ends_header {
                found = close(answer, current, line.start, if is_end { line.end } else { line.start }).or(found);
                open = None;
            }
        }
    }
    if let Some(last) = open.filter(|_| finished) {
        found = close(answer, &last, answer.len(), answer.len()).or(found);
    }
    found
}

/// Returns the answer without its block and without white space at the end; unchanged if it has no block.
pub fn strip(answer: &str, finished: bool) -> String {
    match find(answer, finished) {
        Some(block) => {
            let mut kept = answer[..block.span.start].trim_end().to_owned();
            let after = answer[block.span.end..].trim();
            if !after.is_empty() {
                if !kept.is_empty() {
                    kept.push_str("\n\n");
                }
                kept.push_str(after);
            }
            kept
        }
        None => answer.to_owned(),
    }
}

/// Returns the number of bytes of a growing answer that can be shown already: those before the first line that starts a
/// block, or that could become such a line.
pub fn shown_while_streaming(answer: &str) -> usize {
    let mut fence = None;
    for line in lines(answer) {
        let text = answer[line.clone()].trim_end();
        fence = next_fence(text, fence);
        let last = line.end == answer.len() && !answer.ends_with('\n');
        let may_become_start = last && text.len() >= 3 && "---STATE---".starts_with(text);
        if fence.is_none() && (is_start(text) || may_become_start) {
            return answer[..line.start].trim_end().len();
        }
    }
    answer.len()
}

/// A block whose end was not found yet, with positions in bytes.
struct OpenBlock {
    start: usize,
    /// Start of the text after the start marker.
    body: usize,
    /// Whether it starts with a header.
    header: bool,
}

/// Returns the block with its end; `None` if its text is empty or too long.
fn close(answer: &str, open: &OpenBlock, body_end: usize, span_end: usize) -> Option<StateBlock> {
    let text = answer[open.body..body_end].trim();
    let fits = !text.is_empty() && text.len() <= MAX_BYTES;
    fits.then(|| StateBlock { text: text.to_owned(), span: open.start..span_end })
}

/// Returns the byte ranges of the lines, each with its line break.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..at
    })
}

/// Returns the open code fence (its character and length) after a line. A fence opens with three or more backticks or
/// tildes, and closes with at least as many of the same.
fn next_fence(line: &str, fence: Option<(char, usize)>) -> Option<(char, usize)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
    let count = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
    match (fence, mark) {
        (None, Some(mark)) if count >= 3 => Some((mark, count)),
        (Some((open, length)), Some(mark)) if mark == open && count >= length && text[count..].trim().is_empty() => {
            None
        }
        _ => fence,
    }
}

fn is_start(line: &str) -> bool {
    line == "---STATE---" || is_header_start(line)
}

fn is_header_start(line: &str) -> bool {
    line == "### STATE"
}

fn header_level(line: &str) -> Option<usize> {
    let level = line.chars().take_while(|c| *c == '#').count();
    (level > 0 && line[level..].starts_with(' ')).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(answer: &str, finished: bool) -> Option<String> {
        find(answer, finished).map(|block| block.text)
    }

    proptest! {
        #[test]
        fn never_panics_and_spans_are_sound(pieces in proptest::collection::vec(
            prop_oneof![Just("---STATE---\n"), Just("---END STATE---\n"), Just("### STATE\n"), Just("```\n"), Just("Goal: é\n"), Just("x"), Just("## h\n")], 0..12)) {
            let answer = pieces.concat();
            for finished in [true, false] {
                if let Some(block) = find(&answer, finished) {
                    prop_assert!(answer[block.span].contains(&block.text));
                }
                let _ = strip(&answer, finished);
            }
            prop_assert!(answer.is_char_boundary(shown_while_streaming(&answer)));
        }
    }

    /// Each case: an answer, its block if finished, its block if unfinished, and the rest.
    #[test]
    fn blocks_line_by_line() {
        const B: &str = "---STATE---\nx\n---END STATE---\n";
        let cases: &[(&str, Option<&str>, Option<&str>, &str)] = &[
            (&format!("a\n{B}b"), Some("x"), Some("x"), "a\n\nb"),
            (&format!("{B}b\n---STATE---\ny\n---END STATE---"), Some("y"), Some("y"), &format!("{B}b")),
            (B, Some("x"), Some("x"), ""),
            (&format!("{B}\n b \n"), Some("x"), Some("x"), "b"),
            (&format!("a  \n\n{B}"), Some("x"), Some("x"), "a"),
            (&format!("```\n{B}"), None, None, ""),
            (&format!("```\n````\n{B}"), Some("x"), Some("x"), "```\n````"),
            (&format!("````\n```\n{B}"), None, None, ""),
            (&format!("```\n~~~\n{B}"), None, None, ""),
            (&format!("~~~\n~~~\n{B}"), Some("x"), Some("x"), "~~~\n~~~"),
            (&format!("```\n``` b\n{B}"), None, None, ""),
            (&format!("``\n{B}"), Some("x"), Some("x"), "``"),
            (&format!("  ```rust\n{B}"), None, None, ""),
            (&format!("```\na\n  ``` \n{B}"), Some("x"), Some("x"), "```\na\n  ```"),
            ("---STATE---\n```\n---END STATE---", Some("```"), Some("```"), ""),
            ("---STATE---\na\n---STATE---\nb\n---END STATE---", Some("b"), Some("b"), "---STATE---\na"),
            ("### STATE\na\n### STATE\nb", Some("b"), Some("a"), "### STATE\na"),
            ("### STATE\na\n---STATE---\n", Some("a"), Some("a"), "---STATE---"),
            ("### STATE\na\n---END STATE---\nb", Some("a"), Some("a"), "b"),
            ("### STATE\na\n# b", Some("a"), Some("a"), "# b"),
            ("### STATE\na\n### b", Some("a"), Some("a"), "### b"),
            ("### STATE\na\n#### b", Some("a\n#### b"), None, ""),
            ("### STATE\na\n#b", Some("a\n#b"), None, ""),
            ("### STATE\na\n b # c", Some("a\n b # c"), None, ""),
            ("---STATE---\na\n## b", Some("a\n## b"), None, ""),
            ("---STATE---  \na", Some("a"), None, ""),
            (" ---STATE---\na", None, None, ""),
            ("write ---STATE--- at the end", None, None, ""),
            ("### STATEMENT\na", None, None, ""),
            ("---END STATE---\na", None, None, ""),
            (&format!("{B}---STATE---\n \n"), Some("x"), Some("x"), "---STATE---"),
            (&format!("{B}### STATE\n\n# b"), Some("x"), Some("x"), "### STATE\n\n# b"),
        ];
        for (answer, finished, unfinished, rest) in cases {
            assert_eq!(
                (text_of(answer, true).as_deref(), text_of(answer, false).as_deref()),
                (*finished, *unfinished),
                "{answer:?}"
            );
            let rest = if finished.is_none() { answer } else { rest };
            assert_eq!(strip(answer, true), *rest, "{answer:?}");
        }
        let long = |bytes: usize| text_of(&format!("---STATE---\n{}\n---END STATE---", "x".repeat(bytes)), true);
        assert_eq!((long(MAX_BYTES).map(|text| text.len()), long(MAX_BYTES + 1)), (Some(MAX_BYTES), None));
    }

    #[test]
    fn showable_prefixes_of_growing_answers() {
        for (answer, shown) in [
            ("", 0),
            ("---", 0),
            ("a\n--", 4),
            ("a\n---", 1),
            ("a\n---\n", 6),
            ("a\n---STATE---\nb", 1),
            ("a\n----", 6),
            ("a\n---STATE--", 1),
            ("a\n--- ", 1),
            ("a\n\n### STATE\nb", 1),
            ("a\n### STATES\nb", 14),
            ("```\n---STATE---\n", 16),
            ("```\n---", 7),
            ("```\n```\n---S", 7),
            ("a ---STATE---\nb", 15),
        ] {
            assert_eq!(shown_while_streaming(answer), shown, "{answer:?}");
        }
    }
}
