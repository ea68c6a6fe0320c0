//! What the planner remembers between plans: terms of messages, hashed questions, tokens of tools.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_remembered_for_one_list_of_words_and_up_to_a_number() {
        let terms =
            Arc::new(MessageTerms { flags: Vec::new(), terms: Vec::new(), task: Task::General, priority: None });
        let other = Adaptive { long_characters: 1, ..Adaptive::default() };
        let mut cache = FactsCache::default();
        cache.keep_for(&Adaptive::default());
        let mut number = 0_u64;
        let mut note = |cache: &mut FactsCache, many: usize| {
            for _ in 0..many {
                number += 1;
                cache.noted.insert(Hash::of(&number.to_le_bytes()), terms.clone());
            }
        };
        note(&mut cache, REMEMBERED);
        cache.keep_for(&Adaptive::default());
        assert_eq!(cache.noted.len(), REMEMBERED);
        note(&mut cache, 1);
        cache.keep_for(&Adaptive::default());
        assert_eq!(cache.noted.len(), 0, "too many");
        note(&mut cache, 1);
        cache.keep_for(&other);
        assert_eq!(cache.noted.len(), 0, "for other words");
        note(&mut cache, 1);
        cache.forget();
        assert_eq!(cache.noted.len(), 0);
    }
}
