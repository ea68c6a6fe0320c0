//! The planner's caches between plans: terms of messages, hashed questions, token counts of tools.
//! Not for: contents and their counts (`input_builder`), or computing what is cached (`facts`, `sources::subjects`,
//! `tool_costs`).

use crate::domain::base::hash::Hash;
use crate::domain::call::tokens::Encoding;
use crate::domain::planning::facts::{Flag, Task};
use crate::domain::planning::tuning::Adaptive;
use crate::domain::tool::cards::ToolCost;
use crate::retrieval::cluster::HashedQuery;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of cached messages at which the cache is cleared.
pub(crate) const MAX_CACHED: usize = 50_000;

/// The terms of messages, for one set of word lists.
#[derive(Default)]
pub(crate) struct FactsCache {
    pub(crate) spec: Option<Adaptive>,
    pub(crate) by_message: HashMap<Hash, Arc<MessageTerms>>,
}

impl FactsCache {
    /// Clears the cache.
    pub(crate) fn forget(&mut self) {
        self.by_message.clear();
    }

    pub(crate) fn reset_if_changed(&mut self, spec: &Adaptive) {
        if self.spec.as_ref() != Some(spec) || self.by_message.len() > MAX_CACHED {
            self.by_message.clear();
            self.spec = Some(spec.clone());
        }
    }
}

/// The terms and flags of a message.
pub(crate) struct MessageTerms {
    pub(crate) flags: Vec<Flag>,
    pub(crate) terms: Vec<u64>,
    /// `General` if unknown.
    pub(crate) task: Task,
    pub(crate) priority: Option<u8>,
}

/// Hashed questions, by the keys of their messages; `None` for a message that asks nothing.
#[derive(Default)]
pub(crate) struct Questions(pub(crate) HashMap<Hash, Option<Arc<HashedQuery>>>);

impl Questions {
    /// Clears the cache.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// The tools that were counted last: the hash of their definitions, the encoding, their tokens in all, and the costs of
/// each.
#[derive(Default)]
pub(crate) struct ToolCostCache(pub(crate) Option<(Hash, Encoding, u32, Vec<ToolCost>)>);
