//! Texts that a person can edit, with their versions: the state block, summaries, memories, policies.
//! Not for: comparing texts or changing them (`engine`).

use std::sync::Arc;

/// The kind of an editable text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EditableKind {
    /// The state block of a branch.
    State,
    /// Summaries in use on a branch.
    Summaries,
    /// Memories.
    Memories,
    /// Policies.
    Policies,
    /// Rule files of the project, or of the person's own.
    Rules,
    /// Skills.
    Skills,
    /// Module summaries.
    Modules,
}

impl EditableKind {
    /// All kinds, in the order of the screen.
    pub const ALL: [Self; 7] =
        [Self::State, Self::Summaries, Self::Memories, Self::Policies, Self::Rules, Self::Skills, Self::Modules];

    /// Its title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::State => "State",
            Self::Summaries => "Summaries",
            Self::Memories => "Memories",
            Self::Policies => "Policies",
            Self::Rules => "Rules",
            Self::Skills => "Skills",
            Self::Modules => "Modules",
        }
    }
}

/// Whether a text can be edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Editability {
    /// Yes.
    Here,
    /// Only as a copy with another name.
    Copy,
    /// No, for this reason.
    Not(&'static str),
}

/// An editable text with its versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Editable {
    /// Its kind.
    pub kind: EditableKind,
    /// How acts name it: a policy's name, a memory's or summary's id; empty for the state.
    pub id: String,
    /// One line, unsanitized.
    pub title: String,
    /// Its status.
    pub note: String,
    /// Whether it can be edited.
    pub editing: Editability,
    /// Whether it is in use: for a state, summary or memory, that it is or may be sent; for a policy, that the branch
    /// uses it.
    pub goes: bool,
    /// Its versions, newest first; empty if nothing was written yet.
    pub versions: Vec<Version>,
}

/// A version of an editable text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// A description: "version 3, edited by you".
    pub what: String,
    /// Milliseconds since 1970, if known.
    pub at: Option<i64>,
    /// Its text, unsanitized.
    pub text: Arc<str>,
    /// Whether it is the current version.
    pub current: bool,
    /// Index of the version it was derived from; `None` for the first.
    pub from: Option<usize>,
}

impl Editable {
    /// Index of the current version.
    #[must_use]
    pub fn current(&self) -> usize {
        self.versions.iter().position(|version| version.current).unwrap_or(0)
    }
}

/// A fault in a policy's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyFault {
    /// Line and column, from 1; `None` if it has no position.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what may be meant.
    pub words: String,
}
