//! Displays a text for approval so that nothing can be hidden in it: runs of blank lines become one line that counts
//! them, and invisible characters are written out. Nothing else is left out.
//! Not for: texts that need no approval (`base::safe_text`), or line breaking (the screen).

use crate::domain::base::safe_text::Safe;
use crate::domain::call::tokens::grouped;
use std::fmt::Write as _;

/// Maximum number of consecutive blank lines that are displayed as they are.
const MAX_BLANK_LINES: usize = 2;
/// Maximum number of consecutive spaces that are displayed as they are.
const MAX_SPACES: usize = 24;

/// A line to display, or a run of blank lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// A sanitized line.
    Text(String),
    /// A number of blank lines; in a diff, with their sign.
    Blank(usize, Option<char>),
}

impl Row {
    /// Returns the row as displayed.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blank(count, sign) => {
                let sign = sign.map(|sign| format!("{sign} ")).unwrap_or_default();
                format!("{sign}[{} blank lines]", grouped(*count as u64))
            }
        }
    }

    /// Returns the sign of a row of a diff: the row's first character.
    pub fn sign(&self) -> Option<char> {
        match self {
            Self::Text(text) => text.chars().next(),
            Self::Blank(_, sign) => *sign,
        }
    }
}

/// Returns the rows of a text.
pub fn folded(raw: &str) -> Vec<Row> {
    fold(raw, false)
}

/// Returns the rows of a diff. Each line begins with its sign.
pub fn folded_difference(raw: &str) -> Vec<Row> {
    fold(raw, true)
}

/// Returns the length of a text in lines, and how many of them are blank; `None` for a single line.
pub fn length(raw: &str) -> Option<String> {
    let lines = raw.split('\n').count();
    let blank = raw.split('\n').filter(|line| is_blank(line)).count();
    let words = match blank {
        0 => format!("{} lines", grouped(lines as u64)),
        _ => format!("{} lines, {} of them blank", grouped(lines as u64), grouped(blank as u64)),
    };
    (lines > 1).then_some(words)
}

fn fold(raw: &str, signs: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut blank: Vec<(&str, Option<char>)> = Vec::new();
    for line in raw.split('\n') {
        let sign = if signs { line.chars().next() } else { None };
        let rest = &line[sign.map_or(0, char::len_utf8)..];
        let same = blank.first().is_none_or(|(_, before)| *before == sign);
        if !(is_blank(rest) && same) {
            push_blank_lines(&mut rows, &mut blank);
        }
        if is_blank(rest) {
            blank.push((line, sign));
        } else {
            rows.push(Row::Text(line_of(line)));
        }
    }
    push_blank_lines(&mut rows, &mut blank);
    rows
}

fn push_blank_lines(rows: &mut Vec<Row>, blank: &mut Vec<(&str, Option<char>)>) {
    match blank.as_slice() {
        [(_, sign), ..] if blank.len() > MAX_BLANK_LINES => rows.push(Row::Blank(blank.len(), *sign)),
        few => rows.extend(few.iter().map(|(line, _)| Row::Text(line_of(line)))),
    }
    blank.clear();
}

/// Returns whether a line contains only spaces, tabs, and carriage returns. Any other invisible character is written
/// out and therefore visible.
fn is_blank(line: &str) -> bool {
    line.chars().all(|c| matches!(c, ' ' | '\t' | '\r'))
}

fn line_of(line: &str) -> String {
    let safe = Safe::exact(line);
    let mut out = String::with_capacity(line.len());
    let mut spaces = 0;
    for c in safe.as_str().chars().map(Some).chain([None]) {
        if c == Some(' ') {
            spaces += 1;
            continue;
        }
        if spaces > MAX_SPACES {
            let _ = write!(out, "⟨{} spaces⟩", grouped(spaces as u64));
        } else {
            out.extend(std::iter::repeat_n(' ', spaces));
        }
        spaces = 0;
        match c {
            Some(c) if looks_like_a_space(c) => drop(write!(out, "⟨U+{:04X}⟩", u32::from(c))),
            c => out.extend(c),
        }
    }
    out
}

/// Returns whether a character is displayed as a space or as nothing, although a shell does not treat it as a space.
fn looks_like_a_space(c: char) -> bool {
    c != ' ' && (c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}' | '\u{fe0e}' | '\u{fe0f}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_of_blanks_cannot_hide_text() {
        let rows = folded(&format!("ls{}touch PWNED", "\n".repeat(200)));
        let words: Vec<String> = rows.iter().map(Row::to_text).collect();
        assert_eq!(words, ["ls", "[199 blank lines]", "touch PWNED"]);
        assert_eq!(folded(&format!("ls{}; rm -rf x", " ".repeat(10_000)))[0].to_text(), "ls⟨10,000 spaces⟩; rm -rf x");
        for (spaces, shown) in
            [(MAX_SPACES, " ".repeat(MAX_SPACES)), (MAX_SPACES + 1, format!("⟨{} spaces⟩", MAX_SPACES + 1))]
        {
            assert_eq!(folded(&format!("a{}b", " ".repeat(spaces)))[0].to_text(), format!("a{shown}b"));
        }
        let odd = folded("a\u{a0}b\u{200b}c\u{202e}d\u{e0041}e\u{3000}f\t").remove(0).to_text();
        assert_eq!(odd, "a⟨U+00A0⟩b⟨U+200B⟩c⟨U+202E⟩d⟨U+E0041⟩e⟨U+3000⟩f⟨U+0009⟩");
        let rows = folded_difference("+a\n+\n+ \n+\t\n-\n-b");
        assert_eq!(rows.iter().map(Row::to_text).collect::<Vec<_>>(), ["+a", "+ [3 blank lines]", "-", "-b"]);
        assert_eq!(rows.iter().map(Row::sign).collect::<Vec<_>>(), [Some('+'), Some('+'), Some('-'), Some('-')]);
        assert_eq!(length("a\n\n\nb").as_deref(), Some("4 lines, 2 of them blank"));
        assert_eq!(length("a"), None);
    }

    /// Restores the source of a row: a line with its spaces, or an empty text for blank lines.
    fn restored(row: &Row) -> String {
        let Row::Text(text) = row else { return String::new() };
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find('⟨') {
            out.push_str(&rest[..at]);
            let end = at + rest[at..].find('⟩').unwrap() + '⟩'.len_utf8();
            match rest[at..end].strip_suffix(" spaces⟩") {
                Some(count) => {
                    let count = count.trim_start_matches('⟨').replace(',', "").parse().unwrap();
                    out.extend(std::iter::repeat_n(' ', count));
                }
                None => out.push_str(&Safe::reveal(&rest[at..end])),
            }
            rest = &rest[end..];
        }
        out + rest
    }

    proptest! {
        #[test]
        fn only_counted_blanks_are_left_out(
            raw in "(a|;|\u{1f600}|é|\u{200b}|\u{202e}|\u{a0}|\u{e0041}|\u{2003}| {20,40}|\t|\r|\n|\n{2,6}| ){0,40}",
        ) {
            let rows = folded(&raw);
            let lines: Vec<&str> = raw.split('\n').collect();
            let mut at = 0;
            for row in &rows {
                match row {
                    Row::Text(_) => {
                        prop_assert_eq!(restored(row), lines[at]);
                        at += 1;
                    }
                    Row::Blank(count, _) => {
                        prop_assert!(lines[at..at + count].iter().all(|line| is_blank(line)));
                        at += count;
                    }
                }
            }
            prop_assert_eq!(at, lines.len(), "the last line is there");
            let hidden = |row: &Row| row.to_text().chars().any(|c| c.is_control() || looks_like_a_space(c));
            prop_assert!(!rows.iter().any(hidden) && rows.iter().all(|row| Safe::hidden(&row.to_text()) == 0));
        }
    }
}
