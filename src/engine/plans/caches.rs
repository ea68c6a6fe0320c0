//! Caches of the planner between plans: terms of messages, hashed questions, tokens of tools.
//! Not for: contents and their counts (`input_builder`), or computing any of it (`facts`, `sources::subjects`,
//! `tool_costs`).

use crate::domain::base::hash::Hash;
use crate::domain::call::tokens::Encoding;
use crate::domain::planning::facts::{Flag, Task};
use crate::domain::planning::tuning::Adaptive;
use crate::domain::tool::cards::ToolCost;
use crate::retrieval::cluster::HashedQuery;
use std::collections::HashMap;
use std::sync::Arc;

/// Messages remembered before the cache is cleared.
pub(crate) const REMEMBERED: usize = 50_000;

/// Terms of messages, for one list of words.
#[derive(Default)]
pub(crate) struct FactsCache {
    pub(crate) spec: Option<Adaptive>,
    pub(crate) noted: HashMap<Hash, Arc<MessageTerms>>,
}

impl FactsCache {
    /// Forgets all.
    pub(crate) fn forget(&mut self) {
        self.noted.clear();
    }

    pub(crate) fn keep_for(&mut self, spec: &Adaptive) {
        if self.spec.as_ref() != Some(spec) || self.noted.len() > REMEMBERED {
            self.noted.clear();
            self.spec = Some(spec.clone());
        }
    }
}

/// The terms and flags of a message.
pub(crate) struct MessageTerms {
    pub(crate) flags: Vec<Flag>,
    pub(crate) terms: Vec<u64>,
    /// `General` means unknown.
    pub(crate) task: Task,
    pub(crate) priority: Option<u8>,
}

/// Hashed questions, by their message's key.
#[derive(Default)]
pub(crate) struct Questions(pub(crate) HashMap<Hash, Option<Arc<HashedQuery>>>);

impl Questions {
    /// Forgets all.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Tokens of the tools that were counted last.
#[derive(Default)]
pub(crate) struct ToolCostCache(pub(crate) Option<(Hash, Encoding, u32, Vec<ToolCost>)>);
