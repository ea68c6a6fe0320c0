//! Vectors of symbols of the workspace's code, computed on request on the thread of vectors and kept in memory. Code is
//! not sent to an embedder on another machine.
//! Not for: vectors of messages (`vectors`), or their use in a search (`plans::sources::code_meaning`).

use super::vectors::{Vectors, VectorsState};
use crate::domain::base::hash::Hash;
use crate::domain::call::embedding::{EmbedError, Purpose};
use crate::retrieval::vectors::memory::Code;
use std::collections::{HashMap, VecDeque};

/// The number of known symbols at which they are forgotten, so that those of old versions of files don't accumulate.
const MAX_KNOWN: usize = 8_192;
/// The number of symbols whose vectors are computed at a time.
const BATCH: usize = 32;

/// A symbol's key with its embedded text.
pub(super) type SymbolText = (Hash, String);

/// The vectors of symbols, and the symbols that wait for theirs.
#[derive(Default)]
pub(super) struct SymbolVectors {
    /// By the symbol and the version of its file; `None` while requested.
    known: HashMap<Hash, Option<Code>>,
    waiting: VecDeque<SymbolText>,
}

impl SymbolVectors {
    pub(super) fn next_batch(&mut self) -> Option<Vec<SymbolText>> {
        let batch: Vec<SymbolText> = self.waiting.drain(..self.waiting.len().min(BATCH)).collect();
        (!batch.is_empty()).then_some(batch)
    }

    /// Forgets the requests that were not answered, so that they are made again.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
        self.known.retain(|_, vector| vector.is_some());
    }
}

impl Vectors {
    /// Returns the vectors of symbols that exist, in the order of their keys, and requests the others. `text` returns
    /// the embedded text of the symbol at an index. In single commands it waits for the vectors.
    pub(crate) fn of_symbols(&self, keys: &[Hash], text: &dyn Fn(usize) -> Option<String>) -> Vec<Option<Code>> {
        let mut state = self.lock();
        if state.rests() || state.is_remote() {
            return vec![None; keys.len()];
        }
        if state.symbols.known.len() + keys.len() > MAX_KNOWN {
            state.symbols = SymbolVectors::default();
        }
        for (at, key) in keys.iter().enumerate() {
            if state.symbols.known.contains_key(key) {
                continue;
            }
            if let Some(text) = text(at) {
                state.symbols.known.insert(*key, None);
                state.symbols.waiting.push_back((*key, text));
            }
        }
        let is_open = |key: &Hash, state: &VectorsState| matches!(state.symbols.known.get(key), Some(None));
        let state = self.wait_if_patient(state, |state| !keys.iter().any(|key| is_open(key, state)));
        keys.iter().map(|key| state.symbols.known.get(key).cloned().flatten()).collect()
    }

    /// Computes the vectors of symbols.
    pub(super) fn make_symbols(&self, batch: &[SymbolText]) -> Result<(), EmbedError> {
        let embedder = self.embedder()?;
        if embedder.remote() {
            self.lock().symbols.give_up();
            return Ok(());
        }
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embedder.embed(&texts, Purpose::Passage, &|| !self.lock().is_closed())?;
        let mut codes = Vec::with_capacity(batch.len());
        for ((key, _), vector) in batch.iter().zip(vectors) {
            codes.push((*key, Some(Code::of(&vector).map_err(|error| EmbedError::Answer(error.to_string()))?)));
        }
        self.lock().symbols.known.extend(codes);
        Ok(())
    }
}
