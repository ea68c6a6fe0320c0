//! Derives the expected content of an answer from a question's form: "when" asks for a message that mentions a time,
//! "how many" for a message with a number, a date for messages around it, "you suggested" for the model's words, and
//! "my" for the person's.
//! Not for: the words of the question (`query`).

use super::index::words::{Term, words_of};
use crate::domain::conversation::Role;
use std::borrow::Cow;
use std::ops::Range;

/// The term that marks every passage in the index that mentions a time.
const TIME: Term = 0x7469_6d65_0000_0001;
/// The term that marks every passage in the index that contains a number.
const NUMBER: Term = 0x6e75_6d62_0000_0002;

const DAY: i64 = 86_400;
/// Days after a date during which messages may still refer to it.
const FOLLOW_UP_DAYS: i64 = 3;

#[rustfmt::skip]
const TIMES: &[&str] = &[
    "afternoon", "ago", "april", "august", "autumn", "day", "days", "december", "evening", "fall", "february",
    "friday", "january", "july", "june", "last", "march", "monday", "month", "months", "morning", "next", "november",
    "october", "recently", "saturday", "september", "since", "spring", "summer", "sunday", "thursday", "today",
    "tomorrow", "tonight", "tuesday", "wednesday", "week", "weekend", "weeks", "winter", "year", "years", "yesterday",
];
const NUMBERS: &[&str] = &[
    "couple", "dozen", "eight", "five", "four", "hundred", "nine", "once", "second", "seven", "six", "ten", "third",
    "thousand", "three", "twice", "two",
];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
#[rustfmt::skip]
const LONG_MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
];
/// Words that precede the name of a month.
const BEFORE_MONTHS: &[&str] = &[
    "after", "before", "by", "during", "early", "in", "last", "late", "mid", "of", "since", "this", "through", "until",
];
#[rustfmt::skip]
const SPEECH_VERBS: &[&str] = &[
    "advise", "answer", "explain", "explained", "gave", "give", "list", "listed", "mention", "mentioned", "propose",
    "proposed", "recommend", "recommended", "said", "say", "show", "showed", "suggest", "suggested", "tell", "told",
    "write", "wrote",
];

/// Maximum bytes of the words above; a character that takes one byte in lower case takes at most three as written.
const MAX_WORD_BYTES: usize = 27;

fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) { Cow::Borrowed(word) } else { word.to_lowercase().into() }
}

/// Returns the special terms of a passage: `TIME` and `NUMBER`, where they apply.
pub fn marks(text: &str) -> Vec<Term> {
    let (mut time, mut number) = (false, false);
    for word in
        words_of(text).filter(|word| word.len() <= MAX_WORD_BYTES || word.starts_with(|c: char| c.is_ascii_digit()))
    {
        if time && number {
            break;
        }
        let lower_text = lower(word);
        time |= TIMES.binary_search(&lower_text.as_ref()).is_ok();
        number |= word.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.binary_search(&lower_text.as_ref()).is_ok();
    }
    [(time, TIME), (number, NUMBER)].into_iter().filter(|(present, _)| *present).map(|(_, term)| term).collect()
}

/// The content that a question's form asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// A special term that an answer would contain.
    pub wants: Option<Term>,
    /// The role whose words it asks for.
    pub role: Option<Role>,
    /// Times it names, in seconds since 1970.
    pub times: Vec<Range<i64>>,
}

impl Hints {
    /// Reads the hints of a query. A month without a year is the last one that began before `newest`, in seconds since
    /// 1970.
    pub fn new(text: &str, newest: Option<i64>) -> Self {
        let lower_text = text.to_lowercase();
        let words: Vec<&str> = words_of(&lower_text).collect();
        let has = |word: &str| words.contains(&word);
        let pair =
            |first: &str, second: &[&str]| words.windows(2).any(|two| two[0] == first && second.contains(&two[1]));
        let which = ["what", "which"].iter().any(|first| pair(first, &["date", "day", "month", "year", "time"]));
        let wants = if has("when") || which || pair("how", &["long"]) {
            Some(TIME)
        } else if pair("how", &["many", "much", "often", "old"]) {
            Some(NUMBER)
        } else {
            None
        };
        Self { wants, role: role(&words), times: times(&words, newest) }
    }

    /// Returns whether the query names this time, in seconds since 1970.
    pub fn names(&self, at: i64) -> bool {
        self.times.iter().any(|range| range.contains(&at))
    }
}

fn role(words: &[&str]) -> Option<Role> {
    let you = words.iter().position(|word| *word == "you");
    let of_model = you.is_some_and(|at| words[at..].iter().take(4).any(|word| SPEECH_VERBS.contains(word)));
    let of_person = words.windows(2).any(|two| two[0] == "i" && SPEECH_VERBS.contains(&two[1]))
        || words.windows(3).any(|three| three[0] == "i" && SPEECH_VERBS.contains(&three[2]));
    let own = words.iter().any(|word| matches!(*word, "i" | "my" | "mine" | "we" | "our" | "ive" | "i've" | "i'm"));
    match (of_model, of_person || (own && !of_model)) {
        (true, false) => Some(Role::Assistant),
        (_, true) => Some(Role::User),
        _ => None,
    }
}

/// Returns the named months and days as ranges of seconds, in the year that the query names, or else in the last year in
/// which they began before `newest`.
fn times(words: &[&str], newest: Option<i64>) -> Vec<Range<i64>> {
    let number = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<i16>().ok();
    let year = words.iter().filter_map(|word| word.parse::<i16>().ok()).find(|year| (1970..2200).contains(year));
    let newest_year = newest.and_then(|at| jiff::Timestamp::from_second(at).ok());
    let newest_year = newest_year.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).year());
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let month =
            LONG_MONTHS.iter().chain(&MONTHS).position(|month| month == word || (*word == "sept" && *month == "sep"));
        let Some(month) = month.and_then(|at| i8::try_from(at % 12 + 1).ok()) else { continue };
        let around = [at.checked_sub(1), Some(at + 1), at.checked_sub(2)];
        let near = around.into_iter().flatten().filter_map(|at| words.get(at)).filter_map(|word| number(word));
        let day = near.filter_map(|day| i8::try_from(day).ok()).find(|day| (1..=31).contains(day));
        let begin = |year: i16| {
            let date = jiff::civil::Date::new(year, month, day.unwrap_or(1)).ok()?;
            Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
        };
        // "May" and "march" are also other words.
        let is_month = day.is_some() || at.checked_sub(1).is_some_and(|at| BEFORE_MONTHS.contains(&words[at]));
        let from = match (year, newest_year) {
            (Some(year), _) => begin(year),
            (None, Some(year)) if is_month => {
                [year, year - 1].into_iter().filter_map(begin).find(|from| newest.is_some_and(|newest| *from <= newest))
            }
            (None, _) => None,
        };
        let Some(from) = from else { continue };
        found.push(from..from + if day.is_some() { (1 + FOLLOW_UP_DAYS) * DAY } else { (31 + FOLLOW_UP_DAYS) * DAY });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [TIMES, NUMBERS, SPEECH_VERBS] {
            assert!(
                list.is_sorted() && list.iter().all(|word| word.len() * 3 <= MAX_WORD_BYTES || list == SPEECH_VERBS)
            );
        }
    }

    #[test]
    fn marks_of_passages() {
        for (text, found) in [
            ("", vec![]),
            ("Monday", vec![TIME]),
            ("MONTHS", vec![TIME]),
            ("mondays", vec![]),
            ("3rd", vec![NUMBER]),
            ("v3", vec![]),
            ("Twice", vec![NUMBER]),
            ("twice a day", vec![TIME, NUMBER]),
            ("a day and 4", vec![TIME, NUMBER]),
            ("see you on Friday, all three", vec![TIME, NUMBER]),
            ("second", vec![NUMBER]),
        ] {
            assert_eq!(marks(text), found, "{text}");
        }
        assert_eq!(marks(&format!("7{}", "0".repeat(60))), [NUMBER], "long numbers are numbers");
    }

    #[test]
    fn hints_of_question_forms() {
        for (text, wants) in [
            ("When did it rain?", Some(TIME)),
            ("How many cats are there", Some(NUMBER)),
            ("when", Some(TIME)),
            ("say when", Some(TIME)),
            ("what time", Some(TIME)),
            ("on which day", Some(TIME)),
            ("what a day", None),
            ("how long", Some(TIME)),
            ("how old", Some(NUMBER)),
            ("how much", Some(NUMBER)),
            ("how often", Some(NUMBER)),
            ("how", None),
            ("many how", None),
            ("how many, and how long", Some(TIME)),
        ] {
            assert_eq!(Hints::new(text, None).wants, wants, "{text}");
        }
        for (text, role) in [
            ("What did you suggest for my garden?", Some(Role::Assistant)),
            ("What did I tell you about tea?", Some(Role::User)),
            ("What is my deadline?", Some(Role::User)),
            ("you said", Some(Role::Assistant)),
            ("you a b said", Some(Role::Assistant)),
            ("you a b c said", None),
            ("said you", None),
            ("i said", Some(Role::User)),
            ("i once told", Some(Role::User)),
            ("i have once told", Some(Role::User)),
            ("you said what i told", Some(Role::User)),
            ("you said to me, my friend", Some(Role::Assistant)),
            ("we", Some(Role::User)),
            ("mine", Some(Role::User)),
            ("i'm", Some(Role::User)),
            ("they said", None),
        ] {
            assert_eq!(Hints::new(text, None).role, role, "{text}");
        }
    }

    #[test]
    fn times_by_month_day_and_year() {
        let at = |year: i16, month: i8, day: i8| {
            jiff::civil::date(year, month, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second()
        };
        let month = |year, month| at(year, month, 1)..at(year, month, 1) + 34 * DAY;
        let day = |year, month, day| at(year, month, day)..at(year, month, day) + 4 * DAY;
        for (text, times) in [
            ("on 25 May, 2022", vec![day(2022, 5, 25)]),
            ("May 25th 2022", vec![day(2022, 5, 25)]),
            ("in May 2022", vec![month(2022, 5)]),
            ("in May", vec![]),
            ("may 3 2022", vec![day(2022, 5, 3)]),
            ("3 may 2022", vec![day(2022, 5, 3)]),
            ("2022 may 3rd", vec![day(2022, 5, 3)]),
            ("the 31st of december 1999", vec![day(1999, 12, 31)]),
            ("0 may 32 2022", vec![month(2022, 5)]),
            ("4 sept 2022", vec![day(2022, 9, 4)]),
            ("jan and dec 2022", vec![month(2022, 1), month(2022, 12)]),
            ("feb 30 2022", vec![]),
            ("may 1969", vec![]),
            ("may 1970", vec![month(1970, 5)]),
            ("may 2199", vec![month(2199, 5)]),
            ("may 2200", vec![]),
            ("2022", vec![]),
            ("7 x y may 2022", vec![month(2022, 5)]),
            ("2 7 may 2022", vec![day(2022, 5, 7)]),
        ] {
            assert_eq!(Hints::new(text, None).times, times, "{text}");
        }
        let newest = Some(at(2023, 6, 9));
        for (text, times) in [
            ("in May", vec![month(2023, 5)]),
            ("In early July?", vec![month(2022, 7)]),
            ("on 8 June", vec![day(2023, 6, 8)]),
            ("June 10th", vec![day(2022, 6, 10)]),
            ("you may march on", vec![]),
            ("in May 2021", vec![month(2021, 5)]),
            ("Feb 29", vec![]),
        ] {
            assert_eq!(Hints::new(text, newest).times, times, "{text}");
        }
        assert_eq!(Hints::new("Why is the sky blue?", None), Hints::default());
        let hints = Hints::new("3 may 2022", None);
        let start = at(2022, 5, 3);
        assert_eq!(
            [start - 1, start, start + 4 * DAY - 1, start + 4 * DAY].map(|at| hints.names(at)),
            [false, true, true, false]
        );
    }
}
