//! A text input of one line, and its purpose.
//! Not for: longer texts (`text_editor`).

use crate::domain::base::ids::{BranchId, MemoryId, NodeId, SessionId};

/// The purpose of a typed line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A branch's name.
    RenameBranch(BranchId),
    /// A session's title.
    RenameSession(Option<SessionId>),
    /// A new session's title.
    NewSession,
    /// A new memory, optionally with its kind and a colon before it.
    Remember,
    /// A new text for a memory.
    EditMemory(MemoryId),
    /// The name of a copy of this policy.
    CopyPolicy(String),
    /// The file for content that the store could not save.
    SaveUnsaved,
    /// A message's name.
    Label(NodeId),
    /// The code focus of the current branch.
    Focus,
    /// The reason for denying a pending tool call.
    Refuse(BranchId, usize),
}

/// A text input of one line.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its title.
    pub title: String,
    /// The typed text.
    pub text: String,
    /// Its purpose.
    pub purpose: Purpose,
}
