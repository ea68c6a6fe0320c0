//! Answers about the next call: plans, comparisons, and searches.
//! Not for: calls that were made (`call`).

use crate::domain::base::{Hash, NodeId};
use crate::domain::call::{RawRequest, RetrievalSet};
use crate::domain::planning::{ActPreview, ItemHistory, Planned, WhatIf};
use std::sync::Arc;

/// An answer about the next call.
#[derive(Clone, PartialEq, Debug)]
pub enum PlanAnswer {
    /// The solved plan.
    Planned(Planned),
    /// The next call under other settings.
    WhatIf(Arc<WhatIf>),
    /// The effect of an act on the next call.
    Preview(Box<ActPreview>),
    /// The exact bytes of the next call.
    Raw(Box<RawRequest>),
    /// Token counts of an edited body.
    Weighed(BodyCount),
    /// Retrieved messages.
    Retrieved(Box<Retrieved>),
    /// The history of an item over the calls of a branch.
    History(Box<ItemHistory>),
}

/// Token counts of an edited body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyCount {
    /// The BLAKE3 hash of the body.
    pub digest: Hash,
    /// Tokens in all.
    pub tokens: u32,
    /// The budget, with its safety margin.
    pub budget: u32,
    /// The tokens that the request may take: the budget less its safety margin.
    pub room: u32,
    /// The number of messages that differ from the plan.
    pub changed: u32,
}

/// The result of a search through older messages.
#[derive(Clone, PartialEq, Debug)]
pub struct Retrieved {
    /// The set: query, gate, items with their scores, near misses.
    pub set: RetrievalSet,
    /// For each item of the set, in the order of the conversation: its message, its id in an import, and its lines as
    /// sent.
    pub items: Vec<(NodeId, Option<String>, String)>,
}
