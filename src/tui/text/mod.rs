//! Text for the screen: lines of pieces with an ink, wrapping by grapheme width, Markdown, numbers, and durations. All
//! of it is sanitized.
//! Not for: drawing (`view`).

mod blocks;
pub mod code;
pub mod links;
pub mod markdown;
pub mod matches;
mod rich;
mod table;
pub mod wrap;

use crate::domain::base::Safe;
use crate::domain::base::money::money;
use crate::domain::call::tokens;
use crate::tui::theme::Ink;
use std::borrow::Cow;
use std::rc::Rc;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A piece of one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    pub ink: Ink,
    /// The text, sanitized.
    pub text: String,
    /// The address that the text links to, safe for the terminal.
    pub link: Option<Rc<str>>,
}

/// One line of the screen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Pieces from left to right.
    pub pieces: Vec<Piece>,
    /// The code that the line shows, if it can be highlighted.
    pub code: Option<code::CodeAt>,
    /// Whether it is a row of a code block, which has its own background.
    pub shaded: bool,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a line of one piece, after sanitizing the text.
    pub fn of(ink: Ink, raw: &str) -> Self {
        Self::new().with(ink, raw)
    }

    /// Appends a piece, after sanitizing the text.
    #[must_use]
    pub fn with(mut self, ink: Ink, raw: &str) -> Self {
        self.push(ink, raw);
        self
    }

    /// Appends a piece, after sanitizing the text.
    pub fn push(&mut self, ink: Ink, raw: &str) {
        self.push_safe(ink, Safe::line(raw).as_str());
    }

    /// Appends a piece of text that is sanitized already.
    pub(crate) fn push_safe(&mut self, ink: Ink, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece { ink, text: text.to_owned(), link: None });
        }
    }

    /// Appends the pieces of another line.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Width in columns.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|piece| width(&piece.text)).sum()
    }

    /// The text without inks.
    pub fn plain(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Cuts the line to at most `room` columns, with `ellipsis` where it was cut. A line that is cut has no links.
    #[must_use]
    pub fn fit(self, room: usize, ellipsis: &str) -> Self {
        if self.width() <= room {
            return self;
        }
        let mut out = Self::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let left = room - out.width();
            if width(&piece.text) >= left {
                let rest: String = self.pieces[at..].iter().map(|piece| piece.text.as_str()).collect();
                out.push_safe(piece.ink, &fit(&rest, left, ellipsis));
                break;
            }
            out.push_safe(piece.ink, &piece.text);
        }
        out
    }

    /// Joins parts, each with its rank, without the parts for which `room` columns are too few: the part with the
    /// highest rank is dropped first, and a part with rank 0 is never dropped.
    pub fn of_parts(mut parts: Vec<(u8, Self)>, room: usize) -> Self {
        while parts.iter().map(|(_, part)| part.width()).sum::<usize>() > room {
            let last = (0..parts.len()).max_by_key(|at| parts[*at].0).filter(|at| parts[*at].0 > 0);
            let Some(at) = last else { break };
            parts.remove(at);
        }
        parts.into_iter().fold(Self::new(), |line, (_, part)| line.and(part))
    }

    /// Sets the ink of every piece.
    #[must_use]
    pub fn inked(mut self, ink: Ink) -> Self {
        self.code = None;
        for piece in &mut self.pieces {
            piece.ink = ink;
        }
        self
    }
}

/// Width of a text in columns as it will be drawn, grapheme by grapheme.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// Sanitizes a text and cuts it to at most `room` columns, with `ellipsis` where it was cut. The text's own ellipses are
/// written in the same way, so that they are whole in ASCII.
pub fn fit(raw: &str, room: usize, ellipsis: &str) -> String {
    let raw = if ellipsis == "..." { raw.replace('…', ellipsis).into() } else { Cow::Borrowed(raw) };
    let safe = Safe::line(&raw);
    if width(safe.as_str()) <= room {
        return safe.as_str().to_owned();
    }
    let tail = if width(ellipsis) <= room { ellipsis } else { "" };
    let mut left = room - width(tail);
    let mut out = String::new();
    for grapheme in safe.as_str().graphemes(true) {
        let wide = width(grapheme);
        if wide > left {
            break;
        }
        left -= wide;
        out.push_str(grapheme);
    }
    out + tail
}

/// Sanitizes the beginning of a text and cuts it to at most `room` columns, with `ellipsis` where it was cut, and also if
/// the text is not `whole`. It is cut after a word, unless half of the room would stay empty.
pub fn fit_words(raw: &str, is_whole: bool, room: usize, ellipsis: &str) -> String {
    let safe = fit(raw, usize::MAX, ellipsis);
    if is_whole && width(&safe) <= room {
        return safe;
    }
    let tail = if width(ellipsis) <= room { ellipsis } else { "" };
    let cut = fit(&safe, room - width(tail), "");
    let ends_word = safe[cut.len()..].starts_with(' ');
    let end = cut.rfind(' ').filter(|at| !ends_word && width(&cut[..*at]) * 2 >= room);
    format!("{}{tail}", cut[..end.unwrap_or(cut.len())].trim_end())
}

/// The first of the parts that `separator` joins, as many as fit in `room` columns, but at least one.
pub fn first_parts<'a>(mut parts: &'a str, separator: &str, room: usize) -> &'a str {
    while width(parts) > room
        && let Some((first, _)) = parts.rsplit_once(separator)
    {
        parts = first;
    }
    parts
}

/// Sanitizes a text and cuts its beginning off, so that at most `room` columns remain.
pub fn fit_end(raw: &str, room: usize) -> String {
    let safe = Safe::line(raw);
    let mut left = room;
    let mut from = safe.as_str().len();
    for (at, grapheme) in safe.as_str().grapheme_indices(true).rev() {
        let wide = width(grapheme);
        if wide > left {
            break;
        }
        left -= wide;
        from = at;
    }
    safe.as_str()[from..].to_owned()
}

/// A number with thousands separated: `1,204`.
pub fn number(n: u64) -> String {
    tokens::grouped(n)
}

/// A number of tokens in at most five columns if below ten million: `340`, `5,204`, `28k`, `1.05M`.
pub fn short(n: u64) -> String {
    tokens::short(n)
}

/// Two numbers of tokens on one line, in full if they would look the same: `1,165 of 1,278`, `28k of 128k`.
pub fn share(part: u64, whole: u64) -> String {
    let [small, large] = different([part, whole]);
    format!("{small} of {large}")
}

/// Two numbers of tokens in their short form, or in full if different numbers would look the same.
pub fn different(both: [u64; 2]) -> [String; 2] {
    let shorts = both.map(short);
    if shorts[0] == shorts[1] && both[0] != both[1] { both.map(number) } else { shorts }
}

/// `1 message`, `2 messages`.
pub fn counted(n: u64, one: &str) -> String {
    tokens::counted(n, one)
}

/// A number of tokens in its short form, with its noun: `1 token`, `28k tokens`.
pub fn short_tokens(n: u64) -> String {
    if n == 1 { "1 token".to_owned() } else { format!("{} tokens", short(n)) }
}

/// Thousandths with two decimals: `16.30`.
pub fn thousandths(n: i32) -> String {
    format!("{:.2}", f64::from(n) / 1_000.0)
}

/// A duration: `12 ms`, `3.4 s`, `2 min 5 s`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
    }
}

/// An estimated cost: `≈ $0.0011`. A cost below the smallest that is shown has no sign.
pub fn about_money(about: &str, micro: u64) -> String {
    let cost = money(micro);
    if cost.starts_with('<') { cost } else { format!("{about} {cost}") }
}

/// A percentage: `19%`, and `<1%` for less that is not 0.
pub fn percent(part: u32, whole: u32) -> String {
    tokens::percent(part, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_left_out_whole() {
        let card = "2026-11-22 12:01 · 24 messages · 1 branch";
        assert_eq!([41, 40, 30, 29, 5].map(|room| first_parts(card, " · ", room).len()), [43, 31, 31, 16, 16]);
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(money(1_100), "$0.0011");
        assert_eq!(money(1_204_000), "$1.20");
        assert_eq!(money(3), "<$0.0001");
        assert_eq!([about_money("≈", 3), about_money("≈", 0)], ["<$0.0001", "≈ $0"]);
        assert_eq!(duration(3_456), "3.4 s");
        assert_eq!([share(1_165, 1_278), share(5_204, 28_000)], ["1,165 of 1,278", "5,204 of 28k"]);
        assert_eq!([share(27_900, 28_100), share(28_000, 28_000)], ["27,900 of 28,100", "28k of 28k"]);
        assert_eq!([short_tokens(1), short_tokens(28_000)], ["1 token", "28k tokens"]);
        let line = Line::of(Ink::Text, "main").with(Ink::Dim, "   retry");
        for (room, expected) in [(12, "main   retry"), (11, "main   ret…"), (5, "main…"), (4, "mai…"), (0, "")] {
            assert_eq!(line.clone().fit(room, "…").plain(), expected);
        }
        assert_eq!([percent(0, 100), percent(261, 28_000), percent(19, 100)], ["0%", "<1%", "19%"]);
    }

    #[test]
    fn fits_by_graphemes() {
        assert_eq!(fit("日本語", 5, "…"), "日本…");
        assert_eq!(fit("abc", 3, "…"), "abc");
        assert_eq!([fit("[TITLE…]", 20, "…"), fit("[TITLE…]", 20, "...")], ["[TITLE…]", "[TITLE...]"]);
        assert_eq!(fit("[TITLE…]", 9, "..."), "[TITLE...");
        assert_eq!(fit("abcdef", 2, "..."), "ab");
        assert_eq!(fit("a\x1b[31m", 20, "…"), "a⟨U+001B⟩[31m");
    }

    #[test]
    fn words_are_left_out_whole() {
        let text = "one two three";
        let fitted = [13, 12, 8, 4].map(|room| fit_words(text, true, room, "…"));
        assert_eq!(fitted, [text, "one two…", "one two…", "one…"]);
        assert_eq!(fit_words("one tw", false, 20, "…"), "one tw…", "no word is left out for a few columns");
        assert_eq!(fit_words("one two thr", false, 14, "..."), "one two...");
        assert_eq!([fit_words("日本語の文", true, 6, "…"), fit_words("abc", true, 0, "…")], ["日本…", ""]);
    }

    #[test]
    fn the_end_of_a_text_is_measured_in_columns() {
        for (room, end) in [(0, ""), (1, "c"), (2, "c"), (3, "語c"), (4, "語c"), (5, "本語c"), (9, "日本語c")] {
            assert_eq!(fit_end("日本語c", room), end, "{room}");
        }
        assert_eq!([fit_end("ab👩‍👩‍👧", 2), fit_end("ab👩‍👩‍👧", 1)], ["👩‍👩‍👧", ""], "an emoji is not divided");
        assert_eq!(fit_end("\x1b[31m", 20), "⟨U+001B⟩[31m");
    }
}
