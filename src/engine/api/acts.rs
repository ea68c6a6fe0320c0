//! Small parts of requests: what to do to memories and tasks, how to name calls.
//! Not for: requests themselves (`request`).

use crate::domain::ids::BranchId;

/// Where a memory is to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryScope {
    /// In the open session.
    Session,
    /// In all sessions.
    All,
}

/// What to do to a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryAct {
    /// It is right; from now on it holds there (where it was meant to, when none is named).
    Confirm(Option<MemoryScope>),
    /// Other words, or another place where it holds.
    Edit(Option<String>, Option<MemoryScope>),
    /// It is not wanted, and not suggested again.
    Dismiss,
    /// It goes.
    Delete,
}

/// What becomes of a branch's tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskAct {
    /// One begins, by its name; one that is running ends.
    Start(String),
    /// The one that is running ends, with what came of it, where something is said.
    Done(Option<String>),
}

/// How to name a call whose plan is to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// By a unique prefix of a run's or a plan's id.
    Named(String),
    /// The last call of a branch, or of those that it was forked from.
    Last(BranchId),
    /// The one that would be sent next on a branch: the last plan drawn for it.
    Next(BranchId),
}
