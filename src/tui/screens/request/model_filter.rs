//! The filter, order, and grouping of a plan's rows.
//! Not for: the list itself (`model`).

use crate::domain::planning::plan::{Row, RowKind, Verdict};
use std::cmp::Reverse;

/// The order of rows under a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// As the plan has them: the order of the request, what is out newest first.
    #[default]
    Plan,
    /// The largest first.
    Tokens,
    /// The highest score first; what has none last.
    Score,
    /// The oldest first; what has no age last.
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

    /// Its words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Plan => "in plan order",
            Self::Tokens => "most tokens first",
            Self::Score => "highest score first",
            Self::Age => "oldest first",
        }
    }

    /// Puts places of rows into this order.
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

/// What the headings of the list are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Group {
    /// The sections of the request, then what is suggested, then what is out.
    #[default]
    Section,
    /// Kinds of rows.
    Kind,
    /// Why rows are in or out.
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

    /// Its words.
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

/// How the list is arranged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListArrangement {
    /// The order.
    pub order: Order,
    /// The headings.
    pub group: Group,
}

impl ListArrangement {
    /// Its words; none for the usual way.
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
    /// A reason, by its word in JSON.
    Reason(&'static str),
}

impl Heading {
    /// The heading of a row under a way of grouping; none where there are no headings.
    #[must_use]
    pub fn of(group: Group, row: &Row) -> Option<Self> {
        match group {
            Group::Kind => Some(Self::Kind(row.kind)),
            Group::Reason => Some(Self::Reason(row.reason.name())),
            Group::Section | Group::None => None,
        }
    }

    /// Its words.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Self::Kind(kind) => kind.name().to_owned(),
            Self::Reason(name) => name.replace('_', " "),
        }
    }
}

/// A filter that was read: words that the titles must hold, and `kind:`, `section:`, `reason:` with the beginning of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowFilter {
    words: Vec<String>,
    kinds: Vec<String>,
    sections: Vec<String>,
    reasons: Vec<String>,
}

impl RowFilter {
    /// Reads a line. Several of one sort widen the choice; different sorts and words narrow it.
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

    /// Whether a row comes through.
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
