//! Filter, order, and grouping of the rows in the request overlay.
//! Not for: the lines of the list (`model`).

use crate::domain::base::named_enum::named_enum;
use crate::domain::planning::state_request::STATE_REQUEST_TITLE;
use crate::domain::planning::{Row, RowKind, StateRequestOutcome, Verdict};
use std::cmp::Reverse;

/// The names of the section of rows that are left out.
const LEFT_OUT: [&str; 2] = ["excluded", "out"];

named_enum! {
    /// The order of rows under a heading.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Order {
        /// The plan's order: included rows in the order of the request, the others newest first.
        #[default]
        Plan => "in plan order",
        /// Largest first.
        Tokens => "most tokens first",
        /// Highest score first; rows without a score last.
        Score => "highest score first",
        /// Oldest first; rows without a date last.
        Age => "oldest first",
    }
    /// How the screen names the order.
    pub fn title
}

impl Order {
    /// The next order, cyclically.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// Sorts indices into `rows`.
    pub fn sort(self, rows: &[Row], indices: &mut [usize]) {
        match self {
            Self::Plan => {}
            Self::Tokens => indices.sort_by_key(|at| Reverse(rows[*at].tokens)),
            Self::Score => indices.sort_by_key(|at| Reverse(rows[*at].scores.score.unwrap_or(i32::MIN))),
            Self::Age => indices.sort_by_key(|at| {
                let source = &rows[*at].source;
                (source.at.is_none(), source.at, source.turn)
            }),
        }
    }
}

named_enum! {
    /// The property that the list is grouped by under headings.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Group {
        /// Sections of the request, then suggested pins, then items that are left out.
        #[default]
        Section => "by section",
        /// Kinds of rows.
        Kind => "by kind",
        /// Reasons for including or leaving out.
        Reason => "by reason",
        /// No headings.
        None => "without headings",
    }
    /// How the screen names the grouping.
    pub fn title
}

impl Group {
    /// The next grouping, cyclically.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// Order and grouping of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListArrangement {
    /// Order of the rows under a heading.
    pub order: Order,
    /// Grouping under headings.
    pub group: Group,
}

impl ListArrangement {
    /// How the screen describes the arrangement; None for the default.
    pub fn description(self) -> Option<String> {
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
    Kind(RowKind),
    /// A reason, by its JSON name.
    Reason(&'static str),
}

impl Heading {
    /// The heading that a row belongs to; None if the grouping is by section or has no headings.
    pub fn of(group: Group, row: &Row) -> Option<Self> {
        match group {
            Group::Kind => Some(Self::Kind(row.kind)),
            Group::Reason => Some(Self::Reason(row.reason.name())),
            Group::Section | Group::None => None,
        }
    }

    /// The heading's text.
    pub fn title(self) -> String {
        match self {
            Self::Kind(kind) => kind.name().to_owned(),
            Self::Reason(name) => name.replace('_', " "),
        }
    }
}

/// A parsed filter. Plain words must occur in a title of the row or its messages; `kind:`, `section:`, and `reason:`
/// take the beginning of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RowFilter {
    words: Vec<String>,
    kinds: Vec<String>,
    sections: Vec<String>,
    reasons: Vec<String>,
}

impl RowFilter {
    /// Parses a filter. Values of one field are alternatives; fields and plain words must all match.
    pub fn parse(line: &str) -> Self {
        let mut filter = Self::default();
        for word in line.split_whitespace() {
            let lower = word.to_lowercase();
            match lower.split_once(':') {
                Some(("kind", name)) => filter.kinds.push(normalize(name)),
                Some(("section", name)) => filter.sections.push(normalize(name)),
                Some(("reason", name)) => filter.reasons.push(normalize(name)),
                _ => filter.words.push(lower),
            }
        }
        filter
    }

    /// Whether a row passes the filter.
    pub fn matches(&self, row: &Row) -> bool {
        let section = match (&row.verdict, row.section()) {
            (_, Some(section)) => [section.name(), section.title()],
            (Verdict::Suggested, None) => ["suggested", "suggested"],
            (_, None) => LEFT_OUT,
        };
        self.matches_names(row.kind, section, row.reason.name())
            && self.words.iter().all(|word| title_contains(row, word))
    }

    /// Whether the line for the request for a state block passes the filter.
    pub fn matches_state_request(&self, outcome: StateRequestOutcome) -> bool {
        self.matches_names(RowKind::Text, LEFT_OUT, outcome.name())
            && self.words.iter().all(|word| STATE_REQUEST_TITLE.contains(word))
    }

    fn matches_names(&self, kind: RowKind, section: [&str; 2], reason: &str) -> bool {
        let any = |wanted: &[String], names: &[&str]| {
            wanted.is_empty()
                || wanted.iter().any(|word| names.iter().any(|name| normalize(name).starts_with(word.as_str())))
        };
        any(&self.kinds, &[kind.name()]) && any(&self.sections, &section) && any(&self.reasons, &[reason])
    }
}

fn normalize(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], " ")
}

fn title_contains(row: &Row, word: &str) -> bool {
    let titles = std::iter::once(&row.title).chain(row.items.iter().map(|item| &item.title));
    titles.into_iter().any(|title| title.to_lowercase().contains(word))
}
