//! Configuration errors, each with its location.
//! Not for: finding errors (`layer`, `load`).

use crate::domain::base::{Failure, FailureKind};
use crate::domain::tool::consent::{PROGRAM_TOOLS, names_a_tool};
use std::path::Path;
use std::{fmt, io};

/// A position in a file. Lines and columns start at 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// Returns the position of a byte offset.
    pub fn of(text: &str, byte: usize) -> Self {
        let before = &text[..text.floor_char_boundary(byte)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A configuration that cannot be used. The texts are not sanitized.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file exists but cannot be read.
    #[error("{file} can't be read: {why}.")]
    Unreadable {
        file: String,
        /// The system's error message.
        why: String,
    },
    /// A file contains an error.
    #[error("{file}, {place}: {}{what}.", key_words(key))]
    Faulty {
        file: String,
        /// The location in the file.
        place: Place,
        /// The dotted key with the error; empty if the file is not valid TOML.
        key: String,
        what: String,
        /// The nearest valid value.
        nearest: Option<String>,
    },
    /// A folder's own file contains a setting that only the user's file can contain.
    #[error("{file}, {place}: `{key}` is not allowed in a folder's settings file.")]
    NotHere {
        file: String,
        /// The location in the file.
        place: Place,
        key: String,
    },
    /// A value from the environment or the command line is wrong.
    #[error("{name} is {value:?}: {what}.")]
    InvalidValue {
        /// The variable or flag.
        name: String,
        value: String,
        what: String,
        /// The nearest valid value.
        nearest: Option<String>,
    },
    /// The home folder is unknown, so no paths can be found.
    #[error("The home folder is unknown ({0}).")]
    NoHome(String),
    /// The user's file cannot be written.
    #[error("{file} can't be written: {why}.")]
    Unwritable {
        file: String,
        /// The system's error message.
        why: String,
    },
}

fn key_words(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("`{key}`: ") }
}

impl ConfigError {
    pub(super) fn unreadable(file: &Path, why: &io::Error) -> Self {
        Self::Unreadable { file: file.display().to_string(), why: why.to_string() }
    }

    pub(super) fn unwritable(file: &Path, why: &io::Error) -> Self {
        Self::Unwritable { file: file.display().to_string(), why: why.to_string() }
    }

    /// Returns a hint for the user, or an empty text.
    pub fn hint(&self) -> String {
        match self {
            Self::Faulty { nearest: Some(near), .. } | Self::InvalidValue { nearest: Some(near), .. } => {
                format!("Did you mean `{near}`?")
            }
            Self::Faulty { .. } => "`pleach config check` checks the files again.".into(),
            Self::NotHere { .. } => {
                "Move the setting to your own settings file; `pleach config path` prints its path.".into()
            }
            Self::NoHome(_) => "Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME, and XDG_STATE_HOME.".into(),
            Self::Unreadable { .. } | Self::Unwritable { .. } => "Check the file's owner and permissions.".into(),
            Self::InvalidValue { .. } => String::new(),
        }
    }

    /// Returns the failure for the screen and the command line.
    pub fn failure(&self) -> Failure {
        Failure::new(FailureKind::Config, self.to_string()).todo(self.hint())
    }
}

/// Returns the candidate nearest to `word`, or None if no candidate is similar enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(far, _)| *far <= limit)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Returns a warning about the tool of a rule if the rule can match no call.
pub fn unknown_tool(pattern: &str) -> Option<String> {
    let instead = || match nearest(pattern, PROGRAM_TOOLS) {
        Some(near) => format!("Did you mean {near}?"),
        None => format!("The tools are {}, and mcp__SERVER__TOOL for MCP servers.", PROGRAM_TOOLS.join(", ")),
    };
    (!names_a_tool(pattern))
        .then(|| format!("No tool has the name {pattern:?}, so the rule has no effect. {}", instead()))
}

/// Returns the edit distance. Swapping two adjacent characters counts as one step.
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
    fn a_rule_without_effect_is_explained() {
        let near = unknown_tool("raed_file").unwrap();
        assert_eq!(near, "No tool has the name \"raed_file\", so the rule has no effect. Did you mean read_file?");
        assert!(unknown_tool("everything").unwrap().ends_with("load_skill, and mcp__SERVER__TOOL for MCP servers."));
        assert_eq!((unknown_tool("run"), unknown_tool("mcp__a__b"), unknown_tool("*")), (None, None, None));
    }

    #[test]
    fn places_count_characters() {
        let text = "a = 1\né = \"ü\" x";
        assert_eq!(Place::of(text, text.len()), Place { line: 2, column: 10 });
        assert_eq!(Place::of(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of(text, 7), Place { line: 2, column: 1 });
    }
}
