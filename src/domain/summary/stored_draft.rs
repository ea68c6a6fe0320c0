//! A draft of a summary as it is stored until a person decides: the data that cannot be recomputed from its sources.
//! Not for: drafts with their sources (`draft`).

use super::accepted::Summary;
use super::draft::{KeepReason, SummaryDraft};
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, RunId};
use serde::{Deserialize, Serialize};

/// A stored draft. The texts of its sources are not stored again: they are read when the draft is restored, and the
/// missing facts are found again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredDraft {
    pub branch: BranchId,
    /// The summary as it would be accepted, with the turns that it covers.
    pub summary: Summary,
    /// The text without the kept sentences.
    pub body: String,
    /// The turns between the sources that are not summarized, by number, with the reasons.
    #[serde(default)]
    pub stays: Vec<(u32, KeepReason)>,
    /// The model's call; `None` if no model was asked.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Why it was made automatically; `None` if a person asked for it.
    #[serde(default)]
    pub cause: Option<String>,
    /// Warnings from writing the draft, one sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl StoredDraft {
    /// Returns the stored form of a draft.
    pub fn of(draft: &SummaryDraft) -> Self {
        Self {
            branch: draft.branch,
            summary: draft.summary.clone(),
            body: draft.body.clone(),
            stays: draft.stays.clone(),
            run: draft.run,
            cause: draft.cause.clone(),
            warnings: draft.warnings.clone(),
        }
    }

    /// Returns the id that acts and other programs use for this draft: the id of the summary that it would become.
    pub fn id(&self) -> Hash {
        self.summary.id
    }

    /// Returns whether it covers one of these messages.
    pub fn reads(&self, nodes: &[Hash]) -> bool {
        self.summary.covers.iter().any(|cover| {
            [cover.user, cover.tip].iter().chain(cover.nodes.iter().map(|(key, _)| key)).any(|key| nodes.contains(key))
        })
    }
}
