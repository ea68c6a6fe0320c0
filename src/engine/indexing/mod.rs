//! Indexes that are built outside the engine's thread: messages, vectors, code.
//! Not for: their use in a plan (`plans::sources`).

pub(super) mod code_indexer;
pub(super) mod code_refresh;
pub(super) mod code_workspace;
pub(super) mod messages;
pub(super) mod priority;
pub(super) mod retrieve;
pub(super) mod symbol_vectors;
pub(super) mod vectors;
