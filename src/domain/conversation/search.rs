//! A search for messages as a person types it: words and filters in one line, such as `dance "round robin" role:user
//! branch:main model:gpt tool:grep session:bees after:2026-01-01 before:2026-02-01`.
//! Not for: running it (`store`), or retrieval for a prompt (`retrieval`).

use super::message::Role;
use crate::domain::base::ids::{NodeId, SessionId};
use jiff::civil::Date;

/// Maximum number of words in a search.
const MAX_WORDS: usize = 32;
/// Minimum characters of a last word that may be a prefix.
const MIN_PREFIX_CHARS: usize = 3;

/// The filters, each with its name and a description of its value.
pub const FILTERS: &[(&str, &str)] = &[
    ("role", "user|assistant|tool|system"),
    ("session", "TITLE"),
    ("branch", "NAME"),
    ("model", "NAME"),
    ("tool", "NAME"),
    ("label", "NAME"),
    ("after", "2026-01-01"),
    ("before", "2026-02-01"),
];

/// A parsed search. All conditions must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchFilter {
    /// Words, and phrases of adjacent words.
    pub phrases: Vec<String>,
    /// Whether the last word may be a prefix.
    pub open: bool,
    /// Roles; empty for any.
    pub roles: Vec<Role>,
    /// Text that the session's title contains or its id starts with, in lower case.
    pub session: Option<String>,
    /// Text that a branch's name contains.
    pub branch: Option<String>,
    /// Text that the model's name contains.
    pub model: Option<String>,
    /// Text that a tool's name contains; only calls and results of such tools match.
    pub tool: Option<String>,
    /// Text that the message's tag contains.
    pub label: Option<String>,
    /// Earliest time, in milliseconds since 1970.
    pub after: Option<i64>,
    /// Time before which the message was written, in milliseconds since 1970.
    pub before: Option<i64>,
    /// The parts that could not be parsed, one sentence each.
    pub problems: Vec<String>,
}

/// A message that was found. All texts are unsanitized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundMessage {
    pub session: SessionId,
    /// The session's title.
    pub title: String,
    pub node: NodeId,
    /// The id in the source it was imported from.
    pub external_id: Option<String>,
    /// Who wrote it.
    pub role: Role,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// The match in its context, as pieces: whether the piece is the match, and its text. For a search without words,
    /// the message's first words.
    pub pieces: Vec<(bool, String)>,
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoundMessages {
    /// The messages, newest first.
    pub messages: Vec<FoundMessage>,
    /// Whether there may be more.
    pub more: bool,
    /// The parts that could not be parsed, one sentence each.
    pub problems: Vec<String>,
}

impl SearchFilter {
    /// Parses a search. Days are days of a time zone `offset` seconds east of UTC. A filter without a value is still
    /// being typed and is ignored; an invalid one is ignored and reported in [`SearchFilter::problems`].
    pub fn read(line: &str, offset: i32) -> Self {
        let mut parsed = Self::default();
        let tokens = tokens(line);
        for token in &tokens {
            let filter = token.name().filter(|(name, _)| FILTERS.iter().any(|(known, _)| known == name));
            match filter {
                Some((name, value)) => parsed.add_filter(&name, value, offset),
                None if parsed.phrases.len() < MAX_WORDS && token.text.chars().any(char::is_alphanumeric) => {
                    parsed.phrases.push(token.text.clone());
                    parsed.open = !token.quoted && token.text.chars().count() >= MIN_PREFIX_CHARS;
                }
                None => {}
            }
        }
        parsed.open &= !line.ends_with(char::is_whitespace);
        parsed
    }

    /// Returns whether the search has no conditions.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty() && !self.filtered()
    }

    /// Returns whether the search has any filter, words aside.
    pub fn filtered(&self) -> bool {
        let texts = [&self.session, &self.branch, &self.model, &self.tool, &self.label];
        !self.roles.is_empty()
            || texts.into_iter().any(Option::is_some)
            || self.after.is_some()
            || self.before.is_some()
    }

    /// Adds a filter. Ignores an empty value; reports an invalid one.
    fn add_filter(&mut self, name: &str, value: &str, offset: i32) {
        if value.is_empty() {
            return;
        }
        let text = || Some(value.to_lowercase());
        match name {
            "role" => match roles(value) {
                found if found.is_empty() => {
                    self.problems
                        .push(format!("There is no role {value}; the roles are user, assistant, tool, and system."));
                }
                found => self.roles.extend(found),
            },
            "session" => self.session = text(),
            "branch" => self.branch = text(),
            "model" => self.model = text(),
            "tool" => self.tool = text(),
            "label" => self.label = text(),
            _ => match day(value) {
                Some(day) => {
                    let at = Some((day * 86_400 - i64::from(offset)) * 1_000);
                    if name == "after" { self.after = at } else { self.before = at }
                }
                None => self.problems.push(format!("{name}: needs a date, as in {name}:2026-01-31.")),
            },
        }
    }
}

/// Returns the roles whose name starts with `value`.
fn roles(value: &str) -> Vec<Role> {
    let value = value.to_lowercase();
    let all = [Role::User, Role::Assistant, Role::Tool, Role::System];
    Role::from_name(&value)
        .map_or_else(|| all.into_iter().filter(|role| role.name().starts_with(&value)).collect(), |role| vec![role])
}

/// Returns the days from 1970 to `2026`, `2026-02`, or `2026-02-17`; `None` for an invalid date.
fn day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let mut next = |width: usize| match parts.next() {
        None => Some(None),
        Some(part) if part.len() <= width && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) => {
            part.parse::<i16>().ok().map(Some)
        }
        Some(_) => None,
    };
    let year = next(4)?.filter(|year| *year >= 1970)?;
    let month = i8::try_from(next(2)?.unwrap_or(1)).ok()?;
    let day = i8::try_from(next(2)?.unwrap_or(1)).ok()?;
    let date = Date::new(year, month, day).ok().filter(|_| parts.next().is_none())?;
    Some(date.duration_since(Date::constant(1970, 1, 1)).as_hours() / 24)
}

/// A word, a phrase in quotes, or a filter with its value.
struct Token {
    text: String,
    /// Position of the first colon outside quotes.
    colon: Option<usize>,
    quoted: bool,
}

impl Token {
    /// Returns the parts before and after the colon; `None` without a colon.
    fn name(&self) -> Option<(String, &str)> {
        let at = self.colon?;
        Some((self.text[..at].to_lowercase(), &self.text[at + 1..]))
    }
}

/// Splits a line into tokens. Quotes keep words together and are removed.
fn tokens(line: &str) -> Vec<Token> {
    let mut all = Vec::new();
    let mut current = Token { text: String::new(), colon: None, quoted: false };
    let mut in_quotes = false;
    for c in line.chars() {
        match c {
            '"' => {
                in_quotes = !in_quotes;
                current.quoted = true;
            }
            c if c.is_whitespace() && !in_quotes => {
                all.push(std::mem::replace(&mut current, Token { text: String::new(), colon: None, quoted: false }));
            }
            '\0' => {}
            c => {
                if c == ':' && !in_quotes && current.colon.is_none() && !current.text.is_empty() {
                    current.colon = Some(current.text.len());
                }
                current.text.push(c);
            }
        }
    }
    all.push(current);
    all.retain(|token| !token.text.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_and_filters_in_one_line() {
        let parsed = SearchFilter::read("dance \"round robin\" role:user branch:\"my try\" after:2026-01-01 bee", 0);
        assert_eq!(parsed.phrases, ["dance", "round robin", "bee"]);
        assert!(parsed.open && parsed.filtered());
        assert_eq!((parsed.roles.as_slice(), parsed.branch.as_deref()), (&[Role::User][..], Some("my try")));
        assert_eq!(parsed.after, Some(1_767_225_600_000));
        assert_eq!(SearchFilter::read("after:2026-01-01", 3_600).after, Some(1_767_225_600_000 - 3_600_000));
        assert!(
            !SearchFilter::read("dance ", 0).open
                && !SearchFilter::read("\"dance\"", 0).open
                && !SearchFilter::read("ab", 0).open
        );
        assert!(SearchFilter::read("danc role:user", 0).open && !SearchFilter::read("dance role:user ", 0).open);
    }

    #[test]
    fn unfinished_filters_are_ignored() {
        assert!(SearchFilter::read("role: after:", 0).is_empty());
        assert_eq!(SearchFilter::read("role:a", 0).roles, [Role::Assistant]);
        assert_eq!(SearchFilter::read("role:fool", 0).problems.len(), 1);
        assert_eq!(SearchFilter::read("after:2026-13", 0).problems.len(), 1);
        assert_eq!(SearchFilter::read("http://x:80 NOT a:b", 0).phrases, ["http://x:80", "NOT", "a:b"]);
    }

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(day("1970"), Some(0));
        assert_eq!(day("2000-03"), Some(11_017));
        assert_eq!(day("2024-02-29"), Some(19_782));
        assert_eq!(day("9999-12-31"), Some(2_932_896));
        for none in ["2023-02-29", "1969", "2026-", "2026-1-1-1", "x", "2026-00", "20260-1", "2026-002", "2026-+2"] {
            assert_eq!(day(none), None, "{none}");
        }
        assert_eq!([day("2026-13"), day("2026-01-0"), day("10000"), day("")], [None; 4]);
    }

    proptest! {
        #[test]
        fn any_line_can_be_parsed(line in "\\PC{0,80}") {
            let parsed = SearchFilter::read(&line, 0);
            prop_assert!(parsed.phrases.len() <= MAX_WORDS);
            prop_assert!(parsed.phrases.iter().all(|phrase| phrase.chars().any(char::is_alphanumeric)));
        }
    }

    #[test]
    fn filters_precede_colons_and_quotes_group_words() {
        let cases: &[(&str, &[&str])] = &[
            (":role", &[":role"]),
            ("\"role:user\"", &["role:user"]),
            ("role\":user\"", &["role:user"]),
            ("\"a b", &["a b"]),
            ("a\"b c\"d e", &["ab cd", "e"]),
            ("  a  b ", &["a", "b"]),
            ("-- a ...", &["a"]),
            ("a\0b", &["ab"]),
            ("\"\" a", &["a"]),
        ];
        for (line, phrases) in cases {
            let parsed = SearchFilter::read(line, 0);
            assert_eq!(parsed.phrases, *phrases, "{line:?}");
            assert!(!parsed.filtered(), "{line:?}");
        }
        let parsed = SearchFilter::read(
            "ROLE:Tool Session:A:B branch:B model:\"M n\" tool:T label:L before:1970-01-02 role:s",
            -60,
        );
        assert_eq!(parsed.roles, [Role::Tool, Role::System]);
        let texts =
            [&parsed.session, &parsed.branch, &parsed.model, &parsed.tool, &parsed.label].map(|text| text.as_deref());
        assert_eq!(texts, ["a:b", "b", "m n", "t", "l"].map(Some));
        assert_eq!((parsed.after, parsed.before, parsed.is_empty()), (None, Some(86_400_000 + 60_000), false));
        for line in ["role:user", "session:a", "branch:a", "model:a", "tool:a", "label:a", "after:2026", "before:2026"]
        {
            let parsed = SearchFilter::read(line, 0);
            assert!(parsed.filtered() && !parsed.is_empty() && parsed.phrases.is_empty() && !parsed.open, "{line}");
        }
        let open = ["abc", "ab", "a b abc", "abc \"abc\"", "abc a", "abc role:user", "abc\t"]
            .map(|line| SearchFilter::read(line, 0).open);
        assert_eq!(open, [true, false, true, false, false, true, false]);
        assert_eq!(SearchFilter::read(&"abc ".repeat(40), 0).phrases.len(), MAX_WORDS);
        assert_eq!(SearchFilter::read(&"abc ".repeat(32), 0).phrases.len(), MAX_WORDS);
    }
}
