//! What can be wrong with a configuration, each with the place where it stands.
//! Not for: finding faults (`layer`, `load`).

use crate::domain::base::failure::{Failure, FailureKind};
use std::fmt;

/// A place in a file, counted from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    #[must_use]
    pub fn of(text: &str, byte: usize) -> Self {
        let mut end = byte.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A configuration that cannot be used. Texts are unsanitised.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("{file} cannot be read: {why}.")]
    Unreadable {
        /// Which.
        file: String,
        /// The system's words.
        why: String,
    },
    /// Something in a file is wrong.
    #[error("{file}, {place}: {}{what}.", key_words(key))]
    Faulty {
        /// Which file.
        file: String,
        /// Where in it.
        place: Place,
        /// The key at fault, dotted; empty where the file is no TOML at all.
        key: String,
        /// What is wrong.
        what: String,
        /// The nearest thing that would be right.
        nearest: Option<String>,
    },
    /// A folder's own file sets what only the person may set.
    #[error("{file}, {place}: `{key}` may not be set by a folder's own file.")]
    NotHere {
        /// Which file.
        file: String,
        /// Where in it.
        place: Place,
        /// The key.
        key: String,
    },
    /// A value from the environment or the command line is wrong.
    #[error("{name} is {value:?}: {what}.")]
    Given {
        /// The variable or flag.
        name: String,
        /// Its value.
        value: String,
        /// What is wrong.
        what: String,
        /// The nearest thing that would be right.
        nearest: Option<String>,
    },
    /// The home folder is not known, so there is no place for anything.
    #[error("The home folder is not known ({0}).")]
    NoHome(String),
    /// The person's file cannot be written.
    #[error("{file} cannot be written: {why}.")]
    Unwritable {
        /// Which.
        file: String,
        /// The system's words.
        why: String,
    },
}

fn key_words(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}`: ") }
}

impl ConfigError {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Faulty { nearest: Some(near), .. } | Self::Given { nearest: Some(near), .. } => {
                format!("Did you mean `{near}`?")
            }
            Self::Faulty { .. } => "`pleach config check` tries it again.".into(),
            Self::NotHere { .. } => "Move it to your own file; `pleach config path` says which that is.".into(),
            Self::NoHome(_) => "Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME.".into(),
            Self::Unreadable { .. } | Self::Unwritable { .. } => "Look at its owner and mode.".into(),
            Self::Given { .. } => String::new(),
        }
    }

    /// As the screen and the command line say it.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::new(FailureKind::Config, self.to_string()).todo(self.hint())
    }
}

/// The candidate nearest to `word`, if it is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(far, _)| *far <= limit)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Edit distance in which two swapped neighbours are one step.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let mut rows = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("thmee", "theme"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("polcy", ["profile", "policy", "layout"]).as_deref(), Some("policy"));
        assert_eq!(nearest("zebra", ["profile", "policy"]), None);
    }

    #[test]
    fn places_count_characters() {
        let text = "a = 1\né = \"ü\" x";
        assert_eq!(Place::of(text, text.len()), Place { line: 2, column: 10 });
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(text, 7), Place { line: 2, column: 1 });
    }
}
