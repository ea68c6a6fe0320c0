//! The similarity in meaning of symbols to a message, if there is an embedder on this machine.
//! Not for: computing vectors (`indexing::symbol_vectors`), or the order of hits (`code::find::likeness`).

use crate::code::find::cards::Sources as _;
use crate::code::find::likeness::embedded_text;
use crate::code::find::names;
use crate::code::find::rank::Hit;
use crate::code::index::records::SymbolId;
use crate::domain::base::{Fields, Hash};
use crate::engine::indexing::code_workspace::{LoadedWorkspace, WorkspaceFiles};
use crate::engine::indexing::priority::Priority;
use crate::engine::indexing::vectors::Vectors;
use crate::retrieval::vectors::memory::Code;
use std::collections::HashMap;

/// A message that is compared with symbols.
pub(crate) struct Meaning<'a> {
    vectors: &'a Vectors,
    message: &'a str,
    priority: Priority,
    /// Its vector, if the embedder was open before the search.
    vector: Option<Vec<f32>>,
}

impl<'a> Meaning<'a> {
    pub(crate) fn new(vectors: &'a Vectors, message: &'a str, priority: Priority) -> Self {
        Self { vectors, message, priority, vector: vectors.question_here(message, priority) }
    }

    /// Returns the embedder's id.
    pub(crate) fn embedder(&self) -> Option<String> {
        self.vectors.id()
    }

    /// Returns the cosines of the hits whose vectors exist, and requests the others.
    pub(crate) fn cosines(&self, loaded: &LoadedWorkspace, hits: &[Hit]) -> HashMap<SymbolId, f32> {
        let index = &loaded.index;
        let symbols: Vec<(SymbolId, Hash)> = hits
            .iter()
            .filter_map(|hit| {
                let code = names::reference(index, hit.id)?;
                Some((hit.id, Fields::new("symbol").hash(code.key()).hash(code.file).finish()))
            })
            .collect();
        let keys: Vec<Hash> = symbols.iter().map(|(_, key)| *key).collect();
        let text = |at: usize| {
            let (id, _) = symbols.get(at)?;
            let (_, file) = index.symbol(*id)?;
            embedded_text(index, *id, &WorkspaceFiles(&loaded.root).text(&file.path)?)
        };
        let vectors = self.vectors.of_symbols(&keys, &text);
        if vectors.iter().all(Option::is_none) {
            return HashMap::new();
        }
        // The first request for vectors of symbols opens the embedder.
        let opened = || self.vectors.question_here(self.message, self.priority);
        let message = self.vector.clone().or_else(opened).and_then(|vector| Code::of(&vector).ok());
        let Some(message) = message else { return HashMap::new() };
        let near = symbols.iter().zip(&vectors);
        near.filter_map(|((id, _), vector)| Some((*id, message.cosine(vector.as_ref()?)))).collect()
    }
}
