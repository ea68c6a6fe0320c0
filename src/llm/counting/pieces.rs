//! Splits text into pieces that are counted separately: bounded in length, cheap to recount after a keystroke, and cut
//! where possible at a boundary of the tokenizer's own pattern, so that the sum of the pieces equals the count of the
//! whole.
//! Not for: counting (`tokens`).
//!
//! Boundaries that both vocabularies' patterns have, and that are therefore exact:
//! - after the last line end of a run of white space, if followed by something other than `/` (`o200k_base` allows
//!   `[\r\n/]*` after punctuation);
//! - before a space or tab that follows a visible character;
//! - between a letter or digit and ASCII or CJK punctuation (but not before `'`, which may be a contraction).

/// From this many bytes on, a piece ends at the next exact boundary.
const SOFT: usize = 4 * 1024;
/// Text without an exact boundary is cut here, inexactly. A multiple of 64.
const HARD: usize = 1024;
/// Like `HARD`, for digits, which tokenizers group by three.
const HARD_DIGITS: usize = 1023;

/// Splits a text into pieces whose concatenation is the text.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(first_piece(rest));
        rest = tail;
        Some(piece)
    })
}

/// Returns the length of the first piece in bytes. Scans at most the piece and one bounded run of white space.
fn first_piece(text: &str) -> usize {
    let mut before: Option<char> = None;
    let mut boundary = 0;
    let mut line_end = None;
    for (at, c) in text.char_indices() {
        if !c.is_whitespace()
            && let Some(cut) = line_end.take().filter(|cut| *cut < at || c != '/')
        {
            boundary = cut;
            if ends_group(&text.as_bytes()[..cut]) || cut >= SOFT {
                return cut;
            }
        }
        if before.is_some_and(|before| is_boundary(before, c)) {
            boundary = at;
        }
        if boundary > 0 && at >= SOFT {
            return boundary;
        }
        let limit = if c.is_numeric() { HARD_DIGITS } else { HARD };
        if at - boundary + c.len_utf8() > limit {
            return if boundary > 0 { boundary } else { hard_cut(text, at) };
        }
        if c == '\n' || c == '\r' {
            line_end = Some(at + 1);
        } else if !c.is_whitespace() {
            line_end = None;
        }
        before = Some(c);
    }
    text.len()
}

/// Returns a cut inside a run, at a character boundary; for runs of wide characters at a multiple of 64 characters.
fn hard_cut(text: &str, at: usize) -> usize {
    let first = text.chars().next().map_or(1, char::len_utf8);
    let block = first * 64;
    let aligned = at / block * block;
    if first > 1 && aligned > 0 && text.is_char_boundary(aligned) { aligned } else { at }
}

fn is_boundary(before: char, c: char) -> bool {
    if before.is_whitespace() {
        return false;
    }
    if c.is_whitespace() {
        return c != '\n' && c != '\r';
    }
    before.is_alphanumeric() && is_punctuation(c)
}

fn is_punctuation(c: char) -> bool {
    (c.is_ascii_punctuation() && c != '\'')
        || matches!(u32::from(c), 0x3001..=0x3003 | 0x3008..=0x3011 | 0xFF01..=0xFF0F)
}

/// Returns whether a line closes a group. Depends only on the line's last bytes, so that an edit moves only nearby
/// boundaries.
fn ends_group(upto: &[u8]) -> bool {
    let tail = &upto[upto.len().saturating_sub(24)..];
    let hash = tail.iter().fold(0x811C_9DC5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    (hash >> 16).is_multiple_of(32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_are_bounded() {
        for unit in [" ", "\t", "\n", "a", "日", "🙂", "\u{200b}", "1", "aA", "!🙂", "a\u{301}", " \n"] {
            let text = unit.repeat(200_000 / unit.len());
            let all: Vec<&str> = pieces(&text).collect();
            assert_eq!(all.concat(), text, "{unit:?}");
            assert!(all.iter().all(|piece| piece.len() <= SOFT + 2 * HARD), "{unit:?}");
        }
    }

    /// A word cut in two counts as more tokens than the whole word.
    #[test]
    fn prose_without_line_ends_is_cut_between_words() {
        for blank in [" ", "\t"] {
            let text = format!("counting{blank}").repeat(2_000);
            assert!(pieces(&text).skip(1).all(|piece| piece.starts_with(blank)), "{blank:?}");
        }
    }

    #[test]
    fn one_edit_changes_few_pieces() {
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n} says {}", n * 7919 % 1000)).collect();
        let text = lines.join("\n");
        let old: std::collections::HashSet<&str> = pieces(&text).collect();
        for inserted in ["x".to_owned(), " and more".repeat(300)] {
            let edited = text.replacen("line 10000 ", &format!("line 10000{inserted} "), 1);
            let changed = pieces(&edited).filter(|piece| !old.contains(piece)).count();
            assert!((1..=3).contains(&changed), "{changed}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_lost(text in "\\PC*|[ \n\r\ta/;'1é日]{0,3000}") {
            prop_assert_eq!(pieces(&text).collect::<String>(), text);
        }
    }
}
