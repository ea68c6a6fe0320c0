//! The planner's caches between plans: terms of messages, hashed questions, token counts of tools.
//! Not for: contents and their counts (`input_builder`), or computing the cached values (`facts`, `sources::subjects`,
//! `tool_costs`).

use crate::domain::base::Hash;
use crate::domain::call::Encoding;
use crate::domain::planning::{Adaptive, Flag, Task};
use crate::domain::tool::ToolCost;
use crate::retrieval::cluster::QuestionVector;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of cached messages at which a cache is cleared.
pub(crate) const MAX_CACHED: usize = 50_000;

/// The terms of messages, for one set of word lists.
#[derive(Default)]
pub(crate) struct FactsCache {
    pub(crate) spec: Option<Adaptive>,
    pub(crate) by_message: HashMap<Hash, Arc<MessageTerms>>,
}

impl FactsCache {
    /// Clears the cache if it is full or for other word lists.
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
pub(crate) type Questions = HashMap<Hash, Option<Arc<QuestionVector>>>;

/// Counted tools: the hash of their definitions, the encoding, their tokens in all, and the cost of each.
pub(crate) type CountedTools = (Hash, Encoding, u32, Vec<ToolCost>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_cached_for_one_list_of_words_and_up_to_a_number() {
        let terms =
            Arc::new(MessageTerms { flags: Vec::new(), terms: Vec::new(), task: Task::General, priority: None });
        let other = Adaptive { long_characters: 1, ..Adaptive::default() };
        let mut cache = FactsCache::default();
        cache.reset_if_changed(&Adaptive::default());
        let mut number = 0_u64;
        let mut note = |cache: &mut FactsCache, many: usize| {
            for _ in 0..many {
                number += 1;
                cache.by_message.insert(Hash::of(&number.to_le_bytes()), terms.clone());
            }
        };
        note(&mut cache, MAX_CACHED);
        cache.reset_if_changed(&Adaptive::default());
        assert_eq!(cache.by_message.len(), MAX_CACHED);
        note(&mut cache, 1);
        cache.reset_if_changed(&Adaptive::default());
        assert_eq!(cache.by_message.len(), 0, "too many");
        note(&mut cache, 1);
        cache.reset_if_changed(&other);
        assert_eq!(cache.by_message.len(), 0, "for other words");
    }
}
