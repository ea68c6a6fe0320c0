//! The filter, order, and grouping of a plan's rows.
//! Not for: the list itself (`model`).

use crate::domain::planning::plan::{Row, RowKind, Verdict};
use std::cmp::Reverse;

/// The order of rows under a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As in the plan: the order of the request; left-out rows newest first.
    #[default]
    Plan,
    /// The largest first.
    Tokens,
    /// The highest score first; rows without a score last.
    Score,
    /// The oldest first; rows without an age last.
    Age,
}

impl Order {
    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Plan => Self::Tokens,
            Self::Tokens => Self::Score,
            Self::Score => Self::Age,
            Self::Age => Self::Plan,
        }
    }

    /// Its name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Plan => "in plan order",
            Self::Tokens => "most tokens first",
            Self::Score => "highest score first",
            Self::Age => "oldest first",
        }
    }

    /// Sorts indices of rows.
    pub fn sort(self, rows: &[Row], places: &mut [usize]) {
        match self {
            Self::Plan => {}
            Self::Tokens => places.sort_by_key(|at| Reverse(rows[*at].tokens)),
            Self::Score => places.sort_by_key(|at| Reverse(rows[*at].scores.score.unwrap_or(i32::MIN))),
            Self::Age => places.sort_by_key(|at| {
                let source = &rows[*at].source;
                (source.at.is_none(), source.at, source.turn)
            }),
        }
    }
}

/// The grouping of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Group {
    /// The sections of the request, then suggested pins, then left-out rows.
    #[default]
    Section,
    /// Kinds of rows.
    Kind,
    /// Reasons.
    Reason,
    /// None.
    None,
}

impl Group {
    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Section => Self::Kind,
            Self::Kind => Self::Reason,
            Self::Reason => Self::None,
            Self::None => Self::Section,
        }
    }

    /// Its name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Section => "by section",
            Self::Kind => "by kind",
            Self::Reason => "by reason",
            Self::None => "without headings",
        }
    }
}

/// The order and grouping of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListArrangement {
    /// The order.
    pub order: Order,
    /// The grouping.
    pub group: Group,
}

impl ListArrangement {
    /// Its description; `None` for the default.
    #[must_use]
    pub fn words(self) -> Option<String> {
        match (self.group, self.order) {
            (Group::Section, Order::Plan) => None,
            (group, Order::Plan) => Some(group.title().to_owned()),
            (Group::Section, order) => Some(order.title().to_owned()),
            (group, order) => Some(format!("{}, {}", group.title(), order.title())),
        }
    }
}

/// A heading other than a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heading {
    /// A kind of rows.
    Kind(RowKind),
    /// A reason, by its name in JSON.
    Reason(&'static str),
}

impl Heading {
    /// The heading of a row in a grouping; `None` if it has no headings.
    #[must_use]
    pub fn of(group: Group, row: &Row) -> Option<Self> {
        match group {
            Group::Kind => Some(Self::Kind(row.kind)),
            Group::Reason => Some(Self::Reason(row.reason.name())),
            Group::Section | Group::None => None,
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Self::Kind(kind) => kind.name().to_owned(),
            Self::Reason(name) => name.replace('_', " "),
        }
    }
}

/// A parsed filter: words in titles, and `kind:`, `section:`, `reason:` with the start of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowFilter {
    words: Vec<String>,
    kinds: Vec<String>,
    sections: Vec<String>,
    reasons: Vec<String>,
}

impl RowFilter {
    /// Parses a line. Several values of one sort widen the filter; different sorts and words narrow it.
    #[must_use]
    pub fn read(line: &str) -> Self {
        let mut sieve = Self::default();
        for word in line.split_whitespace() {
            let lower = word.to_lowercase();
            match lower.split_once(':') {
                Some(("kind", name)) => sieve.kinds.push(plain(name)),
                Some(("section", name)) => sieve.sections.push(plain(name)),
                Some(("reason", name)) => sieve.reasons.push(plain(name)),
                _ => sieve.words.push(lower),
            }
        }
        sieve
    }

    /// Whether a row matches.
    #[must_use]
    pub fn lets(&self, row: &Row) -> bool {
        let any = |wanted: &[String], names: &[&str]| {
            wanted.is_empty()
                || wanted.iter().any(|word| names.iter().any(|name| plain(name).starts_with(word.as_str())))
        };
        let section = match (&row.verdict, row.section()) {
            (_, Some(section)) => [section.name(), section.title()],
            (Verdict::Suggested, None) => ["suggested", "suggested"],
            (_, None) => ["excluded", "out"],
        };
        any(&self.kinds, &[row.kind.name()])
            && any(&self.sections, &section)
            && any(&self.reasons, &[row.reason.name()])
            && self.words.iter().all(|word| holds(row, word))
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], " ")
}

fn holds(row: &Row, word: &str) -> bool {
    let titles = std::iter::once(&row.title).chain(row.items.iter().map(|item| &item.title));
    titles.into_iter().any(|title| title.to_lowercase().contains(word))
}
