//! Memories: facts, preferences, outcomes, and events that are stored independently of the message that mentioned them,
//! with their origin and scope.
//! Not for: reading suggestions from answers (`state_suggestions`), choosing which are sent (`engine`), or storing them
//! (`store`).
//!
//! A model suggests a memory or a person writes it; only confirmed memories are sent. A memory of a session, or of all
//! sessions, applies to every branch there: like the configuration, it is shared, which is an exception to the
//! isolation of branches. Decisions about a memory stay with the branch: a pin or an exclusion of a memory is a mark
//! like any other.

use super::mark::{Actor, Atom};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{MemoryId, SessionId};
use crate::domain::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};

/// Maximum characters of a memory.
pub const LONGEST: usize = 300;

named_enum! {
    /// The kind of a memory.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
    pub enum MemoryKind {
        Fact = "fact",
        /// A person's preference.
        Preference = "preference",
        /// The outcome of something.
        Outcome = "outcome",
        Event = "event",
    }
}

impl MemoryKind {
    /// Parses a name, ignoring case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Where a memory applies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Session(SessionId),
    /// In all sessions.
    All,
}

named_enum! {
    /// The status of a memory.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
    pub enum MemoryStatus {
        /// The memory waits for a person's decision.
        Suggested = "suggested",
        /// A person confirmed the memory.
        Confirmed = "confirmed",
        /// A person dismissed the memory. It stays stored so that it is not suggested again.
        Dismissed = "dismissed",
    }
}

/// Where a memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The session in which it was made; `None` once that session is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The key of the message it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Hash>,
    /// Who made it.
    pub by: Actor,
}

/// A memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    pub id: MemoryId,
    pub kind: MemoryKind,
    /// The text: one line, at most [`LONGEST`] characters.
    pub text: String,
    /// Where it applies.
    pub scope: Scope,
    /// The lane in which it was made; empty for the root lane.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// Where the memory comes from.
    pub source: Origin,
    pub status: MemoryStatus,
    /// Incremented with every change, so that two windows do not overwrite each other.
    pub version: u32,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of the last change.
    pub updated_at: i64,
}

impl Memory {
    /// Returns the atom that identifies the memory in plans and marks. Edits do not change it.
    pub fn atom(&self) -> Atom {
        atom(self.id)
    }

    /// Returns whether everything except the version and the time of the last change is equal.
    pub fn same(&self, other: &Self) -> bool {
        let plain = |memory: &Self| Self { version: 0, updated_at: 0, ..memory.clone() };
        plain(self) == plain(other)
    }
}

/// Returns the atom that identifies a memory in plans and marks.
pub fn atom(id: MemoryId) -> Atom {
    Atom::Section { text: Fields::new("memory").text(&id.to_string()).finish() }
}

/// Returns a text as memories store it: one line, with single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text for comparisons: its words in lower case, separated by spaces, without punctuation.
pub fn normalized(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_normalize_equally() {
        assert_eq!(normalized("The port is 8443."), normalized(" the PORT  is: 8443"));
        assert_ne!(normalized("The port is 8443"), normalized("The port is 8444"));
        assert_eq!(one_line(" a\n b\t c "), "a b c");
    }

    #[test]
    fn names_round_trip() {
        for kind in MemoryKind::ALL {
            assert_eq!(MemoryKind::from_name(&kind.name().to_uppercase()), Some(kind));
        }
        assert_eq!(MemoryKind::from_name("rumour"), None);
    }
}
