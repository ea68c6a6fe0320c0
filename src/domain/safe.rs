//! Text that may reach the terminal. Everything else (model, tool, file, import, server) is data: controls,
//! escape sequences and invisible characters are shown, never executed and never hidden.
//! Not for: wrapping or measuring text; that is the screen's work.

use std::fmt;

/// Sanitised text: the only text that views, stderr, the window title and the clipboard take.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Safe(String);

impl Safe {
    /// Text of several lines (sanitising twice changes nothing more): `\n` stays, CR LF becomes `\n`, tabs become four-column stops, the rest is shown.
    #[must_use]
    pub fn text(raw: &str) -> Self {
        Self(clean(raw, Tabs::Expand, true))
    }

    /// Text of one line: line ends become a space.
    #[must_use]
    pub fn line(raw: &str) -> Self {
        Self(clean(raw, Tabs::Expand, false))
    }

    /// Text shown so exactly that [`Safe::reveal`] gives the very characters back: tabs and CR are marked too.
    #[must_use]
    pub fn exact(raw: &str) -> Self {
        Self(clean(raw, Tabs::Mark, true))
    }

    /// Undoes [`Safe::exact`].
    #[must_use]
    pub fn reveal(shown: &str) -> String {
        let mut out = String::with_capacity(shown.len());
        let mut rest = shown;
        while let Some(start) = rest.find(OPEN) {
            out.push_str(&rest[..start]);
            let tail = &rest[start + OPEN.len()..];
            let code = |end: usize| u32::from_str_radix(&tail[..end], 16).ok();
            if let Some((end, code)) = tail.find('⟩').and_then(|end| code(end).map(|code| (end, code))) {
                out.extend(char::from_u32(code));
                rest = &tail[end + '⟩'.len_utf8()..];
            } else {
                out.push_str(OPEN);
                rest = tail;
            }
        }
        out.push_str(rest);
        out
    }

    /// The sanitised text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many characters of `raw` nobody would see without the marks.
    #[must_use]
    pub fn hidden(raw: &str) -> usize {
        raw.chars().filter(|c| invisible(*c)).count()
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

const OPEN: &str = "⟨U+";

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
            '⟨' if tabs == Tabs::Mark && raw_mark_follows(next) => mark(&mut out, c),
            '\u{200d}' if pictograph(before) && next.is_some_and(pictograph) => out.push(c),
            c if forbidden(c) => mark(&mut out, c),
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

/// A literal `⟨U` could be read as a mark, so it is marked itself; this keeps [`Safe::exact`] reversible.
fn raw_mark_follows(next: Option<char>) -> bool {
    next == Some('U')
}

fn mark(out: &mut String, c: char) {
    use fmt::Write as _;
    let _ = write!(out, "{OPEN}{:04X}⟩", u32::from(c));
}

fn forbidden(c: char) -> bool {
    c.is_control() || invisible(c)
}

fn invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0D | 0xFEFF | 0xFFA0
        | 0xFFF0..=0xFFFB | 0x1_3430..=0x1_343F | 0x1_BCA0..=0x1_BCA3 | 0x1_D173..=0x1_D17A | 0xE_0000..=0xE_0FFF)
}

fn pictograph(c: char) -> bool {
    matches!(u32::from(c), 0x2600..=0x27BF | 0xFE0F | 0x1_F000..=0x1_FAFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_shown() {
        assert_eq!(Safe::line("a\x1b]52;c;eA==\x07b").as_str(), "a⟨U+001B⟩]52;c;eA==⟨U+0007⟩b");
        assert_eq!(Safe::text("x\u{9b}31m\r\ny\u{202e}").as_str(), "x⟨U+009B⟩31m\ny⟨U+202E⟩");
        assert_eq!(Safe::text("a\tb\n\tc").as_str(), "a   b\n    c");
        assert_eq!(Safe::line("one\ntwo").as_str(), "one two");
    }

    /// Held against Unicode's own tables, character by character. What joins or colors pictographs is left to them.
    #[test]
    fn no_invisible_character_is_passed_on() {
        let pattern = r"[\p{Default_Ignorable_Code_Point}\x{2028}\x{2029}\x{FFF9}-\x{FFFB}--\x{FE0E}\x{FE0F}]";
        let unseen = regex::Regex::new(pattern).unwrap();
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
    fn tag_characters_are_seen() {
        assert_eq!(Safe::line("hi\u{e0041}").as_str(), "hi⟨U+E0041⟩");
        assert_eq!(Safe::hidden("hi\u{e0041}\u{200b}"), 2);
    }

    /// By Unicode's own properties, whatever our list says.
    #[test]
    fn every_character_that_nobody_sees_is_marked() {
        let unseen = regex::Regex::new(r"^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]$").unwrap();
        // White space that is laid out, and what changes how the character before it looks.
        let laid_out = ['\n', '\t', '\u{fe0e}', '\u{fe0f}'];
        let drawn =
            |c: char| matches!(u32::from(c), 0x600..=0x605 | 0x6DD | 0x70F | 0x890..=0x891 | 0x8E2 | 0x110BD | 0x110CD);
        let wrong: Vec<String> = ('\0'..=char::MAX)
            .filter(|c| !laid_out.contains(c) && !drawn(*c))
            .filter(|c| {
                let marked = Safe::line(&c.to_string()).as_str() != c.to_string();
                marked != unseen.is_match(&c.to_string())
            })
            .map(|c| format!("{:04X}", u32::from(c)))
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn no_control_survives(raw in any::<String>()) {
            let shown = Safe::text(&raw);
            prop_assert!(!shown.as_str().chars().any(|c| c != '\n' && c.is_control()));
        }

        #[test]
        fn twice_is_once(raw in "(\\PC|[\\x00-\\x1f]|⟨U\\+0041⟩|\u{e0041}|\t){0,40}") {
            let once = Safe::text(&raw);
            prop_assert_eq!(Safe::text(once.as_str()), once);
        }

        #[test]
        fn exact_is_reversible(raw in "(\\PC|[\\x00-\\x1f]|⟨U\\+0041⟩|⟨|\u{e0041}|\t|\r){0,40}") {
            prop_assert_eq!(Safe::reveal(Safe::exact(&raw).as_str()), raw);
        }
    }
}
