//! Writes retrieved messages as text: a date line once per day, a line with its speaker for each message, and `…` in
//! place of omitted text. The form is compact, because every character costs tokens.
//! Not for: choosing the messages (`compose`).
//!
//! ```text
//! [2023-05-08]
//! …
//! Caroline: I went to a support group yesterday.
//! Melanie: What happened there?
//! [2023-06-02]
//! …
//! Melanie: … the second half of a long message …
//! ```
//!
//! Each line ends with a line break and opens with a character that may follow one ([`opens_safely`]), so that the
//! tokens of the lines sum to the tokens of the whole text.

use crate::domain::call::tokens::opens_safely;
use std::collections::HashMap;

/// Marks text that is left out.
pub const GAP: &str = "…";

/// One passage to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its text, trimmed.
    pub text: String,
    pub speaker: String,
    /// The day, such as `2023-05-08`, if known.
    pub day: Option<String>,
    /// Whether it is the last passage of its message.
    pub last: bool,
}

/// The form of a piece: the text before and after its own text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Form {
    /// It continues the previous passage of the same message.
    continues: bool,
    /// Text before it is left out.
    gap: bool,
    /// The beginning of its message is left out.
    starts_inside: bool,
    /// The rest of its message is left out.
    truncated: bool,
}

impl Piece {
    fn line(&self, form: Form) -> String {
        let mut line = String::with_capacity(self.text.len() + 40);
        if form.continues {
            if !self.text.starts_with(opens_safely) {
                line.extend([GAP, " "]);
            }
        } else {
            if form.gap {
                line.extend([GAP, " "]);
            }
            line.extend([self.speaker.as_str(), ": "]);
            if form.starts_inside {
                line.extend([GAP, " "]);
            }
        }
        line.push_str(&self.text);
        if form.truncated {
            line.extend([" ", GAP]);
        }
        line.push('\n');
        line
    }
}

/// Writes the lines of messages, and counts each different line once.
pub struct CardWriter<'a> {
    count: &'a dyn Fn(&str) -> u32,
    counted: HashMap<String, u32>,
}

impl<'a> CardWriter<'a> {
    /// Creates a writer; `count` returns the tokens of a text.
    pub fn new(count: &'a dyn Fn(&str) -> u32) -> Self {
        Self { count, counted: HashMap::new() }
    }

    /// Returns the lines of passages of one message, in order, with their tokens. `dated` puts a date line before them,
    /// `gap` says that messages before them are left out.
    pub fn lines(&mut self, passages: &[(usize, &Piece)], dated: bool, gap: bool) -> (String, u32) {
        let (mut text, mut tokens) = (String::new(), 0);
        let mut add = |line: String| {
            text.push_str(&line);
            tokens += *self.counted.entry(line).or_insert_with_key(|line| (self.count)(line));
        };
        let day = passages.first().and_then(|(_, piece)| piece.day.as_deref());
        if let Some(day) = day.filter(|_| dated) {
            add(format!("[{day}]\n"));
        }
        for (nth, (passage, piece)) in passages.iter().enumerate() {
            let before = nth.checked_sub(1).map(|before| passages[before].0);
            let continues = before.is_some_and(|before| before + 1 == *passage);
            let next_follows = passages.get(nth + 1).is_some_and(|(next, _)| *next == passage + 1);
            add(piece.line(Form {
                continues,
                gap: before.is_some() || gap,
                starts_inside: *passage > 0,
                truncated: !piece.last && !next_follows,
            }));
        }
        (text, tokens)
    }
}

/// Turns a speaker's name into a label: one line, trimmed, never empty.
pub fn label(name: &str, role: &str) -> String {
    let one: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let safe = one.trim_start_matches(|c| !opens_safely(c));
    if safe.is_empty() { role.to_owned() } else { safe.to_owned() }
}

/// Returns the day of a time in seconds since 1970 (UTC), such as `2023-05-08`; `None` without a time.
pub fn day(at: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(at).ok()?;
    (at != i64::MIN).then(|| time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::call::tokens::approximate;
    use proptest::prelude::*;

    fn piece(text: &str, last: bool) -> Piece {
        Piece { text: text.into(), speaker: "Ann".into(), day: Some("2023-05-08".into()), last }
    }

    #[test]
    fn gaps_are_marked() {
        let (first, middle, last) = (piece("one", false), piece("middle", false), piece("end", true));
        let slash = piece("/end", true);
        let mut writer = CardWriter::new(&approximate);
        let mut lines = |passages: &[(usize, &Piece)], dated: bool, gap: bool| {
            writer.lines(passages, dated, gap).0.replace('\n', "|")
        };
        assert_eq!(lines(&[(0, &last)], false, false), "Ann: end|");
        assert_eq!(lines(&[(0, &last)], false, true), "… Ann: end|");
        assert_eq!(lines(&[(0, &last)], true, false), "[2023-05-08]|Ann: end|");
        assert_eq!(lines(&[(1, &middle)], true, true), "[2023-05-08]|… Ann: … middle …|");
        assert_eq!(lines(&[(1, &middle), (2, &last)], false, true), "… Ann: … middle|end|");
        assert_eq!(lines(&[(1, &middle), (2, &slash)], false, true), "… Ann: … middle|… /end|");
        assert_eq!(lines(&[(0, &first), (2, &last)], true, false), "[2023-05-08]|Ann: one …|… Ann: … end|");
    }

    #[test]
    fn days_are_dates() {
        assert_eq!(day(1_683_554_160).as_deref(), Some("2023-05-08"));
        assert_eq!(day(i64::MIN), None);
        assert_eq!(label(" /\nBob  B ", "user"), "Bob B");
        assert_eq!(label("//", "user"), "user");
    }

    proptest! {
        #[test]
        fn lines_sum_to_the_whole(
            messages in proptest::collection::vec(proptest::collection::btree_map(0_usize..3, "[a-z/] ?[a-z /]{0,9}[a-z]", 1..4), 0..9),
            (dated, gap) in (any::<bool>(), any::<bool>()),
        ) {
            let mut writer = CardWriter::new(&approximate);
            let (mut text, mut tokens) = (String::new(), 0);
            for passages in &messages {
                let pieces: Vec<(usize, Piece)> = passages.iter().map(|(at, text)| (*at, piece(text.trim(), *at == 2))).collect();
                let pieces: Vec<(usize, &Piece)> = pieces.iter().map(|(at, piece)| (*at, piece)).collect();
                let (lines, counted) = writer.lines(&pieces, dated, gap);
                text.push_str(&lines);
                tokens += counted;
            }
            prop_assert_eq!(tokens, approximate(&text));
        }
    }
}
