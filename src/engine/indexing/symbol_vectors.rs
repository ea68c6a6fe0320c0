//! Vectors of symbols of the workspace's code, computed on request on the thread of vectors and kept in memory. Code is
//! not sent to an embedder on another machine.
//! Not for: vectors of messages (`vectors`), or their use in a search (`plans::sources::code_meaning`).

use super::priority::Priority;
use super::vectors::{Vectors, VectorsState};
use crate::domain::base::Hash;
use crate::domain::call::{EmbedError, Purpose};
use crate::retrieval::vectors::memory::Code;
use std::collections::{HashMap, VecDeque};

/// The number of cached symbols at which the cache is cleared, so that old versions of files don't accumulate.
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
        // A batch that was in progress when they were requested may have answered some.
        self.waiting.retain(|(key, _)| !matches!(self.known.get(key), Some(Some(_))));
        let batch: Vec<SymbolText> = self.waiting.drain(..self.waiting.len().min(BATCH)).collect();
        (!batch.is_empty()).then_some(batch)
    }

    /// Requests vectors and replaces earlier requests.
    fn request(&mut self, texts: Vec<SymbolText>) {
        self.give_up();
        if self.known.len() + texts.len() > MAX_KNOWN {
            self.known.clear();
        }
        self.known.extend(texts.iter().map(|(key, _)| (*key, None)));
        self.waiting.extend(texts);
    }

    /// Forgets the requests that were not answered, so that they are made again.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
        self.known.retain(|_, vector| vector.is_some());
    }
}

impl Vectors {
    /// Returns the vectors of symbols that exist, in the order of their keys, and requests the others. These requests
    /// replace earlier ones, which are for another message. `text` returns the embedded text of the symbol at an index.
    /// In single commands, waits for the vectors.
    pub(crate) fn of_symbols(&self, keys: &[Hash], text: &dyn Fn(usize) -> Option<String>) -> Vec<Option<Code>> {
        let Some(unknown) = self.unknown_symbols(keys) else { return vec![None; keys.len()] };
        let texts: Vec<SymbolText> = unknown.into_iter().filter_map(|at| Some((keys[at], text(at)?))).collect();
        let mut state = self.lock();
        state.symbols.request(texts);
        let is_requested = |key: &Hash, state: &VectorsState| matches!(state.symbols.known.get(key), Some(None));
        let state = self.wait_if_patient(state, |state| !keys.iter().any(|key| is_requested(key, state)));
        keys.iter().map(|key| state.symbols.known.get(key).cloned().flatten()).collect()
    }

    /// Returns the vector of a message as [`Vectors::question`] does, but never asks an embedder on another machine.
    pub(crate) fn question_here(&self, message: &str, priority: Priority) -> Option<Vec<f32>> {
        let is_remote = self.lock().is_remote();
        if is_remote { None } else { self.question(message, priority) }
    }

    /// Returns the indexes of the symbols without a vector; `None` if no vectors can be computed now.
    fn unknown_symbols(&self, keys: &[Hash]) -> Option<Vec<usize>> {
        let state = self.lock();
        let is_known = |key: &Hash| matches!(state.symbols.known.get(key), Some(Some(_)));
        let unknown = || (0..keys.len()).filter(|at| !is_known(&keys[*at])).collect();
        (!state.rests() && !state.is_remote()).then(unknown)
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
