//! The services that work in parallel with the engine's thread: indexing, searching, comparing.
//! Not for: planning (`plans::worker`), or work with an end (`jobs`).

use super::calls::diff_worker::DiffWorker;
use super::indexing::code_indexer::CodeIndexer;
use super::indexing::vectors::Vectors;
use super::sessions::search::SearchWorker;

/// The services of the engine, each with its own queue.
pub(super) struct Workers {
    /// Indexes the workspace's code.
    pub(super) code: CodeIndexer,
    /// Computes vectors of messages; `None` without an embedder.
    pub(super) vectors: Option<Vectors>,
    /// Searches all sessions.
    pub(super) search: SearchWorker,
    /// Compares stored calls and branches.
    pub(super) diff: DiffWorker,
}
