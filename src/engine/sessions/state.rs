//! The sessions that are open in this program, which one is current, and the last seen state of the store.
//! Not for: a single session (`session`), or finding one by name (`lookup`).

use super::session::Session;
use crate::domain::base::{BranchId, Failure, NodeId, SessionId};
use crate::domain::call::RunCard;
use crate::domain::conversation::{Branch, Overrides};
use crate::engine::api::Ticket;
use std::collections::{HashMap, HashSet};

/// The open sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    /// The sessions that were opened.
    pub(crate) open: HashMap<SessionId, Session>,
    /// The session for requests that name no branch.
    pub(crate) current_id: Option<SessionId>,
    /// Sessions whose title the model is writing.
    pub(crate) titles_in_progress: HashSet<SessionId>,
    /// The overrides that branches had before the first change by this program; settings from the command line apply
    /// in place of these, not of later choices.
    pub(crate) before_choices: HashMap<BranchId, Overrides>,
    /// Branches whose state block the model is writing.
    pub(crate) states_in_progress: HashSet<BranchId>,
    /// Notices about the store and about recovered answers, for the next session that opens.
    pub(crate) recovered: Vec<String>,
    /// SQLite's counter of changes by other connections, as last read.
    pub(crate) data_version: i64,
    /// The store's clock of memories, as last read.
    pub(crate) memory_clock: Option<String>,
}

impl Sessions {
    /// Returns the session for requests that name no branch.
    pub(crate) fn current(&self) -> Result<&Session, Failure> {
        let id = self.current_id.ok_or_else(Failure::no_open_session)?;
        self.open.get(&id).ok_or_else(Failure::no_open_session)
    }

    /// Returns the session that contains a branch.
    pub(crate) fn of_branch(&self, branch: BranchId) -> Result<&Session, Failure> {
        let holds = |session: &&Session| session.branches.iter().any(|b| b.id == branch);
        self.open.values().find(holds).ok_or_else(Failure::branch_gone)
    }

    /// Returns a mutable reference to the session that contains a branch.
    pub(crate) fn of_branch_mut(&mut self, branch: BranchId) -> Result<&mut Session, Failure> {
        let holds = |session: &&mut Session| session.branches.iter().any(|b| b.id == branch);
        self.open.values_mut().find(holds).ok_or_else(Failure::branch_gone)
    }

    /// Returns all branches of the open sessions.
    pub(crate) fn branch_ids(&self) -> Vec<BranchId> {
        self.open.values().flat_map(|session| &session.branches).map(|branch| branch.id).collect()
    }

    /// Returns the overrides that a branch had before the first change by this program.
    pub(crate) fn before_choices(&self, id: BranchId) -> Option<&Overrides> {
        let stored = || self.of_branch(id).ok()?.branch(id).ok().map(|branch| &branch.overrides);
        self.before_choices.get(&id).or_else(stored)
    }

    /// Returns a copy of a branch.
    pub(crate) fn branch(&self, id: BranchId) -> Result<Branch, Failure> {
        self.of_branch(id)?.branch(id).cloned()
    }
}

/// A title by the model, or the reason why there is none.
pub(crate) struct TitleResult {
    pub(crate) ticket: Option<Ticket>,
    pub(crate) session: SessionId,
    /// The messages that were read.
    pub(crate) sources: Vec<NodeId>,
    pub(crate) result: Result<String, Failure>,
    pub(crate) runs: Vec<RunCard>,
}
