//! Embedders: a server, or a model directory on this machine.
//! Not for: searching vectors (the module `retrieval`).

pub mod choose;
#[cfg(feature = "local-embeddings")]
pub(super) mod files;
#[cfg(feature = "local-embeddings")]
pub mod local;
pub mod openai;
