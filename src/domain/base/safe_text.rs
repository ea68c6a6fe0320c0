//! Sanitized text, the only text that may reach the terminal. All other text (from models, tools, files, imports,
//! servers) is data: its control characters, escape sequences, and invisible characters are made visible, neither
//! executed nor hidden.
//! Not for: wrapping or measuring text (the screen).

use std::fmt;

/// Sanitized text: the only text that views, stderr, the window title, and the clipboard accept.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Safe(String);

impl Safe {
    /// Sanitizes text of several lines. Line feeds stay, CR LF becomes a line feed, tabs become spaces up to the next
    /// of the four-column stops, and other control characters are made visible. Idempotent.
    pub fn text(raw: &str) -> Self {
        Self(clean(raw, Tabs::Expand, true))
    }

    /// Sanitizes text for one line: line breaks become spaces.
    pub fn line(raw: &str) -> Self {
        Self(clean(raw, Tabs::Expand, false))
    }

    /// Sanitizes text so that [`Safe::reveal`] can restore it exactly: tabs and CR are made visible too.
    pub fn exact(raw: &str) -> Self {
        Self(clean(raw, Tabs::Mark, true))
    }

    /// Undoes [`Safe::exact`].
    pub fn reveal(shown: &str) -> String {
        let mut out = String::with_capacity(shown.len());
        let mut rest = shown;
        while let Some(start) = rest.find(MARK_START) {
            out.push_str(&rest[..start]);
            let tail = &rest[start + MARK_START.len()..];
            let code = |end: usize| u32::from_str_radix(&tail[..end], 16).ok();
            if let Some((end, code)) = tail.find('⟩').and_then(|end| code(end).map(|code| (end, code))) {
                out.extend(char::from_u32(code));
                rest = &tail[end + '⟩'.len_utf8()..];
            } else {
                out.push_str(MARK_START);
                rest = tail;
            }
        }
        out.push_str(rest);
        out
    }

    /// Returns text for a pipe, with marks in place of invisible characters and of control characters except tabs and
    /// line breaks.
    pub fn marked(raw: &str) -> String {
        let mut out = String::with_capacity(raw.len());
        for_each_char(raw, |c, hidden| if hidden { push_mark(&mut out, c) } else { out.push(c) });
        out
    }

    /// Escapes control characters and invisible characters in JSON. The value stays the same: such characters occur only
    /// inside strings, where the escape is valid. Line ends occur only between values and stay.
    pub fn json(json: &str) -> String {
        use fmt::Write as _;
        let mut out = String::with_capacity(json.len());
        for c in json.chars() {
            if (c.is_control() && c != '\n') || is_invisible(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            } else {
                out.push(c);
            }
        }
        out
    }

    /// Returns text for the clipboard, and the number of characters left out: escape sequences, invisible characters,
    /// and control characters except tabs and line breaks.
    pub fn copied(raw: &str) -> (String, usize) {
        let mut out = String::with_capacity(raw.len());
        let mut left = 0;
        let mut rest = raw;
        while let Some(at) = rest.find(['\u{1b}', '\u{9b}', '\u{9d}', '\u{90}']) {
            left += append_visible(&mut out, &rest[..at]);
            let length = escape_len(&rest[at..]);
            left += rest[at..at + length].chars().count();
            rest = &rest[at + length..];
        }
        left += append_visible(&mut out, rest);
        (out, left)
    }

    /// Returns the sanitized text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `raw` has a character that must not be output: an invisible character, or a control character except a
    /// tab and a line break.
    pub fn is_marked(raw: &str) -> bool {
        let mut is_marked = false;
        for_each_char(raw, |_, hidden| is_marked |= hidden);
        is_marked
    }

    /// Returns the number of invisible characters in `raw`.
    pub fn hidden(raw: &str) -> usize {
        raw.chars().filter(|c| is_invisible(*c)).count()
    }
}

impl fmt::Display for Safe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Safe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for Safe {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The start of a mark, as in `⟨U+200B⟩`.
const MARK_START: &str = "⟨U+";

/// How tabs are shown: as spaces, or as marks.
#[derive(Clone, Copy, PartialEq)]
enum Tabs {
    Expand,
    Mark,
}

fn clean(raw: &str, tabs: Tabs, lines: bool) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut column = 0_usize;
    let mut chars = raw.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '\n' if lines => out.push('\n'),
            '\n' => out.push(' '),
            '\r' if tabs == Tabs::Expand && next == Some('\n') => {}
            '\t' if tabs == Tabs::Expand => out.push_str(&"    "[column % 4..]),
            // Characters that could be read as the start of a mark are marked themselves, so that `Safe::exact` stays
            // reversible.
            '⟨' if tabs == Tabs::Mark && next == Some('U') => push_mark(&mut out, c),
            '\u{200d}' if is_pictograph(before) && next.is_some_and(is_pictograph) => out.push(c),
            c if is_forbidden(c) => push_mark(&mut out, c),
            c => out.push(c),
        }
        column = match c {
            '\n' => 0,
            '\t' => column + 4 - column % 4,
            _ => column + 1,
        };
        before = c;
    }
    out
}

fn push_mark(out: &mut String, c: char) {
    use fmt::Write as _;
    let _ = write!(out, "{MARK_START}{:04X}⟩", u32::from(c));
}

fn is_forbidden(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0D | 0xFEFF | 0xFFA0
        | 0xFFF0..=0xFFFB | 0x1_3430..=0x1_343F | 0x1_BCA0..=0x1_BCA3 | 0x1_D173..=0x1_D17A | 0xE_0000..=0xE_0FFF)
}

fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x2600..=0x27BF | 0xFE0F | 0x1_F000..=0x1_FAFF)
}

/// Calls `each` for every character, with whether it must not be output, because it is invisible or a terminal
/// interprets it.
fn for_each_char(raw: &str, mut each: impl FnMut(char, bool)) {
    let mut chars = raw.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let stays = match c {
            '\n' | '\t' => true,
            '\r' => next == Some('\n'),
            '\u{200d}' if is_pictograph(before) && next.is_some_and(is_pictograph) => true,
            // In some scripts, these join letters.
            '\u{200c}' | '\u{200d}' => is_joined_script(before) && next.is_some_and(is_joined_script),
            c => !is_forbidden(c),
        };
        each(c, !stays);
        before = c;
    }
}

fn is_joined_script(c: char) -> bool {
    matches!(u32::from(c), 0x0600..=0x0DFF) && !is_forbidden(c)
}

/// Appends the visible characters of `raw` to `out`, and returns the number of the others.
fn append_visible(out: &mut String, raw: &str) -> usize {
    let mut left = 0;
    for_each_char(raw, |c, hidden| if hidden { left += 1 } else { out.push(c) });
    left
}

/// Maximum bytes of an escape sequence.
const MAX_SEQUENCE: usize = 8 << 10;

/// Returns the number of bytes of the escape sequence at the beginning of a text. For a sequence that does not end,
/// only its first character counts.
fn escape_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let first = chars.next().map_or(0, |(_, c)| c.len_utf8());
    let (kind, body) = match text.chars().next() {
        Some('\u{9b}') => ('[', first),
        Some('\u{9d}') => (']', first),
        Some('\u{90}') => ('P', first),
        _ => match text[first..].chars().next() {
            Some(kind) if kind.is_ascii_graphic() => (kind, first + 1),
            _ => return first,
        },
    };
    let rest = &text[body..text.floor_char_boundary(body + MAX_SEQUENCE)];
    match kind {
        '[' => rest
            .find(|c: char| !matches!(c, '\u{20}'..='\u{3f}'))
            .filter(|end| rest[*end..].starts_with(|c: char| matches!(c, '\u{40}'..='\u{7e}')))
            .map_or(first, |end| body + end + 1),
        ']' | 'P' | '^' | '_' | 'X' => ["\u{7}", "\u{1b}\\", "\u{9c}"]
            .iter()
            .filter_map(|end| rest.find(end).map(|at| at + end.len()))
            .min()
            .map_or(first, |length| body + length),
        '(' | ')' | '*' | '+' | '#' | '%' => rest.chars().next().map_or(body, |c| body + c.len_utf8()),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_made_visible() {
        assert_eq!(Safe::line("a\x1b]52;c;eA==\x07b").as_str(), "a⟨U+001B⟩]52;c;eA==⟨U+0007⟩b");
        assert_eq!(Safe::text("x\u{9b}31m\r\ny\u{202e}").as_str(), "x⟨U+009B⟩31m\ny⟨U+202E⟩");
        assert_eq!(Safe::text("a\tb\n\tc").as_str(), "a   b\n    c");
        assert_eq!(Safe::line("one\ntwo").as_str(), "one two");
    }

    /// Compares every character with Unicode's properties, independently of the program's list, except characters of
    /// the category Cf that are rendered, and variation selectors of pictographs.
    #[test]
    fn no_invisible_character_passes() {
        let invisible = r"\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}";
        let rendered = r"\x{600}-\x{605}\x{6DD}\x{70F}\x{890}\x{891}\x{8E2}\x{110BD}\x{110CD}";
        let unseen = regex::Regex::new(&format!(r"[[{invisible}]--[{rendered}\x{{FE0E}}\x{{FE0F}}]]")).unwrap();
        for c in '\0'..=char::MAX {
            let raw = c.to_string();
            let (hidden, control) = (unseen.is_match(&raw), c.is_control());
            assert_eq!(Safe::hidden(&raw), usize::from(hidden), "U+{:04X}", u32::from(c));
            if c != '\n' && c != '\t' {
                let shown = if hidden || control { format!("⟨U+{:04X}⟩", u32::from(c)) } else { raw.clone() };
                assert_eq!(Safe::text(&raw).as_str(), shown);
            }
        }
    }

    #[test]
    fn the_clipboard_gets_visible_text() {
        for (raw, wanted, left) in [
            ("plain é\n\ttext\r\nend", "plain é\n\ttext\r\nend", 0),
            ("a\x1b[31mred\x1b[0m b", "ared b", 9),
            ("a\x1b]52;c;eA==\x07b\x1b]0;t\x1b\\c", "abc", 19),
            ("a\x1b]52;never ends", "a]52;never ends", 1),
            ("x\u{9b}2Jy\u{202e}z\u{200b}\u{e0041}!", "xyz!", 6),
            ("over\rwrite\x08\x00", "overwrite", 3),
            ("👩\u{200d}💻 می\u{200c}خواهم a\u{200d}b", "👩\u{200d}💻 می\u{200c}خواهم ab", 1),
        ] {
            assert_eq!(Safe::copied(raw), (wanted.to_owned(), left), "{raw:?}");
        }
        for (before, after) in [("👩", "💻"), ("👩", "a"), ("👩", ""), ("a", "💻"), ("", "💻"), ("a", "a")]
        {
            let (raw, both) = (format!("{before}\u{200d}{after}"), (before, after) == ("👩", "💻"));
            let kept = [Safe::text(&raw).as_str().to_owned(), Safe::copied(&raw).0, Safe::marked(&raw)];
            assert_eq!(kept.map(|kept| kept == raw), [both; 3], "{raw:?}");
        }
        let far = format!("a\x1b]52;{}\x07b", "words ".repeat(1_500));
        assert!(Safe::copied(&far).0.contains("words words"), "a sequence that ends far away takes no text with it");
        assert_eq!(Safe::marked("a\tb\u{200b}\x1b[m\n"), "a\tb⟨U+200B⟩⟨U+001B⟩[m\n");
    }

    proptest! {
        #[test]
        fn no_control_character_is_output(raw in any::<String>()) {
            let shown = Safe::text(&raw);
            prop_assert!(!shown.as_str().chars().any(|c| c != '\n' && c.is_control()));
        }

        #[test]
        fn no_control_sequence_is_copied(raw in "(\\PC|[\\x00-\\x1f]|\u{9b}|\x1b\\[|\x1b\\]|\u{e0041}|\u{200d}|[a-zA-Z0-9;]){0,40}") {
            let (copied, left) = Safe::copied(&raw);
            let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
            prop_assert!(!copied.contains(acts), "{copied:?}");
            prop_assert_eq!(copied.chars().count() + left, raw.chars().count());
            prop_assert!(!Safe::marked(&raw).contains(acts));
        }

        #[test]
        fn sanitizing_is_idempotent(raw in "(\\PC|[\\x00-\\x1f]|⟨U\\+0041⟩|\u{e0041}|\t){0,40}") {
            let once = Safe::text(&raw);
            prop_assert_eq!(Safe::text(once.as_str()), once);
        }

        #[test]
        fn exact_is_reversible(raw in "(\\PC|[\\x00-\\x1f]|⟨U\\+0041⟩|⟨|\u{e0041}|\t|\r){0,40}") {
            prop_assert_eq!(Safe::reveal(Safe::exact(&raw).as_str()), raw);
        }
    }

    /// Each case: a text, and the bytes of the sequence at its beginning; 1 (2 for a C1 control) if there is none.
    #[test]
    fn sequences_end_where_a_terminal_ends_them() {
        for (text, bytes) in [
            ("\x1b", 1),
            ("\x1b a", 1),
            ("\x1bé", 1),
            ("\x1bc more", 2),
            ("\x1b[mx", 3),
            ("\x1b[1;31mx", 7),
            ("\x1b[?25~", 6),
            ("\x1b[1é", 1),
            ("\x1b[1\x7f", 1),
            ("\x1b[12", 1),
            ("\x1b[ @x", 4),
            ("\x1b]0;t\x07x", 6),
            ("\x1b]0;t\x1b\\x\x07", 7),
            ("\x1b]0;t\u{9c}x", 7),
            ("\x1bPq\x1b\\x", 5),
            ("\x1b^q\x07x", 4),
            ("\x1b_q\x07x", 4),
            ("\x1bXq\x07x", 4),
            ("\x1b]never", 1),
            ("\x1b(Bx", 3),
            ("\x1b)é", 4),
            ("\x1b*", 2),
            ("\x1b+0x", 3),
            ("\x1b#8x", 3),
            ("\x1b%Gx", 3),
            ("\u{9b}31mx", 5),
            ("\u{9b}", 2),
            ("\u{9d}t\x07x", 4),
            ("\u{90}q\x1b\\x", 5),
        ] {
            assert_eq!(escape_len(text), bytes, "{text:?}");
        }
        let title = |length: usize| escape_len(&format!("\x1b]{}\x07x", "é".repeat(length / 2)));
        assert_eq!((title(MAX_SEQUENCE - 2), title(MAX_SEQUENCE)), (MAX_SEQUENCE + 1, 1), "as far as it is looked for");
        assert_eq!(Safe::reveal("⟨U+zz⟩⟨U+41⟩⟨U+110000⟩⟨U+"), "⟨U+zz⟩A⟨U+");
        let tabs =
            ["\t", "a\t", "abc\t", "abcd\t", "ab\ncd\t", "a\t\tb"].map(|raw| Safe::text(raw).as_str().chars().count());
        assert_eq!(tabs, [4, 4, 4, 8, 7, 9]);
        assert_eq!(Safe::text("a\r\nb\rc\r").as_str(), "a\nb⟨U+000D⟩c⟨U+000D⟩");
        assert_eq!(Safe::exact("a\r\n\t").as_str(), "a⟨U+000D⟩\n⟨U+0009⟩");
        assert_eq!(Safe::marked("a\r\nb\r"), "a\r\nb⟨U+000D⟩");
        assert_eq!(format!("{:>4}|{:?}", Safe::line("ab"), Safe::line("a\"")), "  ab|\"a\\\"\"");
    }
}
