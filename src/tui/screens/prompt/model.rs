//! A text input of one line, and its purpose.
//! Not for: longer texts (`text_editor`).

use crate::domain::base::ids::{BranchId, MemoryId, NodeId, SessionId};

/// What a typed line is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A branch's name.
    RenameBranch(BranchId),
    /// A session's title.
    RenameSession(Option<SessionId>),
    /// A new session's title.
    NewSession,
    /// A new memory, perhaps with its kind and a colon before it.
    Remember,
    /// Other words for a memory.
    EditMemory(MemoryId),
    /// The name of a copy of this policy.
    CopyPolicy(String),
    /// The file for what the store could not take.
    SaveUnsaved,
    /// A message's name.
    Label(NodeId),
    /// What looking at code keeps to on the branch stood on.
    Focus,
    /// Why a call to a tool that waits there is refused.
    Refuse(BranchId, usize),
}

/// A line to type.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its title.
    pub title: String,
    /// What was typed.
    pub text: String,
    /// What it is for.
    pub purpose: Purpose,
}
