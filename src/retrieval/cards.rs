//! Writes retrieved messages as text: a date line once per day, a line with its speaker for each message, and `…` in
//! place of omitted text. The form is compact, because every character costs tokens.
//! Not for: choosing the messages (`fill`).
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
use std::collections::BTreeMap;

/// Marks text that is left out.
pub const GAP: &str = "…";

/// The place of a piece: the position of its message on the path, and the index of its passage.
pub type PiecePlace = (usize, usize);

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
#[allow(clippy::struct_excessive_bools, reason = "independent marks")]
struct Form {
    /// It continues the previous passage of the same message.
    continues: bool,
    /// A date line precedes it.
    dated: bool,
    /// Messages before it are left out.
    gap: bool,
    /// The beginning of its message is left out.
    starts_inside: bool,
    /// The rest of its message is left out.
    truncated: bool,
}

/// A piece in the list, with the form and token count of its line.
struct PlacedPiece {
    piece: Piece,
    form: Form,
    tokens: u32,
}

impl Piece {
    fn line(&self, form: Form) -> String {
        let mut line = String::with_capacity(self.text.len() + 40);
        if form.continues {
            if !self.text.starts_with(opens_safely) {
                line.extend([GAP, " "]);
            }
        } else {
            if let Some(day) = self.day.as_deref().filter(|_| form.dated) {
                line.extend(["[", day, "]\n"]);
            }
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

/// Pieces in the order of the path, with the tokens of each line as it will be sent.
pub struct CardList<'a> {
    count: &'a dyn Fn(&str) -> u32,
    pieces: BTreeMap<PiecePlace, PlacedPiece>,
    total: u32,
}

impl<'a> CardList<'a> {
    /// Creates an empty list; `count` returns the tokens of a text.
    #[must_use]
    pub fn new(count: &'a dyn Fn(&str) -> u32) -> Self {
        Self { count, pieces: BTreeMap::new(), total: 0 }
    }

    /// Returns the tokens of all lines.
    pub fn tokens(&self) -> u32 {
        self.total
    }

    /// Returns whether the list contains a piece at this place.
    pub fn contains(&self, place: PiecePlace) -> bool {
        self.pieces.contains_key(&place)
    }

    /// Adds pieces if the list then takes at most `most` tokens; otherwise changes nothing.
    ///
    /// # Errors
    /// The tokens that the list would take.
    pub fn add(&mut self, pieces: Vec<(PiecePlace, Piece)>, most: u32) -> Result<(), u32> {
        let added: Vec<PiecePlace> =
            pieces.iter().map(|(place, _)| *place).filter(|place| !self.contains(*place)).collect();
        let total = self.total;
        for (place, piece) in pieces {
            self.pieces.entry(place).or_insert(PlacedPiece { piece, form: Form::default(), tokens: 0 });
        }
        let before = self.recount(&added);
        if self.total <= most {
            return Ok(());
        }
        let needed = self.total;
        for place in &added {
            self.pieces.remove(place);
        }
        for (place, form, tokens) in before {
            if let Some(kept) = self.pieces.get_mut(&place) {
                (kept.form, kept.tokens) = (form, tokens);
            }
        }
        self.total = total;
        Err(needed)
    }

    /// Counts the lines at these places again, and the adjacent lines that change with them. Returns the previous form
    /// and tokens of each changed line.
    fn recount(&mut self, added: &[PiecePlace]) -> Vec<(PiecePlace, Form, u32)> {
        let mut touched: Vec<PiecePlace> = Vec::new();
        for place in added {
            touched.push(*place);
            touched.extend(self.pieces.range(..place).next_back().map(|(place, _)| *place));
            touched.extend(self.next(*place).map(|(place, _)| place));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut before = Vec::new();
        for place in touched {
            let form = self.form(place);
            let Some(placed) = self.pieces.get_mut(&place) else { continue };
            if placed.form == form && placed.tokens > 0 {
                continue;
            }
            let tokens = (self.count)(&placed.piece.line(form));
            before.push((place, placed.form, placed.tokens));
            self.total = self.total - placed.tokens + tokens;
            (placed.form, placed.tokens) = (form, tokens);
        }
        before
    }

    fn next(&self, place: PiecePlace) -> Option<(PiecePlace, &Piece)> {
        self.pieces.range((place.0, place.1 + 1)..).next().map(|(place, placed)| (*place, &placed.piece))
    }

    /// Returns the form of a piece among the other pieces.
    fn form(&self, place: PiecePlace) -> Form {
        let Some(placed) = self.pieces.get(&place) else { return Form::default() };
        let before = self.pieces.range(..place).next_back().map(|(place, placed)| (*place, &placed.piece));
        let next_follows = self.next(place).is_some_and(|(next, _)| next == (place.0, place.1 + 1));
        let truncated = !placed.piece.last && !next_follows;
        if before.is_some_and(|(last, _)| last.0 == place.0 && last.1 + 1 == place.1) {
            return Form { continues: true, truncated, ..Form::default() };
        }
        let day = before.and_then(|(_, before)| before.day.as_deref());
        let follows = before.map_or(place.0 == 0, |(last, before)| last.0 + 1 == place.0 && before.last);
        Form {
            continues: false,
            dated: placed.piece.day.as_deref() != day,
            gap: !follows,
            starts_inside: place.1 > 0,
            truncated,
        }
    }

    /// Returns the line that a piece has without preceding pieces, with its date line.
    pub fn line_alone(&self, place: PiecePlace) -> String {
        let alone = |placed: &PlacedPiece| {
            placed.piece.line(Form {
                continues: false,
                dated: true,
                gap: place.0 > 0,
                starts_inside: place.1 > 0,
                ..placed.form
            })
        };
        self.pieces.get(&place).map_or_else(String::new, alone)
    }

    /// Returns the place, line, and tokens of each piece, in order.
    pub fn lines(&self) -> impl Iterator<Item = (PiecePlace, String, u32)> + '_ {
        self.pieces.iter().map(|(place, placed)| (*place, placed.piece.line(placed.form), placed.tokens))
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

    fn piece(text: &str, day: &str, last: bool) -> Piece {
        Piece { text: text.into(), speaker: "Ann".into(), day: Some(day.into()), last }
    }

    /// The line of a piece, with its form worked out again; empty if there is no such piece.
    fn line(list: &CardList<'_>, place: PiecePlace) -> String {
        list.pieces.get(&place).map_or_else(String::new, |placed| placed.piece.line(list.form(place)))
    }

    fn text(list: &CardList<'_>) -> String {
        list.pieces.keys().map(|place| line(list, *place)).collect()
    }

    #[test]
    fn gaps_are_marked() {
        let mut list = CardList::new(&approximate);
        list.add(vec![((0, 0), piece("one", "2023-05-08", true)), ((1, 0), piece("two", "2023-05-08", true))], 99)
            .unwrap();
        list.add(vec![((5, 1), piece("middle", "2023-05-09", false))], 99).unwrap();
        assert_eq!(text(&list), "[2023-05-08]\nAnn: one\nAnn: two\n[2023-05-09]\n… Ann: … middle …\n");
        list.add(vec![((5, 2), piece("end", "2023-05-09", true))], 99).unwrap();
        assert!(text(&list).ends_with("… Ann: … middle\nend\n"));
        let full = text(&list);
        assert!(list.add(vec![((3, 0), piece("too long", "2023-05-09", true))], list.tokens()).is_err());
        assert_eq!(text(&list), full);
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
        fn lines_sum_to_the_whole(places in proptest::collection::vec((0_usize..12, 0_usize..3, "[a-z/] ?[a-z /]{0,9}[a-z]"), 0..20), most in 5_u32..80) {
            let mut list = CardList::new(&approximate);
            for (position, passage, words) in places {
                let day = format!("2023-05-{:02}", position / 4 + 1);
                let _ = list.add(vec![((position, passage), piece(words.trim(), &day, passage == 2))], most);
                prop_assert!(list.tokens() <= most);
                prop_assert_eq!(list.tokens(), approximate(&text(&list)));
                prop_assert_eq!(list.tokens(), list.lines().map(|(_, _, tokens)| tokens).sum::<u32>());
            }
        }
    }

    /// The line of a single piece, at each kind of place.
    #[test]
    fn a_single_line_marks_gaps() {
        let mut list = CardList::new(&approximate);
        let pieces = [((0, 0), false), ((0, 1), true), ((1, 0), true), ((1, 1), true), ((3, 2), false)];
        for (place, last) in pieces {
            list.add(vec![(place, piece("text", "2023-05-08", last))], 999).unwrap();
        }
        let alone: Vec<String> = pieces.iter().map(|(place, _)| list.line_alone(*place).replace('\n', "|")).collect();
        assert_eq!(
            alone,
            [
                "[2023-05-08]|Ann: text|",
                "[2023-05-08]|Ann: … text|",
                "[2023-05-08]|… Ann: text|",
                "[2023-05-08]|… Ann: … text|",
                "[2023-05-08]|… Ann: … text …|",
            ]
        );
        let among: Vec<String> = pieces.iter().map(|(place, _)| line(&list, *place).replace('\n', "|")).collect();
        assert_eq!(among, ["[2023-05-08]|Ann: text|", "text|", "Ann: text|", "text|", "… Ann: … text …|"]);
        assert_eq!((line(&list, (7, 0)), list.line_alone((7, 0))), (String::new(), String::new()));
        assert!(list.contains((1, 1)) && !list.contains((1, 2)));
        let mut slash = CardList::new(&approximate);
        slash.add(vec![((2, 0), piece("a", "d", false)), ((2, 1), piece("/b", "d", true))], 99).unwrap();
        assert_eq!(text(&slash), "[d]\n… Ann: a\n… /b\n");
    }
}
