//! Things that a person edits, each with its versions: the state block, summaries, memories, policies.
//! Not for: comparing their texts (`lines`) or changing them (`engine`).

use std::sync::Arc;

/// What can be edited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EditableKind {
    /// The state block of a branch.
    State,
    /// Summaries in use on a branch.
    Summaries,
    /// What is remembered.
    Memories,
    /// The rules by which calls are made.
    Policies,
    /// Files with rules of the project, or of the person's own.
    Rules,
    /// Texts that are loaded when they are wanted.
    Skills,
    /// Summaries of parts of the program.
    Modules,
}

impl EditableKind {
    /// All of them, in the order of the screen.
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

/// Whether a thing can be edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Editing {
    /// It can.
    Here,
    /// Only a copy of it, under another name.
    Copy,
    /// It cannot, for this reason.
    Not(&'static str),
}

/// A thing with its versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Editable {
    /// What it is.
    pub kind: EditableKind,
    /// How acts name it: a policy's name, a memory's or capsule's id; empty for the state.
    pub id: String,
    /// One line, unsanitised.
    pub title: String,
    /// How it stands.
    pub note: String,
    /// Whether it can be edited.
    pub editing: Editing,
    /// What goes now: for a state, summary or memory what is or may be sent; for a policy, that the branch takes it.
    pub goes: bool,
    /// Its versions, newest first; none where nothing was written yet.
    pub versions: Vec<Version>,
}

/// One version of a thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// What it is, in words: "version 3, edited by you".
    pub what: String,
    /// Milliseconds since 1970, where it is known.
    pub at: Option<i64>,
    /// Its text, unsanitised.
    pub text: Arc<str>,
    /// It is the one that counts.
    pub current: bool,
    /// The place in the list of the version that it came from; none for the first.
    pub from: Option<usize>,
}

impl Editable {
    /// The place of the version that counts.
    #[must_use]
    pub fn current(&self) -> usize {
        self.versions.iter().position(|version| version.current).unwrap_or(0)
    }
}

/// A text that is no policy, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Line and column, from 1; none where it is no matter of a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong, and what may be meant.
    pub words: String,
}
