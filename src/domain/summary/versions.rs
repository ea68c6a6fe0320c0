//! Texts that a person can edit, with their versions: the state block, summaries, memories, policies.
//! Not for: comparing texts or changing them (`engine`).

use super::accepted::SummarySource;
use crate::domain::base::named_enum::named_enum;
use std::sync::Arc;

named_enum! {
    /// The kind of an editable text, in the order of their display.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub enum EditableKind {
        /// The state block of a branch.
        #[default]
        State => "State",
        /// Summaries in use on a branch.
        Summaries => "Summaries",
        Memories => "Memories",
        Policies => "Policies",
        /// Rule files of the project, and the person's own.
        Rules => "Rules",
        Skills => "Skills",
        /// Module summaries.
        Modules => "Modules",
    }
    /// Returns the title.
    pub fn title
}

/// Whether a text can be edited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Editability {
    /// It can be edited.
    Here,
    /// It can be edited only as a copy with another name.
    Copy,
    /// It cannot be edited, for this reason.
    Not(&'static str),
}

/// An editable text with its versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Editable {
    pub kind: EditableKind,
    /// The id that acts use for it: a policy's name, or the id of a memory or summary; empty for the state.
    pub id: String,
    /// One-line title, unsanitized.
    pub title: String,
    /// The status, as text.
    pub note: String,
    /// Who wrote the current version of a module summary; `None` for other kinds.
    pub source: Option<SummarySource>,
    /// Whether it can be edited.
    pub editing: Editability,
    /// Whether it is in use. A state, summary, or memory is in use if it is or may be sent; a policy, if the branch
    /// uses it.
    pub in_use: bool,
    /// The versions, newest first; empty if nothing was written yet.
    pub versions: Vec<Version>,
}

/// A version of an editable text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// A description, such as "version 3, edited by you".
    pub what: String,
    /// Milliseconds since 1970, if known.
    pub at: Option<i64>,
    /// The text, unsanitized.
    pub text: Arc<str>,
    /// Whether it is the current version.
    pub current: bool,
    /// Index of the version that it was derived from; `None` for the first.
    pub from: Option<usize>,
}

impl Editable {
    /// Returns the index of the current version; 0 if there is none.
    pub fn current(&self) -> usize {
        self.versions.iter().position(|version| version.current).unwrap_or(0)
    }
}

/// A fault in a policy's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyFault {
    /// Line and column, from 1; `None` if the fault has no position.
    pub place: Option<(usize, usize)>,
    /// The fault, and the probable intention.
    pub words: String,
}
