//! The engine's summary state: drafts that wait or are being written, module summaries that are being written, and
//! the results of their threads.
//! Not for: writing them (`writer`, `modules`), or a person's acts on drafts (`drafts`).

use super::draft_text::PendingDraft;
use crate::domain::base::{BranchId, Failure, Hash};
use crate::domain::call::{Encoding, RunCard};
use crate::domain::summary::{ModuleCard, Summary};
use crate::engine::api::Ticket;
use crate::engine::jobs::CancelToken;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// The state of summaries.
#[derive(Default)]
pub(crate) struct Summaries {
    /// Drafts of summaries of turns.
    pub(crate) drafts: Drafts,
    /// Module summaries that are being written.
    pub(crate) modules: PendingModules,
}

/// Drafts that wait or are being written.
#[derive(Default)]
pub(crate) struct Drafts {
    pub(crate) waiting: HashMap<BranchId, PendingDraft>,
    pub(crate) making: HashMap<BranchId, DraftInProgress>,
    last: u64,
    /// Branches whose automatic draft is accepted as soon as their open turn ends.
    pub(crate) own: HashSet<BranchId>,
    /// Stored drafts that are not shown because their sources changed.
    pub(crate) hidden: HashMap<BranchId, Summary>,
    /// The revision of a branch at the last comparison of its draft with its sources.
    pub(crate) compared: HashMap<BranchId, u64>,
    /// Branches that were opened or switched to, or whose draft was hidden, and that were not checked for a due summary
    /// since.
    pub(crate) unchecked: HashSet<BranchId>,
    /// Cached tokens of messages, shared with the checks whether a summary is due.
    pub(crate) counts: Counts,
}

impl Drafts {
    /// Whether a draft waits on a branch or is being written.
    pub(crate) fn busy(&self, branch: BranchId) -> bool {
        self.waiting.contains_key(&branch) || self.making.contains_key(&branch)
    }

    /// Returns the branches whose draft waits or is hidden.
    pub(crate) fn branches(&self) -> Vec<BranchId> {
        self.waiting.keys().chain(self.hidden.keys()).copied().collect()
    }

    /// Returns the number of a new draft.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Drops all state of a branch's draft. Returns whether one waited.
    pub(crate) fn forget(&mut self, branch: BranchId) -> bool {
        self.own.remove(&branch);
        self.hidden.remove(&branch);
        self.compared.remove(&branch);
        self.waiting.remove(&branch).is_some()
    }

    /// Returns the number of the draft that waits on a branch.
    pub(crate) fn number(&self, branch: BranchId) -> Option<u64> {
        self.waiting.get(&branch).map(|drafted| drafted.draft.number)
    }
}

/// A draft that is being written.
pub(crate) struct DraftInProgress {
    pub(crate) number: u64,
    pub(crate) cancel: CancelToken,
    /// Whether the draft is automatic.
    pub(crate) automatic: bool,
    /// The stored draft, if it is only restored.
    pub(crate) restores: Option<Hash>,
    /// The lane of the draft and the last node of its last turn.
    pub(crate) reach: (String, Hash),
}

/// Tokens of messages by key and encoding.
pub(crate) type Counts = Arc<Mutex<HashMap<(Hash, Encoding), u32>>>;

/// The result of a check whether a summary is due.
pub(crate) struct DueResult {
    pub(crate) branch: BranchId,
    /// Whether the branch was just opened or switched to, and no turn ended.
    pub(crate) opened: bool,
    pub(crate) due: Option<Due>,
}

/// A summary that is due: its first and last turn by number, and the reason.
pub(crate) struct Due {
    pub(crate) first: u32,
    pub(crate) up_to: u32,
    pub(crate) cause: String,
}

/// The result of writing a draft.
pub(crate) struct DraftResult {
    pub(crate) number: u64,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) branch: BranchId,
    pub(crate) result: Result<PendingDraft, Failure>,
    /// The model calls.
    pub(crate) runs: Vec<RunCard>,
}

/// A module summary, or the reason why there is none.
pub(crate) struct ModuleResult {
    pub(crate) ticket: Ticket,
    pub(crate) root: String,
    pub(crate) result: Result<ModuleCard, Failure>,
    /// The model calls.
    pub(crate) runs: Vec<RunCard>,
    /// Whether an extractive summary was made because the offline model, which is not a language model, was chosen.
    pub(crate) instead: bool,
}

/// Module summaries that are being written.
#[derive(Default)]
pub(crate) struct PendingModules(pub(crate) Vec<PendingModule>);

pub(crate) struct PendingModule {
    pub(crate) ticket: Ticket,
    pub(crate) branch: BranchId,
    pub(crate) path: String,
    pub(crate) cancel: CancelToken,
}

impl PendingModules {
    /// Fails while a summary of this path is being written.
    pub(crate) fn ensure_idle(&self, path: &str) -> Result<(), Failure> {
        if self.0.iter().any(|one| one.path == path) {
            return Err(Failure::user(format!("{path} is already being summarized.")).kept("That summary continues."));
        }
        Ok(())
    }

    /// Cancels the summaries of a branch and returns their paths.
    pub(crate) fn stop(&self, branch: BranchId) -> Vec<String> {
        let own = self.0.iter().filter(|one| one.branch == branch);
        own.inspect(|one| one.cancel.cancel()).map(|one| one.path.clone()).collect()
    }

    /// Removes a summary and returns whether it was canceled.
    pub(crate) fn end(&mut self, ticket: Ticket) -> bool {
        let Some(at) = self.0.iter().position(|one| one.ticket == ticket) else { return false };
        self.0.swap_remove(at).cancel.is_canceled()
    }
}
