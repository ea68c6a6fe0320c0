//! Memories: what is to be known beyond the message that said it, typed, with where it comes from and where it holds.
//! Not for: reading suggestions from answers (`state_suggestions`), choosing what goes with a call (`engine`) or storing (`store`).
//!
//! A memory is suggested by a model or written by a person; only a confirmed one is ever sent. One that holds in all
//! sessions, and one that holds in the whole session, reaches every branch there: memory is shared by nature, like the
//! configuration, and so stands outside the promise that branches do not see each other. Deciding about it stays with
//! the branch: a pin or an exclusion of a memory is a mark like any other.

use super::mark::{Actor, Atom};
use crate::domain::base::hash::{Fields, Hash};
use crate::domain::base::ids::{MemoryId, SessionId};
use serde::{Deserialize, Serialize};

/// Characters of a memory at the most.
pub const LONGEST: usize = 300;

/// What a memory is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Something that is so.
    Fact,
    /// How a person wants things.
    Preference,
    /// What came of something.
    Outcome,
    /// Something that happened.
    Event,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fact, Self::Preference, Self::Outcome, Self::Event];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Outcome => "outcome",
            Self::Event => "event",
        }
    }

    /// Reads a word, in any case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Where a memory holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In one session.
    Session(SessionId),
    /// In all.
    All,
}

impl Scope {
    /// Whether it holds in a session.
    #[must_use]
    pub fn holds_in(self, session: SessionId) -> bool {
        match self {
            Self::Session(own) => own == session,
            Self::All => true,
        }
    }
}

/// Whether it counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryStatus {
    /// Somebody must look at it first.
    Suggested,
    /// A person said that it is right.
    Confirmed,
    /// A person turned it down; it is kept so that it is not suggested again.
    Dismissed,
}

impl MemoryStatus {
    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Suggested => "suggested",
            Self::Confirmed => "confirmed",
            Self::Dismissed => "dismissed",
        }
    }
}

/// Where a memory comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The session in which it was made; none once that is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The key of the message that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Hash>,
    /// Who made it.
    pub by: Actor,
}

/// Something to be known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// What it is.
    pub kind: MemoryKind,
    /// What is to be known: one line, at most [`LONGEST`] characters.
    pub text: String,
    /// Where it holds.
    pub scope: Scope,
    /// The lane in which it was said; empty for the main one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lane: String,
    /// Where it comes from.
    pub source: Origin,
    /// Whether it counts.
    pub status: MemoryStatus,
    /// Grows with every change, so that two windows do not overwrite each other.
    pub version: u32,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970 of the last change.
    pub updated_at: i64,
}

impl Memory {
    /// How plans and marks name it: the same through every edit.
    #[must_use]
    pub fn atom(&self) -> Atom {
        atom(self.id)
    }

    /// Whether it says, is and holds the same, whatever its version.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        let plain = |memory: &Self| Self { version: 0, updated_at: 0, ..memory.clone() };
        plain(self) == plain(other)
    }
}

/// How plans and marks name a memory.
#[must_use]
pub fn atom(id: MemoryId) -> Atom {
    Atom::Section { text: Fields::new("memory").text(&id.to_string()).finish() }
}

/// A text as a memory holds it: one line, single spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text for comparing: its words in lower case, without marks.
#[must_use]
pub fn normalised(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_say_the_same_are_normalised_to_the_same() {
        assert_eq!(normalised("The port is 8443."), normalised(" the PORT  is: 8443"));
        assert_ne!(normalised("The port is 8443"), normalised("The port is 8444"));
        assert_eq!(one_line(" a\n b\t c "), "a b c");
    }

    #[test]
    fn names_are_read_back() {
        for kind in MemoryKind::ALL {
            assert_eq!(MemoryKind::from_name(&kind.name().to_uppercase()), Some(kind));
        }
        assert_eq!(MemoryKind::from_name("rumour"), None);
    }
}
