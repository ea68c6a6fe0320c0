//! The confirmed memories that apply to a session, each with its terms. They are read again when any memory has
//! changed.
//! Not for: finding memories that match a message (`memory`).

use crate::domain::base::{Failure, SessionId};
use crate::domain::conversation::{Memory, MemoryStatus};
use crate::retrieval::index::stops::is_filler;
use crate::retrieval::index::words::{Analyzer, Term};
use crate::store::Store;
use std::sync::Arc;

/// The maximum number of memories; the newest are kept.
const MOST_MEMORIES: usize = 2_000;

/// A memory with its terms.
pub(crate) struct MemoryTerms {
    pub(crate) memory: Memory,
    pub(crate) terms: Vec<Term>,
}

/// A cache of the memories of the last planned session.
pub(crate) struct Memories {
    pub(crate) store: Store,
    pub(crate) kept: Option<(SessionId, Option<String>, Arc<Vec<MemoryTerms>>)>,
}

impl Memories {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, kept: None }
    }

    /// Returns the confirmed memories that apply to a session. They are read again if any memory has changed.
    pub(crate) fn of(&mut self, session: SessionId) -> Result<Arc<Vec<MemoryTerms>>, Failure> {
        let clock = self.store.memory_clock()?;
        if let Some((id, seen, known)) = &self.kept
            && *id == session
            && *seen == clock
        {
            return Ok(known.clone());
        }
        let mut all = if clock.is_none() { Vec::new() } else { self.store.memories(Some(session))? };
        all.retain(|memory| memory.status == MemoryStatus::Confirmed);
        let known = Arc::new(known(all.split_off(all.len().saturating_sub(MOST_MEMORIES))));
        self.kept = Some((session, clock, known.clone()));
        Ok(known)
    }
}

/// Returns memories with their terms.
pub(crate) fn known(memories: Vec<Memory>) -> Vec<MemoryTerms> {
    let analyzer = Analyzer::default();
    memories.into_iter().map(|memory| MemoryTerms { terms: terms(&analyzer, &memory.text), memory }).collect()
}

/// Returns the distinct terms of a text without filler words, sorted.
pub(crate) fn terms(analyzer: &Analyzer, text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    analyzer.each(text, &mut |term, word| {
        if !is_filler(&word.lower) {
            found.push(term);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}
