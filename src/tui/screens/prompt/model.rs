//! State of a prompt for one line of text, and the purpose of the line.
//! Not for: longer texts (`text_editor`).

use crate::domain::base::ids::MemoryId;
use crate::domain::base::{BranchId, NodeId, SessionId};
use crate::tui::model::typed_line::TypedLine;

/// The purpose of a typed line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The new name of a branch.
    RenameBranch(BranchId),
    /// The new title of a session; None is the current session.
    RenameSession(Option<SessionId>),
    /// The title of a new session.
    NewSession,
    /// A new memory, optionally with its kind and a colon before it.
    Remember,
    /// The new text of a memory.
    EditMemory(MemoryId),
    /// The name for a copy of this policy.
    CopyPolicy(String),
    /// The file for saving the text that the store could not write.
    SaveUnsaved,
    /// The name of a message.
    Label(NodeId),
    /// The focus of the code search on the current branch.
    Focus,
}

/// A prompt for one line of text.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub title: String,
    pub text: TypedLine,
    pub purpose: Purpose,
}

impl Prompt {
    /// Creates a prompt with a text to begin with.
    pub fn new(title: impl Into<String>, text: impl Into<TypedLine>, purpose: Purpose) -> Self {
        Self { title: title.into(), text: text.into(), purpose }
    }
}
